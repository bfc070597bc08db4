// Texts broken everywhere, in memory: each is refused with its place or predicted, never a crash,
// another exception or a time that is none.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "hardware/gpu.h"
#include "hysim/errors.h"
#include "hysim/predict.h"

namespace hysim::test {
namespace {

constexpr const char* kPath = "broken.json";

std::string bundled(std::string_view path) { return embedded_resources().read(path).value(); }

int lines_of(std::string_view text) {
  return 1 + static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

/// Whether `read` took the text; every fault must say where it is. Other exceptions end the test.
bool accepted(const std::string& text, const std::function<void(const std::string&)>& read) {
  try {
    read(text);
    return true;
  } catch (const InputError& error) {
    EXPECT_FALSE(error.diagnostics().empty());
    for (const Diagnostic& fault : error.diagnostics()) {
      EXPECT_FALSE(fault.message.empty());
      EXPECT_FALSE(fault.file.empty()) << fault.message;
      if (fault.file == kPath) {
        EXPECT_LE(fault.line, lines_of(text)) << fault.message;
      }
    }
    return false;
  }
}

void predict_step(const std::string& text) {
  static const Resources kBundle = embedded_resources();
  PredictOptions options;
  options.draws = 0;
  options.remedies = SeekRemedies::never;
  const Prediction p = predict(kBundle, {text, kPath}, options);
  EXPECT_TRUE(std::isfinite(p.step_time.value.si()));
  EXPECT_GT(p.step_time.value.si(), 0.0);
  EXPECT_TRUE(std::isfinite(p.memory.peak_per_gpu.value.si()));
  EXPECT_GT(p.memory.peak_per_gpu.value.si(), 0.0);
}

/// Each prefix of `text`; only the whole, with or without the white space at its end, is taken.
void try_prefixes(const std::string& text, const std::function<void(const std::string&)>& read) {
  const std::size_t whole = text.find_last_not_of(" \t\r\n") + 1;
  ASSERT_GT(whole, 100U);
  for (std::size_t size = 0; size <= text.size(); ++size) {
    ASSERT_EQ(accepted(text.substr(0, size), read), size >= whole) << "the first " << size;
    if (testing::Test::HasFailure()) FAIL() << "the first " << size;
  }
}

TEST(BrokenText, EveryPrefixOfAScenarioIsRefused) {
  try_prefixes(bundled("scenarios/glm-5.1-1m-h20-512.json"), predict_step);
}

TEST(BrokenText, EveryPrefixOfAGpuProfileIsRefused) {
  try_prefixes(bundled("hw_profiles/gpus/ascend-910c-128.json"), [](const std::string& text) {
    const hardware::GpuProfile profile = hardware::parse_gpu_profile(text, kPath);
    EXPECT_EQ(profile.name, "ascend-910c-128");
  });
}

/// A thousand texts with one byte changed by `change(text, at, byte)`: the same on every machine.
template <class Change>
void try_bytes(std::uint32_t seed, const Change& change) {
  const std::string whole = bundled("scenarios/glm-5.1-1m-h20-512.json");
  // Bytes that mean something in JSON, letters, digits, and what has no place in it.
  constexpr char kBytes[] =
      "0123456789-+.eE{}[]\",:/\\ \n\ttfnKMG_abcdpxAZ'#\x7F\x01\xC3\xA9\xFF\0";
  const std::string_view bytes(kBytes, sizeof kBytes - 1);
  std::mt19937 random(seed);
  int taken = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string text = whole;
    const std::size_t at = random() % text.size();
    const char byte = bytes[random() % bytes.size()];
    change(text, at, byte);
    taken += accepted(text, predict_step) ? 1 : 0;
    ASSERT_FALSE(testing::Test::HasFailure())
        << "number " << i << ": byte " << at << ", " << static_cast<int>(byte) << "\n"
        << text;
  }
  // Both ends are met: names and notes may change, the rest must not.
  EXPECT_GT(taken, 10);
  EXPECT_LT(taken, 900);
}

TEST(BrokenText, AChangedByteIsRefusedOrPredicted) {
  try_bytes(1, [](std::string& text, std::size_t at, char byte) { text[at] = byte; });
}

TEST(BrokenText, AnAddedByteIsRefusedOrPredicted) {
  try_bytes(2, [](std::string& text, std::size_t at, char byte) { text.insert(at, 1, byte); });
}

TEST(BrokenText, AMissingByteIsRefusedOrPredicted) {
  try_bytes(3, [](std::string& text, std::size_t at, char) { text.erase(at, 1); });
}

}  // namespace
}  // namespace hysim::test
