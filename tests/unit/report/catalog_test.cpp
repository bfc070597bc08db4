// Lists and single documents, against models and profiles written here and against bundled ones.
#include "report/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hysim/resources.h"
#include "report/table.h"

namespace hysim::report {
namespace {

using nlohmann::json;
using testing::HasSubstr;

model::LayerSpec spec(model::IndexRole index, model::FfnKind ffn = model::FfnKind::moe) {
  return {model::AttentionKind::dsa, index, ffn};
}

TEST(LayerPattern, CountsRuns) {
  std::vector<model::LayerSpec> layers(3, spec(model::IndexRole::computes, model::FfnKind::dense));
  layers.insert(layers.end(), 75, spec(model::IndexRole::computes));
  EXPECT_EQ(layer_pattern(layers), "3 x dsa+dense, 75 x dsa+moe");
  EXPECT_EQ(layer_pattern({}), "");
  EXPECT_EQ(layer_pattern({spec(model::IndexRole::computes)}), "dsa+moe");
}

TEST(LayerPattern, CountsRepeatedGroups) {
  std::vector<model::LayerSpec> layers;
  for (int i = 0; i < 5; ++i) {
    layers.push_back(spec(model::IndexRole::computes));
    layers.insert(layers.end(), 3, spec(model::IndexRole::shared));
  }
  layers.push_back(spec(model::IndexRole::computes));
  EXPECT_EQ(layer_pattern(layers), "5 x (dsa+moe, 3 x dsa-shared+moe), dsa+moe");
}

TEST(ParameterText, PicksAUnit) {
  EXPECT_EQ(parameter_text(743911199232.0), "744 B");
  EXPECT_EQ(parameter_text(1.01e12), "1.01 T");
  EXPECT_EQ(parameter_text(600e6), "600 M");
}

TEST(ModelView, CountsParametersByKind) {
  const auto model = model::load_transformer(embedded_resources(), "glm-5.1");
  const json node = json::parse(model_json(model));
  EXPECT_EQ(node.at("schema"), "hysim.show/1");
  EXPECT_EQ(node.at("kind"), "model");
  const json& parameters = node.at("parameters");
  EXPECT_EQ(parameters.at("total"), 743911199232);
  EXPECT_EQ(parameters.at("active"), 41784709632);
  EXPECT_EQ(parameters.at("by_kind").at("dsa+dense").at("each"), 400898816);
  EXPECT_EQ(parameters.at("by_kind").at("dsa+moe").at("each"), 9877404416);
  EXPECT_EQ(parameters.at("by_kind").at("dsa+moe").at("layers"), 75);
  EXPECT_EQ(parameters.at("mtp_not_in_total"), 9952920320);
  std::int64_t total = 0;
  std::int64_t active = 0;
  for (const json& kind : parameters.at("by_kind")) {
    total += kind.at("total").get<std::int64_t>();
    active += kind.at("active").get<std::int64_t>();
  }
  EXPECT_EQ(total, 743911199232);
  EXPECT_EQ(active, 41784709632);
  EXPECT_EQ(node.at("layers").at(1), json({{"kind", "dsa+moe"}, {"count", 75}}));
  EXPECT_EQ(node.at("indexer").at("top_k"), 2048);
}

TEST(ModelView, TextHasTheCounts) {
  const auto model = model::load_transformer(embedded_resources(), "glm-5.1");
  const std::string text = render_text(model_document(model), {});
  EXPECT_THAT(text, testing::StartsWith("glm-5.1: 744 B parameters, 41.8 B active a token\n"));
  EXPECT_THAT(text, HasSubstr("78: 3 x dsa+dense, 75 x dsa+moe"));
  EXPECT_THAT(text, HasSubstr("743,911,199,232"));
}

TEST(ModelView, ADenseModelHasNoExperts) {
  const auto model = model::load_transformer(embedded_resources(), "llama3.1-405b");
  const json node = json::parse(model_json(model));
  EXPECT_EQ(node.at("parameters").at("total"), 405853388800);
  EXPECT_FALSE(node.contains("moe"));
  EXPECT_FALSE(node.contains("indexer"));
}

TEST(GpuView, NamesEverySource) {
  const auto profile = hardware::load_gpu_profile(embedded_resources(), "h20-96");
  const json node = json::parse(gpu_json(profile));
  EXPECT_EQ(node.at("kind"), "gpu");
  EXPECT_EQ(node.at("fields").size(), hardware::gpu_fields().size());
  const json& bf16 = node.at("fields").at("bf16");
  EXPECT_EQ(bf16.at("value"), 148e12);
  EXPECT_EQ(bf16.at("unit"), "flop/s");
  EXPECT_FALSE(bf16.at("source").get<std::string>().empty());
  const std::string text = render_text(gpu_document(profile), {});
  EXPECT_THAT(text, HasSubstr("148 Tflop/s"));
  EXPECT_THAT(text, HasSubstr("\nSources\n[1] "));
}

TEST(EveryBundledDocument, FitsEightyColumns) {
  const Resources resources = embedded_resources();
  const auto expect_narrow = [](const Document& document) {
    const std::string text = render_text(document, {});
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t end = text.find('\n', at);
      EXPECT_LE(display_width(text.substr(at, end - at)), 80) << text.substr(at, end - at);
      at = end + 1;
    }
  };
  for (const std::string& path : resources.list("hw_profiles/gpus")) {
    expect_narrow(gpu_document(hardware::parse_gpu_profile(*resources.read(path), path)));
  }
  for (const char* folder : {"hw_profiles/clusters", "hw_profiles/stacks"}) {
    for (const std::string& path : resources.list(folder)) {
      expect_narrow(profile_document("profile", path, config::parse(*resources.read(path), path)));
    }
  }
  for (const std::string& path : resources.list("scenarios")) {
    expect_narrow(scenario_document(path, config::parse(*resources.read(path), path)));
  }
}

TEST(ProfileView, ShowsNumbersWithTheirSources) {
  const auto document = config::parse(R"({
    "schema": "hysim.cluster/1", "name": "c", "gpu": "h20-96", "nodes": 64, "gpus_per_node": 8,
    "nic_bandwidth": {"value": 400, "unit": "Gbit/s", "low": 300, "high": 400,
                      "kind": "datasheet", "source": "ConnectX-7"}})",
                                      "c.json");
  const std::string text = render_text(profile_document("cluster", "c", document), {});
  EXPECT_THAT(text, HasSubstr("GPUs           512\n"));
  EXPECT_THAT(text, HasSubstr("nic_bandwidth  400 Gbit/s  [300, 400]  datasheet [1]\n"));
  EXPECT_THAT(text, HasSubstr("[1] ConnectX-7\n"));
  const json node = json::parse(raw_json("cluster", "c", document));
  EXPECT_EQ(node.at("gpus"), 512);
  EXPECT_EQ(node.at("document").at("nic_bandwidth").at("value"), 400);
  const ListEntry entry = list_entry("c", document);
  EXPECT_EQ(entry.summary, "64 x 8 h20-96");
}

