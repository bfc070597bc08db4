// What every bundled profile must satisfy, and how a fault in one is reported.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/node.h"
#include "hardware/gpu.h"
#include "hysim/errors.h"
#include "unit/hardware/profiles.h"

namespace hysim::hardware {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;

TEST(GpuFields, AreNamedOnceAndExplained) {
  std::set<std::string_view> keys;
  for (const GpuFieldInfo& field : gpu_fields()) {
    EXPECT_TRUE(keys.insert(field.key).second) << field.key;
    EXPECT_FALSE(field.si_unit.empty()) << field.key;
    EXPECT_FALSE(field.meaning.empty()) << field.key;
  }
  EXPECT_THAT(
      keys, IsSupersetOf({"hbm_bandwidth", "laws/gemm_bf16", "collectives/reduce_scatter/busbw"}));
}

TEST(BundledGpus, AreTheFifteenWeHaveFactsFor) {
  EXPECT_THAT(gpu_names(), ElementsAre("a100-sxm-80", "a800-sxm-80", "ascend-910b-64",
                                       "ascend-910c-128", "b200-180", "b300-288", "gb200-186",
                                       "h100-pcie-80", "h100-sxm-80", "h20-3e-141", "h20-96",
                                       "h200-sxm-141", "h800-sxm-80", "mi300x-192", "rtx-5090-32"));
}

class BundledGpu : public ::testing::TestWithParam<std::string> {
 protected:
  GpuProfile profile() const { return load_gpu_profile(bundled_profiles(), GetParam()); }
};

TEST_P(BundledGpu, NamesASourceAndARangeForEveryField) {
  const GpuProfile gpu = profile();
  EXPECT_EQ(gpu.name, GetParam());
  EXPECT_FALSE(gpu.full_name.empty());
  EXPECT_FALSE(gpu.architecture.empty());
  ASSERT_EQ(gpu.fields.size(), gpu_fields().size());
  for (std::size_t i = 0; i < gpu.fields.size(); ++i) {
    const config::Sourced& field = gpu.fields[i];
    const std::string key(gpu_fields()[i].key);
    EXPECT_EQ(field.id, "gpu/" + gpu.name + "/" + key);
    EXPECT_TRUE(std::isfinite(field.low) && std::isfinite(field.high)) << key;
    EXPECT_GT(field.low, 0.0) << key;
    EXPECT_LE(field.low, field.value) << key;
    EXPECT_LE(field.value, field.high) << key;
    EXPECT_FALSE(field.source.empty()) << key;
    if (field.kind == config::SourceKind::assumed) {
      EXPECT_LT(field.low, field.high) << key << " is assumed and has no range";
      EXPECT_TRUE(field.measured_on.empty()) << key;
    }
    if (!field.measured_on.empty()) {
      EXPECT_THAT(gpu_names(), Contains(field.measured_on)) << key;
    }
  }
}

/// Every {"value", ...} of a document, with its pointer.
template <class Visit>
void for_each_figure(const config::Node& node, const std::string& pointer, const Visit& visit) {
  if (!node.is_object()) return;
  if (node.find("source") != nullptr) return visit(node, pointer);
  for (const auto& [key, child] : node.as_object())
    for_each_figure(child, pointer + "/" + key, visit);
}

TEST_P(BundledGpu, SourcesWhatNoLawReadsToo) {
  const config::Node root = config::parse(profile_text(GetParam()), GetParam());
  int figures = 0;
  for_each_figure(root, "", [&](const config::Node& figure, const std::string& pointer) {
    ++figures;
    EXPECT_FALSE(figure.find("source")->as_string().empty()) << pointer;
    if (figure.find("text") != nullptr) return;
    EXPECT_LE(figure.find("low")->as_number(), figure.find("value")->as_number()) << pointer;
    EXPECT_LE(figure.find("value")->as_number(), figure.find("high")->as_number()) << pointer;
    if (const config::Node* gpu = figure.find("measured_on")) {
      EXPECT_THAT(gpu_names(), Contains(gpu->as_string())) << pointer;
    }
  });
  EXPECT_GT(figures, static_cast<int>(gpu_fields().size()));
  for (const char* key : {"tdp", "price_per_gpu_hour", "pcie"}) {
    EXPECT_NE(config::find_path(root, std::string("/further/") + key), nullptr) << key;
  }
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, BundledGpu, ::testing::ValuesIn(gpu_names()), test_name);

// Faults. Each test changes one place of a good profile.

std::string with(std::string_view pointer, config::Node value) {
  config::Node root = config::parse(profile_text("h20-96"), "h20-96.json");
  config::set_path(root, pointer, std::move(value));
  return config::to_text(root, 2);
}

std::string without(std::string_view object, std::string_view key) {
  config::Node root = config::parse(profile_text("h20-96"), "h20-96.json");
  config::Node* parent = &root;
  if (!object.empty()) parent = root.find(object);
  parent->erase(key);
  return config::to_text(root, 2);
}

std::vector<Diagnostic> faults_of(const std::string& text) {
  try {
    parse_gpu_profile(text, "x.json");
  } catch (const InputError& error) {
    return error.diagnostics();
  }
  return {};
}

TEST(GpuProfileFaults, NoneInTheUnchangedProfile) {
  EXPECT_THAT(faults_of(profile_text("h20-96")), SizeIs(0));
}

TEST(GpuProfileFaults, WrongUnitIsLocated) {
  const auto faults = faults_of(with("/hbm_bandwidth/unit", config::Node::string("GB")));
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].file, "x.json");
  EXPECT_EQ(faults[0].pointer, "/hbm_bandwidth/unit");
  EXPECT_GT(faults[0].line, 1);
  EXPECT_GT(faults[0].column, 1);
  EXPECT_THAT(faults[0].message, HasSubstr("B/s"));
}

