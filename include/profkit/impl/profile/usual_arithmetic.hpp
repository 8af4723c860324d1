// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfenv>

#include "../../version.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// To the end of the block, floating-point operations of this thread round to nearest, and invalid ones give NaN or infinity. The program
/// may have asked for a signal (`feenableexcept`) or another rounding, while its counters and declared work may have any value. Afterwards
/// the thread has its environment again, with the flags from before.
class usual_arithmetic {
 public:
  usual_arithmetic() noexcept {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  usual_arithmetic(usual_arithmetic const&) = delete;
  usual_arithmetic& operator=(usual_arithmetic const&) = delete;
  ~usual_arithmetic() { std::fesetenv(&before_); }

 private:
  std::fenv_t before_{};
};

}  // namespace PROFKIT_NAMESPACE::detail
