#include "ops/elementwise.h"

#include "ops/element_bytes.h"
#include "units/real.h"

namespace hysim::ops {

namespace {

/// A pass over elements, so many bytes of each; names are those of `stream`.
constexpr CountRule pass(const char* what, const char* settings) {
  return {.what = what,
          .where = "src/ops/elementwise.cpp",
          .settings = settings,
          .names = "elements in out",
          .read = "elements * in",
          .written = "elements * out"};
}
constexpr const char* kTokens =
    "workload.seq_len workload.micro_batch_size parallelism.cp parallelism.tp "
    "parallelism.sequence_parallel model.hidden_size";
constexpr const char* kRows =
    "workload.seq_len workload.micro_batch_size parallelism.cp parallelism.tp parallelism.etp "
    "training.expert_imbalance model.num_experts_per_tok model.moe_intermediate_size "
    "model.intermediate_size";
constexpr const char* kCopies =
    "workload.seq_len workload.micro_batch_size parallelism.cp parallelism.tp "
    "model.num_experts_per_tok model.hidden_size";
constexpr const char* kLogits =
    "workload.seq_len workload.micro_batch_size parallelism.cp parallelism.tp "
    "training.loss_chunk_tokens model.vocab_size";
constexpr const char* kParameters =
    "parallelism.tp parallelism.pp parallelism.ep parallelism.etp parallelism.zero "
    "parallelism.hsdp_shard training.gradient_dtype model.hidden_size";

constexpr CountRule kNorm = pass("norm: elements are tokens x width", kTokens);
constexpr CountRule kResidual = pass("sum of two tensors: elements are tokens x width", kTokens);
constexpr CountRule kCopy = pass("a tensor laid out anew", kTokens);
constexpr CountRule kRotary = pass("rotary embedding: elements are tokens x width", kTokens);
constexpr CountRule kActivation = pass("activation: elements are rows x width", kRows);
constexpr CountRule kPermute =
    pass("tokens sorted by expert, or summed again: elements are copies x hidden", kCopies);
constexpr CountRule kQuantize = pass("bf16 to fp8: elements are rows x width", kRows);
constexpr CountRule kEmbedding = pass("embedding rows: elements are tokens x hidden", kTokens);
constexpr CountRule kCrossEntropy =
    pass("cross entropy: elements are tokens x vocabulary of the rank", kLogits);
constexpr CountRule kAdam =
    pass("Adam: elements are parameters that the rank updates", kParameters);
constexpr CountRule kGradientNorm =
    pass("norm of gradients: elements are parameters that the rank updates", kParameters);

Work stream(const CountRule& rule, double elements, double read_bytes, double written_bytes,
            double launches = 1.0) {
  Work work;
  work.kernel = Kernel::stream;
  work.read = Bytes(elements * read_bytes);
  work.written = Bytes(elements * written_bytes);
  work.launches = launches;
  work.rule = &rule;
  work.sizes = {elements, read_bytes, written_bytes};
  return work;
}

}  // namespace

Work norm(std::int64_t elements, Pass pass) {
  // Backward reads the input and the gradient.
  return pass == Pass::forward ? stream(kNorm, real(elements), kBf16Bytes, kBf16Bytes)
                               : stream(kNorm, real(elements), 2.0 * kBf16Bytes, kBf16Bytes);
}

Work residual_add(std::int64_t elements) {
  return stream(kResidual, real(elements), 2.0 * kBf16Bytes, kBf16Bytes);
}

Work copy(std::int64_t elements) { return stream(kCopy, real(elements), kBf16Bytes, kBf16Bytes); }

Work rotary(std::int64_t elements, Pass) {
  return stream(kRotary, real(elements), kBf16Bytes, kBf16Bytes);
}

Work activation(std::int64_t elements, bool gated, Pass pass) {
  const double inputs = gated ? 2.0 : 1.0;
  return pass == Pass::forward
             ? stream(kActivation, real(elements), inputs * kBf16Bytes, kBf16Bytes)
             : stream(kActivation, real(elements), (inputs + 1.0) * kBf16Bytes,
                      inputs * kBf16Bytes);
}

Work permute(std::int64_t copies, std::int64_t hidden, Pass) {
  // Dispatch side: gather and write; combine side: read and sum.
  return stream(kPermute, real(copies) * real(hidden), 2.0 * kBf16Bytes, 2.0 * kBf16Bytes, 2.0);
}

Work quantize(std::int64_t elements) {
  return stream(kQuantize, real(elements), kBf16Bytes, 2.0, 1.0);
}

Work embedding(std::int64_t tokens, std::int64_t hidden, Pass pass) {
  return pass == Pass::forward
             ? stream(kEmbedding, real(tokens) * real(hidden), kBf16Bytes, kBf16Bytes)
             : stream(kEmbedding, real(tokens) * real(hidden), kBf16Bytes + kFp32Bytes, kFp32Bytes);
}

Work cross_entropy(std::int64_t tokens, std::int64_t vocab, Pass pass) {
  // Forward (Megatron's vocabulary-parallel loss, unfused): bf16 logits to fp32, maximum,
  // exponentials in place, sum. Backward: probabilities to the bf16 gradient.
  const double logits = real(tokens) * real(vocab);
  return pass == Pass::forward
             ? stream(kCrossEntropy, logits, kBf16Bytes + 3.0 * kFp32Bytes, 2.0 * kFp32Bytes, 4.0)
             : stream(kCrossEntropy, logits, 2.0 * kFp32Bytes, kFp32Bytes + kBf16Bytes, 2.0);
}

Work adam(double parameters) {
  return stream(kAdam, parameters, 4.0 * kFp32Bytes, 3.0 * kFp32Bytes + kBf16Bytes);
}

Work gradient_norm(double parameters, double gradient_bytes) {
  return stream(kGradientNorm, parameters, gradient_bytes, 0.0);
}

}  // namespace hysim::ops
