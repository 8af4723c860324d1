// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

#include "../../work.hpp"
#include "../profile/numbers.hpp"
#include "../record/log_event.hpp"
#include "../record/thread_log.hpp"
#include "../record/thread_registry.hpp"

namespace profkit::detail {

// The layout of events in a log: see `event_kind`. `event` points to the first slot.

/// Whether the slot ends a scope or a call.
[[nodiscard]] inline bool is_leave(std::uint64_t what) noexcept { return (what & leave_mark) != 0; }

/// The kind of an event, unless `is_leave` is true.
[[nodiscard]] inline event_kind kind_of(std::uint64_t what) noexcept { return static_cast<event_kind>(what & event_kind_bits); }

[[nodiscard]] inline bool is_continued(std::uint64_t what) noexcept { return !is_leave(what) && kind_of(what) == event_kind::continued; }

/// Whether the event is a memory event.
[[nodiscard]] inline bool is_memory(std::uint64_t what) noexcept {
  if (is_leave(what)) return false;
  event_kind const kind = kind_of(what);
  return kind == event_kind::allocated || kind == event_kind::released || kind == event_kind::usage;
}

/// The time of an event, in ticks; not for `continued`.
[[nodiscard]] inline std::uint64_t ticks_of(std::uint64_t const* event) noexcept {
  return is_leave(*event) ? *event & ~leave_mark : event[1];
}

[[nodiscard]] inline site const& site_of(std::uint64_t what) noexcept { return *reinterpret_cast<site const*>(what & ~event_kind_bits); }

/// The object to which the first slot of a collective points.
template <class T>
[[nodiscard]] T const* pointer_in(std::uint64_t what) noexcept {
  return reinterpret_cast<T const*>(what & ~event_kind_bits);
}

/// The number of slots of an event; not for `continued`.
[[nodiscard]] inline std::uint64_t slots_of(std::uint64_t what) noexcept {
  if (is_leave(what)) return 1;
  static constexpr std::uint8_t sizes[event_kind_bits + 1] = {0, 2, 3, 3, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 4};  // in the order of `event_kind`
  return sizes[what & event_kind_bits];
}

/// Follows a `continued`: returns the first event of the next chunk, and gives the finished chunk back to the writer.
[[nodiscard]] inline std::uint64_t const* first_event_of_next_chunk(std::uint64_t what, thread_log& log) noexcept {
  return continue_in_chunk(log, *reinterpret_cast<log_chunk*>(what));
}

/// The value of a `counter`.
[[nodiscard]] inline double value_of(std::uint64_t const* event) noexcept {
  double value = 0.0;
  std::memcpy(&value, &event[2], sizeof value);
  return value;
}

/// The values of a `work` event, as written by `packed` and `put_work`.
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
