// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

#if !defined(__cpp_exceptions) && !defined(__EXCEPTIONS)
#error "profkit: sessions, collectors and reports need exceptions. With -fno-exceptions include <profkit/scope.hpp>, and make the session in a unit with exceptions"
#endif

namespace profkit {

/// Thrown by constructors and explicit operations. Scopes and destructors never throw.
class error : public std::runtime_error {
 public:
  /// @param what what failed, which value was bad, and what would be right.
  /// @param code the status of the call that failed (`errno`, `cudaError_t`, ...), 0 where there is none.
  explicit error(std::string const& what, int code = 0) : std::runtime_error{what}, code_{code} {}

  /// The status of the call that failed; 0 where there is none.
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

}  // namespace profkit
