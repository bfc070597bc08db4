// Builds the tasks of one layer into a list: a thin shell over ListBuilder that knows the shapes.
// attention_tasks.cpp holds attention and selection, ffn_tasks.cpp feed-forward and experts.
#pragma once

#include <algorithm>
#include <cmath>
#include <string_view>

#include "graph/layer.h"
#include "graph/list_builder.h"
#include "ops/attention.h"
#include "ops/element_bytes.h"
#include "ops/elementwise.h"
#include "units/real.h"

namespace hysim::graph {

using ops::kBf16Bytes;
using ops::kFp32Bytes;
using ops::kFp8Bytes;

inline std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// What the bytes of the layers' collectives are counted from.
inline constexpr collectives::CountedFrom kHiddenBytes{
    "hidden state: 2 B x tokens of the cp rank x hidden", "src/graph/layer.cpp",
    "workload.seq_len workload.micro_batch_size parallelism.cp model.hidden_size"};
inline constexpr collectives::CountedFrom kLatentBytes{
    "latent keys: 2 B x keys of the sequences x (kv_lora_rank + qk_rope_head_dim)",
    "src/graph/layer_builder.h",
    "workload.seq_len workload.micro_batch_size model.kv_lora_rank model.qk_rope_head_dim"};
inline constexpr collectives::CountedFrom kIndexKeyBytes{
    "index keys: 2 B x keys of the sequences x index_head_dim", "src/graph/layer_builder.h",
    "workload.seq_len workload.micro_batch_size model.index_head_dim"};
inline constexpr collectives::CountedFrom kKeyValueBytes{
    "keys and values: 2 B x keys x key heads of the rank x (key + value width)",
    "src/graph/context_parallel.cpp",
    "workload.seq_len workload.micro_batch_size parallelism.cp parallelism.cp_comm parallelism.tp "
    "model.num_key_value_heads model.head_dim"};
inline constexpr collectives::CountedFrom kHeadBytes{
    "heads for tokens: 2 B x tokens x heads of the rank x width", "src/graph/context_parallel.cpp",
    "workload.seq_len workload.micro_batch_size parallelism.cp parallelism.cp_comm parallelism.tp "
    "model.num_attention_heads model.num_key_value_heads model.head_dim"};
inline constexpr collectives::CountedFrom kRoutedBytes{
    "routed tokens: copies of tokens x hidden x bytes of a value, by what routing sends where",
    "src/graph/layer.cpp",
    "workload.seq_len workload.micro_batch_size parallelism.cp parallelism.tp parallelism.ep "
    "kernels.dispatcher training.precision training.expert_imbalance model.num_experts_per_tok "
    "model.n_routed_experts model.hidden_size"};
inline constexpr collectives::CountedFrom kExpertRowBytes{
    "rows of the experts: 2 B x rows of the fullest rank x hidden", "src/graph/layer_builder.h",
    "workload.seq_len workload.micro_batch_size parallelism.cp parallelism.tp parallelism.etp "
    "training.expert_imbalance model.num_experts_per_tok model.hidden_size"};
inline constexpr collectives::CountedFrom kSelectionBytes{
    "selections: 4 B x tokens x index_topk", "src/graph/attention_tasks.cpp",
    "workload.seq_len workload.micro_batch_size parallelism.cp model.index_topk"};
inline constexpr collectives::CountedFrom kTeacherBytes{
    "teacher of the indexer: 4 B x tokens x selected or all keys", "src/graph/attention_tasks.cpp",
    "workload.seq_len workload.micro_batch_size parallelism.cp training.indexer.loss "
    "model.index_topk"};

/// Ring collectives over a group by their nccl-tests size.
collectives::Collective gather(const topology::GroupShape& group, double bytes,
                               const collectives::CountedFrom& counted);
collectives::Collective scatter(const topology::GroupShape& group, double bytes,
                                const collectives::CountedFrom& counted);
collectives::Collective all_reduce(const topology::GroupShape& group, double bytes,
                                   const collectives::CountedFrom& counted);
/// Every rank sends an equal part of its `bytes` to every rank of the group.
collectives::Collective all_to_all(const topology::GroupShape& group, double bytes,
                                   const collectives::CountedFrom& counted);
/// Every rank sends `bytes` to its neighbour.
collectives::Collective send_recv(const topology::GroupShape& group, double bytes,
                                  const collectives::CountedFrom& counted);

/// Boundaries of tensor parallelism: the hidden state is gathered before a column-parallel product
/// and scattered after a row-parallel one (without sequence parallelism: one all-reduce).
void enter_sequence_parallel(ListBuilder& list, const LayerContext& context);
void leave_sequence_parallel(ListBuilder& list, const LayerContext& context);

class LayerBuilder {
 public:
  LayerBuilder(Program& program, TaskList& list, const LayerContext& context,
               const model::LayerSpec& spec, std::string_view phase)
      : c_(context),
        m_(context.plan->model),
        k_(context.plan->kernels),
        t_(context.plan->training),
        spec_(spec),
        b_(program, list, phase) {}

