// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "collect/collector.hpp"
#include "options.hpp"
#include "record/step.hpp"
#include "report/report.hpp"

namespace profkit::detail {

/// What a session does, behind it. There is one, `running_session`.
class session_core : public step_loop {
 public:
  ~session_core() override = default;

  raw_step begin_step() override = 0;
  void end_step(raw_step const& done) noexcept override = 0;

  virtual void take(std::unique_ptr<collector> taken) = 0;
  virtual profkit::report report() = 0;

  [[nodiscard]] virtual std::uint64_t wanted_steps() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t next_step() const noexcept = 0;
  /// With `steps=auto`: whether the mean is known.
  [[nodiscard]] virtual bool has_enough() const noexcept = 0;
  /// In the child of a `fork`, where a thread of the parent may have left it half done: it must not be destroyed.
  [[nodiscard]] virtual bool is_of_parent() const noexcept = 0;
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
