// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/impl/analyze/gpu/gpu_idle.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/impl/report/report_view.hpp>
#include <profkit/impl/report/trace_content.hpp>
#include <profkit/impl/report/trace_json.hpp>
#include <profkit/profile.hpp>
#include <profkit/time.hpp>
#include <profkit/version.hpp>
#include <protozero/varint.hpp>
#include <string>
#include <string_view>

#include "pftrace_fields.hpp"
#include "pftrace_output.hpp"
#include "pftrace_sequence.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Writes the packets of a trace. Each track is a packet sequence. The numbers of tracks, sequences and arrows start at a number that
/// depends on the rank. So the concatenated traces of all ranks of a job are one valid trace.
class pftrace_format {
 public:
  pftrace_format(trace_content const& content, pftrace_output& to) : content_{content}, profile_{content.recorded()}, to_{to} {
    if (std::optional<rank_record> const& rank = profile_.environment.rank; rank && rank->size > 1) rank_ = rank->rank;
    tracks_ = host_track();
    sequences_ = description_sequence();
    describe(host_track(), [&](pftrace_writer& track) {
      track.add_int32(pftrace::track_child_ordering, pftrace::explicit_ordering);
      pftrace_writer process{track, pftrace::track_process};
      process.add_int32(pftrace::process_id, static_cast<std::int32_t>(content_.host()));
      for (std::string const& word : profile_.environment.command) process.add_string(pftrace::process_command, as_utf8(word));
      process.add_string(pftrace::process_name, as_utf8(process_track_name(profile_.environment)));
      process.add_string(pftrace::process_labels, std::string{"profkit "} + version);
    });
  }

  void thread(std::uint64_t number, std::string_view name, std::size_t rank, timestamp begin) {
    std::uint64_t const uuid = next_track();
    describe(uuid, [&](pftrace_writer& track) {
      track.add_uint64(pftrace::track_parent, host_track());
      track.add_int32(pftrace::track_rank, static_cast<std::int32_t>(rank));
      pftrace_writer thread{track, pftrace::track_thread};
      thread.add_int32(pftrace::thread_process, static_cast<std::int32_t>(content_.host()));
      thread.add_int64(pftrace::thread_id, static_cast<std::int64_t>(number));
      thread.add_string(pftrace::thread_name, as_utf8(name));
    });
    begin_track(uuid, begin);
  }

  void process_track(char const* name, std::uint64_t, timestamp begin) { begin_named_track(host_track(), name, 0, begin); }

  void device(std::int32_t, std::string const& name) {
    device_track_ = next_track();
    describe(device_track_, [&](pftrace_writer& track) {
      track.add_string(pftrace::track_name, as_utf8(name));
      track.add_int32(pftrace::track_child_ordering, pftrace::explicit_ordering);
    });
  }

  void stream(std::string const& name, std::size_t rank, timestamp begin) { begin_named_track(device_track_, name, rank, begin); }

  void scope(interval const& time, std::uint32_t path) {
    own_string& event = scope_events_[path];
    if (event.empty()) event = begin_event("scope", content_.scope_names()[path]);
    sequence_->begin_slice(time, event);
  }

  void call(interval const& time, std::uint32_t position) {
    api_call_record const& call = profile_.api_calls[position];
    event_.assign(common(call_events_[call.name], "api", profile_.api_names[call.name]));
    annotate(correlation, call.correlation);
    for (std::uint32_t const operation : content_.launched_by(position)) add_flow(pftrace::event_flows, operation);
    sequence_->begin_slice(time, event_);
  }

  void step(step_record const& step) {
    event_ = begin_event("step", "step " + std::to_string(step.index));
    annotate(items, step.items);
    sequence_->begin_slice(step.time, event_);
  }

  void idle(charged_idle const& part) {
    event_ = begin_event("idle", idle_cause_names[static_cast<std::size_t>(part.cause)]);
    if (part.path != attribution::none) annotate_scope(part.path);
    sequence_->begin_slice(part.time, event_);
  }

