#include "hardware/named_kernels.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hysim/errors.h"

namespace hysim::hardware {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string kSourced =
    R"({"value": 0.5, "unit": "1", "low": 0.4, "high": 0.6, "kind": "measured", "source": "x"})";
const std::string kBytes =
    R"({"value": 9, "unit": "B", "low": 8, "high": 10, "kind": "derived", "source": "y"})";

std::string document(const std::string& kernels, const std::string& name = "mine") {
  return R"({"schema": "hysim.kernels/1", "name": ")" + name +
         R"(", "gpu": "h20-96", "kernels": )" + kernels + "}";
}
std::string mine() {
  return R"({"topk": {"mine": {"like": "radix", "cycles": )" + kSourced + R"(, "bytes": )" +
         kBytes + "}}}";
}

std::string faults(const std::string& text) {
  std::string all;
  try {
    parse_named_kernels(text, "k.json");
  } catch (const InputError& error) {
    for (const Diagnostic& fault : error.diagnostics()) all += fault.text() + "\n";
  }
  return all;
}

TEST(NamedKernels, TakeThePlaceOfTheConstantsTheyAreLike) {
  const auto kernels = parse_named_kernels(document(mine()), "k.json");
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].family, "topk");
  EXPECT_EQ(kernels[0].name, "mine");
  EXPECT_EQ(kernels[0].like, "radix");
  GpuProfile profile = load_gpu_profile(embedded_resources(), "h20-96");
  const Gpu before = resolve(profile, config::Sampler());
  use(kernels[0], profile);
  const Gpu after = resolve(profile, config::Sampler());
  EXPECT_EQ(after.radix_topk_cycles.value, 0.5);
  EXPECT_EQ(after.radix_topk_bytes.value, 9.0);
  EXPECT_EQ(after.radix_topk_cycles.evidence, Evidence::this_gpu);
  EXPECT_EQ(after.torch_topk_cycles.value, before.torch_topk_cycles.value);
  EXPECT_EQ(after.bf16.value, before.bf16.value);
}

TEST(NamedKernels, FaultsHaveTheirPlace) {
  EXPECT_EQ(faults(document(mine())), "");
  EXPECT_THAT(faults(document(R"({"topkk": {}})")), HasSubstr("did you mean \"topk\"?"));
  EXPECT_THAT(faults(document(R"({"topk": {"radix": {}}})")), HasSubstr("a name of its own"));
  EXPECT_THAT(faults(document(R"({"topk": {"a": {"like": "radx"}}})")),
              HasSubstr("(/kernels/topk/a/like): \"like\" must be one of \"torch\", \"radix\""));
  EXPECT_THAT(faults(document(R"({"topk": {"a": {"like": "radix", "cycles": )" + kSourced + "}}}")),
              HasSubstr("\"bytes\""));
  EXPECT_THAT(faults(document(R"({"sparse_attention": {"a": {"like": "cudnn", "forward": )" +
                              kSourced + R"(, "backward": {"value": 2, "unit": "1", "low": 2,
                                "high": 2, "kind": "measured", "source": "x"}}}})")),
              HasSubstr("a fraction must not exceed 1"));
  const std::string scoring = R"("tensor_fraction": )" + kSourced + R"(, "epilogue_cycles": )" +
                              kSourced + R"(, "epilogue_lane_ops": )" + kSourced;
  EXPECT_EQ(faults(document(R"({"selection": {"a": {"like": "table", )" + scoring + "}}}")), "");
  EXPECT_THAT(faults(document(R"({"selection": {"a": {"like": "fused", )" + scoring + "}}}")),
              AllOf(HasSubstr("\"scan_overhead\""), HasSubstr("\"compaction_cycles\"")));
  EXPECT_THAT(faults(R"({"schema": "hysim.gpu/1"})"), HasSubstr("hysim.kernels/1"));
}

TEST(NamedKernels, OneNameIsDefinedOnceForAGpu) {
  const Resources two = memory_resources({{"hw_profiles/kernels/a.json", document(mine(), "a")},
                                          {"hw_profiles/kernels/b.json", document(mine(), "b")}});
  EXPECT_THROW(load_named_kernels(two), InputError);
}

TEST(NamedKernels, BundledOnesNameGpusThatThereAre) {
  for (const NamedKernel& kernel : load_named_kernels(embedded_resources())) {
    EXPECT_NO_THROW(load_gpu_profile(embedded_resources(), kernel.gpu)) << kernel.name;
    EXPECT_FALSE(kernel.constants.empty()) << kernel.name;
  }
}

}  // namespace
}  // namespace hysim::hardware
