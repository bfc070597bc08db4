// Any text as a model's config.json, trained on one node.
#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hysim;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Resources resources =
      overlay(memory_resources({{"models/fuzz.json", text}}), fuzz::bundle());
  fuzz::accepted([&] {
    fuzz::predict_and_check(resources,
                            fuzz::small_job("fuzz", "h100-sxm-80:1x8", "megatron-core-2026"));
  });
  return 0;
}
