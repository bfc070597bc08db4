// What the commands that ask about one scenario share (explain, sensitivity, breakeven, sweep):
// their options, the documents they are about, and how the what-if ones show their answer. The
// scenario may be a file or be made of a job's options.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/executor.h"
#include "cli/job_options.h"
#include "cli/options.h"
#include "report/views.h"

namespace hysim::cli {

struct Question {
  std::string scenario;
  JobText job;  // instead of a scenario
  std::string variant;
  std::string baseline;
  PredictionOptions prediction;
  std::vector<std::string> profiles;
  OutputOptions output;
};

/// SCENARIO or the options of a job; `require_scenario` belongs into the command's callback.
void add_scenario(CLI::App& command, Question& question);
/// --variant, --baseline unless its description is empty, and the options of every prediction.
void add_question_options(CLI::App& command, Question& question, const std::string& baseline,
                          bool csv);

/// The documents a question is about.
struct Asked {
  std::vector<std::string> found;  // warnings of $HYSIM_PATH
  ScenarioSource source;
};
/// `named`: the settings whose values may name files.
Asked asked(const Question& question, const std::vector<SetText>& named, Progress& progress);

template <class Options>
void set_options(const Question& question, Progress& progress, Options& options) {
  options.variant = question.variant;
  options.sets = question.prediction.sets;
  options.seed = question.prediction.seed;
  options.draws = question.prediction.draws;
  options.executor = parallel_executor(progress);
}

/// Shows the answer in the views asked for, after the warnings of where documents were found.
/// `csv` may be empty.
template <class Result>
int show(const Question& question, const Asked& about, Result result,
         report::Document (*document_of)(const Result&),
         std::string (*csv)(const Result&) = nullptr) {
  const std::vector<std::string> lines =
      settle_warnings(about.found, about.source.notes, question.output, result.warnings);
  Views views;
  views.text = [&](const TextStyle& style) {
    report::Document document = document_of(result);
    report::add_notes(document, messages_of(about.source.notes));
    return report::render_text(document, style);
  };
  views.json = [&] { return to_json(result); };
  if (csv != nullptr) views.csv = [&] { return csv(result); };
  views.markdown = [&] {
    report::Document document = document_of(result);
    report::add_warnings(document, result.warnings);
    return report::render_markdown(document);
  };
  emit(views, question.output, lines);
  return kAnswered;
}

}  // namespace hysim::cli