TEST(GpuProfileFaults, MissingKeyNamesIt) {
  const auto law = faults_of(without("laws", "gemm_bf16"));
  ASSERT_THAT(law, SizeIs(1));
  EXPECT_EQ(law[0].pointer, "/laws");
  EXPECT_THAT(law[0].message, HasSubstr("\"gemm_bf16\""));

  const auto field = faults_of(without("", "l2"));
  ASSERT_THAT(field, SizeIs(1));
  EXPECT_THAT(field[0].message, HasSubstr("\"l2\""));
}

TEST(GpuProfileFaults, MissingObjectIsOneFault) {
  const auto faults = faults_of(without("", "laws"));
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_THAT(faults[0].message, HasSubstr("\"laws\""));
  const auto no_object = faults_of(with("/collectives", config::Node::number(3.0)));
  ASSERT_THAT(no_object, SizeIs(1));
  EXPECT_EQ(no_object[0].pointer, "/collectives");
}

TEST(GpuProfileFaults, RangeMustHoldTheValue) {
  const auto low = faults_of(with("/clock/low", config::Node::number(2500.0)));
  ASSERT_THAT(low, SizeIs(1));
  EXPECT_EQ(low[0].pointer, "/clock/low");
  const auto further = faults_of(with("/further/tdp/low", config::Node::number(450.0)));
  ASSERT_THAT(further, SizeIs(1));
  EXPECT_EQ(further[0].pointer, "/further/tdp/value");
}

TEST(GpuProfileFaults, UnknownKeyNamesTheNearest) {
  const auto law = faults_of(with("/laws/gem_bf16", config::Node::number(1.0)));
  ASSERT_THAT(law, SizeIs(1));
  EXPECT_EQ(law[0].pointer, "/laws/gem_bf16");
  EXPECT_THAT(law[0].message, HasSubstr("\"gemm_bf16\""));
  const auto value = faults_of(with("/bf16/vale", config::Node::number(1.0)));
  ASSERT_THAT(value, SizeIs(1));
  EXPECT_EQ(value[0].pointer, "/bf16/vale");
  const auto figure = faults_of(with("/achieved/nvlink_ep_max/vale", config::Node::number(1.0)));
  ASSERT_THAT(figure, SizeIs(1));
  EXPECT_EQ(figure[0].pointer, "/achieved/nvlink_ep_max/vale");
}

TEST(GpuProfileFaults, ValuesMustBePossible) {
  const auto zero = faults_of(with("/sm_count/low", config::Node::integer(0)));
  ASSERT_THAT(zero, SizeIs(1));
  EXPECT_EQ(zero[0].pointer, "/sm_count/low");
  EXPECT_THAT(zero[0].message, HasSubstr("greater than 0"));

  const auto fraction = faults_of(with("/laws/gemm_bf16/high", config::Node::number(1.5)));
  ASSERT_THAT(fraction, SizeIs(1));
  EXPECT_EQ(fraction[0].pointer, "/laws/gemm_bf16/high");

  // An overhead and a hit share may be 0, a negative one is a mistake.
  EXPECT_THAT(faults_of(with("/laws/hytopk_scan_overhead/low", config::Node::integer(0))),
              SizeIs(0));
  EXPECT_THAT(faults_of(with("/laws/l2_hit_scatter/low", config::Node::integer(0))), SizeIs(0));
  EXPECT_THAT(faults_of(with("/laws/hytopk_scan_overhead/low", config::Node::number(-0.1))),
              SizeIs(1));
}

