#include "ops/elementwise.h"

#include "ops/element_bytes.h"
#include "units/real.h"

namespace hysim::ops {

namespace {

Work stream(double elements, double read_bytes, double written_bytes, double launches = 1.0) {
  Work work;
  work.kernel = Kernel::stream;
  work.read = Bytes(elements * read_bytes);
  work.written = Bytes(elements * written_bytes);
  work.launches = launches;
  return work;
}

}  // namespace

Work norm(std::int64_t elements, Pass pass) {
  // Backward reads the input and the gradient.
  return pass == Pass::forward ? stream(real(elements), kBf16Bytes, kBf16Bytes)
                               : stream(real(elements), 2.0 * kBf16Bytes, kBf16Bytes);
}

Work residual_add(std::int64_t elements) {
  return stream(real(elements), 2.0 * kBf16Bytes, kBf16Bytes);
}

Work copy(std::int64_t elements) { return stream(real(elements), kBf16Bytes, kBf16Bytes); }

Work rotary(std::int64_t elements, Pass) { return stream(real(elements), kBf16Bytes, kBf16Bytes); }

Work activation(std::int64_t elements, bool gated, Pass pass) {
  const double inputs = gated ? 2.0 : 1.0;
  return pass == Pass::forward
             ? stream(real(elements), inputs * kBf16Bytes, kBf16Bytes)
             : stream(real(elements), (inputs + 1.0) * kBf16Bytes, inputs * kBf16Bytes);
}

Work permute(std::int64_t copies, std::int64_t hidden, Pass) {
  // Dispatch side: gather and write; combine side: read and sum.
  return stream(real(copies) * real(hidden), 2.0 * kBf16Bytes, 2.0 * kBf16Bytes, 2.0);
}

Work quantize(std::int64_t elements) { return stream(real(elements), kBf16Bytes, 2.0, 1.0); }

Work embedding(std::int64_t tokens, std::int64_t hidden, Pass pass) {
  return pass == Pass::forward
             ? stream(real(tokens) * real(hidden), kBf16Bytes, kBf16Bytes)
             : stream(real(tokens) * real(hidden), kBf16Bytes + kFp32Bytes, kFp32Bytes);
}

Work cross_entropy(std::int64_t tokens, std::int64_t vocab, Pass pass) {
  // Forward (Megatron's vocabulary-parallel loss, unfused): bf16 logits to fp32, maximum,
  // exponentials in place, sum. Backward: probabilities to the bf16 gradient.
  const double logits = real(tokens) * real(vocab);
  return pass == Pass::forward
             ? stream(logits, kBf16Bytes + 3.0 * kFp32Bytes, 2.0 * kFp32Bytes, 4.0)
             : stream(logits, 2.0 * kFp32Bytes, kFp32Bytes + kBf16Bytes, 2.0);
}

Work adam(double parameters) {
  return stream(parameters, 4.0 * kFp32Bytes, 3.0 * kFp32Bytes + kBf16Bytes);
}

Work gradient_norm(double parameters, double gradient_bytes) {
  return stream(parameters, gradient_bytes, 0.0);
}

}  // namespace hysim::ops
