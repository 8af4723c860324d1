// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "../profile/profile_builder.hpp"
#include "../record/calendar_clock.hpp"
#include "own_mutex.hpp"

namespace profkit {

/// Whether a collector collects, and if not, why.
struct collector_status {
  bool works = true;
  std::string reason;
};

/// One outside party that a session listens to. A session calls it from two threads:
///
/// * From the thread of the steps, never inside a step: `start`, `prepare_step`, `before_step`, `after_step` and `stop`. They add to
///   the time between steps, so they should be quick.
/// * From its own thread, every 10 to 25 ms, inside steps too: `drain` and `flush`. That may be at the same time as `prepare_step`,
///   `before_step` and `after_step`, which do not wait for it: what both use needs a lock. `memory_source` has one.
///
/// `start`, the last `drain` and `stop` are called while no other function is. When a program ends with `exit` or by a signal and the
/// session reports then, the last `drain` and `stop` are called on the thread that called `exit`, or on the session's own thread.
///
/// A collector that cannot work says so with `fail` and stays silent; the session and the program go on. If one of its functions throws,
/// the session calls `fail` with the reason.
class collector {
 public:
  collector() = default;
  collector(collector&&) = default;             ///< before a session has it
  collector& operator=(collector&&) = default;  ///< before a session has it
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
  /// Adds what is complete to the profile. Called on the session's own thread, and must not count on a current device. Other collectors and
  /// the logs are drained after it, so it should take no longer than some milliseconds.
  /// @param into valid during the call.
  /// @param last the session ends: add all that there is. May wait for some seconds.
  virtual void drain(profile_builder& into, bool last) {
    static_cast<void>(into);
    static_cast<void>(last);
  }
  /// Called only with `PROFKIT=journal=FILE`, after `drain` on the same thread: to ask the outside party for what it holds back, so that
  /// the journal has it soon.
  virtual void flush() {}
  /// Called once, after the last `drain`.
  virtual void stop() {}

  /// Whether it adds to `profile::gpu_steps`, later than the steps end.
  [[nodiscard]] virtual bool times_steps() const noexcept { return false; }
  /// With `steps=auto`, called on the thread of the steps between steps, if `times_steps`: to look which GPU step times are known by now.
  /// The next `drain` adds them.
  virtual void read_step_times() {}

  /// Whether it collects, and if not, why. From any thread.
  [[nodiscard]] collector_status status() const {
    std::lock_guard<detail::own_mutex> const lock{status_mutex_};
    return status_;
  }

  /// From now on the collector does not collect. From any thread.
  void fail(std::string reason) {
    std::lock_guard<detail::own_mutex> const lock{status_mutex_};
    status_ = {false, std::move(reason)};
  }

 private:
  detail::own_mutex mutable status_mutex_;
  collector_status status_;
};

}  // namespace profkit