  void operation(std::uint32_t position, launch_arrow const* from) {
    gpu_operation_record const& operation = profile_.gpu_operations[position];
    bool const is_kernel = operation.kind == gpu_operation_kind::kernel;
    char const* const category = is_kernel ? "kernel" : operation.kind == gpu_operation_kind::copy ? "copy" : "memset";
    event_.assign(common(gpu_events_[operation.name], category, profile_.gpu_names[operation.name].name));
    annotate(correlation, operation.correlation);
    if (is_kernel) {
      annotate(grid, operation.grid);
      annotate(block, operation.block);
    } else {
      annotate(bytes, operation.bytes);
    }
    std::uint32_t const path = content_.scope_path_of(position);
    if (path != attribution::none) annotate_scope(path);
    if (from != nullptr) add_flow(pftrace::event_terminating_flows, position);
    sequence_->begin_slice(operation.time, event_);
  }

  void counter(counter_track const& counter) {
    std::uint64_t const uuid = next_track();
    describe(uuid, [&](pftrace_writer& track) {
      track.add_uint64(pftrace::track_parent, host_track());
      track.add_string(pftrace::track_name, as_utf8(counter.name));
      pftrace_writer what{track, pftrace::track_counter};
      what.add_int32(pftrace::counter_unit, counter.is_bytes ? pftrace::bytes_unit : pftrace::no_unit);
    });
    begin_track(uuid, counter.values.front().first);
    for (auto const& [time, value] : counter.values) {
      event_.clear();
      append_field(event_, pftrace::event_type, pftrace::counter);
      pftrace_writer event{event_};
      if (counter.is_bytes) {
        event.add_int64(pftrace::event_counter_value, static_cast<std::int64_t>(value));
      } else {
        event.add_double(pftrace::event_double_counter_value, value);
      }
      sequence_->add(time, event_);
    }
  }

  void finish() {
    end_track();
    to_.finish();
  }

 private:
  static constexpr std::uint32_t max_tracks = 1U << 16U;  ///< maximum number of tracks, and of their sequences, of one rank

  [[nodiscard]] std::uint64_t host_track() const { return std::uint64_t{rank_} * max_tracks + 1; }
  [[nodiscard]] std::uint32_t description_sequence() const { return rank_ * max_tracks + 1; }

  [[nodiscard]] std::uint64_t next_track() { return ++tracks_; }

  template <class Write>
  void describe(std::uint64_t uuid, Write&& write) {
    pftrace_writer trace{to_.bytes()};
    pftrace_writer packet{trace, pftrace::trace_packets};
    packet.add_uint32(pftrace::packet_sequence_id, description_sequence());
    pftrace_writer track{packet, pftrace::packet_track_descriptor};
    track.add_uint64(pftrace::track_uuid, uuid);
    write(track);
  }

  void begin_named_track(std::uint64_t parent, std::string const& name, std::size_t rank, timestamp begin) {
    std::uint64_t const uuid = next_track();
    describe(uuid, [&](pftrace_writer& track) {
      track.add_uint64(pftrace::track_parent, parent);
      track.add_string(pftrace::track_name, name);
      track.add_int32(pftrace::track_rank, static_cast<std::int32_t>(rank));
    });
    begin_track(uuid, begin);
  }

  void begin_track(std::uint64_t uuid, timestamp begin) {
    end_track();
    sequence_.emplace(to_, ++sequences_, uuid, std::min(begin, profile_.time.begin));
    scope_events_.assign(profile_.paths.size(), {});
    call_events_.assign(profile_.api_names.size(), {});
    gpu_events_.assign(profile_.gpu_names.size(), {});
    annotation_numbers_.fill(0);
    triples_.clear();
    scope_path_numbers_.assign(profile_.paths.size(), 0);
  }

