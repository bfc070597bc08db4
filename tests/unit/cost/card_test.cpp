// Cards of kernels against their laws: the printed formulas give KernelTime::busy() for every
// kernel, precision and GPU, on either side of every branch.
#include "cost/card.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "config/sourced.h"
#include "cost/kernel_time.h"
#include "hysim/resources.h"

namespace hysim::cost {
namespace {

using config::Card;
using config::CardLine;
using hardware::Gpu;
using ops::Kernel;
using ops::Precision;
using ops::Work;

std::vector<Gpu> gpus() {
  std::vector<Gpu> result;
  for (const std::string& path : embedded_resources().list("hw_profiles/gpus")) {
    const std::size_t slash = path.rfind('/');
    const std::string name = path.substr(slash + 1, path.size() - slash - 6);
    result.push_back(hardware::resolve(hardware::load_gpu_profile(embedded_resources(), name), {}));
  }
  return result;
}

double result_of(const Card& card) {
  std::map<std::string, double, std::less<>> values;
  double last = 0.0;
  for (const CardLine& line : card.lines) {
    last = line.formula.empty() ? line.value
                                : config::evaluate(line.formula, [&](std::string_view symbol) {
                                    const auto found = values.find(symbol);
                                    EXPECT_NE(found, values.end()) << symbol;
                                    return found == values.end() ? 0.0 : found->second;
                                  });
    values[line.symbol] = last;
  }
  return last;
}

/// Works from tiny to huge, heavy on computing or on memory.
std::vector<Work> works() {
  std::vector<Work> result;
  for (int kernel = 0; kernel <= static_cast<int>(Kernel::stream); ++kernel) {
    for (const Precision precision : {Precision::bf16, Precision::fp8, Precision::fp32}) {
      for (const double size : {1e3, 1e6, 1e9}) {
        for (const double bytes_per_flop : {1e-3, 10.0}) {
          Work work;
          work.kernel = static_cast<Kernel>(kernel);
          work.precision = precision;
          work.flops = Flops(1000.0 * size);
          work.read = Bytes(1000.0 * size * bytes_per_flop);
          work.written = Bytes(300.0 * size * bytes_per_flop);
          work.gathered = Bytes(200.0 * size * bytes_per_flop);
          work.scattered = Bytes(100.0 * size * bytes_per_flop);
          work.units = size;
          work.heads = 32.0;
          work.tiles = size < 1e4 ? 0.0 : (size < 1e7 ? 3.0 : 977.0);
          work.depth = 5000.0;
          work.compactions = 0.01 * size;
          result.push_back(work);
        }
      }
    }
  }
  return result;
}

TEST(KernelCard, GivesTheTimeOfItsLaw) {
  int cases = 0;
  for (const Gpu& gpu : gpus()) {
    for (const Work& work : works()) {
      const double busy = kernel_time(work, gpu, Seconds(0.0)).busy().si();
      EXPECT_NEAR(result_of(kernel_card(work, gpu)), busy, 1e-12 * busy)
          << gpu.name << " kernel " << static_cast<int>(work.kernel) << " precision "
          << static_cast<int>(work.precision);
      ++cases;
    }
  }
  EXPECT_GT(cases, 1000);
}

TEST(KernelCard, FieldsAreThoseOfTheProfile) {
  for (const Work& work : works()) {
    for (const CardLine& line : kernel_card(work, gpus().front()).lines) {
      if (line.document_key.empty()) continue;
      bool known = false;
      for (const auto& info : hardware::gpu_fields()) {
        known = known || "gpu/" + std::string(info.key) == line.document_key;
      }
      EXPECT_TRUE(known) << line.document_key;
    }
  }
}

}  // namespace
}  // namespace hysim::cost
