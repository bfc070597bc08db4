// A model as Megatron-LM's architecture arguments, both ways. Arguments become a Hugging Face
// config, which the model floor reads as any other; so a script and a bundled model are compared
// as what they are, whatever names they use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/node.h"
#include "hysim/megatron.h"
#include "model/transformer.h"
#include "predict/megatron/lookup.h"

namespace hysim::predictor {

/// The arguments that make Megatron-LM build `model`, and what of it they cannot say.
struct MegatronModel {
  std::vector<MegatronArgument> arguments;
  std::vector<std::string> unexpressed;
};
MegatronModel megatron_model(const model::Transformer& model);

/// A Hugging Face config of the architecture that the arguments describe; `vocab` stands in where
/// they do not say it. Faults go to `lookup`; null when there are any.
config::Node huggingface_config(MegatronLookup& lookup, std::int64_t vocab);

/// Whether two models have the same tensors and layer pattern. Names, positions, MTP layers and
/// where `vocab` is false the vocabulary do not count.
bool same_architecture(const model::Transformer& a, const model::Transformer& b, bool vocab);

}  // namespace hysim::predictor
