// hysim list: what is bundled, in the folders of $HYSIM_PATH and given with --profile.
#include <memory>

#include "cli/app.h"
#include "cli/options.h"
#include "cli/resources.h"
#include "hysim/errors.h"
#include "report/catalog.h"

namespace hysim::cli {

namespace {

struct Arguments {
  std::string kind;  // "" is all
  std::vector<std::string> profiles;
  OutputOptions output;
};

std::vector<std::string> plurals() {
  std::vector<std::string> words;
  for (const DocumentKind& kind : document_kinds()) words.emplace_back(kind.plural);
  return words;
}

report::ListEntry entry_of(const DocumentKind& kind, const std::string& name,
                           const Resources& resources) {
  // A document with faults is listed with the first of them and does not hide the others.
  try {
    if (kind.singular == "model") {
      return report::list_entry(model::load_transformer(resources, name));
    }
    if (kind.singular == "gpu") {
      return report::list_entry(hardware::load_gpu_profile(resources, name));
    }
    const std::string path = path_of(kind, name);
    return report::list_entry(
        name, config::parse(resources.read(path).value_or(""), resources.describe(path)));
  } catch (const InputError& error) {
    const auto& diagnostics = error.diagnostics();
    return report::list_entry_of_fault(name,
                                       diagnostics.empty() ? "" : diagnostics.front().message);
  }
}

int run(Arguments arguments) {
  // `hysim list --json models` means the kind, not a file of that name.
  for (const std::string& word : plurals()) {
    if (!arguments.kind.empty()) break;
    for (std::string* target : {&arguments.output.json, &arguments.output.markdown}) {
      if (*target != word) continue;
      arguments.kind = word;
      *target = "-";
    }
  }
  check(arguments.output);
  std::vector<std::string> warnings;
  const Resources resources = command_resources(arguments.profiles, warnings);
  std::vector<report::Listing> listings;
  for (const DocumentKind& kind : document_kinds()) {
    if (!arguments.kind.empty() && arguments.kind != kind.plural) continue;
    report::Listing listing;
    listing.kind = std::string(kind.plural);
    for (const std::string& name : names_of(resources, kind)) {
      listing.entries.push_back(entry_of(kind, name, resources));
    }
    listings.push_back(std::move(listing));
  }
  Views views;
  views.text = [&](const TextStyle& style) {
    return report::render_text(report::list_document(listings), style);
  };
  views.json = [&] { return report::list_json(listings); };
  views.markdown = [&] { return report::render_markdown(report::list_document(listings)); };
  emit(views, arguments.output, warnings);
  return kAnswered;
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const command =
      app.add_subcommand("list", "Bundled models, GPUs, clusters and scenarios");
  command->add_option("KIND", arguments->kind, "models, gpus, clusters, stacks or scenarios")
      ->type_name("")
      ->check(CLI::IsMember(plurals()).description(""));
  add_profile_option(*command, arguments->profiles);
  add_output_options(*command, arguments->output, false);
  command->footer(
      "Examples:\n"
      "  hysim list scenarios\n"
      "  hysim list models --json -");
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace hysim::cli
