// Clusters: bundled files, faults with their place, GPU:NODESxGPUS, and resolving to numbers.
#include "topology/cluster.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hysim/errors.h"
#include "hysim/resources.h"

namespace hysim::topology {
namespace {

using testing::HasSubstr;

std::string number(std::string_view value, std::string_view unit) {
  return "{\"value\": " + std::string(value) + ", \"unit\": \"" + std::string(unit) +
         "\", \"kind\": \"datasheet\", \"source\": \"a data sheet\"}";
}

/// A cluster file, one key a line; a key given in `changes` has that text instead, or is left out.
std::string cluster_text(const std::map<std::string, std::string>& changes = {}) {
  const std::vector<std::pair<std::string, std::string>> lines = {
      {"schema", "\"hysim.cluster/1\""},
      {"name", "\"test\""},
      {"gpu", "\"h20-96\""},
      {"nodes", "64"},
      {"gpus_per_node", "8"},
      {"nic_bandwidth", number("400", "Gbit/s")},
      {"nic_efficiency", number("0.9", "1")},
      {"ring_loss_per_doubling", number("0.05", "1")},
      {"all_to_all_efficiency", number("75", "%")},
      {"dispatch_efficiency", number("1", "1")},
  };
  std::string text = "{";
  for (const auto& [key, value] : lines) {
    const auto change = changes.find(key);
    if (change != changes.end() && change->second.empty()) continue;
    text += (text.size() > 1 ? ",\n\"" : "\n\"") + key +
            "\": " + (change == changes.end() ? value : change->second);
  }
  for (const auto& [key, value] : changes) {
    if (text.find("\"" + key + "\"") == std::string::npos && !value.empty()) {
      text += ",\n\"" + key + "\": " + value;
    }
  }
  return text + "\n}\n";
}

/// Every fault of the text as "file:line:column (/pointer): message".
std::vector<std::string> faults_of(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> faults;
  try {
    parse_cluster(cluster_text(changes), "test.json");
  } catch (const InputError& error) {
    for (const Diagnostic& d : error.diagnostics()) faults.push_back(d.text());
  }
  return faults;
}

TEST(ClusterFile, ReadsEveryField) {
  const Cluster cluster = parse_cluster(cluster_text({{"note", "\"any\""}}), "test.json");
  EXPECT_EQ(cluster.name, "test");
  EXPECT_EQ(cluster.gpu, "h20-96");
  EXPECT_EQ(cluster.nodes, 64);
  EXPECT_EQ(cluster.gpus_per_node, 8);
  EXPECT_EQ(cluster.gpus(), 512);
  EXPECT_DOUBLE_EQ(cluster.nic_bandwidth.value, 50e9);  // 400 Gbit/s
  EXPECT_DOUBLE_EQ(cluster.nic_efficiency.value, 0.9);
  EXPECT_DOUBLE_EQ(cluster.ring_loss_per_doubling.value, 0.05);
  EXPECT_DOUBLE_EQ(cluster.all_to_all_efficiency.value, 0.75);
  EXPECT_DOUBLE_EQ(cluster.dispatch_efficiency.value, 1.0);
  EXPECT_EQ(cluster.nic_bandwidth.id, "cluster/nic_bandwidth");
}

TEST(ClusterFile, FaultsNameTheirPlace) {
  struct Case {
    std::string key, value, fault;
  };
  for (const Case& c : std::vector<Case>{
           {"schema", "\"hysim.gpu/1\"", "test.json:2:11 (/schema): must be \"hysim.cluster/1\""},
           {"nodes", "0", "test.json:5:10 (/nodes): "},
           {"nodes", "\"64\"", "test.json:5:10 (/nodes): "},
           {"nodes", "64.5", "test.json:5:10 (/nodes): "},
           {"gpus_per_node", "-8", "test.json:6:18 (/gpus_per_node): "},
           {"gpu", "", "test.json:1:1: missing key \"gpu\""},
           {"nic_bandwidth", "400", "test.json:7:18 (/nic_bandwidth): "},
           {"nic_bandwidth", number("400", "GB"), "(/nic_bandwidth/unit): "},
           {"nic_bandwidth", number("400", "Gbit"), "(/nic_bandwidth/unit): "},
           {"nic_bandwidth", number("400", "G"), "(/nic_bandwidth/unit): "},
           {"nic_bandwidth", number("0", "Gbit/s"), "(/nic_bandwidth): must be greater than zero"},
           {"nic_efficiency", number("-0.1", "1"), "(/nic_efficiency): must not be negative"},
           {"nic_efficiency", number("0.9", "GB/s"), "(/nic_efficiency/unit): "},
           {"dispatch_efficiency", "", "test.json:1:1: missing key \"dispatch_efficiency\""},
           {"nodez", "64", "(/nodez): unknown key \"nodez\"; did you mean \"nodes\"?"},
       }) {
    const std::vector<std::string> faults = faults_of({{c.key, c.value}});
    ASSERT_EQ(faults.size(), 1U) << c.key << " = " << c.value;
    EXPECT_THAT(faults.front(), HasSubstr(c.fault)) << c.key << " = " << c.value;
    EXPECT_THAT(faults.front(), HasSubstr("test.json:")) << c.key << " = " << c.value;
  }
}

TEST(ClusterFile, ReportsAllFaultsAtOnce) {
  const std::vector<std::string> faults = faults_of({{"nodes", "0"},
                                                     {"gpu", ""},
                                                     {"nic_bandwidth", number("0", "Gbit/s")},
                                                     {"nic_efficiency", number("-1", "1")},
                                                     {"extra", "1"}});
  EXPECT_EQ(faults.size(), 5U);
}

TEST(ClusterFile, RefusesSyntaxErrorsAndDuplicates) {
  EXPECT_THROW(parse_cluster("{", "test.json"), InputError);
  EXPECT_THROW(parse_cluster("[]", "test.json"), InputError);
  EXPECT_THROW(parse_cluster("{\"name\": \"a\", \"name\": \"b\"}", "test.json"), InputError);
}

TEST(BundledClusters, AllAreReadable) {
  std::size_t count = 0;
  for (const std::string& path : embedded_resources().list("hw_profiles/clusters")) {
    const std::string stem = path.substr(path.rfind('/') + 1);
    const std::string name = stem.substr(0, stem.size() - 5);
    const Cluster cluster = load_cluster(embedded_resources(), name);
    EXPECT_EQ(cluster.name, name);
    EXPECT_GT(cluster.gpus(), 0);
    EXPECT_LE(cluster.nic_efficiency.high, 1.0) << name;
    EXPECT_LE(cluster.all_to_all_efficiency.high, 1.0) << name;
    EXPECT_LE(cluster.dispatch_efficiency.high, 1.0) << name;
    EXPECT_LT(cluster.ring_loss_per_doubling.high, 0.2) << name;
    ++count;
  }
  EXPECT_GE(count, 5U);
  EXPECT_EQ(load_cluster(embedded_resources(), "h20-512").gpus(), 512);
  EXPECT_EQ(load_cluster(embedded_resources(), "h800-2048").gpus(), 2048);
}

TEST(BundledClusters, UnknownNamesSuggestTheNearest) {
  try {
    load_cluster(embedded_resources(), "h20-521");
    ADD_FAILURE() << "was not refused";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("h20-521"));
    EXPECT_THAT(error.what(), HasSubstr("h20-512"));
  }
}

TEST(Shorthand, MakesNodesWithGenericLinks) {
  const Cluster generic = load_cluster(embedded_resources(), "generic");
  const Cluster cluster = load_cluster(embedded_resources(), "h20-96:64x8");
  EXPECT_EQ(cluster.name, "h20-96:64x8");
  EXPECT_EQ(cluster.gpu, "h20-96");
  EXPECT_EQ(cluster.nodes, 64);
  EXPECT_EQ(cluster.gpus_per_node, 8);
  EXPECT_DOUBLE_EQ(cluster.nic_bandwidth.value, generic.nic_bandwidth.value);
  EXPECT_DOUBLE_EQ(cluster.nic_efficiency.value, generic.nic_efficiency.value);
  EXPECT_EQ(load_cluster(embedded_resources(), "gb200-186:1x72").gpus(), 72);
  EXPECT_EQ(load_cluster(embedded_resources(), "h100-sxm-80:1x1").gpus(), 1);
  EXPECT_EQ(load_cluster(embedded_resources(), "h100-sxm-80:131072x8").gpus(), 1048576);
}

TEST(Shorthand, RefusesOtherForms) {
  for (const char* text : {"h20-96:",         "h20-96:64",     "h20-96:64x",
                           "h20-96:x8",       "h20-96:0x8",    "h20-96:64x0",
                           "h20-96:64x8x",    "h20-96:64x8x2", "h20-96:-1x8",
                           "h20-96:+1x8",     "h20-96:64X8",   "h20-96:64*8",
                           "h20-96: 64x8",    "h20-96:64x8 ",  "h20-96:6 4x8",
                           ":64x8",           "h20-96:64.0x8", "h20-96:1e2x8",
                           "h20-96:131073x8", "h20-96:1x1025", "h20-96:99999999999999999999x8",
                           "h20-96::64x8",    "h20:96:64x8"}) {
    try {
      load_cluster(embedded_resources(), text);
      ADD_FAILURE() << text << " was not refused";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr(text));
      EXPECT_THAT(error.what(), HasSubstr("GPU:NODESxGPUS")) << text;
    }
  }
}

