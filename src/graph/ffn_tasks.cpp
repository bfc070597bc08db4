// Feed-forward part of one layer: dense, or router, dispatch and experts.
#include "graph/layer_builder.h"
#include "ops/linear.h"
#include "units/real.h"

namespace hysim::graph {

namespace {

using model::FfnKind;
using ops::Pass;
using ops::Precision;

constexpr std::string_view kSharedExpert = "experts/shared";

}  // namespace

void LayerBuilder::ffn_forward() {
  b_.compute("elementwise/norm", ops::norm(hidden_elements(), Pass::forward));
  if (spec_.ffn == FfnKind::dense) {
    enter_tp();
    dense_ffn_forward(m_.dense_ffn);
    leave_tp();
  } else {
    moe_forward();
  }
  b_.compute("elementwise/residual", ops::residual_add(hidden_elements()));
}

void LayerBuilder::ffn_backward() {
  b_.compute("elementwise/residual", ops::residual_add(hidden_elements()));
  if (spec_.ffn == FfnKind::dense) {
    enter_tp();
    dense_ffn_backward(m_.dense_ffn);
    leave_tp();
  } else {
    moe_backward();
  }
  b_.compute("elementwise/norm", ops::norm(hidden_elements(), Pass::backward));
}

void LayerBuilder::dense_ffn_forward(std::int64_t width, std::string_view part) {
  ffn_up_forward(width, part);
  ffn_down_forward(width, part);
}

void LayerBuilder::ffn_up_forward(std::int64_t width, std::string_view part) {
  const std::int64_t local = width / c_.shape.tp;
  linear_forward(part, tokens(), local * (m_.gated_ffn ? 2 : 1), m_.hidden, t_.precision);
  b_.compute("elementwise/activation",
             ops::activation(tokens() * local, m_.gated_ffn, Pass::forward));
}

void LayerBuilder::ffn_down_forward(std::int64_t width, std::string_view part) {
  linear_forward(part, tokens(), m_.hidden, width / c_.shape.tp, t_.precision);
}

void LayerBuilder::dense_ffn_backward(std::int64_t width, std::string_view part) {
  ffn_down_backward(width, part);
  ffn_up_backward(width, part);
}

void LayerBuilder::ffn_down_backward(std::int64_t width, std::string_view part) {
  const std::int64_t local = width / c_.shape.tp;
  linear_backward(part, tokens(), m_.hidden, local, t_.precision);
  b_.compute("elementwise/activation",
             ops::activation(tokens() * local, m_.gated_ffn, Pass::backward));
}

void LayerBuilder::ffn_up_backward(std::int64_t width, std::string_view part) {
  const std::int64_t local = width / c_.shape.tp;
  regather();
  linear_backward(part, tokens(), local * (m_.gated_ffn ? 2 : 1), m_.hidden, t_.precision);
}

void LayerBuilder::moe_forward() {
  b_.compute("linear/router",
             ops::gemm(dispatch_tokens(), m_.moe.num_experts, m_.hidden, Precision::bf16));
  if (has_shared_expert() && !shared_beside()) shared_expert(Pass::forward);
  b_.compute("experts/permute", ops::permute(copies(), m_.hidden, Pass::forward));
  exchange(dispatch_bytes(), [&] {
    enter_tp();
    ffn_up_forward(m_.moe.shared_ffn, kSharedExpert);
  });
  b_.communicate(Stream::ep, "communication/ep",
                 gather(c_.etp, expert_tp_bytes(), kExpertRowBytes));
  grouped_forward(2 * expert_width(), m_.hidden);
  expert_activation(Pass::forward);
  grouped_forward(m_.hidden, expert_width());
  b_.communicate(Stream::ep, "communication/ep",
                 scatter(c_.etp, expert_tp_bytes(), kExpertRowBytes));
  exchange(kBf16Bytes, [&] {
    ffn_down_forward(m_.moe.shared_ffn, kSharedExpert);
    leave_tp();
  });
  b_.compute("experts/permute", ops::permute(copies(), m_.hidden, Pass::forward));
}

void LayerBuilder::moe_backward() {
  b_.compute("experts/permute", ops::permute(copies(), m_.hidden, Pass::backward));
  exchange(kBf16Bytes, [&] {
    enter_tp();
    ffn_down_backward(m_.moe.shared_ffn, kSharedExpert);
  });
  b_.communicate(Stream::ep, "communication/ep",
                 gather(c_.etp, expert_tp_bytes(), kExpertRowBytes));
  grouped_backward(m_.hidden, expert_width());
  expert_activation(Pass::backward);
  grouped_backward(2 * expert_width(), m_.hidden);
  b_.communicate(Stream::ep, "communication/ep",
                 scatter(c_.etp, expert_tp_bytes(), kExpertRowBytes));
  exchange(kBf16Bytes, [&] {
    ffn_up_backward(m_.moe.shared_ffn, kSharedExpert);
    leave_tp();
  });
  b_.compute("experts/permute", ops::permute(copies(), m_.hidden, Pass::backward));
  if (has_shared_expert() && !shared_beside()) shared_expert(Pass::backward);
  linear_backward("linear/router", dispatch_tokens(), m_.moe.num_experts, m_.hidden,
                  Precision::bf16);
}

void LayerBuilder::expert_activation(Pass pass) {
  b_.compute("experts/activation", ops::activation(expert_rows() * expert_width(), true, pass));
}

void LayerBuilder::grouped_forward(std::int64_t n, std::int64_t k) {
  if (t_.precision == Precision::fp8) {
    b_.compute("elementwise/quantize", ops::quantize(expert_rows() * k));
  }
  b_.compute("experts/gemm", ops::grouped_gemm(local_experts(), expert_rows(), n, k, t_.precision));
}

void LayerBuilder::grouped_backward(std::int64_t n, std::int64_t k) {
  if (t_.precision == Precision::fp8) {
    b_.compute("elementwise/quantize", ops::quantize(expert_rows() * n));
  }
  b_.compute("experts/gemm",
             ops::grouped_gemm_input_gradient(local_experts(), expert_rows(), n, k, t_.precision));
  b_.weight_gradient("experts/gemm", ops::grouped_gemm_weight_gradient(
                                         local_experts(), expert_rows(), n, k, t_.precision));
}

void LayerBuilder::shared_expert(Pass pass) {
  enter_tp();
  if (pass == Pass::forward) {
    dense_ffn_forward(m_.moe.shared_ffn, kSharedExpert);
  } else {
    dense_ffn_backward(m_.moe.shared_ffn, kSharedExpert);
  }
  leave_tp();
}

}  // namespace hysim::graph
