// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "../collect/collector.hpp"
#include "../options.hpp"
#include "../record/step.hpp"
#include "../report/report.hpp"

namespace profkit::detail {

/// What a session does, behind it. There is one, `running_session`.
class session_core : public step_loop {
 public:
  ~session_core() override = default;

  raw_step begin_step() override = 0;
  void end_step(raw_step const& done) noexcept override = 0;

  virtual void take(std::unique_ptr<collector> taken) = 0;
  virtual profkit::report report() = 0;
  virtual profkit::report snapshot() = 0;

  [[nodiscard]] virtual std::uint64_t wanted_steps() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t next_step() const noexcept = 0;
  /// With `steps=auto`: whether the mean is known.
  [[nodiscard]] virtual bool has_enough() const noexcept = 0;
  /// The session object is about to go: stops, prints and writes what the options say.
  /// @return whether it may be destroyed: not in the child of a `fork`, where a thread of the parent may have left it half done, nor while
  /// another thread is in a step.
  [[nodiscard]] virtual bool end() noexcept = 0;
};

/// Makes it: declared here, so that one unit of a program can compile it, as with `report_code`.
template <class>
struct session_code {
  static std::unique_ptr<session_core> make(options wanted);
};

#ifdef PROFKIT_CODE_ELSEWHERE
extern template struct session_code<void>;
#endif

}  // namespace profkit::detail
