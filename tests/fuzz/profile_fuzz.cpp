// Any text as a GPU, a cluster, a stack or a set of kernels, by what it says it is; then a step is
// predicted on it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "config/node.h"
#include "fuzz/checks.h"
#include "hardware/gpu.h"
#include "hardware/named_kernels.h"

namespace {

using namespace hysim;

std::string schema_of(const std::string& text) {
  const config::Node document = config::parse(text, "fuzz.json");
  const config::Node* const schema = document.find("schema");
  return schema != nullptr && schema->is_string() ? schema->as_string() : "";
}

void predict_on(const std::string& text) {
  std::string cluster = "h100-sxm-80:2x8";
  std::string stack = "megatron-core-2026";
  std::string path = "fuzz.json";
  std::string family;
  std::string kernel;
  const std::string schema = schema_of(text);
  if (schema == "hysim.kernels/1") {
    const std::vector<hardware::NamedKernel> kernels = hardware::parse_named_kernels(text, path);
    path = "hw_profiles/kernels/fuzz.json";
    if (!kernels.empty()) {
      cluster = kernels.front().gpu + ":2x8";
      family = kernels.front().family;
      kernel = kernels.front().name;
    }
  } else if (schema == "hysim.cluster/1") {
    cluster = path;
  } else if (schema == "hysim.stack/1") {
    stack = path;
  } else {
    const std::string name = hardware::parse_gpu_profile(text, path).name;
    cluster = name + ":2x8";
    path = "hw_profiles/gpus/" + name + ".json";
  }
  fuzz::predict_and_check(overlay(memory_resources({{path, text}}), fuzz::bundle()),
                          fuzz::small_job("glm-5.1", cluster, stack, family, kernel));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  fuzz::accepted([&] { predict_on(text); });
  return 0;
}
