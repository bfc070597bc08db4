#include "cost/card.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "config/node.h"

namespace hysim::cost {

namespace {

using config::Card;
using hardware::Gpu;
using ops::CountRule;
using ops::Kernel;
using ops::Precision;
using ops::Work;

std::string number_text(double value) {
  const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
  return config::to_text(whole ? config::Node::integer(static_cast<std::int64_t>(value))
                               : config::Node::number(value));
}

/// "product of m x k by k x n: m 4096, n 6144, k 2048"
std::string use_of(const Work& work) {
  if (work.rule == nullptr) return "";
  std::string text = work.rule->what;
  std::string_view names = work.rule->names;
  for (std::size_t i = 0; !names.empty(); ++i) {
    const std::size_t end = std::min(names.find(' '), names.size());
    text += i == 0 ? ": " : ", ";
    text += std::string(names.substr(0, end)) + " " + number_text(work.sizes[i]);
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return text;
}

/// A card that takes its numbers from one Work and one GPU.
class KernelCard {
 public:
  KernelCard(std::string title, std::string leaves_out, const Work& work, const Gpu& gpu)
      : work_(work), gpu_(gpu) {
    card_.title = std::move(title);
    card_.leaves_out = std::move(leaves_out);
    card_.where = "src/cost/kernel_time.cpp";
    card_.use = use_of(work);
  }

  template <class Known>
  void field(const std::string& symbol, const std::string& key, const Known& known) {
    if constexpr (std::is_same_v<decltype(known.value), double>) {
      card_.field(symbol, "gpu/" + key, known.value);
    } else {
      card_.field(symbol, "gpu/" + key, known.value.si());
    }
  }
  /// A constant of an efficiency law, under its key.
  template <class Known>
  void law(const std::string& key, const Known& known) {
    field(key, "laws/" + key, known);
  }
  void define(std::string symbol, std::string formula, std::string unit, std::string meaning) {
    card_.define(std::move(symbol), std::move(formula), std::move(unit), std::move(meaning));
  }
  /// A number of the Work by the formula of its rule, of which the Work is a share.
  void counted(std::string symbol, double value, std::string unit, std::string meaning,
               const char* CountRule::*formula, bool shared = true) {
    config::Origin origin;
    if (const CountRule* const rule = work_.rule) {
      origin.where = rule->where;
      origin.settings = rule->settings;
      const char* const text = rule->*formula;
      origin.counted = text != nullptr ? text : "0";
      if (text != nullptr && shared && work_.share != 1.0) {
        origin.counted = number_text(work_.share) + " * (" + origin.counted + ")";
      }
    }
    card_.counted(std::move(symbol), value, std::move(unit), std::move(meaning), std::move(origin));
  }

  void flops() {
    counted("flops", work_.flops.si(), "flop", "on the tensor pipe", &CountRule::flops);
  }

  /// The peak of the Work's precision; answers with its symbol.
  std::string peak() {
    if (work_.precision == Precision::fp8) {
      field("fp8", "fp8", gpu_.fp8);
      return "fp8";
    }
    field("bf16", "bf16", gpu_.bf16);
    return "bf16";
  }

  void sm_cycles() {
    field("sm_count", "sm_count", gpu_.sm_count);
    field("clock", "clock", gpu_.clock);
  }

  /// flops / (peak x fraction [x wave]).
  template <class Known>
  void tensor_side(const std::string& fraction_key, const Known& fraction) {
    flops();
    field("bf16", "bf16", gpu_.bf16);
    law(fraction_key, fraction);
    define("compute", "flops / (bf16 * " + fraction_key + ")", "s", "tensor side");
  }

  void wave() {
    if (work_.tiles <= 0.0) {
      define("wave", "1", "1", "no tiles: no wave quantisation");
      return;
    }
    counted("tiles", work_.tiles, "1", "output tiles of 128 x 128", &CountRule::tiles);
    counted("depth", work_.depth, "1", "length of the inner product", &CountRule::depth, false);
    field("sm_count", "sm_count", gpu_.sm_count);
    define("pieces", "max(1, min(floor(depth / 512), floor(sm_count / tiles)))", "1",
           "inner products are split while tiles are fewer than SMs");
    define("wave", "tiles * pieces / (ceil(tiles * pieces / sm_count) * sm_count)", "1",
           "share of the SMs busy in whole waves");
  }

  void gemm_side(const std::string& bf16_key, const hardware::Known<double>& bf16,
                 const std::string& fp8_key, const hardware::Known<double>& fp8) {
    flops();
    wave();
    if (work_.precision == Precision::fp32) {
      field("fp32", "fp32", gpu_.fp32);
      define("compute", "flops / (fp32 * wave)", "s", "fp32 lanes");
      return;
    }
    const bool is_fp8 = work_.precision == Precision::fp8;
    const std::string peak_symbol = peak();
    const std::string& key = is_fp8 ? fp8_key : bf16_key;
    law(key, is_fp8 ? fp8 : bf16);
    define("compute", "flops / (" + peak_symbol + " * " + key + " * wave)", "s", "tensor side");
  }

  void score_side(const std::string& symbol) {
    flops();
    const std::string peak_symbol = peak();
    law("score_tensor_fraction", gpu_.score_tensor_fraction);
    define("mma", "flops / (" + peak_symbol + " * score_tensor_fraction)", "s",
           "matrix part of scoring");
    counted("pairs", work_.units, "1", "scored query-key pairs", &CountRule::units);
    counted("heads", work_.heads, "1", "index heads", &CountRule::heads, false);
    law("score_epilogue_cycles", gpu_.score_epilogue_cycles);
    law("score_epilogue_lane_ops", gpu_.score_epilogue_lane_ops);
    sm_cycles();
    define("epilogue",
           "pairs * (score_epilogue_cycles + heads * score_epilogue_lane_ops / 128) / "
           "(sm_count * clock)",
           "s", "relu, weights and sum over heads on the 128 fp32 lanes of an SM, after the MMA");
    define(symbol, "mma + epilogue", "s", "a warpgroup does not overlap the two");
  }

  void stream_inputs() {
    counted("read", work_.read.si(), "B", "streamed from device memory", &CountRule::read);
    counted("written", work_.written.si(), "B", "streamed to device memory", &CountRule::written);
    field("hbm_bandwidth", "hbm_bandwidth", gpu_.hbm_bandwidth);
    law("stream_fraction", gpu_.stream_fraction);
  }
  void stream_side() {
    stream_inputs();
    define("memory", "(read + written) / (hbm_bandwidth * stream_fraction)", "s", "memory side");
  }
  void row_side() {
    stream_inputs();
    counted("gathered", work_.gathered.si(), "B", "random rows read", &CountRule::gathered);
    counted("scattered", work_.scattered.si(), "B",
            "random rows accumulated into: each is read and written", &CountRule::scattered);
    law("l2_hit_gather", gpu_.l2_hit_gather);
    law("l2_hit_scatter", gpu_.l2_hit_scatter);
    law("scatter_fraction", gpu_.scatter_fraction);
    define("missed", "gathered * (1 - l2_hit_gather) + 2 * scattered * (1 - l2_hit_scatter)", "B",
           "rows that L2 does not serve");
    define("memory",
           "(read + written) / (hbm_bandwidth * stream_fraction) + missed / (hbm_bandwidth * "
           "scatter_fraction)",
           "s", "memory side");
  }

  template <class Cycles, class PerElement>
  void topk(const std::string& name, const Cycles& cycles, const PerElement& bytes) {
    counted("elements", work_.units, "1", "elements of the score table passed over",
            &CountRule::units);
    law(name + "_cycles", cycles);
    sm_cycles();
    define("compute", "elements * " + name + "_cycles / (sm_count * clock)", "s",
           "instruction issue");
    stream_inputs();
    law(name + "_bytes", bytes);
    define("memory",
           "(read + written + elements * " + name + "_bytes) / (hbm_bandwidth * stream_fraction)",
           "s", "memory side");
  }

  Card slower_side() {
    define("t", "max(compute, memory)", "s", "one execution");
    return std::move(card_);
  }
  Card memory_only() {
    define("t", "memory", "s", "one execution");
    return std::move(card_);
  }

 private:
  const Work& work_;
  const Gpu& gpu_;
  Card card_;
};

}  // namespace

Card kernel_card(const Work& work, const Gpu& gpu) {
  const auto card = [&](std::string title, std::string leaves_out) {
    return KernelCard(std::move(title), std::move(leaves_out), work, gpu);
  };
  const std::string tiles_out = "tile shapes other than 128 x 128, clock throttling";
  const std::string rows_out =
      "how L2 hits depend on length and heads: the hit rates are constants";
  switch (work.kernel) {
    case Kernel::gemm: {
      KernelCard c = card("matrix product", tiles_out);
      c.gemm_side("gemm_bf16", gpu.gemm_bf16, "gemm_fp8", gpu.gemm_fp8);
      c.stream_side();
      return c.slower_side();
    }
    case Kernel::grouped_gemm: {
      KernelCard c = card("matrix products of the experts", tiles_out);
      c.gemm_side("grouped_gemm_bf16", gpu.grouped_gemm_bf16, "grouped_gemm_fp8",
                  gpu.grouped_gemm_fp8);
      c.stream_side();
      return c.slower_side();
    }
    case Kernel::attention_forward: {
      KernelCard c = card("dense attention, forward", "short sequences, which reach less");
      c.tensor_side("attention_forward", gpu.attention_forward);
      c.stream_side();
      return c.slower_side();
    }
    case Kernel::attention_backward: {
      KernelCard c = card("dense attention, backward", "short sequences, which reach less");
      c.tensor_side("attention_backward", gpu.attention_backward);
      c.stream_side();
      return c.slower_side();
    }
    case Kernel::sparse_attention_forward: {
      KernelCard c = card("attention over selected keys, forward", rows_out);
      c.tensor_side("sparse_attention_forward", gpu.sparse_attention_forward);
      c.row_side();
      return c.slower_side();
    }
    case Kernel::sparse_attention_backward_cudnn: {
      KernelCard c = card("attention over selected keys, backward (cuDNN)", rows_out);
      c.tensor_side("sparse_attention_backward_cudnn", gpu.sparse_attention_backward_cudnn);
      c.row_side();
      return c.slower_side();
    }
    case Kernel::sparse_attention_backward_tilelang: {
      KernelCard c = card("attention over selected keys, backward (TileLang)", rows_out);
      c.flops();
      c.law("sparse_backward_tilelang_flop_per_sm_cycle",
            gpu.sparse_backward_tilelang_flop_per_sm_cycle);
      c.sm_cycles();
      c.define("compute", "flops / sparse_backward_tilelang_flop_per_sm_cycle / (sm_count * clock)",
               "s", "bound inside the SM, not by the tensor pipe");
      c.row_side();
      return c.slower_side();
    }
    case Kernel::index_score: {
      KernelCard c = card("scoring of query-key pairs", "the table write, which is a leaf apart");
      c.score_side("compute");
      c.stream_side();
      return c.slower_side();
    }
    case Kernel::index_loss: {
      KernelCard c = card("loss of the indexer", rows_out);
      c.tensor_side("index_loss", gpu.index_loss);
      c.row_side();
      return c.slower_side();
    }
    case Kernel::torch_topk: {
      KernelCard c = card("top-k over a score table (torch.topk)", "how values are distributed");
      c.topk("torch_topk", gpu.torch_topk_cycles, gpu.torch_topk_bytes);
      return c.slower_side();
    }
    case Kernel::radix_topk: {
      KernelCard c = card("top-k over a score table (radix)", "how values are distributed");
      c.topk("radix_topk", gpu.radix_topk_cycles, gpu.radix_topk_bytes);
      return c.slower_side();
    }
    case Kernel::hytopk: {
      KernelCard c = card("scoring fused with selection (HyTopK)",
                          "score distributions that rise along the scan");
      c.score_side("scoring");
      c.law("hytopk_scan_overhead", gpu.hytopk_scan_overhead);
      c.counted("compactions", work.compactions, "1", "of lists of query blocks, expected",
                &CountRule::compactions);
      c.law("hytopk_compaction_cycles", gpu.hytopk_compaction_cycles);
      c.define("compute",
               "scoring * (1 + hytopk_scan_overhead) + compactions * hytopk_compaction_cycles / "
               "(sm_count * clock)",
               "s", "gate and append beside scoring, then compactions");
      c.stream_side();
      return c.slower_side();
    }
    case Kernel::stream: {
      KernelCard c = card("streaming pass", "");
      c.stream_side();
      return c.memory_only();
    }
  }
  return {};
}

}  // namespace hysim::cost
