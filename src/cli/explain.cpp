// hysim explain: formulas, inputs and sources behind the times of one variant.
#include "hysim/explain.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "cli/errors.h"
#include "cli/question.h"
#include "cli/resources.h"
#include "config/reader.h"
#include "config/words.h"
#include "hysim/errors.h"
#include "report/explanation.h"

namespace hysim::cli {

namespace {

constexpr std::size_t kLongest = 20;

struct Arguments {
  Question question;
  std::string leaf;
};

/// The leaves meant, or an error that names the nearest.
std::vector<LeafExplanation> leaves_of(const Explanation& explanation, const std::string& pattern) {
  if (pattern.empty()) return explanation.leaves;
  std::vector<LeafExplanation> found = matching_leaves(explanation, pattern);
  if (!found.empty()) return found;
  std::vector<std::string> paths;
  for (const LeafExplanation& leaf : explanation.leaves) paths.push_back(leaf.leaf.path);
  const std::string near = config::nearest(pattern, paths);
  throw InputError(
      {Diagnostic{"", 0, 0, "",
                  "no leaf of this prediction matches " + config::in_quotes(pattern) +
                      (near.empty() ? "; `hysim explain SCENARIO` shows the largest"
                                    : "; did you mean " + config::in_quotes(near) + "?")}});
}

bool same_path(const std::vector<LeafExplanation>& leaves) {
  return std::all_of(leaves.begin(), leaves.end(), [&](const LeafExplanation& leaf) {
    return leaf.leaf.path == leaves.front().leaf.path;
  });
}

/// One path in full (its critical part, then its hidden one); several in brief.
report::Document document_of(const Explanation& explanation, const std::string& pattern,
                             const std::vector<LeafExplanation>& leaves) {
  if (pattern.empty()) {
    return report::leaves_document(
        explanation, leaves, kLongest,
        {"The " + std::to_string(std::min(kLongest, leaves.size())) + " longest of " +
         std::to_string(leaves.size()) +
         " leaves; name one (or \"step\") after the scenario to see it in full."});
  }
  if (!same_path(leaves)) {
    return report::leaves_document(
        explanation, leaves, leaves.size(),
        {std::to_string(leaves.size()) + " leaves match " + config::in_quotes(pattern) +
         "; give more of a name to see one in full."});
  }
  report::Document document;
  for (const LeafExplanation& leaf : leaves) {
    for (report::Block& block : report::leaf_document(explanation, leaf).blocks) {
      document.blocks.push_back(std::move(block));
    }
  }
  return document;
}

int run(const Arguments& arguments) {
  const Question& question = arguments.question;
  Progress progress(!question.output.quiet);
  const Asked about = asked(question, question.prediction.sets, progress);
  PredictOptions options;
  set_options(question, progress, options);
  Explanation explanation = explain(about.source.resources, about.source.scenario, options);
  progress.finish();
  const std::vector<LeafExplanation> leaves = leaves_of(explanation, arguments.leaf);

  const std::vector<std::string> lines = settle_warnings(
      about.found, about.source.notes, question.output, explanation.prediction.warnings);
  Views views;
  views.text = [&](const TextStyle& style) {
    report::Document document = document_of(explanation, arguments.leaf, leaves);
    report::add_notes(document, messages_of(about.source.notes));
    return report::render_text(document, style);
  };
  views.json = [&] { return report::explanation_json(explanation, leaves); };
  views.markdown = [&] {
    report::Document document = document_of(explanation, arguments.leaf, leaves);
    report::add_warnings(document, explanation.prediction.warnings);
    return report::render_markdown(document);
  };
  emit(views, question.output, lines);
  return kAnswered;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const command =
      app.add_subcommand("explain", "Formulas, inputs and sources of a predicted time");
  add_scenario(*command, arguments->question);
  command->add_option("LEAF", arguments->leaf, "a path of the breakdown, or part of one")
      ->type_name("");
  add_question_options(*command, arguments->question, "", false);
  command->footer(
      "Without LEAF: the 20 longest in brief. \"step\" is the step time itself.\n"
      "Examples:\n"
      "  hysim explain glm-5.1-1m-h20-512 --variant hyscale\n"
      "  hysim explain glm-5.1-1m-h20-512 selection/topk\n"
      "  hysim explain glm-5.1-1m-h20-512 bubble --json -");
  command->callback([arguments, &action] {
    Question& question = arguments->question;
    // A job is no positional: the one there is names the leaf.
    if (!question.job.model.empty() && arguments->leaf.empty()) {
      std::swap(question.scenario, arguments->leaf);
    }
    require_scenario(question.scenario, question.job);
    action = [arguments] { return run(*arguments); };
  });
}

}  // namespace hysim::cli
