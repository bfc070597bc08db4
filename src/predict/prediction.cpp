#include "hysim/prediction.h"

namespace hysim {

const char* to_string(Fit fit) {
  switch (fit) {
    case Fit::yes:
      return "yes";
    case Fit::tight:
      return "tight";
    case Fit::no:
      return "no";
  }
  return "";
}

const char* to_string(TimeKind kind) {
  return kind == TimeKind::critical ? "critical" : "overlapped";
}

const char* to_string(AblationKind kind) {
  switch (kind) {
    case AblationKind::cumulative:
      return "cumulative";
    case AblationKind::alone:
      return "alone";
    case AblationKind::all_but:
      return "all_but";
  }
  return "";
}

}  // namespace hysim
