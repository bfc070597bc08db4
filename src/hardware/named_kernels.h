// Implementations of kernels that a document adds to those every GPU profile has: constants of the
// same laws under a name of their own. A named kernel has the shape of the bundled one it is like:
// which elements it reads, how it pads, what workspace it needs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/sourced.h"
#include "hardware/gpu.h"
#include "hysim/resources.h"

namespace hysim::hardware {

struct NamedKernel {
  /// A field of the GPU profile and what stands for it.
  struct Constant {
    std::size_t field;  // of gpu_fields()
    config::Sourced value;
  };

  std::string family;  // the setting that chooses it: "selection", "topk"
  std::string name;
  std::string gpu;   // profile it is defined for
  std::string like;  // bundled kernel of the family whose law it has: "radix"
  std::vector<Constant> constants;
};

/// hw_profiles/kernels/<name>.json, schema hysim.kernels/1; throws InputError.
std::vector<NamedKernel> parse_named_kernels(std::string_view text, std::string_view path);

/// Those of every document of hw_profiles/kernels; throws InputError, also when two documents
/// define the same.
std::vector<NamedKernel> load_named_kernels(const Resources& resources);

/// The same, read when they are first asked for: a scenario of bundled kernels reads none.
class NamedKernels {
 public:
  explicit NamedKernels(const Resources& resources) : resources_(&resources) {}
  const std::vector<NamedKernel>& get() {
    if (!loaded_) loaded_ = load_named_kernels(*resources_);
    return *loaded_;
  }

 private:
  const Resources* resources_;
  std::optional<std::vector<NamedKernel>> loaded_;
};

/// Puts a kernel's constants in the place of those it is like.
void use(const NamedKernel& kernel, GpuProfile& profile);

}  // namespace hysim::hardware
