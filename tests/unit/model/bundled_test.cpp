// Every bundled model parses to its published size or is refused by the block kinds it needs.
#include <cstdint>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "hysim/errors.h"
#include "unit/model/model_files.h"

namespace hysim {
namespace {

const std::map<std::string, std::string>& refused_models() {
  static const std::map<std::string, std::string> models = {
      {"deepseek-v4-flash", "deepseek_v4 needs CSA and HCA attention"},
      {"deepseek-v4-pro", "deepseek_v4 needs CSA and HCA attention"},
      {"deepseek-v4.1-flash", "deepseek_v41 needs CSA attention"},
      {"glm-5.3-flash", "glm5_next needs KDA linear attention"},
      {"kimi-k3", "kimi_k3 needs KDA linear attention"},
      {"longcat-flash", "longcat_flash needs layers of two attentions"},
      {"minicpm4.1-8b-infllmv2", "minicpm needs InfLLM-v2 attention"},
      {"minimax-m3", "minimax_m3 needs MSA attention"},
      {"qwen3-next-80b-a3b", "qwen3_next needs GDN linear attention"},
      {"qwen3.5-122b-a10b", "qwen3_5_moe_text needs GDN linear attention"},
      {"qwen3.5-27b", "qwen3_5_text needs GDN linear attention"},
      {"qwen3.5-35b-a3b", "qwen3_5_moe_text needs GDN linear attention"},
      {"qwen3.5-397b-a17b", "qwen3_5_moe_text needs GDN linear attention"},
      {"qwen3.8-flash-next", "qwen4_exp_text needs GDN linear attention, QSA attention"},
  };
  return models;
}

TEST(BundledModels, AreAllThere) { EXPECT_EQ(test::model_names().size(), 44U); }

// The note in each file was computed apart from this code, without norms and biases, and rounded
// to ten million.
TEST(BundledModels, HaveTheSizeTheirFilesNote) {
  int checked = 0;
  for (const std::string& name : test::model_names()) {
    if (refused_models().count(name) != 0) continue;
    const config::Node config = test::bundled_config(name);
    const config::Node* note = config.find("_params_computed");
    ASSERT_NE(note, nullptr) << name;
    const model::Transformer model = test::bundled(name);
    const model::ParameterCount count = model::total_parameters(model);
    EXPECT_NEAR(static_cast<double>(count.matrices_and_embeddings) / 1e9,
                note->find("total_B")->as_number(), 0.005001)
        << name;
    EXPECT_NEAR(
        static_cast<double>(count.active - (count.total - count.matrices_and_embeddings)) / 1e9,
        note->find("active_B_incl_embeddings")->as_number(), 0.005001)
        << name;
    EXPECT_EQ(model.name, name);
    EXPECT_FALSE(model.sources.empty()) << name;
    ++checked;
  }
  EXPECT_EQ(checked, 30);
}

// Element counts of the published checkpoints.
TEST(BundledModels, EqualPublishedCheckpoints) {
  const std::map<std::string, std::int64_t> published = {
      {"deepseek-v2", 235'741'434'880},  {"llama2-7b", 6'738'415'616},
      {"llama2-70b", 68'976'648'192},    {"llama3-8b", 8'030'261'248},
      {"llama3-70b", 70'553'706'496},    {"llama3.1-405b", 405'853'388'800},
      {"mixtral-8x7b", 46'702'792'704},  {"qwen2.5-7b", 7'615'616'512},
      {"qwen2.5-14b", 14'770'033'664},   {"qwen2.5-32b", 32'763'876'352},
      {"qwen2.5-72b", 72'706'203'648},   {"qwen3-0.6b", 596'049'920},
      {"qwen3-8b", 8'190'735'360},       {"qwen3-32b", 32'762'123'264},
      {"qwen3-30b-a3b", 30'532'122'624}, {"qwen3-235b-a22b", 235'093'634'560},
      {"deepseek-v3", 671'026'404'352},  // 671,026,419,200 with the 14,848 router bias buffers
  };
  for (const auto& [name, total] : published) {
    EXPECT_EQ(model::total_parameters(test::bundled(name)).total, total) << name;
  }
}

TEST(BundledModels, AreRefusedByTheBlockKindsTheyNeed) {
  for (const auto& [name, reason] : refused_models()) {
    try {
      test::bundled(name);
      ADD_FAILURE() << name << " was not refused";
    } catch (const InputError& error) {
      ASSERT_EQ(error.diagnostics().size(), 1U) << error.what();
      const Diagnostic& fault = error.diagnostics().front();
      EXPECT_EQ(fault.message.substr(0, reason.size()), reason);
      EXPECT_NE(fault.message.find("supported model_types: deepseek_v2, "), std::string::npos);
      EXPECT_EQ(fault.pointer, "/model_type");
      EXPECT_EQ(fault.file, "models/" + name + ".json");
      EXPECT_EQ(fault.line, 2);
    }
  }
}

std::string load_message(const Resources& resources, std::string_view name) {
  try {
    model::load_transformer(resources, name);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(LoadTransformer, NamesTheNearestModel) {
  EXPECT_EQ(load_message(test::source_tree(), "glm5.1"),
            "models: no model named \"glm5.1\"; did you mean \"glm-5.1\"? "
            "(`hysim list models` shows all)");
  EXPECT_EQ(load_message(test::source_tree(), "mixtral-8x7B"),
            "models: no model named \"mixtral-8x7B\"; did you mean \"mixtral-8x7b\"? "
            "(`hysim list models` shows all)");
}

TEST(LoadTransformer, SaysWhereTheNamesAreWhenNoneIsNear) {
  const Resources two = memory_resources({{"models/abc-1.json", "{}"}, {"models/abc-2.json", ""}});
  EXPECT_EQ(load_message(two, "something-else"),
            "models: no model named \"something-else\" (`hysim list models` shows all)");
}

TEST(LoadTransformer, ReportsFaultsInTheFileItRead) {
  const Resources one = memory_resources({{"models/abc.json", "{\"model_type\": 1}"}});
  const std::string message = load_message(one, "abc");
  EXPECT_NE(message.find("models/abc.json:1:16 (/model_type): "), std::string::npos) << message;
}

}  // namespace
}  // namespace hysim
