// Multiplies a step: steps x step time, x GPUs, x power, x price. Wrong where a run is more than
// its steps (checkpoints, evaluation, failures), and where power is not a share of the TDP.
#include "hysim/budget.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>

#include "config/named.h"
#include "config/node.h"
#include "config/words.h"
#include "hysim/errors.h"

namespace hysim {

namespace {

using config::Node;

constexpr double kSecondsPerHour = 3600.0;
constexpr double kHoursPerDay = 24.0;
constexpr double kWattsPerKilowatt = 1000.0;

// Assumed, with wide ranges: a training GPU averages most of its TDP; a node draws its CPUs, NICs
// and fans besides its GPUs (a DGX H100 is specified at 10.2 kW for 8 x 700 W); a hall loses what
// its power usage effectiveness says (1.1 of hyperscalers to 1.6 of rented rooms).
constexpr Ranged<double> kShareOfTdp{0.8, 0.55, 1.0};
constexpr Ranged<double> kNodeOverGpus{1.4, 1.15, 1.82};
constexpr Ranged<double> kPue{1.25, 1.1, 1.6};

/// A product of independent factors: the logarithms of their ranges add as squares.
Ranged<double> product(std::initializer_list<Ranged<double>> factors) {
  double value = 1.0;
  double down = 0.0;
  double up = 0.0;
  for (const Ranged<double>& factor : factors) {
    value *= factor.value;
    if (factor.value <= 0.0) return {};
    down += std::pow(std::log(factor.value / std::max(factor.low, 1e-300)), 2.0);
    up += std::pow(std::log(factor.high / factor.value), 2.0);
  }
  return {value, value * std::exp(-std::sqrt(down)), value * std::exp(std::sqrt(up))};
}

Ranged<double> scaled(const Ranged<double>& range, double factor) {
  return {range.value * factor, range.low * factor, range.high * factor};
}

struct Figure {
  Ranged<double> range;
  std::string source;
};

/// One of the "further" figures of a GPU's profile, which has been checked when it was loaded.
std::optional<Figure> further(const Resources& resources, const std::string& gpu,
                              std::string_view key, std::string_view unit) {
  const auto text = resources.read(config::named_path("hw_profiles/gpus", gpu));
  if (!text) return std::nullopt;
  const Node document = config::parse(*text, gpu);
  const Node* const found = config::find_path(document, "further." + std::string(key));
  if (found == nullptr || !found->is_object()) return std::nullopt;
  const auto number = [&](std::string_view name) {
    const Node* const value = found->find(name);
    return value != nullptr && value->is_number() ? value->as_number() : 0.0;
  };
  const Node* const written = found->find("unit");
  if (written == nullptr || !written->is_string() || written->as_string() != unit) {
    return std::nullopt;
  }
  const Figure figure{{number("value"), number("low"), number("high")},
                      found->find("source")->as_string()};
  if (figure.range.low <= 0.0 || figure.range.high < figure.range.value) return std::nullopt;
  return figure;
}

std::string digits(double value) {
  const bool whole = value == std::floor(value) && value < 1e15;
  return whole ? std::to_string(static_cast<std::int64_t>(value))
               : config::to_text(Node::number(value));
}

std::string range_text(const Ranged<double>& range) {
  return digits(range.value) + " (" + digits(range.low) + " to " + digits(range.high) + ")";
}

[[noreturn]] void refuse(const std::string& price, const std::string& message) {
  throw InputError({Diagnostic{"--price " + price, 0, 0, "", message}});
}

std::optional<double> positive_number(std::string_view text) {
  double number = 0.0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last || !std::isfinite(number) || number <= 0.0) {
    return std::nullopt;
  }
  return number;
}

constexpr std::string_view kOfProfile = "profile";

/// A price that is given.
std::optional<double> price_number(std::string_view text) {
  constexpr double kMost = 1e6;
  const auto number = positive_number(text);
  return number && *number <= kMost ? number : std::nullopt;
}

Figure price_of(const Resources& resources, const std::string& gpu, const std::string& text) {
  if (text == kOfProfile) {
    const auto figure = further(resources, gpu, "price_per_gpu_hour", "USD/h");
    if (!figure) refuse(text, "the profile of " + gpu + " states no price; give USD per GPU-hour");
    return *figure;
  }
  const auto number = price_number(text);
  if (!number) {
    refuse(text, "must be USD per GPU-hour such as 2.5, or \"profile\" for the GPU profile's");
  }
  return {{*number, *number, *number}, "as given"};
}

}  // namespace

bool is_price(std::string_view text) { return text == kOfProfile || price_number(text); }

std::optional<double> parse_token_budget(std::string_view text) {
  if (text.empty()) return std::nullopt;
  double scale = 1.0;
  switch (text.back()) {
    case 'K':
      scale = 1e3;
      break;
    case 'M':
      scale = 1e6;
      break;
    case 'B':
      scale = 1e9;
      break;
    case 'T':
      scale = 1e12;
      break;
    default:
      break;
  }
  if (scale > 1.0) text.remove_suffix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  const auto number = positive_number(text);
  constexpr double kMost = 1e18;
  if (!number || *number * scale < 1.0 || *number * scale > kMost) return std::nullopt;
  return *number * scale;
}

Budget budget_of(const Resources& resources, const Prediction& prediction, double tokens,
                 const PriceText& price) {
  Budget budget;
  budget.tokens = tokens;
  const double per_step =
      static_cast<double>(prediction.seq_len) * static_cast<double>(prediction.global_batch_size);
  budget.steps = static_cast<std::int64_t>(std::ceil(tokens / per_step));
  const Ranged<double> step = {prediction.step_time.value.si(), prediction.step_time.low.si(),
                               prediction.step_time.high.si()};
  const Ranged<double> hours = scaled(step, static_cast<double>(budget.steps) / kSecondsPerHour);
  budget.days = scaled(hours, 1.0 / kHoursPerDay);
  budget.gpu_hours = scaled(hours, static_cast<double>(prediction.gpus));
  budget.assumptions.emplace_back(
      "steps only: no checkpoint, evaluation, failure or ramp of the batch is counted");
  if (const auto tdp = further(resources, prediction.gpu, "tdp", "W")) {
    budget.energy_kwh = product({budget.gpu_hours, scaled(tdp->range, 1.0 / kWattsPerKilowatt),
                                 kShareOfTdp, kNodeOverGpus, kPue});
    budget.assumptions.push_back("energy: TDP " + range_text(tdp->range) + " W (" + tdp->source +
                                 "); assumed: " + range_text(kShareOfTdp) +
                                 " of it drawn, node over its GPUs " + range_text(kNodeOverGpus) +
                                 ", PUE " + range_text(kPue));
  }
  if (!price.text.empty()) {
    const Figure figure = price_of(resources, prediction.gpu, price.text);
    budget.cost_usd = product({budget.gpu_hours, figure.range});
    budget.assumptions.push_back("cost: " + range_text(figure.range) + " USD a GPU-hour (" +
                                 figure.source + "), energy included");
  }
  return budget;
}

}  // namespace hysim
