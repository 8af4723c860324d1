// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The interface of collectors. Derive from it to record data of your own.

#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "impl/profile/library_abi.hpp"
#include "profile_builder.hpp"

namespace PROFKIT_NAMESPACE {

namespace detail {
class calendar_clock;
class sample_source;
}  // namespace detail

/// @brief Whether a collector works, and the reason if it does not.
struct collector_status {
  bool works = true;   ///< false: the collector collects nothing
  std::string reason;  ///< why it does not work; empty if it works
};

/// @brief The connection of a session to one data source. Derive from it to add a data source.
///
/// A session calls a collector on three kinds of threads:
///
/// * `use_clock`, `start` and `poll_at_scopes` on the thread that calls `session::collect`, before all other functions.
/// * `prepare_step`, `before_step` and `after_step` on the step thread, never inside a step. They add to the time between steps, so keep
///   them short.
/// * `drain` and `flush` on the session's thread, every 10 to 25 ms, also during steps, and at the end the last `drain` and `stop`. `drain`
///   and `flush` may run at the same time as `prepare_step`, `before_step` and `after_step`, so pass data between them as `memory_source`
///   does, or guard it by a lock. The last `drain` and `stop` run while no other function of the collector runs.
///
/// A child that `drain`, `flush` or `stop` forks on the session's thread ends when the function returns, without running `exit` handlers.
///
/// If the system provides no thread for the session, the step thread replaces it. A collector may add collectors in all functions.
/// `session::report` and `session::snapshot` throw if a collector calls them. A session waits at most 10 seconds for a function that does
/// not return; the report then states which collector it is.
///
/// A collector that cannot work calls `fail` and stays silent; the session and the program continue. If one of its functions throws, the
/// session calls `fail` with the reason.
class PROFKIT_TAGGED_TYPE collector {
 public:
  collector() = default;
  /// @brief Moves the collector; only before a session takes it.
  collector(collector&& other) noexcept : failure_{std::exchange(other.failure_, nullptr)} {}
  /// @brief Moves the collector; only before a session takes it.
  collector& operator=(collector&& other) noexcept {
    std::swap(failure_, other.failure_);
    return *this;
  }
  /// @brief Destroys the collector. A session does this when it is destroyed, on that thread, and waits as long as it takes.
  virtual ~collector() {
    if (failure_ != &no_memory()) delete failure_;
  }

  /// @brief The name in the report, such as "cuda memory".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  /// @brief The kind of data, for sessions and reports that depend on it: `kernels=off` applies to all kernel collectors, independently of
  /// their names.
  [[nodiscard]] virtual collector_kind kind() const noexcept { return collector_kind::other; }

  /// @brief Called before `start`, for collectors that receive times of CLOCK_REALTIME.
  /// @param clock lives as long as the session runs. Use it only in the functions below.
  virtual void use_clock(detail::calendar_clock& clock) { static_cast<void>(clock); }
  /// @brief Called once, when the session takes the collector. May fill `profile_builder::environment`.
  /// @param into valid during the call.
  virtual void start(profile_builder& into) { static_cast<void>(into); }
  /// @brief Called after `start` if the option `memory=scopes` is set.
  /// @param into valid during the call.
  virtual void poll_at_scopes(profile_builder& into) { static_cast<void>(into); }
  /// @brief Called before a step begins, and before `before_step` of all collectors. For preparations that take time on the host or on a
  /// device.
  /// @param step the coming step.
  virtual void prepare_step(step_record const& step) { static_cast<void>(step); }
  /// @brief Called immediately before a step begins.
  /// @param step the coming step.
  virtual void before_step(step_record const& step) { static_cast<void>(step); }
  /// @brief Called after a step ended.
  /// @param step the step that ended.
  virtual void after_step(step_record const& step) { static_cast<void>(step); }
  /// @brief Adds complete data to the profile. Called on the session's thread, which may have no current CUDA device. Other collectors and
  /// the logs are drained after it, so it should take at most a few milliseconds.
  /// @param into valid during the call.
  /// @param last the session ends: add all data. This call may wait for some seconds.
  virtual void drain(profile_builder& into, bool last) {
    static_cast<void>(into);
    static_cast<void>(last);
  }
  /// @brief Called after `drain` on the same thread if there is a journal: requests buffered data from the data source, so that it reaches
  /// the journal soon.
  virtual void flush() {}
  /// @brief Called once, after the last `drain`.
  virtual void stop() {}

  /// @brief The source of samples that the collector provides; null for most collectors. Called after `start`. A session uses one source.
  [[nodiscard]] virtual detail::sample_source* samples() noexcept { return nullptr; }

  /// @brief Whether the collector adds GPU step times (`profile::gpu_steps`), which arrive after the steps end.
  [[nodiscard]] virtual bool times_steps() const noexcept { return false; }
  /// @brief Called on the step thread between steps with `steps=auto`, if `times_steps` is true: reads the GPU step times that are known
  /// now. The next `drain` adds them.
  virtual void read_step_times() {}

  /// @brief The collector that `PROFKIT=unified_memory` adds after this one has started; null for all but kernel collectors.
  [[nodiscard]] virtual std::unique_ptr<collector> with_unified_memory() { return nullptr; }

  /// @brief Whether the collector works. May be called on any thread.
  [[nodiscard]] bool works() const noexcept { return __atomic_load_n(&failure_, __ATOMIC_ACQUIRE) == nullptr; }

  /// @brief Whether the collector works, and the reason if it does not. May be called on any thread.
  [[nodiscard]] collector_status status() const {
    std::string const* const failure = __atomic_load_n(&failure_, __ATOMIC_ACQUIRE);
    return failure == nullptr ? collector_status{} : collector_status{false, *failure};
  }

  /// @brief Stops collecting. May be called on any thread. The first reason counts.
  /// @param reason shown in the report.
  void fail(std::string reason) noexcept {
    auto const* made = new (std::nothrow) std::string{std::move(reason)};
    if (made == nullptr) made = &no_memory();
    std::string const* expected = nullptr;
    if (!__atomic_compare_exchange_n(&failure_, &expected, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) && made != &no_memory())
      delete made;
  }

 private:
  static std::string const& no_memory() noexcept {
    static std::string const value{"no memory"};  // short enough to need none
    return value;
  }

  std::string const* failure_ = nullptr;  ///< owned, except `no_memory`
};

namespace detail {

/// A collector whose implementation another translation unit may compile: `session::collect` takes the implementation.
class made_collector {
 public:
  std::unique_ptr<collector> made;

 protected:
  explicit made_collector(std::unique_ptr<collector> implementation) noexcept : made{std::move(implementation)} {}
};

}  // namespace detail

}  // namespace PROFKIT_NAMESPACE
