// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>

#include "../profile/finite.hpp"
#include "recorder.hpp"
#include "scope.hpp"
#include "unusual_scope.hpp"

namespace profkit {

namespace detail {

/// What a step tells the loop that it belongs to, in ticks; the loop converts.
struct raw_step {
  std::uint64_t begin_ticks = 0;
  std::uint64_t end_ticks = 0;
  std::uint64_t index = 0;
  std::uint64_t items = 0;
  double model_flops = 0.0;
  bool warmup = false;
  bool has_kernels = true;    ///< as in `step_record`
  bool is_abandoned = false;  ///< an exception left it
  bool is_excluded = false;   ///< as in `step_record`
};

}  // namespace detail

/// The loop that steps belong to; `session` is one.
class step_loop {
 public:
  step_loop() = default;
  /// @param behind the loop that does the work; null: this one.
  explicit step_loop(step_loop* behind) noexcept : behind_{behind} {}
  step_loop(step_loop const&) = delete;
  step_loop& operator=(step_loop const&) = delete;

 protected:
  virtual ~step_loop() = default;

 private:
  friend class step;
  [[nodiscard]] step_loop& worker() noexcept { return behind_ == nullptr ? *this : *behind_; }
  /// Says which step it is. Throws `profkit::error` if one is open already.
  virtual detail::raw_step begin_step() = 0;
  virtual void end_step(detail::raw_step const& done) noexcept = 0;

  step_loop* behind_ = nullptr;
};

/// One iteration of the measured loop, from construction to destruction; also the scope `step`, at the root of the tree.
/// On the thread that made the session; one at a time. Its own bookkeeping happens before it begins and after it ended. A step that an
/// exception leaves is counted as such, and neither it nor its scopes are measured.
class step : private scope {
 public:
  /// @throws profkit::error if another step of this loop is open.
  [[nodiscard]] explicit step(step_loop& loop) : loop_{&loop.worker()}, raw_{loop_->begin_step()} {
    __atomic_store_n(&detail::recorder.step, raw_.index, __ATOMIC_RELAXED);
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_ACQUIRE);
    detail::install_unusual_scopes();
    detail::tell_listeners(flags, 0);
    if ((flags & detail::nvtx_attached) != 0) detail::recorder.nvtx_push(where(), nullptr);
    raw_.begin_ticks = detail::next_tick(flags);
    begun(detail::record_enter(flags, detail::tagged(where(), detail::event_kind::enter_step), 0, raw_.begin_ticks) |
          (flags & detail::flags_for_end));
  }

  ~step() {
    raw_.end_ticks = detail::next_tick(__atomic_load_n(&detail::recorder.flags, __ATOMIC_RELAXED));
    raw_.is_abandoned = std::uncaught_exceptions() > exceptions_;
    detail::leave_slow_path(release(), raw_.end_ticks);
    loop_->end_step(raw_);
  }

  /// From 0, warm-up included.
  [[nodiscard]] std::uint64_t index() const noexcept { return raw_.index; }
  /// Whether it is excluded from statistics.
  [[nodiscard]] bool is_warmup() const noexcept { return raw_.warmup; }

  /// Overrides `options::items_per_step` for this step.
  void set_items(std::uint64_t items) noexcept { raw_.items = items; }

  /// Overrides `options::model_flops_per_step` for this step.
  void set_model_flops(double flops) noexcept { raw_.model_flops = detail::amount_or_zero(flops); }

  /// Leaves this step out of all figures, with its scopes, kernels and memory, such as a last iteration that only validates. The report
  /// says how many steps were excluded. It remains an iteration of the loop: it counts as one of `steps=N`. No effect in a warm-up step.
  void exclude() noexcept { raw_.is_excluded = !raw_.warmup; }

 private:
  static site& where() noexcept {
    static site value{"step", __FILE__, __LINE__};
    return value;
  }

  step_loop* loop_;  ///< there even if a static session was destroyed by `exit` on another thread
  detail::raw_step raw_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace profkit
