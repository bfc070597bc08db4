// Parameter counts against independently derived figures: totals, layers, stages, MTP; all exact.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "config/node.h"
#include "hysim/errors.h"
#include "model/transformer.h"
#include "test_paths.h"
#include "unit/model/model_files.h"

namespace hysim {
namespace {

using config::Node;
using model::ParameterCount;
using model::Transformer;

const Node& figures() {
  static const Node node = [] {
    const std::string path = std::string(HYSIM_TEST_DATA) + "/oracles/data/parameters.json";
    return config::parse(test::read_text(path).value(), path);
  }();
  return node;
}

std::int64_t figure(const Node& of, std::string_view key) {
  const Node* node = of.find(key);
  if (node == nullptr) throw std::out_of_range(std::string(key));
  return node->as_integer();
}

std::int64_t sum(const std::vector<model::Tensor>& tensors) {
  std::int64_t total = 0;
  for (const model::Tensor& tensor : tensors) total += tensor.count;
  return total;
}

class Parameters : public testing::TestWithParam<std::string> {
 protected:
  const Node& expected() const { return *figures().find("models")->find(GetParam()); }
};

TEST_P(Parameters, TotalsEqualTheDerivation) {
  const Transformer model = test::bundled(GetParam());
  EXPECT_EQ(model.vocab, figure(expected(), "vocab"));
  EXPECT_EQ(model.hidden, figure(expected(), "hidden"));
  const ParameterCount total = model::total_parameters(model);
  EXPECT_EQ(total.total, figure(expected(), "total"));
  EXPECT_EQ(total.matrices_and_embeddings, figure(expected(), "matrices_and_embeddings"));
  EXPECT_EQ(total.active, figure(expected(), "active"));
  EXPECT_EQ(total.routed_expert + total.tp_split + total.tp_replicated, total.total);
  EXPECT_EQ(sum(model::embedding_tensors(model)), figure(expected(), "embedding"));
  EXPECT_EQ(sum(model::head_tensors(model)), figure(expected(), "head"));
}

TEST_P(Parameters, LayersEqualTheDerivation) {
  const Transformer model = test::bundled(GetParam());
  std::map<std::string, std::int64_t> found;
  for (const model::LayerSpec& layer : model.layers) {
    const std::string kind = to_string(layer);
    const Node* of = expected().find("layers")->find(kind);
    ASSERT_NE(of, nullptr) << kind;
    if (++found[kind] > 1) continue;
    const ParameterCount count = model::count(model::layer_tensors(model, layer), model);
    EXPECT_EQ(count.total, figure(*of, "total")) << kind;
    EXPECT_EQ(count.matrices_and_embeddings, figure(*of, "matrices")) << kind;
    EXPECT_EQ(count.routed_expert, figure(*of, "routed_expert")) << kind;
    EXPECT_EQ(count.tp_split + count.tp_replicated, figure(*of, "other")) << kind;
    EXPECT_EQ(count.tp_split, figure(*of, "tp_split")) << kind;
    EXPECT_EQ(count.tp_replicated, figure(*of, "tp_replicated")) << kind;
    EXPECT_EQ(count.active, figure(*of, "active")) << kind;
    EXPECT_EQ(count.indexer, figure(*of, "indexer")) << kind;
  }
  for (const auto& [kind, of] : expected().find("layers")->as_object()) {
    EXPECT_EQ(found[kind], figure(of, "count")) << kind;
  }
}

TEST_P(Parameters, StagesEqualTheDerivation) {
  const Transformer model = test::bundled(GetParam());
  for (const Node::Member& member : expected().find("stages")->as_object()) {
    const std::string& name = member.first;
    const Node& layout = member.second;
    const auto& sizes = layout.find("layers")->as_array();
    std::size_t next = 0;
    for (std::size_t stage = 0; stage < sizes.size(); ++stage) {
      ParameterCount count;
      if (stage == 0) count += model::count(model::embedding_tensors(model), model);
      for (std::int64_t i = 0; i < sizes[stage].as_integer(); ++i) {
        count += model::count(model::layer_tensors(model, model.layers.at(next++)), model);
      }
      if (stage + 1 == sizes.size()) {
        count += model::count(model::head_tensors(model), model);
        if (model.tied_embedding && sizes.size() > 1) count.total += model.vocab * model.hidden;
      }
      const auto expect = [&](std::string_view kind) {
        return layout.find(kind)->as_array().at(stage).as_integer();
      };
      EXPECT_EQ(count.total - count.routed_expert, expect("dense")) << name << " stage " << stage;
      EXPECT_EQ(count.routed_expert, expect("expert")) << name << " stage " << stage;
    }
    EXPECT_EQ(next, model.layers.size()) << name;
  }
}

TEST_P(Parameters, MtpLayerEqualsTheDerivation) {
  const Transformer model = test::bundled(GetParam());
  if (expected().find("mtp_layer") == nullptr) {
    EXPECT_EQ(model.mtp_layers, 0);
    return;
  }
  EXPECT_EQ(model.mtp_layers, 1);
  EXPECT_EQ(sum(model::layer_tensors(model, model::mtp_layer(model))) +
                sum(model::mtp_extra_tensors(model)),
            figure(expected(), "mtp_layer"));
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (c == '-' || c == '.') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Oracles, Parameters,
                         testing::Values("glm-5.1", "deepseek-v3.2", "llama3.1-405b",
                                         "qwen3-235b-a22b", "gpt3-175b", "mixtral-8x7b"),
                         test_name);

TEST(ParametersOracle, EveryModelOfTheDerivationIsCheckedOrRefusedByName) {
  int refused = 0;
  for (const auto& [name, of] : figures().find("models")->as_object()) {
    const Node* needs = of.find("needs");
    if (needs == nullptr) {
      EXPECT_NO_THROW(test::bundled(name)) << name;
      continue;
    }
    ++refused;
    try {
      test::bundled(name);
      ADD_FAILURE() << name << " was not refused";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(needs->as_string()), std::string::npos)
          << error.what();
    }
  }
  EXPECT_EQ(refused, 2);
}

// The bundled file and the derivation agree: GPT-3's own vocabulary, not Megatron's padded 51200.
TEST(ParametersOracle, Gpt3KeepsItsOwnVocabulary) {
  EXPECT_EQ(test::bundled("gpt3-175b").vocab, 50257);
  EXPECT_EQ(test::bundled("megatron-175b").vocab, 51200);
}

}  // namespace
}  // namespace hysim
