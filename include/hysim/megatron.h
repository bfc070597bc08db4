// Megatron-LM's command line and our scenarios: one into the other, with nothing dropped on the
// way. Names are those of megatron/training/arguments.py (main, 2026).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hysim/errors.h"
#include "hysim/predict.h"
#include "hysim/resources.h"

namespace hysim {

/// One argument of a run and where it is written.
struct MegatronArgument {
  std::string name;                  // without dashes: "tensor-model-parallel-size"
  std::vector<std::string> values;   // none of a switch
  std::vector<std::string> missing;  // variables that its values need and nothing sets
  std::string file;
  int line = 0;

  /// "--tensor-model-parallel-size 8"
  std::string text() const;
};

/// What a launch script or a YAML file says.
struct MegatronRun {
  std::vector<MegatronArgument> arguments;  // of the launcher and of Megatron, in order
  /// "# hysim: PATH=VALUE" comments: settings that have no argument, as an export writes them.
  std::vector<MegatronArgument> settings;
  std::vector<Diagnostic> not_evaluated;  // command substitutions, conditional parts, ...
};

/// Variables given beside the script; they win over what the script sets.
using MegatronVariables = std::map<std::string, std::string>;

/// Reads a bash script as far as it can be evaluated without running anything: assignments,
/// arrays, quotes, ${VAR:-default}, $((A * B)), and the one command that passes arguments to a
/// Python program. A text of nothing but arguments is read as well. Throws InputError when there
/// is no such command or several.
MegatronRun read_megatron_script(std::string_view text, std::string_view path,
                                 const MegatronVariables& variables = {});
/// The "# hysim: PATH=VALUE" comments of any text, for formats whose reader drops comments.
std::vector<MegatronArgument> megatron_settings(std::string_view text, std::string_view path);
/// `text` with $NAME, ${NAME} and ${NAME:-default} replaced; names that nothing sets are added to
/// `missing` and stay as they are written.
std::string expand_variables(std::string_view text, const MegatronVariables& variables,
                             std::vector<std::string>& missing);

enum class MegatronUse {
  used,          // became a setting, or part of the model
  no_effect,     // known, and neither time nor memory of a step depends on it
  not_modelled,  // known to change a step, but not what we predict
  unknown,       // nothing we know
};
const char* to_string(MegatronUse use);

struct MegatronReportLine {
  MegatronArgument argument;
  MegatronUse use = MegatronUse::used;
  std::string note;  // "parallelism.tp = 8", or why it is not used
};

struct ImportOptions {
  std::string name;        // of the scenario; "" is the file's
  std::string cluster;     // a name, a path or GPU:NODESxGPUS
  std::string gpu;         // with the script's nodes and GPUs a node: a cluster of that GPU
  std::string model;       // "" is the bundled model that the arguments describe
  std::string model_path;  // where the caller will put `model_config`; "" refuses to make one
};

struct MegatronImport {
  std::string scenario;      // JSON text
  std::string model;         // its name or path
  std::string model_config;  // a config.json when no bundled model is the one described; or ""
  std::vector<MegatronReportLine> report;  // every argument, in order
  std::vector<std::string> notes;          // choices made where the arguments leave one
};
/// Throws InputError, with the lines of the arguments at fault.
MegatronImport import_megatron(const Resources& resources, const MegatronRun& run,
                               const ImportOptions& options);

enum class MegatronFormat { script, arguments, yaml };

struct MegatronExport {
  std::string text;
  std::vector<std::string> unexpressed;  // "kernels.selection_replay=true": no argument says it
};
/// The arguments of one variant of a scenario. Importing the text gives the same settings: those
/// without an argument stand in it as comments.
MegatronExport export_megatron(const Resources& resources, const ScenarioText& scenario,
                               const std::string& variant, const std::vector<SetText>& sets,
                               MegatronFormat format);

}  // namespace hysim
