// hysim schema: the JSON Schema of a document that hysim reads or writes.
#include "hysim/schema.h"

#include <algorithm>
#include <memory>

#include "cli/app.h"
#include "cli/options.h"
#include "report/catalog.h"

namespace hysim::cli {

namespace {

struct Arguments {
  std::string name;  // "" lists all
  OutputOptions output;
};

Views list_views() {
  report::Listing listing;
  listing.kind = "schemas";
  for (const std::string& name : schema_names()) {
    const DocumentSchema schema = document_schema(name);
    report::ListEntry entry;
    entry.name = name;
    entry.summary = schema.title + ": " + schema.description;
    listing.entries.push_back(std::move(entry));
  }
  const auto document = std::make_shared<report::Document>(report::list_document({listing}));
  Views views;
  views.text = [document](const TextStyle& style) { return report::render_text(*document, style); };
  views.markdown = [document] { return report::render_markdown(*document); };
  views.json = [listing] { return report::list_json({listing}); };
  return views;
}

Views schema_views(const std::string& name) {
  const std::string text = document_schema(name).text;
  Views views;
  views.text = [text](const TextStyle&) { return text; };
  views.markdown = [text] { return "```json\n" + text + "```\n"; };
  views.json = [text] { return text; };
  return views;
}

int run(Arguments arguments) {
  // `hysim schema --json scenario` means the name, not a file of that name.
  const std::vector<std::string> names = schema_names();
  for (std::string* target : {&arguments.output.json, &arguments.output.markdown}) {
    if (!arguments.name.empty() || std::find(names.begin(), names.end(), *target) == names.end()) {
      continue;
    }
    arguments.name = *target;
    *target = "-";
  }
  check(arguments.output);
  emit(arguments.name.empty() ? list_views() : schema_views(arguments.name), arguments.output, {});
  return kAnswered;
}

}  // namespace

void add_schema(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const command =
      app.add_subcommand("schema", "JSON Schema of what hysim reads and writes");
  command->add_option("NAME", arguments->name, "a document's name; without it, all are listed")
      ->type_name("");
  add_output_options(*command, arguments->output, false);
  command->footer(
      "Schemas are of draft 2020-12 and refer to nothing outside themselves.\n"
      "Examples:\n"
      "  hysim schema\n"
      "  hysim schema scenario > scenario.schema.json");
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace hysim::cli
