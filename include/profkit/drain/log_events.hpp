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
  return kind == event_kind::allocated || kind == event_kind::released || kind == event_kind::usage;
}

/// When it was; not of a `continued`.
[[nodiscard]] inline std::uint64_t ticks_of(std::uint64_t const* event) noexcept {
  return is_leave(*event) ? *event & ~leave_mark : event[1];
}

[[nodiscard]] inline site const& site_of(std::uint64_t what) noexcept { return *reinterpret_cast<site const*>(what & ~event_kind_bits); }

/// How many slots an event has; not of a `continued`.
[[nodiscard]] inline std::uint64_t slots_of(std::uint64_t what) noexcept {
  if (is_leave(what)) return 1;
  static constexpr std::uint8_t slots[event_kind_bits + 1] = {0, 2, 3, 3, 2, 3, 3, 3, 3, 4, 4, 4, 4};  // in the order of `event_kind`
  return slots[what & event_kind_bits];
}

/// Of a `continued`: the first event in the next chunk. Gives the chunk that was read to its end back to the writer.
[[nodiscard]] inline std::uint64_t const* first_event_of_next_chunk(std::uint64_t what, thread_log& log) noexcept {
  return go_on_in_chunk(log, *reinterpret_cast<log_chunk*>(what));
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
