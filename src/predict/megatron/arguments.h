// What we know of Megatron-LM's arguments, as data that import and export share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hysim::predictor {

/// An argument's word and the value of the setting, as JSON text.
struct MegatronWord {
  std::string_view argument;  // "" of a switch that is given
  std::string_view setting;
};

enum class MegatronKind { integer, word, flag };

/// One argument that is one setting.
struct MegatronMapping {
  std::string_view argument;
  std::string_view path;  // of the scenario
  MegatronKind kind;
  std::string_view absent;          // the setting without the argument, as JSON text
  std::vector<MegatronWord> words;  // of a word or a flag; the first of a setting is exported
};
const std::vector<MegatronMapping>& megatron_mappings();

/// Another spelling: fields of TransformerConfig and older names of arguments.
struct MegatronAlias {
  std::string_view spelling;
  std::string_view argument;
  bool inverted = false;  // a field that is true where the switch is absent
};
const std::vector<MegatronAlias>& megatron_aliases();

/// Arguments without effect on the time and memory of a step, and those with one that is not
/// modelled, with the reason. A name that ends in '*' stands for all that begin so.
bool has_no_effect(std::string_view argument);
/// The reason; "" when the argument is not in the list.
std::string_view not_modelled(std::string_view argument);

/// Every name of the tables, for "did you mean".
std::vector<std::string> megatron_names();

/// Kernel settings of each --dsa-kernel-backend, as JSON text.
struct MegatronBackend {
  std::string_view name;
  std::vector<MegatronWord> settings;  // path and value
};
const std::vector<MegatronBackend>& megatron_backends();

}  // namespace hysim::predictor
