// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "collect/collector.hpp"
#include "options.hpp"
#include "record/step.hpp"
#include "report/report.hpp"
#include "session/session_code.hpp"

#ifndef PROFKIT_CODE_ELSEWHERE
#include "session/make_session.hpp"  // IWYU pragma: export
#endif

namespace profkit {

/// Records from its construction to `report()` or its end. One per process at a time; steps, `collect` and `report` belong to the
/// thread that made it, scopes and `snapshot` to any thread.
///
/// With a tool attached that listens to NVTX, the range `measure_loop` of the domain `profkit` is open from just before the first measured
/// step until the session stops. It is a range of the process (start/end): those of scopes nest as they do without it.
///
///     profkit::session session{options};
///     for (profkit::step step : session) { ... }
///     fmt::print("{}\n", session.report());
class session final : public step_loop {
 public:
  /// @throws profkit::error if another session runs, or the file of `options::journal` cannot be made and it is not `PROFKIT` that asks for
  /// it.
  explicit session(options wanted = options::from_env()) : session{detail::session_code<void>::make(std::move(wanted))} {}

  /// Stops; prints and writes the report, and the trace, if the options say so. Errors go to stderr. A step that is open counts as
  /// abandoned. The same happens when the program calls `exit` and the session is still there.
  ~session() override {
    if (core_->end()) delete core_;
  }

  /// Takes a collector: `session.collect(profkit::host_memory())`. One that cannot work says so in the report.
  /// @return the collector, which the session owns.
  template <class Collector>
  std::remove_reference_t<Collector>& collect(Collector&& collector) {
    static_assert(!std::is_lvalue_reference_v<Collector>, "the session owns its collectors: pass a temporary, or std::move");
    auto owned = std::make_unique<Collector>(std::forward<Collector>(collector));
    Collector& result = *owned;
    core_->take(std::move(owned));
    return result;
  }

  /// Stops, drains and analyses. May wait up to 5 seconds for the GPU to complete what was timed. Does not synchronise the device, except
  /// that a collector of kernels waits until it has done its work.
  /// Called again, gives the same report.
  /// In the child of a `fork` it says that the session belongs to the parent, and has nothing else.
  /// @throws profkit::error if a step is open.
  profkit::report report() { return core_->report(); }

  /// What has been recorded so far, as a report; the session goes on. From any thread, inside a step, too. Covers the steps that ended
  /// before the call, with as much of their GPU work as has arrived: `quality_record::snapshot` says what is missing, and the report does.
  /// Does not synchronise the device.
  ///
  /// No thread of the program is stopped. The caller waits some 20 ms until the logs are read, then copies and analyses the profile, which
  /// takes memory and time in proportion to what was recorded: for 10 million scopes 0.3 s. Calls on several threads copy one after the
  /// other.
  ///
  /// When the session has ended it is `report()`. In the child of a `fork` it has nothing.
  /// @throws profkit::error if a collector calls it on the session's own thread.
  profkit::report snapshot() { return core_->snapshot(); }

  /// Whether one more step is wanted, for loops that make their steps themselves: `while (session.wants_step())`. `warmup_steps` and
  /// `measured_steps` are; with `steps=auto`, as many as it takes to know their mean.
  [[nodiscard]] bool wants_step() const noexcept { return !core_->has_enough() && core_->next_step() < core_->wanted_steps(); }

  /// Of the range-for. Dereferenced, it makes the step.
  class iterator {
   public:
    /// @param loop borrowed.
    /// @param left how many steps at most.
    iterator(detail::session_core* loop, std::uint64_t left) noexcept : loop_{loop}, left_{left} {}
    /// Begins the step.
    [[nodiscard]] step operator*() const { return step{*loop_}; }
    /// One step less is left.
    iterator& operator++() noexcept {
      --left_;
      return *this;
    }
    /// Also false when enough was measured (`steps=auto`).
    [[nodiscard]] bool operator!=(iterator const& other) const noexcept { return left_ != other.left_ && !loop_->has_enough(); }

   private:
    detail::session_core* loop_;
    std::uint64_t left_;
  };
  /// For the range-for: `warmup_steps` and `measured_steps`, or with `steps=auto` as many as it takes.
  [[nodiscard]] iterator begin() noexcept { return {core_, core_->wanted_steps()}; }
  /// For the range-for.
  [[nodiscard]] iterator end() noexcept { return {core_, 0}; }

 private:
  explicit session(std::unique_ptr<detail::session_core> core) : step_loop{core.get()}, core_{core.release()} {}

  detail::raw_step begin_step() override { return core_->begin_step(); }
  void end_step(detail::raw_step const& done) noexcept override { core_->end_step(done); }

  detail::session_core* core_;  ///< owned; outlives the session where `session_core::end` says so
};

}  // namespace profkit
