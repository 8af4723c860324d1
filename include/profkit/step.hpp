// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief A step: one iteration of the measured loop.

#include <cstdint>
#include <exception>

#include "impl/profile/numbers.hpp"
#include "impl/record/scope.hpp"
#include "impl/record/step_code.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief The interface between `step` and its session. `session` is the only step loop that programs use.
class step_loop {
 public:
  step_loop() = default;
  /// @brief Creates a loop that forwards to another one.
  /// @param behind the loop that implements the steps; null: this one.
  explicit step_loop(step_loop* behind) noexcept : behind_{behind} {}
  step_loop(step_loop const&) = delete;
  step_loop& operator=(step_loop const&) = delete;

 protected:
  /// @brief Protected: a step loop is not destroyed through this interface.
  virtual ~step_loop() = default;

 private:
  friend class step;
  [[nodiscard]] step_loop& worker() noexcept { return behind_ == nullptr ? *this : *behind_; }
  /// Returns the values of the new step. Throws `profkit::error` if a step is open.
  virtual detail::raw_step begin_step() = 0;
  virtual void end_step(detail::raw_step const& done) noexcept = 0;

  step_loop* behind_ = nullptr;
};

/// @brief One iteration of the measured loop, from construction to destruction. It is also the scope `step`, a root of the tree of scopes.
///
/// Use it on the thread that created the session, one step at a time. Bookkeeping happens before the step begins and after it ends. Does
/// not synchronise the device. A step exited by an exception counts as abandoned; it and its scopes are excluded. So does a step in which
/// its thread ends (`pthread_cancel`, `pthread_exit`), with glibc. The beginning of a step is a cancellation point.
class step : private scope {
 public:
  /// @brief Begins the step.
  /// @param loop the session.
  /// @throws profkit::error if another step of this loop is open.
  [[nodiscard]] explicit step(step_loop& loop) : loop_{&loop.worker()}, raw_{loop_->begin_step()} {
    begun(detail::begin_step_scope(where(), raw_));
  }

  /// @brief Ends the step, then runs the collectors (`collector::after_step`), outside the time of the step. During an exception, the step
  /// counts as abandoned. Does not throw; a collector that throws stops, and the report states the reason.
  ~step() {
    raw_.is_abandoned = std::uncaught_exceptions() > exceptions_;
    detail::end_step_scope(release(), raw_);
    loop_->end_step(raw_);
  }

  /// @brief The index of the step, from 0, including warm-up.
  [[nodiscard]] std::uint64_t index() const noexcept { return raw_.index; }
  /// @brief Whether this is a warm-up step, which statistics exclude.
  [[nodiscard]] bool is_warmup() const noexcept { return raw_.warmup; }

  /// @brief Overrides `options::items_per_step` for this step.
  void set_items(std::uint64_t items) noexcept { raw_.items = items; }

  /// @brief Overrides `options::model_flops_per_step` for this step. Negative and non-finite values count as 0.
  void set_model_flops(double flops) noexcept { raw_.model_flops = detail::amount_or_zero(flops); }

  /// @brief Excludes this step from all figures, with its scopes, kernels and memory; for example a last iteration that only validates.
  ///
  /// The report states the number of excluded steps. The step still counts as one of `steps=N`. No effect in a warm-up step.
  void exclude() noexcept { raw_.is_excluded = !raw_.warmup; }

 private:
  static site& where() noexcept {
    static site value{"step", __FILE__, __LINE__};
    return value;
  }

  step_loop* loop_;  ///< exists even if `exit` on another thread destroyed a static session
  detail::raw_step raw_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace PROFKIT_NAMESPACE
