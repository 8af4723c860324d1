// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "profile.hpp"

namespace profkit::detail {

inline constexpr std::uint32_t profile_format = 8;
inline constexpr std::uint32_t oldest_profile_format = 5;  ///< that can be read

// The members of each record in the order of the file. A change here is a change of `profile_format`.
template <class Archive>
void fields(Archive& archive, interval& of) {
  archive(of.begin), archive(of.end);
}
template <class Archive>
void fields(Archive& archive, host_speed_record& of) {
  archive(of.before), archive(of.after), archive(of.waiting);
}
template <class Archive>
void fields(Archive& archive, environment_record& of) {
  archive(of.host), archive(of.gpu), archive(of.driver), archive(of.cuda), archive(of.command), archive(of.process_id);
  if (archive.format() >= 8) archive(of.host_speed);
}
template <class Archive>
void fields(Archive& archive, path_record& of) {
  archive(of.parent), archive(of.name), archive(of.index), archive(of.file), archive(of.line);
  archive(of.adopted_from), archive(of.role);
  if (archive.format() >= 8) archive(of.is_step);
}
template <class Archive>
void fields(Archive& archive, thread_record& of) {
  archive(of.system_id), archive(of.name), archive(of.rest_path);
}
template <class Archive>
void fields(Archive& archive, scope_record& of) {
  archive(of.time), archive(of.path), archive(of.thread);
}
template <class Archive>
void fields(Archive& archive, step_record& of) {
  archive(of.time), archive(of.index), archive(of.warmup), archive(of.items), archive(of.model_flops);
  if (archive.format() >= 6) archive(of.has_kernels);
  if (archive.format() >= 8) archive(of.is_excluded);
}
template <class Archive>
void fields(Archive& archive, work_record& of) {
  archive(of.begin), archive(of.path), archive(of.work.flops), archive(of.work.bytes), archive(of.work.precision),
      archive(of.work.backward);
}
template <class Archive>
void fields(Archive& archive, allocator_record& of) {
  archive(of.name), archive(of.bytes_at_start), archive(of.is_polled);
}
template <class Archive>
void fields(Archive& archive, allocation_record& of) {
  archive(of.time), archive(of.address), archive(of.bytes), archive(of.thread), archive(of.allocator), archive(of.kind);
}
template <class Archive>
void fields(Archive& archive, device_clock_record& of) {
  archive(of.time), archive(of.step), archive(of.device), archive(of.sm_mhz), archive(of.highest_sm_mhz), archive(of.reasons);
  archive(of.milliwatt), archive(of.celsius);
}
template <class Archive>
void fields(Archive& archive, measured_roof_record& of) {
  archive(of.precision), archive(of.flops_per_second), archive(of.bytes_per_second), archive(of.how);
}
template <class Archive>
void fields(Archive& archive, gpu_scope_record& of) {
  archive(of.path), archive(of.begin), archive(of.device), archive(of.duration);
}
template <class Archive>
void fields(Archive& archive, gpu_step_record& of) {
  archive(of.step), archive(of.device), archive(of.duration);
}
template <class Archive>
void fields(Archive& archive, gpu_name_record& of) {
  archive(of.name), archive(of.mangled);
  if (archive.format() >= 8) archive(of.direction);
}
template <class Archive>
void fields(Archive& archive, gpu_operation_record& of) {
  archive(of.time), archive(of.correlation), archive(of.bytes), archive(of.name), archive(of.device), archive(of.stream);
  archive(of.grid), archive(of.block), archive(of.kind), archive(of.graph_node);
}
template <class Archive>
void fields(Archive& archive, graph_node_record& of) {
  archive(of.node), archive(of.path);
}
template <class Archive>
void fields(Archive& archive, api_call_record& of) {
  archive(of.time), archive(of.correlation), archive(of.name), archive(of.thread);
}
template <class Archive>
void fields(Archive& archive, counter_record& of) {
  archive(of.time), archive(of.value), archive(of.counter), archive(of.thread);
}
template <class Archive>
void fields(Archive& archive, memory_record& of) {
  archive(of.source), archive(of.quantity), archive(of.step), archive(of.current_bytes), archive(of.peak_bytes), archive(of.peak_note);
}
template <class Archive>
void fields(Archive& archive, collector_record& of) {
  archive(of.name), archive(of.status), archive(of.reason);
  if (archive.format() >= 8) archive(of.kind);
}
template <class Archive>
void fields(Archive& archive, wrong_end_record& of) {
  archive(of.what), archive(of.count);
}
template <class Archive>
void fields(Archive& archive, snapshot_record& of) {
  archive(of.is_step_open), archive(of.is_behind), archive(of.missing_operations), archive(of.untimed_steps);
}
template <class Archive>
void fields(Archive& archive, quality_record& of) {
  archive(of.dropped_events), archive(of.open_scopes), archive(of.abandoned_steps), archive(of.unread_gpu_times),
      archive(of.untimed_gpu_scopes);
  archive(of.dropped_operations), archive(of.invalid_operations);
  archive(of.clock_changes), archive(of.cost_of_1000_scopes), archive(of.bookkeeping), archive(of.clock);
  if (archive.format() >= 7) archive(of.unkept_records), archive(of.rowless_scopes);
  if (archive.format() >= 8) archive(of.clock_change), archive(of.uncertain_operations);
  if (archive.format() >= 8) {
    archive(of.events_without_memory), archive(of.events_without_log), archive(of.interrupting_events);
    archive(of.misnested_scopes), archive(of.unmatched_ends), archive(of.wrong_ends);
    archive(of.not_recorded), archive(of.snapshot), archive(of.untraced_records);
  }
}
template <class Archive>
void fields(Archive& archive, stop_record& of) {
  archive(of.wanted), archive(of.reached), archive(of.is_of_gpu), archive(of.most_steps);
}
template <class Archive>
void fields(Archive& archive, profile& of) {
  archive(of.environment), archive(of.item_name), archive(of.time), archive(of.paths), archive(of.threads), archive(of.scopes);
  archive(of.steps), archive(of.gpu_scopes), archive(of.gpu_steps), archive(of.gpu_names), archive(of.gpu_operations);
  archive(of.graph_nodes);
  archive(of.api_names), archive(of.api_calls), archive(of.has_all_api_calls), archive(of.counter_names), archive(of.counters);
  archive(of.memory), archive(of.allocators), archive(of.allocations), archive(of.work), archive(of.precision);
  archive(of.device_clocks), archive(of.measured_roofs), archive(of.collectors), archive(of.quality), archive(of.stop);
}

}  // namespace profkit::detail
