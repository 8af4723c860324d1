// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../record/memory_poll.hpp"
#include "collector.hpp"

namespace profkit {

/// One figure of a memory source.
struct memory_reading {
  std::string quantity;  ///< such as "allocated"
  std::uint64_t current_bytes = 0;
  std::optional<std::uint64_t> peak_bytes;  ///< as the source keeps it; n/a where it keeps none
  std::string peak_note;                    ///< over what the source keeps its peak, such as "measured steps"
};

/// A source of memory figures, read after each step. Derive from it to add an allocator's statistics to the report.
class memory_source : public collector {
 public:
  /// Called after each step, outside its time.
  [[nodiscard]] virtual std::vector<memory_reading> read() = 0;
  /// Called before the first measured step. A source that can restarts its peaks here.
  virtual void reset_peak() {}
  /// For `PROFKIT=memory=scopes`: how to ask for the source's level at both ends of every scope. None: the source cannot be asked that
  /// often, or says itself what comes and goes (`record_allocation`).
  [[nodiscard]] virtual polled_allocator at_scopes() const noexcept { return {}; }

  void poll_at_scopes(profile_builder& into) final {
    polled_allocator const asked = at_scopes();
    if (asked.level == nullptr) return;
    into.position_of(allocator_record{asked.source->name, asked.level(), true});
    if (!detail::start_polling(asked)) {
      fail("too many memory sources are to be read at scopes; at most " + std::to_string(detail::most_polled_allocators) + " can be");
    }
  }

  void before_step(step_record const& step) final {
    if (step.warmup || was_reset_) return;
    was_reset_ = true;
    reset_peak();
  }

  void after_step(step_record const& step) final {
    std::vector<memory_reading> readings = read();
    std::lock_guard<detail::own_mutex> const lock{mutex_};
    for (memory_reading& reading : readings) {
      records_.push_back({std::string{name()}, std::move(reading.quantity), step.index, reading.current_bytes, reading.peak_bytes,
                          std::move(reading.peak_note)});
    }
  }

  void drain(profile_builder& into, bool) final {
    std::lock_guard<detail::own_mutex> const lock{mutex_};
    for (memory_record& each : records_) into.add(std::move(each));
    records_.clear();
  }

 private:
  detail::own_mutex mutex_;
  std::vector<memory_record> records_;  ///< under `mutex_`
  bool was_reset_ = false;
};

}  // namespace profkit
