// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>

#include <array>
#include <cstddef>
#include <string_view>

#include "bench_support.hpp"

namespace bench::growth {

/// What costs processor time.
enum class phase : std::size_t {
  recording,  ///< the program's threads; of a made profile: adding its records to a profile
  draining,   ///< the session's thread; of a made profile: adding it window by window
  report,     ///< `session::report`, or `analyze`
  writing,    ///< all files and all tables
  reading,    ///< `profkit report` of what was written
};

inline constexpr std::array<std::string_view, 5> phase_names{"recording", "draining", "report()", "writing", "profkit report"};

/// Phases whose costs are judged together: `session::report` adds the windows that the session's thread has not added yet.
inline constexpr std::array<std::array<phase, 2>, 4> judged_phases{{{phase::recording, phase::recording},
                                                                    {phase::draining, phase::report},
                                                                    {phase::writing, phase::writing},
                                                                    {phase::reading, phase::reading}}};

/// Processor time of each phase in nanoseconds; 0: no such phase.
class costs {
 public:
  [[nodiscard]] double operator[](phase which) const noexcept { return ns_[static_cast<std::size_t>(which)]; }
  /// The sum of two phases; of one phase if they are the same.
  [[nodiscard]] double sum(std::array<phase, 2> const& phases) const noexcept {
    return (*this)[phases[0]] + (phases[0] == phases[1] ? 0.0 : (*this)[phases[1]]);
  }
  void set(phase which, double ns) noexcept { ns_[static_cast<std::size_t>(which)] = ns; }

  /// Adds the processor time of a function.
  template <class Function>
  void measure(phase which, Function const& function) {
    double const begin = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    function();
    ns_[static_cast<std::size_t>(which)] += now_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
  }

 private:
  std::array<double, phase_names.size()> ns_{};
};

}  // namespace bench::growth