TEST(ScenarioView, ShowsVariantsAndTheirSteps) {
  const auto document = config::parse(R"({
    "schema": "hysim.scenario/1", "name": "s", "model": "glm-5.1", "cluster": "h20-512",
    "workload": {"seq_len": "1M"},
    "variants": {"base": {}, "new": [
        {"step": "HyTopK", "set": {"kernels": {"selection": "hytopk"}}},
        {"step": "replay", "set": {"kernels": {"selection_replay": true}}}]}})",
                                      "s.json");
  const std::string text = render_text(scenario_document("s", document), {});
  EXPECT_THAT(text, HasSubstr("workload.seq_len  1M\n"));
  EXPECT_THAT(text, HasSubstr("base  as above\n"));
  EXPECT_THAT(
      text,
      HasSubstr("new   HyTopK: kernels.selection=hytopk; replay: kernels.selection_replay=true\n"));
  EXPECT_EQ(list_entry("s", document).summary, "glm-5.1 on h20-512, 1M tokens");
}

TEST(ListView, FaultyDocumentsAreListed) {
  const Listing listing{"models", {list_entry_of_fault("bad", "needs x; known: y")}};
  EXPECT_EQ(render_text(list_document({listing}), {}), "bad  not usable: needs x\n");
  const json node = json::parse(list_json({listing}));
  EXPECT_EQ(node.at("schema"), "hysim.list/1");
  EXPECT_EQ(node.at("models").at(0).at("usable"), false);
  EXPECT_EQ(node.at("models").at(0).at("error"), "needs x; known: y");
}

}  // namespace
}  // namespace hysim::report
