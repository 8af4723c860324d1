// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

#include "../profile/finite.hpp"
#include "../profile/work.hpp"
#include "../record/log_chunk.hpp"
#include "../record/log_event.hpp"
#include "../record/thread_registry.hpp"

namespace profkit::detail {

// How events lie in a log: see `event_kind`. `event` points to the first slot of one.

/// Whether the slot ends a scope or a call.
[[nodiscard]] inline bool is_leave(std::uint64_t what) noexcept { return (what & leave_mark) != 0; }

/// Of a slot that is no `is_leave`.
[[nodiscard]] inline event_kind kind_of(std::uint64_t what) noexcept { return static_cast<event_kind>(what & event_kind_bits); }

[[nodiscard]] inline bool is_continued(std::uint64_t what) noexcept { return !is_leave(what) && kind_of(what) == event_kind::continued; }

/// Whether memory came, went or was read.
[[nodiscard]] inline bool is_memory(std::uint64_t what) noexcept {
  if (is_leave(what)) return false;
  event_kind const kind = kind_of(what);
  return kind == event_kind::allocated || kind == event_kind::released || kind == event_kind::level;
}

/// When it was; not of a `continued`.
[[nodiscard]] inline std::uint64_t ticks_of(std::uint64_t const* event) noexcept {
  return is_leave(*event) ? *event & ~leave_mark : event[1];
}

[[nodiscard]] inline site const& site_of(std::uint64_t what) noexcept { return *reinterpret_cast<site const*>(what & ~event_kind_bits); }

/// Gives a chunk that was read to its end back to the writer.
[[nodiscard]] inline std::uint64_t const* next_event(std::uint64_t const* event, thread_log& log) noexcept {
  if (is_leave(*event)) return event + 1;
  switch (kind_of(*event)) {
    case event_kind::continued:
      return go_on_in_chunk(log, *reinterpret_cast<log_chunk*>(*event));
    case event_kind::enter:
    case event_kind::enter_step:
      return event + 2;
    case event_kind::enter_indexed:
    case event_kind::enter_noted:
    case event_kind::enter_adopted:
    case event_kind::begin_call:
    case event_kind::thread_rest:
    case event_kind::counter:
      return event + 3;
    case event_kind::allocated:
    case event_kind::released:
    case event_kind::level:
    case event_kind::work:
      return event + 4;
  }
  return event + 1;
}

/// Of a `counter`.
[[nodiscard]] inline double value_of(std::uint64_t const* event) noexcept {
  double value = 0.0;
  std::memcpy(&value, &event[2], sizeof value);
  return value;
}

/// Of a `work`: what `packed` and `put_work` wrote.
[[nodiscard]] inline profkit::work work_of(std::uint64_t const* event) noexcept {
  profkit::work result;
  auto const backward = static_cast<std::uint32_t>(event[0] >> 32U);
  std::memcpy(&result.backward, &backward, sizeof result.backward);
  std::memcpy(&result.flops, &event[2], sizeof result.flops);
  std::memcpy(&result.bytes, &event[3], sizeof result.bytes);
  result.flops = amount_or_zero(result.flops);
  result.bytes = amount_or_zero(result.bytes);
  result.precision = static_cast<precision>((event[0] >> 8U) & 0xffU);
  return result;
}

}  // namespace profkit::detail
