#include "predict/megatron/lookup.h"

#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include "config/reader.h"
#include "config/words.h"
#include "predict/megatron/arguments.h"

namespace hysim::predictor {

namespace {

bool says_no(const MegatronArgument& argument) {
  if (argument.values.size() != 1) return false;
  const std::string& value = argument.values[0];
  return value == "false" || value == "False" || value == "null" || value == "~" ||
         value == "None" || value.empty();
}
bool says_yes(const MegatronArgument& argument) {
  return argument.values.size() == 1 &&
         (argument.values[0] == "true" || argument.values[0] == "True");
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

MegatronLookup::MegatronLookup(const MegatronRun& run) {
  for (const MegatronArgument& argument : run.arguments) {
    Entry entry{argument, argument.name, !says_no(argument), {}};
    for (const MegatronAlias& alias : megatron_aliases()) {
      if (alias.spelling != argument.name) continue;
      entry.name = alias.argument;
      if (alias.inverted) entry.on = says_no(argument);
    }
    if (file_.empty()) file_ = argument.file;
    for (Entry& earlier : entries_) {
      if (earlier.name != entry.name || earlier.line) continue;
      earlier.line = {earlier.argument, MegatronUse::no_effect,
                      "given again at line " + std::to_string(argument.line)};
    }
    entries_.push_back(std::move(entry));
  }
}

const MegatronLookup::Entry* MegatronLookup::find(std::string_view name) const {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->name == name && entry->on) return &*entry;
    if (entry->name == name) return nullptr;
  }
  return nullptr;
}

MegatronLookup::Entry* MegatronLookup::use(std::string_view name) {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->name != name) continue;
    if (!entry->line) {
      entry->line = entry->on ? MegatronReportLine{entry->argument, MegatronUse::used, "model"}
                              : MegatronReportLine{entry->argument, MegatronUse::no_effect, "off"};
    }
    return entry->on ? &*entry : nullptr;
  }
  return nullptr;
}

Diagnostic MegatronLookup::at(std::string_view name, std::string message) const {
  const Entry* const entry = find(name);
  if (entry == nullptr) return {file_, 0, 0, "", std::move(message)};
  return {entry->argument.file, entry->argument.line, 0, "", std::move(message)};
}

void MegatronLookup::fault(std::string_view name, std::string message) {
  faults_.push_back(at(name, std::move(message)));
}

std::optional<std::string> MegatronLookup::value(std::string_view name) {
  const Entry* const entry = use(name);
  if (entry == nullptr) return std::nullopt;
  const MegatronArgument& argument = entry->argument;
  if (!argument.missing.empty()) {
    fault(name, "--" + argument.name + " needs " + listed(argument.missing) +
                    ", which nothing sets; give it with --define NAME=VALUE");
  } else if (argument.values.size() != 1) {
    fault(name, "--" + argument.name + " must have one value, found " +
                    std::to_string(argument.values.size()));
  } else {
    return argument.values[0];
  }
  return std::nullopt;
}

std::int64_t MegatronLookup::integer(std::string_view name, std::int64_t fallback,
                                     std::int64_t low) {
  constexpr std::int64_t kMost = std::int64_t{1} << 48;  // products of two stay below 2^63
  const auto text = value(name);
  if (!text) return fallback;
  std::int64_t number = 0;
  const char* const last = text->data() + text->size();
  const auto [end, error] = std::from_chars(text->data(), last, number);
  if (error == std::errc::result_out_of_range || (error == std::errc() && number > kMost)) {
    fault(name, "--" + std::string(name) + " must be at most 2^48 in size, found " +
                    config::in_quotes(*text));
    return fallback;
  }
  if (error != std::errc() || end != last || number < low) {
    fault(name, "--" + std::string(name) + " must be an integer of at least " +
                    std::to_string(low) + ", found " + config::in_quotes(*text));
    return fallback;
  }
  return number;
}

double MegatronLookup::number(std::string_view name, double fallback) {
  const auto text = value(name);
  if (!text) return fallback;
  double number = 0.0;
  const char* const last = text->data() + text->size();
  const auto [end, error] = std::from_chars(text->data(), last, number);
  if (error == std::errc() && end == last && std::isfinite(number)) return number;
  fault(name, "--" + std::string(name) + " must be a number, found " + config::in_quotes(*text));
  return fallback;
}

bool MegatronLookup::flag(std::string_view name) {
  const Entry* const entry = use(name);
  if (entry == nullptr) return false;
  if (!entry->argument.values.empty() && !says_yes(entry->argument) && !says_no(entry->argument)) {
    fault(name, "--" + std::string(name) + " is a switch, found the value " +
                    config::in_quotes(entry->argument.values[0]));
  }
  return true;
}

std::string MegatronLookup::text(std::string_view name, std::string_view fallback) {
  return value(name).value_or(std::string(fallback));
}

std::vector<std::string> MegatronLookup::list(std::string_view name) {
  const Entry* const entry = use(name);
  return entry == nullptr ? std::vector<std::string>{} : entry->argument.values;
}

void MegatronLookup::note(std::string_view name, std::string note) {
  if (Entry* const entry = use(name); entry != nullptr) entry->line->note = std::move(note);
}

void MegatronLookup::not_modelled(std::string_view name, std::string why) {
  if (Entry* const entry = use(name); entry != nullptr) {
    entry->line->use = MegatronUse::not_modelled;
    entry->line->note = std::move(why);
  }
}

std::vector<MegatronReportLine> MegatronLookup::report() const {
  std::vector<MegatronReportLine> lines;
  for (const Entry& entry : entries_) {
    if (entry.line) {
      lines.push_back(*entry.line);
    } else if (!entry.on) {
      lines.push_back({entry.argument, MegatronUse::no_effect, "off"});
    } else if (has_no_effect(entry.name)) {
      lines.push_back({entry.argument, MegatronUse::no_effect, ""});
    } else if (const auto why = predictor::not_modelled(entry.name); !why.empty()) {
      lines.push_back({entry.argument, MegatronUse::not_modelled, std::string(why)});
    } else {
      const std::string near = config::nearest(entry.name, megatron_names());
      lines.push_back({entry.argument, MegatronUse::unknown,
                       near.empty() ? "" : "did you mean --" + near + "?"});
    }
  }
  return lines;
}

}  // namespace hysim::predictor

namespace hysim {

const char* to_string(MegatronUse use) {
  switch (use) {
    case MegatronUse::used:
      return "used";
    case MegatronUse::no_effect:
      return "no_effect";
    case MegatronUse::not_modelled:
      return "not_modelled";
    case MegatronUse::unknown:
      return "unknown";
  }
  return "";
}

}  // namespace hysim
