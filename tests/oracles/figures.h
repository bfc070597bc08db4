// Reads the derived figures that tests compare with: tests/oracles/data/<name>.json.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"
#include "test_paths.h"
#include "unit/model/model_files.h"

namespace hysim::test {

inline config::Node read_figures(const std::string& name) {
  const std::string path = std::string(HYSIM_TEST_DATA) + "/oracles/data/" + name + ".json";
  return config::parse(read_text(path).value(), path);
}

inline const config::Node& member(const config::Node& of, std::string_view key) {
  const config::Node* node = of.find(key);
  if (node == nullptr) throw std::out_of_range(std::string(key));
  return *node;
}
inline std::string text(const config::Node& of, std::string_view key) {
  return member(of, key).as_string();
}
inline std::int64_t whole(const config::Node& of, std::string_view key) {
  return member(of, key).as_integer();
}
inline double number(const config::Node& of, std::string_view key) {
  return member(of, key).as_number();
}
inline std::vector<std::int64_t> wholes(const config::Node& of, std::string_view key) {
  std::vector<std::int64_t> values;
  for (const config::Node& value : member(of, key).as_array()) values.push_back(value.as_integer());
  return values;
}

/// "138047/3125" or "20".
inline double fraction(const config::Node& of, std::string_view key) {
  const std::string written = text(of, key);
  const std::size_t slash = written.find('/');
  const double above = std::stod(written.substr(0, slash));
  return slash == std::string::npos ? above : above / std::stod(written.substr(slash + 1));
}

}  // namespace hysim::test
