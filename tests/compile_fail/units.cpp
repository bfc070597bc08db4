// Quantities of different dimensions do not mix, and numbers are not quantities.
#include "hysim/units.h"

namespace {

using namespace hysim;

constexpr Bytes kBytes{6.0};
constexpr Seconds kSeconds{2.0};
constexpr BytesPerSecond kBandwidth{3.0};

constexpr double in_bytes(Bytes b) { return b.si(); }

#ifdef HYSIM_CASE_add_bytes_and_seconds
constexpr auto kSum = kBytes + kSeconds;
#else
constexpr auto kSum = kBytes + kBytes;
#endif

#ifdef HYSIM_CASE_bytes_from_double
constexpr Bytes kFromDouble = 1.0;
#else
constexpr Bytes kFromDouble{1.0};
#endif

#ifdef HYSIM_CASE_seconds_from_bytes
constexpr Seconds kTime = kBytes;
#else
constexpr Seconds kTime = kSeconds;
#endif

#ifdef HYSIM_CASE_seconds_made_of_bytes
constexpr Seconds kExplicit{kBytes};
#else
constexpr Seconds kExplicit{kBytes.si()};
#endif

#ifdef HYSIM_CASE_quotient_to_bytes
constexpr Bytes kQuotient = kBytes / kBandwidth;
#else
constexpr Seconds kQuotient = kBytes / kBandwidth;
#endif

#ifdef HYSIM_CASE_compare_bytes_and_flops
constexpr bool kLess = kBytes < Flops{1.0};
#else
constexpr bool kLess = kBytes < Bytes{1.0};
#endif

#ifdef HYSIM_CASE_equal_bytes_and_flops
constexpr bool kEqual = kBytes == Flops{1.0};
#else
constexpr bool kEqual = kBytes == Bytes{1.0};
#endif

#ifdef HYSIM_CASE_pass_double_for_bytes
constexpr double kPassed = in_bytes(1.0);
#else
constexpr double kPassed = in_bytes(Bytes{1.0});
#endif

#ifdef HYSIM_CASE_double_from_bytes
constexpr double kPlain = kBytes;
#else
constexpr double kPlain = kBytes / Bytes{1.0};
#endif

#ifdef HYSIM_CASE_square_to_bytes
constexpr Bytes kSquare = kBytes * kBytes;
#else
constexpr Bytes kSquare = kBytes * 2.0;
#endif

#ifdef HYSIM_CASE_larger_of_bytes_and_seconds
constexpr auto kLarger = max(kBytes, kSeconds);
#else
constexpr auto kLarger = max(kBytes, kFromDouble);
#endif

}  // namespace
