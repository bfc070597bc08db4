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

std::vector<std::string> texts_of(const std::vector<Warning>& warnings) {
  std::vector<std::string> texts;
  texts.reserve(warnings.size());
  for (const Warning& warning : warnings) texts.push_back(warning.text());
  return texts;
}

std::string Warning::text() const {
  return "[" + id + "] " + message + (source.empty() ? "" : " (" + source + ")");
}

}  // namespace hysim
