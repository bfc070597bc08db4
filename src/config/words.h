// What messages and pointers need of a text: quotes that stay short, RFC 6901 escapes.
#pragma once

#include <string>
#include <string_view>

namespace hysim::config {

/// `text` as a JSON string, for a message: escaped, and shortened when it is long.
std::string in_quotes(std::string_view text);

/// The pointer to the member `key` of what `pointer` points to.
std::string child_pointer(std::string_view pointer, std::string_view key);

}  // namespace hysim::config