TEST(GpuProfileFaults, SourceAndKindAreRequired) {
  const auto source = faults_of(with("/bf16/source", config::Node::string("")));
  ASSERT_THAT(source, SizeIs(1));
  EXPECT_EQ(source[0].pointer, "/bf16/source");
  const auto kind = faults_of(with("/bf16/kind", config::Node::string("guess")));
  ASSERT_THAT(kind, SizeIs(1));
  EXPECT_EQ(kind[0].pointer, "/bf16/kind");
  const auto figure = faults_of(with("/further/tdp/source", config::Node::string("")));
  ASSERT_THAT(figure, SizeIs(1));
  EXPECT_EQ(figure[0].pointer, "/further/tdp/source");
  const auto text = faults_of(with("/further/pcie/source", config::Node::integer(5)));
  ASSERT_THAT(text, SizeIs(1));
  EXPECT_EQ(text[0].pointer, "/further/pcie/source");
}

TEST(GpuProfileFaults, NamesAreNotEmpty) {
  const auto faults = faults_of(with("/architecture", config::Node::string("")));
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].pointer, "/architecture");
}

TEST(GpuProfileFaults, SchemaIsChecked) {
  const auto faults = faults_of(with("/schema", config::Node::string("hysim.gpu/2")));
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].pointer, "/schema");
  EXPECT_THAT(faults[0].message, AllOf(HasSubstr("hysim.gpu/1"), HasSubstr("hysim.gpu/2")));
}

TEST(GpuProfileFaults, AllAreReportedAtOnce) {
  config::Node root = config::parse(profile_text("h20-96"), "h20-96.json");
  config::set_path(root, "/bf16/unit", config::Node::string("G"));
  config::set_path(root, "/laws/index_loss/low", config::Node::number(-1.0));
  config::set_path(root, "/collectives/all_gather/latency/unit", config::Node::string("MHz"));
  EXPECT_THAT(faults_of(config::to_text(root, 2)), SizeIs(3));
}

TEST(GpuProfileFaults, NoObjectAtAll) { EXPECT_THAT(faults_of("[1]"), SizeIs(1)); }

// Loading by name.

std::string load_failure(const Resources& resources, std::string_view name) {
  try {
    load_gpu_profile(resources, name);
  } catch (const InputError& error) {
    EXPECT_THAT(error.diagnostics(), SizeIs(1));
    return error.diagnostics().front().text();
  }
  return {};
}

TEST(LoadGpuProfile, UnknownNameNamesTheNearest) {
  const std::string near = load_failure(bundled_profiles(), "h20-69");
  EXPECT_THAT(near, AllOf(HasSubstr("hw_profiles/gpus"), HasSubstr("\"h20-69\""),
                          HasSubstr("did you mean \"h20-96\"?"), HasSubstr("hysim list gpus")));
  const std::string begun = load_failure(bundled_profiles(), "h20");
  EXPECT_THAT(begun, HasSubstr("did you mean \"h20-3e-141\" or \"h20-96\""));
  const std::string far = load_failure(bundled_profiles(), "tpu");
  EXPECT_THAT(far, AllOf(HasSubstr("\"tpu\""), Not(HasSubstr("did you mean"))));
}

TEST(LoadGpuProfile, NameIsNoPath) {
  EXPECT_THAT(load_failure(bundled_profiles(), "../gpus/h20-96"), HasSubstr("no GPU"));
}

TEST(LoadGpuProfile, NameMustBeTheFiles) {
  const Resources resources =
      memory_resources({{"hw_profiles/gpus/h20-97.json", profile_text("h20-96")}});
  EXPECT_THAT(load_failure(resources, "h20-97"),
              AllOf(HasSubstr("h20-97.json"), HasSubstr("/name"), HasSubstr("\"h20-96\"")));
}

}  // namespace
}  // namespace hysim::hardware
