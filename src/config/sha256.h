// SHA-256 (FIPS 180-4), to name documents and results by content. Not for secrets.
#pragma once

#include <string>
#include <string_view>

namespace hysim::config {

/// The digest of `data` as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view data);

}  // namespace hysim::config
