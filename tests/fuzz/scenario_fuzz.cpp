// Any text as a scenario.
#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hysim;
  const ScenarioText scenario{{reinterpret_cast<const char*>(data), size}, "fuzz.json"};
  fuzz::accepted([&] { fuzz::predict_and_check(fuzz::bundle(), scenario); });
  return 0;
}
