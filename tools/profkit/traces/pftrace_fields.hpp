// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/impl/profile/own_memory.hpp>

#include <cstddef>
#include <cstdint>
#include <protozero/basic_pbf_writer.hpp>
#include <protozero/buffer_tmpl.hpp>

namespace PROFKIT_NAMESPACE::detail {

using pftrace_writer = protozero::basic_pbf_writer<own_string>;

}  // namespace PROFKIT_NAMESPACE::detail

/// @cond
// How protozero writes into an `own_string`, as into a `std::string` (`protozero/buffer_string.hpp`).
template <>
struct protozero::buffer_customization<profkit::detail::own_string> {
  using buffer = profkit::detail::own_string;

  static std::size_t size(buffer const* to) noexcept { return to->size(); }
  static void append(buffer* to, char const* bytes, std::size_t count) { to->append(bytes, count); }
  static void append_zeros(buffer* to, std::size_t count) { to->append(count, '\0'); }
  static void resize(buffer* to, std::size_t size) { to->resize(size); }
  static void reserve_additional(buffer* to, std::size_t count) { to->reserve(to->size() + count); }
  static void erase_range(buffer* to, std::size_t from, std::size_t end) { to->erase(from, end - from); }
  static char* at_pos(buffer* to, std::size_t position) { return to->data() + position; }
  static void push_back(buffer* to, char byte) { to->push_back(byte); }
};
/// @endcond

namespace PROFKIT_NAMESPACE::detail {

/// Field numbers and values of Perfetto's trace format that profkit writes. Source: perfetto/protos/perfetto/trace, version 59.1.
namespace pftrace {

enum trace : std::uint32_t { trace_packets = 1 };

enum trace_packet : std::uint32_t {
  packet_clock_snapshot = 6,
  packet_timestamp = 8,
  packet_sequence_id = 10,
  packet_track_event = 11,
  packet_interned_data = 12,
  packet_sequence_flags = 13,
  packet_compressed_packets = 50,
  packet_defaults = 59,
  packet_track_descriptor = 60
};
constexpr std::uint32_t incremental_state_cleared = 1;  // SEQ_INCREMENTAL_STATE_CLEARED

enum trace_packet_defaults : std::uint32_t { defaults_track_event = 11, defaults_clock_id = 58 };

enum clock_snapshot : std::uint32_t { snapshot_clocks = 1, snapshot_primary_clock = 2 };
enum clock : std::uint32_t { clock_id = 1, clock_timestamp = 2, clock_is_incremental = 3, clock_unit_ns = 4 };
constexpr std::uint32_t realtime_clock = 1;   // BUILTIN_CLOCK_REALTIME
constexpr std::uint32_t sequence_clock = 64;  // the first clock number that is local to a sequence

enum interned_data : std::uint32_t {
  interned_categories = 1,
  interned_event_names = 2,
  interned_annotation_names = 3,
  interned_annotation_strings = 29
};
enum interned : std::uint32_t { interned_id = 1, interned_text = 2 };

enum track_event : std::uint32_t {
  event_categories = 3,
  event_annotations = 4,
  event_type = 9,
  event_name = 10,
  event_track = 11,
  event_counter_value = 30,
  event_double_counter_value = 44,
  event_flows = 47,
  event_terminating_flows = 48
};
constexpr std::uint32_t slice_begin = 1;
constexpr std::uint32_t slice_end = 2;
constexpr std::uint32_t counter = 4;

enum debug_annotation : std::uint32_t { annotation_name = 1, annotation_unsigned = 3, annotation_string = 17 };

enum track_descriptor : std::uint32_t {
  track_uuid = 1,
  track_name = 2,
  track_process = 3,
  track_thread = 4,
  track_parent = 5,
  track_counter = 8,
  track_child_ordering = 11,
  track_rank = 12
};
constexpr std::int32_t explicit_ordering = 3;
enum process_descriptor : std::uint32_t { process_id = 1, process_command = 2, process_name = 6, process_labels = 8 };
enum thread_descriptor : std::uint32_t { thread_process = 1, thread_id = 2, thread_name = 5 };
enum counter_descriptor : std::uint32_t { counter_unit = 3 };
constexpr std::int32_t no_unit = 0;     // UNIT_UNSPECIFIED
constexpr std::int32_t bytes_unit = 3;  // UNIT_SIZE_BYTES

}  // namespace pftrace

}  // namespace PROFKIT_NAMESPACE::detail
