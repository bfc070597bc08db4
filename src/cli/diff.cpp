// hysim diff: what changed between two saved predictions, and why.
#include "hysim/diff.h"

#include <memory>

#include "cli/app.h"
#include "cli/files.h"
#include "cli/options.h"

namespace hysim::cli {

namespace {

struct Arguments {
  std::string a;
  std::string b;
  OutputOptions output;
};

int run(const Arguments& arguments) {
  check(arguments.output);
  const Diff result =
      diff(read_file(arguments.a), arguments.a, read_file(arguments.b), arguments.b);
  Views views;
  views.text = [&](const TextStyle& style) { return to_text(result, style); };
  views.json = [&] { return to_json(result); };
  views.markdown = [&] { return to_markdown(result); };
  emit(views, arguments.output, {});
  return kAnswered;
}

}  // namespace

void add_diff(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const command =
      app.add_subcommand("diff", "What changed between two predictions, and why");
  command->add_option("A", arguments->a, "what predict or compare wrote with --json")
      ->type_name("")
      ->required();
  command->add_option("B", arguments->b, "another such file")->type_name("")->required();
  add_output_options(*command, arguments->output, false);
  command->footer(
      "Examples:\n"
      "  hysim predict mine.json --json before.json\n"
      "  hysim predict mine.json --set kernels.topk=radix --json after.json\n"
      "  hysim diff before.json after.json");
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace hysim::cli
