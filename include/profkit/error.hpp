// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The exception that profkit throws.

#include <stdexcept>
#include <string>

#include "version.hpp"

#if !defined(__cpp_exceptions) && !defined(__EXCEPTIONS)
#error "profkit: sessions, collectors and reports need exceptions. With -fno-exceptions include <profkit/scope.hpp> only"
#endif

namespace PROFKIT_NAMESPACE {

/// @brief The exception of the library. Constructors and explicit operations throw it; scopes and destructors never throw.
class error : public std::runtime_error {
 public:
  /// @brief Creates an error.
  /// @param what what failed, the bad value, and what would be right.
  /// @param code the status of the failed call (`errno`, `cudaError_t`, ...); 0 if there is none.
  explicit error(std::string const& what, int code = 0) : std::runtime_error{what}, code_{code} {}

  /// @brief The status of the failed call (`errno`, `cudaError_t`, ...); 0 if there is none.
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

}  // namespace PROFKIT_NAMESPACE
