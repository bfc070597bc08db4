// Every setting of the schema, given to dense and sparse jobs: it changes the prediction, or a
// warning or a fault names it.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/node.h"
#include "unit/predict/scenarios.h"

namespace hysim::predictor {
namespace {

using config::Node;
using test::predict_nominal;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Property;

/// One setting of the schema and values to try.
struct Setting {
  std::string path;
  std::vector<std::string> values;  // as JSON
};

const Node& schema() {
  static const Node value = config::parse(test::bundled_text("schemas/scenario.json"), "schema");
  return value;
}

const Node& followed(const Node& rule) {
  const Node* const ref = rule.find("$ref");
  if (ref == nullptr) return rule;
  const std::string name = ref->as_string().substr(std::string_view("#/$defs/").size());
  return *schema().find("$defs")->find(name);
}

bool allows(const Node& rule, std::string_view type) {
  const Node* const types = rule.find("type");
  if (types == nullptr) return false;
  if (types->is_string()) return types->as_string() == type;
  return std::any_of(types->as_array().begin(), types->as_array().end(),
                     [&](const Node& node) { return node.as_string() == type; });
}

/// Quoted, the words before ", or": "naive, table, fused, or a kernel that a document defines".
std::vector<std::string> words_of(const std::string& description) {
  std::vector<std::string> words;
  const std::string list = description.substr(0, description.find(", or a kernel"));
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(", ", at), list.size());
    words.push_back("\"" + list.substr(at, end - at) + "\"");
    at = end + 2;
  }
  return words;
}

std::vector<std::string> values_of(const Node& rule) {
  std::vector<std::string> values;
  if (const Node* const words = rule.find("enum"); words != nullptr) {
    for (const Node& word : words->as_array()) {
      if (!word.is_null()) values.push_back(config::to_text(word));
    }
  }
  if (rule.find("pattern") != nullptr) {
    values = {"\"cp-tp-ep-dp-pp\"", "\"tp-cp-pp-ep-dp\"", "\"dp-pp-ep-cp-tp\""};
  } else if (allows(rule, "string") && !allows(rule, "integer") &&
             rule.find("description") != nullptr) {
    values = words_of(rule.find("description")->as_string());
  } else if (allows(rule, "string") && !allows(rule, "integer")) {
    values = {"\"none-such\""};
  }
  if (allows(rule, "boolean")) values = {"true", "false"};
  if (allows(rule, "number")) values = {"0.5", "1", "1.5"};
  if (allows(rule, "integer")) {
    for (const char* number :
         {"0", "1", "2", "3", "4", "8", "12", "16", "64", "512", "8192", "1048576", "4294967296"}) {
      values.emplace_back(number);
    }
  }
  if (allows(rule, "array") && rule.find("items")->find("enum") != nullptr) {
    values.emplace_back("[]");
    for (const Node& word : rule.find("items")->find("enum")->as_array()) {
      values.push_back("[" + config::to_text(word) + "]");
      values.push_back("[\"core_attn\", " + config::to_text(word) + "]");
    }
  } else if (allows(rule, "array")) {
    values.insert(values.end(), {"[]", "[1]", "[1, 1]", "[2, 4]", "[16, 16]"});
  }
  return values;
}

void collect(const std::string& path, const Node& given, std::vector<Setting>& settings) {
  const Node& rule = followed(given);
  if (const Node* const keys = rule.find("properties"); keys != nullptr) {
    for (const auto& [key, below] : keys->as_object()) {
      collect(path.empty() ? key : path + "." + key, below, settings);
    }
    return;
  }
  settings.push_back({path, values_of(rule)});
}

std::vector<Setting> all_settings() {
  std::vector<Setting> settings;
  for (const char* section : {"workload", "parallelism", "training", "kernels"}) {
    collect(section, *schema().find("$defs")->find(section), settings);
  }
  return settings;
}

/// What a prediction answers, without what it repeats of the question.
std::string answer(Prediction prediction) {
  prediction.resolved_scenario.clear();
  prediction.warnings.clear();
  prediction.assumptions.clear();
  prediction.inputs.clear();
  return test::fingerprint(prediction);
}

bool names(const Diagnostic& fault, const std::string& path) {
  const std::string key = path.substr(path.rfind('.') + 1);
  // Micro-batches are what is left of a batch.
  if (key == "global_batch_size" && fault.message.find("micro-batches") != std::string::npos) {
    return true;
  }
  return fault.file.find(path) != std::string::npos ||  // "--set PATH=VALUE: changes nothing"
         fault.pointer.find("/" + key) != std::string::npos ||
         fault.message.find(key) != std::string::npos;
}

