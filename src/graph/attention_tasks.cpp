// Attention of one layer: projections, core, selection of tokens, training of the indexer.
#include "graph/layer_builder.h"
#include "ops/indexer_loss.h"
#include "ops/linear.h"
#include "ops/selection.h"
#include "units/real.h"

namespace hysim::graph {

namespace {

using model::AttentionKind;
using model::IndexRole;
using ops::Pass;
using ops::Precision;
using ops::Selection;

}  // namespace

void LayerBuilder::attention_forward(const Selecting& what) {
  b_.compute("elementwise/norm", ops::norm(hidden_elements(), Pass::forward));
  enter_tp();
  if (spec_.attention == AttentionKind::gqa) {
    gqa_projection_forward();
  } else {
    mla_projections_forward();
  }
  core_forward(what);
  output_projection_forward();
  leave_tp();
  b_.compute("elementwise/residual", ops::residual_add(hidden_elements()));
}

void LayerBuilder::attention_backward() {
  b_.compute("elementwise/residual", ops::residual_add(hidden_elements()));
  enter_tp();
  output_projection_backward();
  switch (spec_.attention) {
    case AttentionKind::gqa:
    case AttentionKind::mla:
      dense_core_backward();
      break;
    case AttentionKind::dsa:
      dsa_core_backward();
      break;
  }
  regather();
  if (spec_.attention == AttentionKind::gqa) {
    gqa_projection_backward();
  } else {
    mla_projections_backward();
  }
  leave_tp();
  b_.compute("elementwise/norm", ops::norm(hidden_elements(), Pass::backward));
}

void LayerBuilder::core_forward(const Selecting& what) {
  switch (spec_.attention) {
    case AttentionKind::gqa:
    case AttentionKind::mla:
      dense_core_forward();
      break;
    case AttentionKind::dsa:
      dsa_core_forward(what);
      break;
  }
}

void LayerBuilder::gqa_projection_forward() {
  linear_forward(kAttention, tokens(), qkv_width(), m_.hidden, t_.precision);
  rotary(Pass::forward);
}

void LayerBuilder::gqa_projection_backward() {
  rotary(Pass::backward);
  linear_backward(kAttention, tokens(), qkv_width(), m_.hidden, t_.precision);
}

void LayerBuilder::rotary(Pass pass) {
  if (m_.learned_positions) return;
  const std::int64_t width = spec_.attention == AttentionKind::gqa
                                 ? m_.attention.head_dim * (heads() + kv_heads())
                                 : m_.attention.qk_rope_head_dim * (heads() + 1);
  b_.compute("elementwise/rotary", ops::rotary(tokens() * width, pass));
}

void LayerBuilder::mla_projections_forward() {
  const model::Attention& a = m_.attention;
  // Every TP rank projects its own part of the sequence to the latents.
  const std::int64_t own = c_.split_tokens();
  if (a.q_lora_rank > 0) {
    linear_forward(kAttention, own, a.q_lora_rank, m_.hidden, t_.precision);
    b_.compute("elementwise/norm", ops::norm(own * a.q_lora_rank, Pass::forward));
  }
  linear_forward(kAttention, own, latent(), m_.hidden, t_.precision);
  b_.compute("elementwise/norm", ops::norm(own * a.kv_lora_rank, Pass::forward));
  mla_up_forward();
}

void LayerBuilder::mla_up_forward() {
  const model::Attention& a = m_.attention;
  const std::int64_t query_input = a.q_lora_rank > 0 ? a.q_lora_rank : m_.hidden;
  linear_forward(kAttention, tokens(), heads() * qk_dim(), query_input, t_.precision);
  if (absorbed()) {
    b_.compute(kAttention,
               ops::gemm(tokens(), a.kv_lora_rank, a.qk_nope_head_dim, Precision::bf16, heads()));
  } else {
    linear_forward(kAttention, tokens(), heads() * (a.qk_nope_head_dim + a.v_head_dim),
                   a.kv_lora_rank, t_.precision);
  }
  rotary(Pass::forward);
}

void LayerBuilder::mla_projections_backward() {
  const model::Attention& a = m_.attention;
  rotary(Pass::backward);
  if (absorbed()) {
    batched_backward(a.kv_lora_rank, a.qk_nope_head_dim);
  } else {
    linear_backward(kAttention, tokens(), heads() * (a.qk_nope_head_dim + a.v_head_dim),
                    a.kv_lora_rank, t_.precision);
  }
  const std::int64_t query_input = a.q_lora_rank > 0 ? a.q_lora_rank : m_.hidden;
  linear_backward(kAttention, tokens(), heads() * qk_dim(), query_input, t_.precision);
  const std::int64_t own = c_.split_tokens();
  b_.compute("elementwise/norm", ops::norm(own * a.kv_lora_rank, Pass::backward));
  linear_backward(kAttention, own, latent(), m_.hidden, t_.precision);
  if (a.q_lora_rank > 0) {
    b_.compute("elementwise/norm", ops::norm(own * a.q_lora_rank, Pass::backward));
    linear_backward(kAttention, own, a.q_lora_rank, m_.hidden, t_.precision);
  }
}

void LayerBuilder::batched_backward(std::int64_t n, std::int64_t k) {
  b_.compute(kAttention, ops::gemm_input_gradient(tokens(), n, k, Precision::bf16, heads()));
  b_.weight_gradient(kAttention,
                     ops::gemm_weight_gradient(tokens(), n, k, Precision::bf16, heads()));
}

void LayerBuilder::output_projection_forward() {
  if (absorbed()) {
    b_.compute(kAttention, ops::gemm(tokens(), m_.attention.v_head_dim, m_.attention.kv_lora_rank,
                                     Precision::bf16, heads()));
  }
  linear_forward(kAttention, tokens(), m_.hidden, output_width(), t_.precision);
}

void LayerBuilder::output_projection_backward() {
  linear_backward(kAttention, tokens(), m_.hidden, output_width(), t_.precision);
  if (absorbed()) batched_backward(m_.attention.v_head_dim, m_.attention.kv_lora_rank);
}

void LayerBuilder::dsa_core_forward(const Selecting& what) {
  const std::int32_t latents =
      b_.start(Stream::cp, "communication/cp", gather(c_.cp, latent_bytes(), kLatentBytes));
  if (!c_.plan->overlap.cp) b_.wait(latents);
  if (spec_.index == IndexRole::computes && (what.score || what.loss)) {
    if (what.projections) index_projections_forward();
    gather_keys(index_key_bytes(), kIndexKeyBytes);
    if (what.score) select(what.topk);
    if (what.loss) train_indexer();
  }
  if (c_.plan->overlap.cp) b_.wait(latents);
  b_.compute("attention/sparse_forward",
             ops::sparse_attention_forward(sparse(), k_.sparse_attention));
}

void LayerBuilder::index_projections_forward() {
  const model::Indexer& x = m_.indexer;
  b_.compute(kIndexer,
             ops::gemm(tokens(), x.num_heads * x.head_dim, index_query_input(), Precision::bf16));
  b_.compute(kIndexer, ops::gemm(tokens(), x.head_dim, m_.hidden, Precision::bf16));
  b_.compute(kIndexer, ops::gemm(tokens(), x.num_heads, m_.hidden, Precision::bf16));
  b_.compute("elementwise/rotary",
             ops::rotary(tokens() * x.head_dim * (x.num_heads + 1), Pass::forward));
}

void LayerBuilder::select(bool topk) {
  const ops::SelectionShape shape = c_.selection();
  const double share = k_.indexer_tp == IndexerTp::sharded ? real(c_.shape.tp) : 1.0;
  const auto emit = [&](std::string_view part, ops::Work work) {
    work.flops *= 1.0 / share;
    work.vector_flops *= 1.0 / share;
    work.read *= 1.0 / share;
    work.written *= 1.0 / share;
    work.units /= share;
    work.tiles /= share;
    work.compactions /= share;
    work.share /= share;
    b_.compute(part, work);
  };
  if (k_.selection == Selection::fused) {
    if (topk) {
      emit("selection/hytopk", ops::hytopk(shape));
    } else {
      emit("selection/scoring", ops::index_score(shape, 1));
    }
  } else {
    const bool naive = k_.selection == Selection::naive;
    const std::int64_t rows =
        naive ? ops::query_count(shape.segments)
              : ops::rows_per_chunk(shape, k_.score_chunk_bytes, k_.score_chunk_rows);
    const std::int64_t chunks = ops::chunk_count(shape, rows);
    if (naive) {
      emit("selection/scoring", ops::naive_score(shape));
    } else {
      emit("selection/scoring", ops::index_score(shape, chunks));
      emit("selection/score_table", ops::table_write(shape));
      if (k_.score_clean) emit("selection/score_table", ops::table_clean(shape, chunks));
    }
    if (topk) {
      emit("selection/topk", k_.topk == ops::TopkKind::torch ? ops::torch_topk(shape, chunks)
                                                             : ops::radix_topk(shape, chunks));
    }
  }
  if (topk && k_.indexer_tp == IndexerTp::sharded) {
    b_.communicate(Stream::tp, "communication/tp",
                   gather(c_.tp, kFp32Bytes * real(tokens()) * real(c_.top_k()), kSelectionBytes));
  }
}

void LayerBuilder::train_indexer() {
  const bool sparse_loss = t_.indexer_loss == IndexerLoss::sparse;
  ops::IndexerLossShape shape;
  shape.pairs = sparse_loss ? selected() : ops::causal_pairs(c_.segments);
  shape.attention_heads = heads();
  shape.qk_dim = latent();
  shape.index_heads = round_up(m_.indexer.num_heads, k_.loss_head_multiple);
  shape.index_dim = m_.indexer.head_dim;
  b_.compute("indexer_loss/teacher", ops::indexer_teacher(shape, sparse_loss ? 1 : 2));
  const double row = sparse_loss ? real(c_.top_k()) : real(c_.plan->workload.seq_len);
  b_.communicate(Stream::tp, "communication/tp",
                 all_reduce(c_.tp, kFp32Bytes * real(tokens()) * row, kTeacherBytes));
  b_.compute("indexer_loss/gradient", ops::indexer_gradient(shape));
}

void LayerBuilder::dsa_core_backward() {
  b_.compute("attention/sparse_backward",
             ops::sparse_attention_backward(sparse(), k_.sparse_attention));
  scatter_key_gradients(latent_bytes(), kLatentBytes);
  if (t_.indexer_loss == IndexerLoss::off || spec_.index != IndexRole::computes) return;
  // The indexer's input is detached: weight gradients only.
  scatter_key_gradients(index_key_bytes(), kIndexKeyBytes);
  const model::Indexer& x = m_.indexer;
  linear_backward(kIndexer, tokens(), x.num_heads * x.head_dim, index_query_input(),
                  Precision::bf16, false);
  linear_backward(kIndexer, tokens(), x.head_dim, m_.hidden, Precision::bf16, false);
  linear_backward(kIndexer, tokens(), x.num_heads, m_.hidden, Precision::bf16, false);
}

}  // namespace hysim::graph
