// Arguments by name, and an account of what each of them was used for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hysim/errors.h"
#include "hysim/megatron.h"

namespace hysim::predictor {

class MegatronLookup {
 public:
  /// Takes the arguments under their own names: aliases are resolved, inverted fields turned
  /// round, and an argument given twice counts as given last.
  explicit MegatronLookup(const MegatronRun& run);

  bool given(std::string_view name) const { return find(name) != nullptr; }
  /// The place of an argument, for faults; of the file when it is absent.
  Diagnostic at(std::string_view name, std::string message) const;

  // Values. Each marks the argument used; a wrong value is a fault and answers `fallback`.
  std::int64_t integer(std::string_view name, std::int64_t fallback, std::int64_t low = 1);
  bool flag(std::string_view name);
  std::string text(std::string_view name, std::string_view fallback);
  std::vector<std::string> list(std::string_view name);
  double number(std::string_view name, double fallback);

  /// What became of an argument, when more is to be said than "model".
  void note(std::string_view name, std::string note);
  /// An argument that is known and given, but not priced as it says.
  void not_modelled(std::string_view name, std::string why);
  void fault(std::string_view name, std::string message);

  /// Every argument in order, those not asked for sorted into the lists of arguments.h.
  std::vector<MegatronReportLine> report() const;
  std::vector<Diagnostic>& faults() { return faults_; }

 private:
  struct Entry {
    MegatronArgument argument;  // as written
    std::string name;           // that it stands for
    bool on = true;             // false of a switch turned off
    std::optional<MegatronReportLine> line;
  };
  const Entry* find(std::string_view name) const;
  Entry* use(std::string_view name);
  /// The only value of an argument; a fault and nothing when there is not one.
  std::optional<std::string> value(std::string_view name);

  std::vector<Entry> entries_;
  std::vector<Diagnostic> faults_;
  std::string file_;
};

}  // namespace hysim::predictor
