#include "ops/elementwise.h"

#include "units/real.h"

namespace hysim::ops {

namespace {

constexpr double kBf16 = 2.0;
constexpr double kFp32 = 4.0;

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
  return pass == Pass::forward ? stream(real(elements), kBf16, kBf16)
                               : stream(real(elements), 2.0 * kBf16, kBf16);
}

Work residual_add(std::int64_t elements) { return stream(real(elements), 2.0 * kBf16, kBf16); }

Work rotary(std::int64_t elements, Pass) { return stream(real(elements), kBf16, kBf16); }

Work activation(std::int64_t elements, bool gated, Pass pass) {
  const double inputs = gated ? 2.0 : 1.0;
  return pass == Pass::forward ? stream(real(elements), inputs * kBf16, kBf16)
                               : stream(real(elements), (inputs + 1.0) * kBf16, inputs * kBf16);
}

Work permute(std::int64_t copies, std::int64_t hidden, Pass) {
  // Dispatch side: gather and write; combine side: read and sum.
  return stream(real(copies) * real(hidden), 2.0 * kBf16, 2.0 * kBf16, 2.0);
}

Work quantize(std::int64_t elements) { return stream(real(elements), kBf16, 2.0, 1.0); }

Work embedding(std::int64_t tokens, std::int64_t hidden, Pass pass) {
  return pass == Pass::forward ? stream(real(tokens) * real(hidden), kBf16, kBf16)
                               : stream(real(tokens) * real(hidden), kBf16 + kFp32, kFp32);
}

Work cross_entropy(std::int64_t tokens, std::int64_t vocab, Pass pass) {
  // Forward (Megatron's vocabulary-parallel loss, unfused): bf16 logits to fp32, maximum,
  // exponentials in place, sum. Backward: probabilities to the bf16 gradient.
  const double logits = real(tokens) * real(vocab);
  return pass == Pass::forward ? stream(logits, kBf16 + 3.0 * kFp32, 2.0 * kFp32, 4.0)
                               : stream(logits, 2.0 * kFp32, kFp32 + kBf16, 2.0);
}

Work adam(double parameters) { return stream(parameters, 4.0 * kFp32, 3.0 * kFp32 + kBf16); }

Work gradient_norm(double parameters, double gradient_bytes) {
  return stream(parameters, gradient_bytes, 0.0);
}

}  // namespace hysim::ops
