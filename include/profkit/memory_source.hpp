// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The interface of memory sources. Derive from it to report the memory of your own allocator.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collector.hpp"
#include "error.hpp"
#include "impl/record/handoff_queue.hpp"
#include "impl/record/memory_poll.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief One figure of a memory source.
struct memory_reading {
  std::string quantity;                           ///< such as "allocated"
  std::uint64_t current_bytes = 0;                ///< bytes in use now
  std::optional<std::uint64_t> peak_bytes;        ///< peak that the source reports; n/a if it reports none
  std::string peak_note;                          ///< the period of the peak, such as "measured steps"
  std::optional<std::uint64_t> capacity_bytes{};  ///< total capacity, such as the memory of the device; n/a if unknown
};

namespace detail {

/// Limits readings to a share of the time. A pause between steps saves at most a millisecond of readings. A reading counts as long as the
/// one before it if it took longer, so one that was interrupted does no harm, and the first one is free.
class reading_budget {
 public:
  using clock = std::chrono::steady_clock;

  explicit reading_budget(double share) noexcept : share_{share} {}

  /// Saves as much as possible, for the first measured step.
  void fill() noexcept { saved_ = max_saved; }
  /// Whether a reading may begin now.
  [[nodiscard]] bool permits(clock::time_point now) noexcept {
    saved_ += std::chrono::duration_cast<clock::duration>((now - last_) * share_);
    if (saved_ > max_saved) fill();
    last_ = now;
    return saved_ > clock::duration::zero();
  }
  /// Subtracts a reading that took from `permits` to now.
  void subtract(clock::time_point now) noexcept {
    clock::duration const took = now - last_;
    saved_ -= took < before_ ? took : before_;
    before_ = took;
  }

 private:
  static constexpr clock::duration max_saved = std::chrono::milliseconds{1};

  double share_;
  clock::duration saved_ = max_saved;
  clock::duration before_{};
  clock::time_point last_ = clock::now();
};

}  // namespace detail

/// @brief A collector of memory figures, read after steps. Derive from it to report the statistics of an allocator:
///
///     class my_pool final : public profkit::memory_source {
///      public:
///       std::string_view name() const noexcept override { return "my pool"; }
///       std::vector<profkit::memory_reading> read() override { return {{"allocated", pool.bytes(), pool.peak_bytes(), {}}}; }
///     };
///
/// The report and the traces show the readings without further code. Readings take at most 1 % of the time: if one takes longer than 1 % of
/// a step, steps are left out, and the report says how many were read. Unit: bytes. `read` and `reset_peak` need no lock of their own: they
/// run on the step thread, and this class passes the readings on.
class memory_source : public collector {
 public:
  /// @brief Creates a source. @param max_share of the time that readings take, from 0 to 1.
  explicit memory_source(double max_share = 0.01) noexcept : budget_{max_share} {}

  /// @brief Reads the figures. Called on the step thread after steps, outside the time of the step, and always after the first measured
  /// step. If it throws, the source stops and the report states the reason.
  [[nodiscard]] virtual std::vector<memory_reading> read() = 0;
  /// @brief Called before the first measured step. Resets the peaks if the source can.
  virtual void reset_peak() {}
  /// @brief For the option `memory=scopes`: the function that returns the bytes in use, polled at both ends of every scope. The default is
  /// none, for sources that are too slow or that report their allocations (`record_allocation`).
  [[nodiscard]] virtual polled_allocator at_scopes() const noexcept { return {}; }

  /// @brief Starts polling, if the source has `at_scopes`.
  void poll_at_scopes(profile_builder& into) final {
    polled_allocator const asked = at_scopes();
    if (asked.usage == nullptr) return;
    std::uint64_t const now = detail::usage_of(asked);
    into.position_of(allocator_record{asked.source->name, now == polled_allocator::unknown ? 0 : now, true});
    if (!detail::start_polling(asked)) {
      fail("too many memory sources are polled at scopes; the maximum is " + std::to_string(detail::max_polled_allocators));
    }
  }

  /// @brief Calls `reset_peak` before the first measured step.
  void before_step(step_record const& step) final {
    if (step.warmup || was_reset_) return;
    was_reset_ = true;
    budget_.fill();
    reset_peak();
  }

  /// @brief Calls `read`, unless readings have taken more than their share of the time.
  void after_step(step_record const& step) final {
    if (!budget_.permits(detail::reading_budget::clock::now())) return;
    for (memory_reading& reading : read()) {
      records_.push({std::string{name()}, std::move(reading.quantity), step.index, reading.current_bytes, reading.peak_bytes,
                     std::move(reading.peak_note), reading.capacity_bytes});
    }
    budget_.subtract(detail::reading_budget::clock::now());
  }

  /// @brief Adds the readings to the profile.
  void drain(profile_builder& into, bool) final {
    records_.take_all([&](memory_record const& each) { into.add(each); });
  }

 private:
  detail::handoff_queue<memory_record> records_;  ///< from the step thread to the session's thread
  detail::reading_budget budget_;                 ///< of the step thread
  bool was_reset_ = false;
};

}  // namespace PROFKIT_NAMESPACE
