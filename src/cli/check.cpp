// hysim check: what was understood of a document, or every fault of it.
#include "hysim/check.h"

#include <memory>
#include <optional>

#include "cli/app.h"
#include "cli/executor.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/resources.h"
#include "config/words.h"
#include "graph/stack.h"
#include "hysim/diff.h"
#include "hysim/errors.h"
#include "report/catalog.h"
#include "report/check_view.h"
#include "report/format.h"

namespace hysim::cli {

namespace {

struct Arguments {
  std::string file;
  std::vector<std::string> profiles;
  OutputOptions output;
};

/// What was understood, in words and in JSON.
struct Understood {
  std::string kind;
  std::string name;
  report::Document document;
  config::Node node;
  std::vector<std::string> warnings;
};

std::string string_at(const config::Node& node, std::string_view key) {
  const config::Node* const value = node.is_object() ? node.find(key) : nullptr;
  return value != nullptr && value->is_string() ? value->as_string() : "";
}

[[noreturn]] void refuse(const std::string& file, const config::Node& document) {
  const std::string schema = string_at(document, "schema");
  std::string message = schema.empty() ? "has no \"schema\" and no \"model_type\""
                                       : "is of schema " + config::in_quotes(schema);
  message +=
      "; check reads hysim.scenario/1, hysim.cluster/1, hysim.gpu/1, hysim.stack/1, "
      "hysim.prediction/1, hysim.comparison/1 and a model's config.json";
  throw InputError({Diagnostic{file, 0, 0, schema.empty() ? "" : "/schema", message}});
}

/// A file of its own, or something bundled by its name.
struct Source {
  std::string text;
  std::string path;
  std::string name;
};
Source source_of(const Resources& resources, const std::string& argument) {
  if (names_file(argument) || file_exists(argument)) {
    return {read_file(argument), argument, stem_of(argument)};
  }
  for (const DocumentKind& kind : document_kinds()) {
    const std::string path = path_of(kind, argument);
    if (const auto text = resources.read(path)) return {*text, resources.describe(path), argument};
  }
  return {read_file(argument), argument, argument};  // says that there is no such file
}

/// A saved prediction or comparison: read whole, as diff does.
Understood saved_prediction(const Source& source) {
  const Diff same = diff(source.text, source.path, source.text, source.path);
  Understood result;
  result.kind = "prediction";
  result.name = source.name;
  config::Node::Array variants;
  result.document.add(
      report::Paragraph{source.name + ": a saved prediction, understood", report::Tone::strong});
  report::Table table;
  table.columns = {{"", report::Align::left, true}, {"step"}, {"peak"}, {"fits"}};
  for (const PredictionDiff& pair : same.pairs) {
    table.rows.push_back(report::Row{{pair.a, report::text_of(pair.step_a.value),
                                      report::text_of(pair.peak_a.value), pair.fits_a}});
    variants.push_back(config::Node::object(
        {{"name", config::Node::string(pair.a)},
         {"step_time",
          config::Node::object({{"value", config::Node::number(pair.step_a.value.si())},
                                {"unit", config::Node::string("s")}})},
         {"fits", config::Node::string(pair.fits_a)}}));
  }
  result.document.add(std::move(table));
  result.node = config::Node::object({{"variants", config::Node::array(std::move(variants))}});
  return result;
}

/// A document of which `hysim show` says everything.
Understood shown(const Source& source, const DocumentKind& kind, const config::Node& document) {
  Understood result;
  result.kind = std::string(kind.singular);
  result.name = source.name;
  if (kind.singular == "model") {
    const auto model = model::parse_transformer(source.text, source.path, source.name);
    result.document = report::model_document(model);
    result.node = config::parse(report::model_json(model), "");
  } else if (kind.singular == "gpu") {
    const auto gpu = hardware::parse_gpu_profile(source.text, source.path);
    result.document = report::gpu_document(gpu);
    result.node = config::parse(report::gpu_json(gpu), "");
  } else {
    static_cast<void>(graph::parse_stack(source.text, source.path));
    result.document = report::profile_document(kind.singular, source.name, document);
    result.node = document;
  }
  return result;
}

Understood understood(const Resources& named, const Source& source, const Executor& executor) {
  const config::Node document = config::parse(source.text, source.path);
  const std::string schema = string_at(document, "schema");
  if (schema == "hysim.prediction/1" || schema == "hysim.comparison/1") {
    return saved_prediction(source);
  }
  const DocumentKind* const kind = kind_of(document);
  if (kind == nullptr) refuse(source.path, document);
  Understood result;
  result.kind = std::string(kind->singular);
  if (kind->singular == "scenario") {
    const ScenarioText scenario{source.text, source.path};
    const Resources resources = with_local_files(named, {scenario}, {});
    const ScenarioCheck check = check_scenario(resources, scenario, executor);
    result.name = check.name;
    result.document = report::check_document(check);
    result.node = report::check_node(check);
    for (const VariantCheck& variant : check.variants) {
      for (const std::string& warning : texts_of(variant.prediction.warnings)) {
        const std::string line =
            check.variants.size() > 1 ? variant.prediction.variant + ": " + warning : warning;
        result.warnings.push_back(line);
      }
    }
  } else if (kind->singular == "cluster") {
    const ClusterCheck check = check_cluster(named, source.text, source.path);
    result.name = check.name;
    result.document = report::check_document(check);
    result.node = report::check_node(check);
  } else {
    return shown(source, *kind, document);
  }
  return result;
}

/// The faults that stand on stderr, for who asked for JSON.
void emit_faults(const Arguments& arguments, const InputError& error) {
  const std::string& target = arguments.output.json;
  if (target.empty()) return;
  const std::string text = report::faults_json(arguments.file, error.diagnostics());
  if (target == "-") {
    write_stdout(text);
  } else {
    write_file(target, text);
  }
}

int checked(const Arguments& arguments) {
  std::vector<std::string> warnings;
  const Resources named = command_resources(arguments.profiles, warnings);
  const Source source = source_of(named, arguments.file);
  Progress progress(!arguments.output.quiet);
  Understood result = understood(named, source, parallel_executor(progress));
  progress.finish();
  warnings.insert(warnings.end(), result.warnings.begin(), result.warnings.end());
  Views views;
  views.text = [&](const TextStyle& style) { return report::render_text(result.document, style); };
  views.json = [&] {
    return report::check_json(result.kind, source.path, result.name, std::move(result.node));
  };
  views.markdown = [&] { return report::render_markdown(result.document); };
  emit(views, arguments.output, warnings);
  return kAnswered;
}

int run(const Arguments& arguments) {
  check(arguments.output);
  try {
    return checked(arguments);
  } catch (const InputError& error) {
    emit_faults(arguments, error);
    throw;
  }
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const command =
      app.add_subcommand("check", "What is understood of a file, or every fault of it");
  command->add_option("FILE", arguments->file, "a document of any kind, or its name")
      ->type_name("")
      ->required();
  add_profile_option(*command, arguments->profiles);
  add_output_options(*command, arguments->output, false);
  command->footer(
      "Examples:\n"
      "  hysim check mine.json\n"
      "  hysim check glm-5.1-1m-h20-512\n"
      "  hysim check h20-512 --json");
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace hysim::cli