  struct Selecting {
    bool score = true;  // score all keys
    bool topk = true;   // and select among them
    bool loss = false;  // train the indexer in this pass
    bool projections = true;
  };

  void attention_forward(const Selecting& what);
  void ffn_forward();
  void ffn_backward();
  void attention_backward();

  /// The modules of selective recomputation, run again before the layer's backward.
  void modules_again(const Selecting& what);

  ListBuilder& list() { return b_; }

  void linear_forward(std::string_view part, std::int64_t m, std::int64_t n, std::int64_t k,
                      ops::Precision precision);
  void linear_backward(std::string_view part, std::int64_t m, std::int64_t n, std::int64_t k,
                       ops::Precision precision, bool input_gradient = true);

 private:
  static constexpr std::string_view kAttention = "linear/attention";
  static constexpr std::string_view kIndexer = "linear/indexer";
  static constexpr std::string_view kCpComm = "communication/cp";
  static constexpr std::string_view kDenseForward = "attention/dense_forward";
  static constexpr std::string_view kDenseBackward = "attention/dense_backward";

  std::int64_t hidden_elements() const { return c_.split_tokens() * m_.hidden; }
  std::int64_t tokens() const { return c_.tokens(); }
  std::int64_t heads() const { return m_.attention.num_heads / c_.shape.tp; }
  std::int64_t latent() const { return m_.attention.kv_lora_rank + m_.attention.qk_rope_head_dim; }
  std::int64_t qk_dim() const {
    return m_.attention.qk_nope_head_dim + m_.attention.qk_rope_head_dim;
  }
  double keys() const { return real(c_.shape.sequence_tokens); }

  void enter_tp() {
    if (c_.shape.sequence_parallel) enter_sequence_parallel(b_, c_);
  }
  void leave_tp() { leave_sequence_parallel(b_, c_); }
  /// Backward gathers the column-parallel input again for the weight gradient.
  void regather() { enter_tp(); }
  void gather_keys(double bytes, const collectives::CountedFrom& counted) {
    b_.communicate(Stream::cp, kCpComm, gather(c_.cp_gather, bytes, counted));
  }
  void scatter_key_gradients(double bytes, const collectives::CountedFrom& counted) {
    b_.communicate(Stream::cp, kCpComm, scatter(c_.cp_gather, bytes, counted));
  }

  // --- grouped-query attention ---
  std::int64_t kv_heads() const {
    return std::max<std::int64_t>(1, m_.attention.num_kv_heads / c_.shape.tp);
  }
  std::int64_t qkv_width() const { return m_.attention.head_dim * (heads() + 2 * kv_heads()); }
  void core_forward(const Selecting& what);
  void gqa_projection_forward();
  void gqa_projection_backward();
  void rotary(ops::Pass pass);

  // --- dense cores, as context parallelism splits them (context_parallel.cpp) ---
  std::int64_t dense_pairs() const;
  ops::DenseAttention dense() const;
  ops::DenseAttention ring_step(std::int64_t step) const;
  double key_value_bytes() const;
  void exchange_heads(double bytes);
  void dense_core_forward();
  void dense_core_backward();
  void ring_forward();
  void ring_backward();

