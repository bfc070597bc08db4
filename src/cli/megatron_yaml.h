// YAML files of Megatron-LM arguments: --yaml-cfg, MODEL_ARGS of model zoos, Megatron-Bridge.
#pragma once

#include <string>
#include <string_view>

#include "hysim/megatron.h"

namespace hysim::cli {

/// Every scalar and list of the file becomes an argument named by its own key, whatever sections
/// it is nested in. Sections that hold no arguments (environment, dependencies, hooks) are listed
/// as not read. Throws InputError for text that is no YAML.
MegatronRun read_megatron_yaml(const std::string& text, std::string_view path,
                               const MegatronVariables& variables);

}  // namespace hysim::cli