TEST(Resolve, GivesPlainNumbersAndWhatTheyRestOn) {
  const Cluster cluster = parse_cluster(
      cluster_text({{"nic_efficiency",
                     "{\"value\": 0.9, \"low\": 0.8, \"high\": 0.95, \"unit\": \"1\", "
                     "\"kind\": \"measured\", \"measured_on\": \"h100-sxm-80\", "
                     "\"source\": \"a measurement\"}"},
                    {"dispatch_efficiency",
                     "{\"value\": 0.9, \"unit\": \"1\", \"kind\": \"measured\", "
                     "\"source\": \"a measurement\"}"},
                    {"all_to_all_efficiency",
                     "{\"value\": 0.5, \"unit\": \"1\", \"kind\": \"assumed\", "
                     "\"source\": \"nothing\"}"}}),
      "test.json");
  const Network network = resolve(cluster, {});
  EXPECT_DOUBLE_EQ(network.nic.value.si(), 50e9);
  EXPECT_EQ(network.nic.evidence, config::Evidence::datasheet);
  EXPECT_DOUBLE_EQ(network.nic_efficiency.value, 0.9);
  EXPECT_EQ(network.nic_efficiency.evidence, config::Evidence::other_gpu);
  EXPECT_EQ(network.dispatch_efficiency.evidence, config::Evidence::this_gpu);
  EXPECT_EQ(network.all_to_all_efficiency.evidence, config::Evidence::assumed);
}

TEST(Resolve, DrawsStayInRangeAndRepeat) {
  const Cluster cluster = load_cluster(embedded_resources(), "h20-512");
  bool differs = false;
  for (std::uint64_t sample = 0; sample < 200; ++sample) {
    const Network one = resolve(cluster, config::Sampler(7, sample));
    const Network two = resolve(cluster, config::Sampler(7, sample));
    EXPECT_EQ(one.nic_efficiency.value, two.nic_efficiency.value);
    EXPECT_GE(one.nic_efficiency.value, cluster.nic_efficiency.low);
    EXPECT_LE(one.nic_efficiency.value, cluster.nic_efficiency.high);
    EXPECT_DOUBLE_EQ(one.nic.value.si(), 50e9);
    differs = differs || one.nic_efficiency.value != cluster.nic_efficiency.value;
  }
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace hysim::topology