  // --- multi-head latent attention ---
  bool absorbed() const { return spec_.attention == model::AttentionKind::dsa; }
  void mla_projections_forward();
  /// From the latents to heads.
  void mla_up_forward();
  void mla_projections_backward();
  void batched_backward(std::int64_t n, std::int64_t k);
  std::int64_t output_width() const {
    return heads() * (spec_.attention == model::AttentionKind::gqa ? m_.attention.head_dim
                                                                   : m_.attention.v_head_dim);
  }
  void output_projection_forward();
  void output_projection_backward();

  // --- learned sparse attention ---
  double latent_bytes() const { return kBf16Bytes * keys() * real(latent()); }
  double index_key_bytes() const { return kBf16Bytes * keys() * real(m_.indexer.head_dim); }
  std::int64_t selected() const { return ops::selected_pairs(c_.segments, m_.indexer.top_k); }
  ops::SparseAttention sparse() const {
    return {selected(),
            tokens(),
            c_.shape.sequence_tokens,
            heads(),
            m_.attention.kv_lora_rank,
            m_.attention.qk_rope_head_dim};
  }
  std::int64_t index_query_input() const {
    return m_.attention.q_lora_rank > 0 ? m_.attention.q_lora_rank : m_.hidden;
  }

  void dsa_core_forward(const Selecting& what);
  void index_projections_forward();
  void select(bool topk);
  void train_indexer();
  void dsa_core_backward();

  // --- feed-forward ---
  void dense_ffn_forward(std::int64_t width, std::string_view part = "linear/ffn");
  void dense_ffn_backward(std::int64_t width, std::string_view part = "linear/ffn");
  /// Its halves: up to the activation, and down.
  void ffn_up_forward(std::int64_t width, std::string_view part);
  void ffn_down_forward(std::int64_t width, std::string_view part);
  void ffn_down_backward(std::int64_t width, std::string_view part);
  void ffn_up_backward(std::int64_t width, std::string_view part);

  // --- mixture of experts ---
  std::int64_t dispatch_tokens() const { return tokens() / c_.shape.tp; }
  std::int64_t copies() const { return dispatch_tokens() * m_.moe.experts_per_token; }
  /// Of the fullest EP rank.
  std::int64_t expert_rows() const {
    return std::llround(real(copies() * c_.shape.etp) * t_.expert_imbalance);
  }
  std::int64_t local_experts() const { return m_.moe.num_experts / c_.ep.size; }
  std::int64_t expert_width() const { return m_.moe.expert_ffn / c_.shape.etp; }

  bool has_shared_expert() const { return m_.moe.shared_ffn > 0; }
  /// Half of the shared expert runs beside each exchange.
  bool shared_beside() const { return has_shared_expert() && c_.plan->overlap.shared_expert; }
  /// Dispatch or combine, and what runs beside it.
  template <class Beside>
  void exchange(double bytes_per_value, const Beside& beside) {
    const std::int32_t task =
        b_.start(Stream::ep, "communication/ep", expert_exchange(c_, bytes_per_value));
    if (shared_beside()) beside();
    b_.wait(task);
  }
  double dispatch_bytes() const {
    return t_.precision == ops::Precision::fp8 ? kFp8Bytes : kBf16Bytes;
  }
  double expert_tp_bytes() const { return kBf16Bytes * real(expert_rows()) * real(m_.hidden); }

  void moe_forward();
  void moe_backward();
  void expert_activation(ops::Pass pass);
  void grouped_forward(std::int64_t n, std::int64_t k);
  void grouped_backward(std::int64_t n, std::int64_t k);
  void shared_expert(ops::Pass pass);

  const LayerContext& c_;
  const model::Transformer& m_;
  const Kernels& k_;
  const Training& t_;
  const model::LayerSpec& spec_;
  ListBuilder b_;
};

}  // namespace hysim::graph
