// What ends a command early, besides InputError.
#pragma once

#include <stdexcept>

namespace hysim::cli {

/// Arguments that make no sense together: exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An output could not be written: exit code 5.
class WriteError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace hysim::cli
