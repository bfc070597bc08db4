// What a run of many steps takes: days, GPU-hours, energy, money.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hysim/prediction.h"
#include "hysim/resources.h"

namespace hysim {

/// "50B", "1.5T", "300M" or digits: a number of tokens to train on. Decimal, as budgets are given:
/// 50B is 50 x 10^9. (Lengths of sequences are binary: a seq_len of 1M is 2^20.) Nothing when it
/// is no number of at least one token.
std::optional<double> parse_token_budget(std::string_view text);

/// USD per GPU-hour: a number, or "profile" for the GPU profile's own with its range and source.
struct PriceText {
  std::string text;  // "" asks for no cost
};

/// Whether `text` is such a price: "profile", or a positive number of at most a million.
bool is_price(std::string_view text);

/// The steps, days, GPU-hours, energy and cost of training on `tokens` as `prediction` has it.
/// Energy needs a "tdp" in the GPU's profile. Throws InputError for a price that is none, or for
/// "profile" where the profile has no price.
Budget budget_of(const Resources& resources, const Prediction& prediction, double tokens,
                 const PriceText& price = {});

}  // namespace hysim
