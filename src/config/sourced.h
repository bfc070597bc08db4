// A physical number with its range and where it comes from, and how a draw is made from it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/reader.h"

namespace hysim::config {

/// What kind of thing a number was taken from: a datasheet, a measurement whose raw samples can be
/// read, a figure somebody published, arithmetic on such figures, or a guess.
enum class SourceKind { datasheet, measured, published, derived, assumed };

/// The words profiles use for them.
const std::vector<Choice<SourceKind>>& source_kinds();

/// What a prediction's time rests on, from the GPU predicted.
enum class Evidence { this_gpu, other_gpu, datasheet, assumed };
inline constexpr int kEvidenceKinds = 4;
std::string_view to_string(Evidence evidence);

/// The stable name of an input, "gpu/h20-96/hbm_bandwidth". Its hash, which draws start from, is
/// computed here once.
class InputId {
 public:
  InputId() : InputId(std::string()) {}
  InputId(std::string name);  // NOLINT(google-explicit-constructor): a name is an id
  operator const std::string&() const { return name_; }  // NOLINT: and an id a name
  std::uint64_t hash() const { return hash_; }
  friend bool operator==(const InputId& a, std::string_view b) { return a.name_ == b; }

 private:
  std::string name_;
  std::uint64_t hash_;
};

/// `{"value", "unit", "low", "high", "source", "kind", "measured_on"}` of a profile, in SI units.
/// `low` <= `value` <= `high`; equal when the source gives no range.
struct Sourced {
  double value = 0.0;
  double low = 0.0;
  double high = 0.0;
  InputId id;        // names the random draw
  std::string unit;  // as written
  std::string source;
  SourceKind kind = SourceKind::assumed;
  std::string measured_on;  // GPU a measured value was taken on; "" when it is the profile's own
};

/// A resolved number and what it rests on for the GPU predicted.
template <class T>
struct Known {
  T value{};
  Evidence evidence = Evidence::assumed;
};

/// What `sourced` rests on when it is used for the GPU named `gpu`: a value measured (or derived
/// from one measured) on that GPU, on another, taken from a datasheet, or assumed.
Evidence evidence_of(const Sourced& sourced, std::string_view gpu);

/// Reads a sourced value whose unit must have the dimension of `si_unit` ("B/s", "flop/s", "s",
/// "1/s", "B", "1"). `id` becomes Sourced::id.
Sourced read_sourced(const Node& node, std::string pointer, std::string id,
                     std::string_view si_unit, Faults& faults);

/// Chooses the nominal value or a draw. A draw is a pure function of (seed, id, sample): half of
/// its mass lies uniformly between low and value, half between value and high, so the nominal
/// value is the median and adding an input disturbs no other.
class Sampler {
 public:
  /// The nominal evaluation.
  Sampler() = default;
  Sampler(std::uint64_t seed, std::uint64_t sample) : seed_(seed), sample_(sample), draw_(true) {}
  double operator()(const Sourced& sourced) const;

 private:
  std::uint64_t seed_ = 0;
  std::uint64_t sample_ = 0;
  bool draw_ = false;
};

/// Uniform in [0, 1): a hash of (seed, id, sample), the same on every machine.
double uniform(std::uint64_t seed, std::string_view id, std::uint64_t sample);

}  // namespace hysim::config
