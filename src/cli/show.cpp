// hysim show: one model, GPU, cluster, stack or scenario in full.
#include <memory>

#include "cli/app.h"
#include "cli/errors.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/resources.h"
#include "config/reader.h"
#include "config/words.h"
#include "hysim/errors.h"
#include "report/catalog.h"

namespace hysim::cli {

namespace {

struct Arguments {
  std::string name;
  std::vector<std::string> profiles;
  OutputOptions output;
};

/// A document and where it was found.
struct Found {
  const DocumentKind* kind = nullptr;
  std::string name;
  std::string text;
  std::string origin;  // for messages
};

[[noreturn]] void refuse(const std::string& message) {
  throw InputError({Diagnostic{"", 0, 0, "", message}});
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  for (const std::string& candidate : names) {
    if (candidate == name) return true;
  }
  return false;
}

Found found_in(const Resources& resources, const DocumentKind& kind, std::string_view name) {
  const std::string path = path_of(kind, name);
  return {&kind, std::string(name), resources.read(path).value_or(""), resources.describe(path)};
}

Found find_file(const std::string& path) {
  Found found{nullptr, stem_of(path), read_file(path), path};
  found.kind = kind_of(config::parse(found.text, path));
  if (found.kind == nullptr) {
    throw InputError({Diagnostic{path, 0, 0, "",
                                 "is neither a hysim document nor a model's config.json: no known "
                                 "\"schema\" and no \"model_type\""}});
  }
  return found;
}

Found find(const Resources& resources, const std::string& argument) {
  // "models/glm-5.1": the kind is named.
  const std::size_t slash = argument.find('/');
  if (slash != std::string::npos) {
    for (const DocumentKind& kind : document_kinds()) {
      const std::string name = argument.substr(slash + 1);
      if (argument.substr(0, slash) != kind.plural) continue;
      if (contains(names_of(resources, kind), name)) return found_in(resources, kind, name);
      if (file_exists(argument)) break;
      const std::string near = config::nearest(name, names_of(resources, kind));
      refuse("no " + std::string(kind.singular) + " named " + config::in_quotes(name) +
             (near.empty() ? "" : "; did you mean " + config::in_quotes(near) + "?"));
    }
  }
  if (names_file(argument)) return find_file(argument);

  std::vector<const DocumentKind*> kinds;
  std::vector<std::string> all_names;
  for (const DocumentKind& kind : document_kinds()) {
    const std::vector<std::string> names = names_of(resources, kind);
    all_names.insert(all_names.end(), names.begin(), names.end());
    if (contains(names, argument)) kinds.push_back(&kind);
  }
  if (kinds.empty()) {
    const std::string near = config::nearest(argument, all_names);
    refuse("nothing is named " + config::in_quotes(argument) + "; " +
           (near.empty() ? "see hysim list" : "did you mean " + config::in_quotes(near) + "?"));
  }
  if (kinds.size() > 1) {
    std::string choices;
    for (const DocumentKind* kind : kinds) {
      choices += (choices.empty() ? "" : " or ") + std::string(kind->plural) + "/" + argument;
    }
    refuse(config::in_quotes(argument) + " is several things: write " + choices);
  }
  return found_in(resources, *kinds.front(), argument);
}

Views views_of(const Found& found, const Resources& resources) {
  Views views;
  const auto set = [&views](const report::Document& document, std::string json) {
    views.text = [document](const TextStyle& style) {
      return report::render_text(document, style);
    };
    views.markdown = [document] { return report::render_markdown(document); };
    views.json = [json = std::move(json)] { return json; };
  };
  if (found.kind->singular == "model") {
    const auto model = model::parse_transformer(found.text, found.origin, found.name);
    set(report::model_document(model), report::model_json(model));
  } else if (found.kind->singular == "gpu") {
    const auto gpu = hardware::parse_gpu_profile(found.text, found.origin);
    set(report::gpu_document(gpu, hardware::load_named_kernels(resources)), report::gpu_json(gpu));
  } else {
    const config::Node document = config::parse(found.text, found.origin);
    set(found.kind->singular == "scenario"
            ? report::scenario_document(found.name, document)
            : report::profile_document(found.kind->singular, found.name, document),
        report::raw_json(found.kind->singular, found.name, document));
  }
  return views;
}

int run(Arguments arguments) {
  // `hysim show --json glm-5.1` means the name, not a file: without a name it could mean nothing.
  for (std::string* target : {&arguments.output.json, &arguments.output.markdown}) {
    if (!arguments.name.empty() || target->empty() || *target == "-") continue;
    arguments.name = *target;
    *target = "-";
  }
  if (arguments.name.empty()) throw UsageError("NAME is required");
  check(arguments.output);
  std::vector<std::string> warnings;
  const Resources resources = command_resources(arguments.profiles, warnings);
  emit(views_of(find(resources, arguments.name), resources), arguments.output, warnings);
  return kAnswered;
}

}  // namespace

void add_show(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const command =
      app.add_subcommand("show", "One model, GPU, cluster, stack or scenario in full");
  command->add_option("NAME", arguments->name, "a name, KIND/NAME, or a file")->type_name("");
  add_profile_option(*command, arguments->profiles);
  add_output_options(*command, arguments->output, false);
  command->footer(
      "Examples:\n"
      "  hysim show glm-5.1\n"
      "  hysim show h20-96 --json -\n"
      "  hysim show gpus/h20-96\n"
      "  hysim show ./config.json");
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace hysim::cli
