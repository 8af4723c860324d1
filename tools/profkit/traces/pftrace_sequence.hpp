// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <profkit/impl/profile/own_containers.hpp>
#include <profkit/impl/report/shown_text.hpp>
#include <profkit/time.hpp>
#include <protozero/varint.hpp>
#include <string>
#include <string_view>

#include "pftrace_fields.hpp"
#include "pftrace_output.hpp"

namespace PROFKIT_NAMESPACE::detail {

inline void append_varint(own_string& bytes, std::uint64_t number) { protozero::add_varint_to_buffer(&bytes, number); }

/// Appends a field with a number.
inline void append_field(own_string& bytes, std::uint32_t field, std::uint64_t number) {
  append_varint(bytes, field << 3U);
  append_varint(bytes, number);
}

/// The events of one track, as a packet sequence. Its first packet contains the properties that all events share: the track, and a clock
/// with incremental times. Names are interned per sequence.
///
/// Events do not set `SEQ_NEEDS_INCREMENTAL_STATE`. That flag is for traces with lost packets, and takes 2 bytes per event.
class pftrace_sequence {
 public:
  static constexpr std::uint32_t length_delimited = 2;  ///< the wire type

  /// Writes a tag and a number. @return the end.
  static char* put(char* to, std::uint32_t tag, std::uint64_t number) {
    to += protozero::add_varint_to_buffer(to, tag);
    return to + protozero::add_varint_to_buffer(to, number);
  }

  /// The kinds of interned texts.
  enum kind : std::size_t { category, event_name, annotation_name, annotation_string };

  /// @param id unique per sequence, from 1.
  /// @param begin beginning of the profile or of the first event, whichever is earlier.
  pftrace_sequence(pftrace_output& to, std::uint32_t id, std::uint64_t track, timestamp begin) : to_{&to}, id_{id}, now_{begin} {
    pftrace_writer trace{to_->bytes()};
    pftrace_writer packet{trace, pftrace::trace_packets};
    packet.add_uint32(pftrace::packet_sequence_id, id_);
    packet.add_uint32(pftrace::packet_sequence_flags, pftrace::incremental_state_cleared);
    {
      pftrace_writer defaults{packet, pftrace::packet_defaults};
      defaults.add_uint32(pftrace::defaults_clock_id, pftrace::sequence_clock);
      pftrace_writer event{defaults, pftrace::defaults_track_event};
      event.add_uint64(pftrace::event_track, track);
    }
    pftrace_writer snapshot{packet, pftrace::packet_clock_snapshot};
    auto const unix_ns = static_cast<std::uint64_t>(begin.time_since_epoch().count());
    {
      pftrace_writer clock{snapshot, pftrace::snapshot_clocks};
      clock.add_uint32(pftrace::clock_id, pftrace::sequence_clock);
      clock.add_uint64(pftrace::clock_timestamp, unix_ns);
      clock.add_bool(pftrace::clock_is_incremental, true);
      clock.add_uint64(pftrace::clock_unit_ns, 1);
    }
    {
      pftrace_writer clock{snapshot, pftrace::snapshot_clocks};
      clock.add_uint32(pftrace::clock_id, pftrace::realtime_clock);
      clock.add_uint64(pftrace::clock_timestamp, unix_ns);
    }
    snapshot.add_uint32(pftrace::snapshot_primary_clock, pftrace::realtime_clock);
  }

  /// The interned number of a text.
  std::uint64_t number_of(kind what, std::string const& text) {
    auto const [known, is_new] = numbers_[what].try_emplace(text, numbers_[what].size() + 1);
    if (is_new) {
      constexpr std::array<std::uint32_t, 4> fields{pftrace::interned_categories, pftrace::interned_event_names,
                                                    pftrace::interned_annotation_names, pftrace::interned_annotation_strings};
      pftrace_writer trace{to_->bytes()};
      pftrace_writer packet{trace, pftrace::trace_packets};
      packet.add_uint32(pftrace::packet_sequence_id, id_);
      pftrace_writer data{packet, pftrace::packet_interned_data};
      pftrace_writer entry{data, fields[what]};
      entry.add_uint64(pftrace::interned_id, known->second);
      entry.add_string(pftrace::interned_text, as_utf8(text));
    }
    return known->second;
  }

  /// @param event a `TrackEvent`.
  /// @param time not before the time of the previous event.
  void add(timestamp time, std::string_view event) {
    auto const difference = static_cast<std::uint64_t>((time - now_).count());
    now_ = time;
    // Built on the stack. The fields begin after the space for the length, which precedes them.
    char head[max_head + short_event];
    char* const fields = head + max_prefix;
    char* end = put(fields, pftrace::packet_timestamp << 3U, difference);
    end = put(end, pftrace::packet_sequence_id << 3U, id_);
    end = put(end, (pftrace::packet_track_event << 3U) | length_delimited, event.size());
    std::size_t const length = static_cast<std::size_t>(end - fields) + event.size();
    char* const begin = fields - 1 - protozero::length_of_varint(length);
    put(begin, (pftrace::trace_packets << 3U) | length_delimited, length);
    own_string& bytes = to_->bytes();
    if (event.size() <= short_event) {
      std::memcpy(end, event.data(), event.size());
      bytes.append(begin, static_cast<std::size_t>(end - begin) + event.size());
    } else {
      bytes.append(begin, static_cast<std::size_t>(end - begin));
      bytes.append(event);
    }
    to_->pass_on();
  }

  /// Closes slices that end before the new one begins.
  void begin_slice(interval const& time, std::string_view event) {
    end_slices(time.begin);
    timestamp const end = open_.empty() || time.end <= open_.back() ? time.end : open_.back();  // a slice must not outlast its parent
    open_.push_back(end);
    add(time.begin, event);
  }

  void end_slices(timestamp until = timestamp::max()) {
    static constexpr char end_event[] = {static_cast<char>(pftrace::event_type << 3U), static_cast<char>(pftrace::slice_end)};
    while (!open_.empty() && open_.back() <= until) {
      add(open_.back(), {end_event, sizeof end_event});
      open_.pop_back();
    }
  }

 private:
  static constexpr std::size_t max_prefix = 1 + protozero::max_varint_length;
  static constexpr std::size_t short_event = 32;
  static constexpr std::size_t max_head = max_prefix + std::size_t{3} * (1 + protozero::max_varint_length);

  pftrace_output* to_;
  std::uint32_t id_;
  timestamp now_;               ///< time of the latest event
  own_vector<timestamp> open_;  ///< ends of the open slices
  std::array<own_hash_map<std::string, std::uint64_t>, 4> numbers_;
};

}  // namespace PROFKIT_NAMESPACE::detail
