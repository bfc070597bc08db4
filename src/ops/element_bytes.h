// Bytes of one element as kernels and memory count them.
#pragma once

namespace hysim::ops {

inline constexpr double kBf16Bytes = 2.0;
inline constexpr double kFp32Bytes = 4.0;
inline constexpr double kInt32Bytes = 4.0;
inline constexpr double kInt64Bytes = 8.0;
/// fp8 values carry one fp32 scale per 128 (DeepSeek-V3 recipe, arXiv 2412.19437 section 3.3).
inline constexpr double kFp8Bytes = 1.0 + kFp32Bytes / 128.0;

}  // namespace hysim::ops