  void end_track() {
    if (sequence_) sequence_->end_slices();
  }

  /// The common part of the begin events of slices.
  [[nodiscard]] own_string begin_event(char const* category, std::string const& name) {
    own_string event;
    append_field(event, pftrace::event_type, pftrace::slice_begin);
    append_field(event, pftrace::event_categories, sequence_->number_of(pftrace_sequence::category, category));
    append_field(event, pftrace::event_name, sequence_->number_of(pftrace_sequence::event_name, name));
    return event;
  }

  [[nodiscard]] own_string const& common(own_string& known, char const* category, std::string const& name) {
    if (known.empty()) known = begin_event(category, name);
    return known;
  }

  /// Names of annotations. Each sequence assigns numbers to them on first use.
  enum annotation : std::size_t { correlation, items, grid, block, bytes, scope_path };

  void annotate(annotation what, std::uint64_t value) { annotate(what, pftrace::annotation_unsigned, value); }

  void annotate(annotation what, std::uint32_t field, std::uint64_t value) {
    constexpr std::array<char const*, 6> names{"correlation", "items", "grid", "block", "bytes", "scope"};
    std::uint64_t& name = annotation_numbers_[what];
    if (name == 0) name = sequence_->number_of(pftrace_sequence::annotation_name, names[what]);
    // The length precedes the message. Built on the stack, because messages are short and many.
    char message[2 + 4 * protozero::max_varint_length];
    char* const begin = message + 2;
    char* end = pftrace_sequence::put(begin, pftrace::annotation_name << 3U, name);
    end = pftrace_sequence::put(end, field << 3U, value);
    message[0] = static_cast<char>(pftrace::event_annotations << 3U | pftrace_sequence::length_delimited);
    message[1] = static_cast<char>(end - begin);
    event_.append(message, static_cast<std::size_t>(end - message));
  }

  void annotate(annotation what, std::array<std::uint32_t, 3> const& numbers) {
    auto const [known, is_new] = triples_.try_emplace(numbers, 0);
    if (is_new) {
      known->second =
          sequence_->number_of(pftrace_sequence::annotation_string, fmt::format("{},{},{}", numbers[0], numbers[1], numbers[2]));
    }
    annotate(what, pftrace::annotation_string, known->second);
  }

  void annotate_scope(std::uint32_t path) {
    std::uint64_t& number = scope_path_numbers_[path];
    if (number == 0) number = sequence_->number_of(pftrace_sequence::annotation_string, content_.scope_paths()[path]);
    annotate(scope_path, pftrace::annotation_string, number);
  }

  /// Flow numbers are derived from operations of the rank; 0 means none.
  void add_flow(std::uint32_t field, std::uint32_t operation) {
    pftrace_writer{event_}.add_fixed64(field, (std::uint64_t{rank_} << 32U) + operation + 1);
  }

  trace_content const& content_;
  profile const& profile_;
  pftrace_output& to_;
  std::optional<pftrace_sequence> sequence_;  ///< sequence of the current track
  own_vector<own_string> scope_events_;       ///< on this track, by path; empty until used
  own_vector<own_string> call_events_;        ///< on this track, by name
  own_vector<own_string> gpu_events_;         ///< on this track, by name
  own_string event_;
  std::array<std::uint64_t, 6> annotation_numbers_{};              ///< on this track, by annotation; 0 until used
  std::map<std::array<std::uint32_t, 3>, std::uint64_t> triples_;  ///< numbers of texts on this track: grids and blocks
  own_vector<std::uint64_t> scope_path_numbers_;                   ///< numbers of texts on this track, by path; 0 until used
  std::uint32_t rank_ = 0;                                         ///< 0 in a run of one process
  std::uint64_t tracks_ = 0;                                       ///< last assigned number
  std::uint64_t device_track_ = 0;
  std::uint32_t sequences_ = 0;
};

}  // namespace PROFKIT_NAMESPACE::detail
