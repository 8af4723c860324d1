// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "../../error.hpp"
#include "../../profile.hpp"

namespace profkit::detail {

inline constexpr std::uint32_t profile_format = 13;
inline constexpr std::uint32_t oldest_profile_format = 12;  ///< the oldest format that can be read

/// @throws profkit::error if files of this format cannot be read.
inline void check_format(std::uint32_t format) {
  if (format >= oldest_profile_format && format <= profile_format) return;
  throw error{"it has format " + std::to_string(format) + ", this version reads formats " + std::to_string(oldest_profile_format) + " to " +
              std::to_string(profile_format)};
}

// The members of each record in file order. A change here requires a new `profile_format`.
template <class Archive>
void fields(Archive& archive, interval& record) {
  archive(record.begin), archive(record.end);
}
template <class Archive>
void fields(Archive& archive, host_speed_record& record) {
  archive(record.before), archive(record.after), archive(record.waiting);
}
template <class Archive>
void fields(Archive& archive, rank_record& record) {
  archive(record.rank), archive(record.size), archive(record.local_rank), archive(record.restart), archive(record.launcher);
}
template <class Archive>
void fields(Archive& archive, environment_record& record) {
  archive(record.host), archive(record.gpu), archive(record.driver), archive(record.cuda), archive(record.command),
      archive(record.process_id);
  archive(record.host_speed);
  archive(record.rank), archive(record.boot_id), archive(record.clock_offset_ns);
}
template <class Archive>
void fields(Archive& archive, path_record& record) {
  archive(record.parent), archive(record.name), archive(record.index), archive(record.file), archive(record.line);
  archive(record.adopted_from), archive(record.role);
  archive(record.is_step);
}
template <class Archive>
void fields(Archive& archive, thread_record& record) {
  archive(record.system_id), archive(record.name), archive(record.default_path);
}
template <class Archive>
void fields(Archive& archive, scope_record& record) {
  archive(record.time), archive(record.path), archive(record.thread);
}
template <class Archive>
void fields(Archive& archive, step_record& record) {
  archive(record.time), archive(record.index), archive(record.warmup), archive(record.items), archive(record.model_flops);
  archive(record.has_kernels);
  archive(record.is_excluded);
}
template <class Archive>
void fields(Archive& archive, work_record& record) {
  archive(record.begin), archive(record.path), archive(record.work.flops), archive(record.work.bytes), archive(record.work.precision),
      archive(record.work.backward);
}
template <class Archive>
void fields(Archive& archive, communicator_record& record) {
  archive(record.id), archive(record.name), archive(record.rank), archive(record.size);
}
template <class Archive>
void fields(Archive& archive, collective_record& record) {
  archive(record.time), archive(record.sequence), archive(record.bytes), archive(record.correlation), archive(record.communicator);
  archive(record.function), archive(record.datatype), archive(record.algorithm), archive(record.protocol);
  archive(record.path), archive(record.thread), archive(record.is_captured);
}
template <class Archive>
void fields(Archive& archive, function_record& record) {
  archive(record.name), archive(record.module), archive(record.caller);
  archive(record.file), archive(record.line);
}
template <class Archive>
void fields(Archive& archive, sample_record& record) {
  archive(record.time), archive(record.path), archive(record.function), archive(record.thread), archive(record.weight);
}
template <class Archive>
void fields(Archive& archive, sampling_record& record) {
  archive(record.mechanism), archive(record.interval), archive(record.lost), archive(record.threads), archive(record.threads_without),
      archive(record.why_without);
  archive(record.why_no_lines);
}
template <class Archive>
void fields(Archive& archive, allocator_record& record) {
  archive(record.name), archive(record.bytes_at_start), archive(record.is_polled);
}
template <class Archive>
void fields(Archive& archive, allocation_record& record) {
  archive(record.time), archive(record.address), archive(record.bytes), archive(record.thread), archive(record.allocator),
      archive(record.kind);
}
template <class Archive>
void fields(Archive& archive, device_clock_record& record) {
  archive(record.time), archive(record.step), archive(record.device), archive(record.sm_mhz), archive(record.max_sm_mhz),
      archive(record.reasons);
  archive(record.milliwatt), archive(record.celsius);
}
template <class Archive>
void fields(Archive& archive, device_utilization_record& record) {
  archive(record.time), archive(record.step), archive(record.device), archive(record.values);
}
template <class Archive>
void fields(Archive& archive, measured_roof_record& record) {
  archive(record.precision), archive(record.flops_per_second), archive(record.bytes_per_second), archive(record.how);
}
template <class Archive>
void fields(Archive& archive, gpu_scope_record& record) {
  archive(record.path), archive(record.begin), archive(record.device), archive(record.duration);
}
template <class Archive>
void fields(Archive& archive, gpu_step_record& record) {
  archive(record.step), archive(record.device), archive(record.duration);
}
template <class Archive>
void fields(Archive& archive, gpu_name_record& record) {
  archive(record.name), archive(record.mangled);
  archive(record.direction);
}
template <class Archive>
void fields(Archive& archive, gpu_operation_record& record) {
  archive(record.time), archive(record.correlation), archive(record.bytes), archive(record.name), archive(record.device),
      archive(record.stream);
  archive(record.grid), archive(record.block), archive(record.kind), archive(record.graph_node);
}
template <class Archive>
void fields(Archive& archive, graph_node_record& record) {
  archive(record.node), archive(record.path);
}
template <class Archive>
void fields(Archive& archive, api_call_record& record) {
  archive(record.time), archive(record.correlation), archive(record.name), archive(record.thread);
}
template <class Archive>
void fields(Archive& archive, counter_record& record) {
  archive(record.time), archive(record.value), archive(record.counter), archive(record.thread);
}
template <class Archive>
void fields(Archive& archive, memory_record& record) {
  archive(record.source), archive(record.quantity), archive(record.step), archive(record.current_bytes), archive(record.peak_bytes),
      archive(record.peak_note);
  archive(record.capacity_bytes);
}
template <class Archive>
void fields(Archive& archive, collector_record& record) {
  archive(record.name), archive(record.status), archive(record.reason);
  archive(record.kind);
}
template <class Archive>
void fields(Archive& archive, wrong_end_record& record) {
  archive(record.what), archive(record.count);
}
template <class Archive>
void fields(Archive& archive, snapshot_record& record) {
  archive(record.is_step_open), archive(record.is_behind), archive(record.missing_operations), archive(record.untimed_steps);
}
template <class Archive>
void fields(Archive& archive, quality_record& record) {
  archive(record.dropped_events), archive(record.open_scopes), archive(record.abandoned_steps), archive(record.unread_gpu_times),
      archive(record.untimed_gpu_scopes);
  archive(record.dropped_operations), archive(record.invalid_operations);
  archive(record.clock_changes), archive(record.cost_of_1000_scopes), archive(record.bookkeeping), archive(record.clock);
  archive(record.discarded_records), archive(record.collapsed_scopes);
  archive(record.clock_change), archive(record.uncertain_operations);
  archive(record.events_without_memory), archive(record.events_without_log), archive(record.interrupting_events);
  archive(record.misnested_scopes), archive(record.unmatched_ends), archive(record.wrong_ends);
  archive(record.not_recorded), archive(record.snapshot), archive(record.untraced_records);
}
template <class Archive>
void fields(Archive& archive, stop_record& record) {
  archive(record.wanted), archive(record.reached), archive(record.is_of_gpu), archive(record.max_steps);
}
template <class Archive>
void fields(Archive& archive, profile& record) {
  archive(record.environment), archive(record.item_name), archive(record.time), archive(record.paths), archive(record.threads),
      archive(record.scopes);
  archive(record.steps), archive(record.gpu_scopes), archive(record.gpu_steps), archive(record.gpu_names), archive(record.gpu_operations);
  archive(record.graph_nodes);
  archive(record.api_names), archive(record.api_calls), archive(record.has_all_api_calls), archive(record.counter_names),
      archive(record.counters);
  archive(record.memory), archive(record.allocators), archive(record.allocations), archive(record.work), archive(record.precision);
  archive(record.device_clocks), archive(record.measured_roofs), archive(record.collectors), archive(record.quality), archive(record.stop);
  archive(record.communicators), archive(record.collective_words), archive(record.collectives);
  archive(record.device_utilization), archive(record.functions), archive(record.samples), archive(record.sampling);
}

}  // namespace profkit::detail
