// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "../profile/profile_builder.hpp"
#include "../record/calendar_clock.hpp"

namespace profkit {

/// Whether a collector collects, and if not, why.
struct collector_status {
  bool works = true;
  std::string reason;
};

/// One outside party that a session listens to. A session calls it from the thread that runs the steps, never inside a step, except for
/// `drain_in_step` and `flush`. It never calls two functions of its collectors at once. When a program ends with `exit` or by a signal and
/// the session reports then, `drain` and `stop` are called on the thread that called `exit`, or on the session's own thread.
///
/// A collector that cannot work says so with `fail` and stays silent; the session and the program go on. What its functions throw
/// comes to the same.
class collector {
 public:
  virtual ~collector() = default;

  /// As it stands in the report, such as "cuda memory".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  /// What it collects, as far as the session and the reports depend on it: `kernels=off` is for a collector of kernels, whatever its name.
  [[nodiscard]] virtual collector_kind kind() const noexcept { return collector_kind::other; }

  /// Called before `start`, for a collector whose source gives times of CLOCK_REALTIME. The clock lives as long as the session runs; to be
  /// used in the functions below only.
  virtual void use_clock(detail::calendar_clock& clock) { static_cast<void>(clock); }
  /// Called once, when the session takes the collector. May fill `profile_builder::environment`.
  virtual void start(profile_builder& into) { static_cast<void>(into); }
  /// Called after `start` if `PROFKIT=memory=scopes`.
  virtual void poll_at_scopes(profile_builder& into) { static_cast<void>(into); }
  /// Called before a step begins, and before the `before_step` of any collector: for what takes time, on the host or on a device.
  virtual void prepare_step(step_record const& step) { static_cast<void>(step); }
  /// Called before a step begins.
  virtual void before_step(step_record const& step) { static_cast<void>(step); }
  /// Called after a step ended.
  virtual void after_step(step_record const& step) { static_cast<void>(step); }
  /// Moves what is complete into the profile. Called between steps, at most every 10 ms, and with `last` when the session ends. Must be
  /// quick, as the next step waits for it: ask for a bounded number of things unless it is the `last` time.
  virtual void drain(profile_builder& into, bool last) {
    static_cast<void>(into);
    static_cast<void>(last);
  }
  /// Called every 10 to 25 ms on the session's own thread, inside steps too. Moves what is complete into the profile, but adds nothing to
  /// `profile::gpu_steps`. Has to be quick, as a step that begins or ends meanwhile waits, and must not count on a current device. What it
  /// throws is dropped.
  virtual void drain_in_step(profile_builder& into) { static_cast<void>(into); }
  /// Called only with `PROFKIT=journal=FILE`, after `drain_in_step` on the same thread: to ask the outside party for what it holds back, so
  /// that the journal has it soon. What it throws is dropped.
  virtual void flush() {}
  /// Whether `drain_in_step` does all that `drain` does before the `last` time. Then the session does not call `drain` between steps.
  [[nodiscard]] virtual bool drains_in_step() const noexcept { return false; }
  /// Called once, after the last `drain`.
  virtual void stop() {}

  /// Whether it adds to `profile::gpu_steps`, later than the steps end.
  [[nodiscard]] virtual bool times_steps() const noexcept { return false; }

  /// Whether it collects, and if not, why.
  [[nodiscard]] collector_status const& status() const noexcept { return status_; }

  /// From now on the collector does not collect.
  void fail(std::string reason) { status_ = {false, std::move(reason)}; }

 private:
  collector_status status_;
};

}  // namespace profkit
