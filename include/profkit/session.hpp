// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Sessions and steps, and reports as text and files. Includes neither NVTX nor fmt.

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "collector.hpp"
#include "impl/profile/library_abi.hpp"
#include "impl/session/session_factory.hpp"
#include "options.hpp"
#include "plain_report.hpp"
#include "step.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief Records from its construction until `report()` or its destruction.
///
/// One session per process at a time. Use steps, `collect` and `report` only on the thread that created the session; scopes and `snapshot`
/// on any thread.
///
/// While a tool that listens to NVTX is attached, the range `measure_loop` of the domain `profkit` is open. It begins just before the first
/// measured step and ends when the session stops. It is a process range (start/end), so ranges of scopes nest as usual.
///
///     profkit::session session{options};
///     for (profkit::step step : session) { ... }
///     fmt::print("{}\n", session.report());
class PROFKIT_TAGGED_TYPE session final : public step_loop {
 public:
  /// @brief Starts recording.
  /// @param wanted the options; by default those of the environment variable `PROFKIT`.
  /// @throws profkit::error if another session runs, or if the file of `options::journal` cannot be created. If `PROFKIT` names that file,
  /// the session starts without a journal and the report states the reason.
  explicit session(options wanted = options::from_env()) : session{detail::make_session(std::move(wanted))} {}

  /// @brief Stops recording, then prints and writes the report and the trace if the options ask for them. Errors go to stderr. An open
  /// step counts as abandoned. The same happens if the program calls `exit` while the session exists.
  ~session() override {
    if (core_->end())
      delete core_;
    else
      core_->keep();
  }

  /// @brief Adds a collector: `session.collect(profkit::host_memory())`. If the collector cannot work, the report states the reason.
  /// @param collector an rvalue; the session takes ownership.
  /// @return the collector, owned by the session: of its own type, or as `collector` for collectors with a separate implementation
  ///   (`cupti_kernels`, `host_samples`, `gpu_utilization`).
  template <class Collector>
  auto& collect(Collector&& collector) {
    static_assert(!std::is_lvalue_reference_v<Collector>, "the session owns its collectors: pass a temporary, or std::move");
    if constexpr (std::is_base_of_v<detail::made_collector, Collector>) {
      return take(std::move(collector.made));
    } else {
      return take(std::make_unique<Collector>(std::forward<Collector>(collector)));
    }
  }

  /// @brief Stops recording, drains and analyses. Later calls return the same report.
  ///
  /// Waits up to 5 seconds for pending CUDA events. Does not synchronise the device, unless a kernel collector is used: it waits until the
  /// devices are idle. In the child of a `fork` the report is empty and states that the session belongs to the parent.
  /// @throws profkit::error if a step is open.
  profkit::report report() { return core_->report(); }

  /// @brief Returns a report of everything recorded so far; the session continues. May be called on any thread, even inside a step.
  ///
  /// Covers the steps that ended before the call, with the GPU work that has arrived. The report and `quality_record::snapshot` state what
  /// is missing. Does not synchronise the device and does not stop any thread of the program.
  ///
  /// The caller waits about 20 ms until the logs are read, then copies and analyses the profile. Memory and time are proportional to the
  /// recorded data: 0.3 s for 10 million scopes. Concurrent calls copy one after the other.
  ///
  /// In a small session, it takes about 28 KiB of the stack of the calling thread (g++ 12, x86-64).
  ///
  /// After the end of the session, it returns the same report as `report()`. In the child of a `fork`, the report is empty.
  /// @throws profkit::error if a collector calls it on the session's own thread.
  profkit::report snapshot() { return core_->snapshot(); }

  /// @brief Whether another step is needed, for loops that create their own steps: `while (session.wants_step())`. True for
  /// `warmup_steps` + `measured_steps` steps, or with `steps=auto` until the mean is known.
  [[nodiscard]] bool wants_step() const noexcept { return !core_->has_enough() && core_->next_step() < core_->wanted_steps(); }

  /// @brief The iterator of the range-for. Dereferencing it begins a step.
  class iterator {
   public:
    /// @brief Creates the iterator; `begin` and `end` of the session call it. Begins no step.
    /// @param loop borrowed.
    /// @param left maximum number of steps.
    iterator(detail::session_core* loop, std::uint64_t left) noexcept : loop_{loop}, left_{left} {}
    /// @brief Begins the step.
    [[nodiscard]] step operator*() const { return step{*loop_}; }
    /// @brief Counts one step.
    iterator& operator++() noexcept {
      --left_;
      return *this;
    }
    /// @brief Whether steps are left. With `steps=auto`, also false once the mean is known.
    [[nodiscard]] bool operator!=(iterator const& other) const noexcept { return left_ != other.left_ && !loop_->has_enough(); }

   private:
    detail::session_core* loop_;
    std::uint64_t left_;
  };
  /// @brief For the range-for: `warmup_steps` + `measured_steps` steps, or with `steps=auto` until the mean is known.
  [[nodiscard]] iterator begin() noexcept { return {core_, core_->wanted_steps()}; }
  /// @brief The end of the range-for.
  [[nodiscard]] iterator end() noexcept { return {core_, 0}; }

 private:
  explicit session(std::unique_ptr<detail::session_core> core) : step_loop{core.get()}, core_{core.release()} {}

  template <class Collector>
  Collector& take(std::unique_ptr<Collector> owned) {
    Collector& result = *owned;
    core_->take(std::move(owned));
    return result;
  }

  detail::raw_step begin_step() override { return core_->begin_step(); }
  void end_step(detail::raw_step const& done) noexcept override { core_->end_step(done); }

  detail::session_core* core_;  ///< owned; outlives the session if `session_core::end` returns false
};

}  // namespace PROFKIT_NAMESPACE
