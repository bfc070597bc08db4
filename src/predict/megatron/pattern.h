// The two small languages in which Megatron-LM takes layer patterns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hysim::predictor {

/// --moe-layer-freq: N (layer i holds experts iff i % N == 0) or a Python expression of lists,
/// "([0]*3+[1]*58)". Nothing when it is neither, or has another number of layers.
std::optional<std::vector<bool>> parse_layer_frequency(std::string_view text, std::int64_t layers);

/// --pipeline-model-parallel-layout "Et*3|(tt|)*29,m|L": chunks in model order (virtual stages
/// outermost), t a layer, m an MTP layer, E the embedding, L the loss.
struct MegatronLayout {
  std::vector<std::int64_t> layers;  // of each chunk
  std::vector<std::int64_t> mtp;     // MTP layers of each chunk
};
std::optional<MegatronLayout> parse_pipeline_layout(std::string_view text);
/// The shortest way we have to write it: "Et*9|t*10|...|t*9,mL".
std::string pipeline_layout_text(const MegatronLayout& layout);

}  // namespace hysim::predictor