std::string setting_in(const Prediction& prediction, const std::string& path) {
  const Node document = config::parse(prediction.resolved_scenario, "resolved");
  const Node* const value = config::find_path(document, path);
  return value == nullptr ? "" : config::to_text(*value);
}

/// "" where `set` has an effect or is told to have none.
std::string silent(const ScenarioText& scenario, const Prediction& base, const std::string& path,
                   const std::string& set) {
  try {
    const Prediction changed = predict_nominal(scenario, {set});
    if (setting_in(changed, path) == setting_in(base, path)) return "";  // had that value
    if (answer(changed) != answer(base)) return "";
    const bool told =
        std::any_of(changed.warnings.begin(), changed.warnings.end(), [&](const Warning& warning) {
          return warning.id.starts_with("inert-") && warning.message.starts_with(path + " ");
        });
    return told ? "" : "changes nothing and nothing says so";
  } catch (const InputError& error) {
    const auto& faults = error.diagnostics();
    const bool told = std::any_of(faults.begin(), faults.end(),
                                  [&](const Diagnostic& fault) { return names(fault, path); });
    return told ? "" : "is refused without its name: " + faults.front().message;
  }
}

void expect_no_silent_setting(const ScenarioText& scenario) {
  const Prediction base = predict_nominal(scenario);
  int tried = 0;
  for (const Setting& setting : all_settings()) {
    for (const std::string& value : setting.values) {
      const std::string set = setting.path + "=" + value;
      EXPECT_EQ(silent(scenario, base, setting.path, set), "") << scenario.path << " " << set;
      ++tried;
    }
    EXPECT_THAT(setting.values, testing::Not(IsEmpty())) << setting.path;
  }
  EXPECT_GT(tried, 200);
}

TEST(InertSettings, NoneIsSilentInADenseJobOfOneNode) { expect_no_silent_setting(test::dense()); }

TEST(InertSettings, NoneIsSilentInADenseJobOfManyNodes) {
  expect_no_silent_setting(test::bundled_scenario("llama3.1-405b-8k-h100-512"));
}

TEST(InertSettings, NoneIsSilentInASparseJob) {
  expect_no_silent_setting(test::bundled_scenario("glm-5.1-128k-h20-512"));
}

/// Beside what Megatron's cuDNN backend does as a whole: it pads DeepSeek's 64 heads to 64 and
/// crops keys where cp is 1; and 2K tokens of GLM-5.2 are no more than its top-k.
TEST(InertSettings, BundledScenariosHaveNone) {
  for (const test::BundledVariant& v : test::bundled_variants()) {
    if (v.name == "glm-5.2-2k-h100-352") continue;
    for (const Warning& warning : predict_nominal(v.scenario, {}, v.variant).warnings) {
      if (warning.id == "inert-loss-head-multiple") continue;
      EXPECT_FALSE(warning.id.starts_with("inert-"))
          << v.name << " " << v.variant << ": " << warning.message;
    }
  }
}

/// A prediction's own settings, defaults written out, set nothing that changes nothing.
TEST(InertSettings, TheEchoSetsNone) {
  const ScenarioText echo = {predict_nominal(test::dense()).resolved_scenario, "echo.json"};
  EXPECT_THAT(test::ids_of(predict_nominal(echo)),
              testing::Not(Contains(testing::StartsWith("inert-"))));
}

TEST(InertSettings, TheWarningSaysWhatWouldMakeItCount) {
  const ScenarioText sparse = test::bundled_scenario("glm-5.1-128k-h20-512");
  EXPECT_THAT(
      predict_nominal(sparse, {"kernels.score_chunk_rows=64", "kernels.score_chunk_bytes=1 MiB"})
          .warnings,
      Contains(
          Property(&Warning::text, HasSubstr("[inert-score-chunk-bytes] kernels.score_chunk_bytes "
                                             "changes nothing: kernels.score_chunk_rows is set"))));
  EXPECT_THAT(
      predict_nominal(test::dense(), {"training.recompute=none", "training.recompute_method=block"})
          .warnings,
      Contains(Property(&Warning::text, HasSubstr("it matters to recompute full only"))));
}

}  // namespace
}  // namespace hysim::predictor
