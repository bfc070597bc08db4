// What the catalog's views share: the tool's name in JSON, and numbered sources below a table.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "config/node.h"
#include "report/document.h"

namespace hysim::report {

config::Node tool_node();

/// Sources in order of first use, each once.
class SourceList {
 public:
  /// The number of a source, counted from 1.
  std::size_t number(const std::string& source);
  void add_to(Document& document) const;

 private:
  std::vector<std::string> sources_;
};

/// Columns of a table of sourced numbers: name, value, range, where from.
Table sourced_table();

}  // namespace hysim::report
