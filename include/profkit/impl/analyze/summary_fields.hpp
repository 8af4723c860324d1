// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "../../error.hpp"
#include "../../summary.hpp"
#include "../profile/flat_records.hpp"
#include "../profile/validate.hpp"
#include "device_summary.hpp"
#include "ranks/timeline_part.hpp"
#include "step_fields.hpp"

namespace PROFKIT_NAMESPACE::detail {

// Records that a summary copies from the profile. Their binary form is described in `record_fields.hpp`.
constexpr auto describe(described_type<host_speed_record>) {
  using s = host_speed_record;
  return field_list{field{"probe_before_us?", &s::before}, field{"probe_after_us?", &s::after}, field{"waiting_share", &s::waiting}};
}
constexpr auto describe(described_type<host_use_record>) {
  using s = host_use_record;
  return field_list{field{"elapsed_ms", &s::elapsed},
                    field{"user_ms", &s::user},
                    field{"system_ms", &s::system},
                    field{"minor_faults", &s::minor_faults},
                    field{"major_faults", &s::major_faults},
                    field{"voluntary_switches", &s::voluntary_switches},
                    field{"involuntary_switches", &s::involuntary_switches},
                    field{"processors?", &s::processors}};
}
constexpr auto describe(described_type<rank_record>) {
  using s = rank_record;
  return field_list{field{"rank", &s::rank}, field{"size", &s::size}, field{"local_rank", &s::local_rank}, field{"restart", &s::restart},
                    field{"launcher?", &s::launcher}};
}
constexpr auto describe(described_type<environment_record>) {
  using s = environment_record;
  return field_list{field{"host?", &s::host},       field{"gpu?", &s::gpu},
                    field{"driver?", &s::driver},   field{"cuda?", &s::cuda},
                    field{"command", &s::command},  field{"host_speed", &s::host_speed},
                    field{"rank", &s::rank},        field{"-process_id", &s::process_id},
                    field{"-boot_id", &s::boot_id}, field{"-clock_offset_ns", &s::clock_offset_ns},
                    field{"host_use", &s::host_use}};
}
constexpr auto describe(described_type<collector_record>) {
  using s = collector_record;
  return field_list{field{"name", &s::name}, field{"status", &s::status}, field{"reason?", &s::reason}, field{"-kind", &s::kind}};
}
constexpr auto describe(described_type<wrong_end_record>) {
  using s = wrong_end_record;
  return field_list{field{"what", &s::what}, field{"count", &s::count}};
}
constexpr auto describe(described_type<snapshot_record>) {
  using s = snapshot_record;
  return field_list{field{"step_open", &s::is_step_open}, field{"behind", &s::is_behind},
                    field{"missing_operations", &s::missing_operations}, field{"untimed_steps", &s::untimed_steps}};
}
constexpr auto describe(described_type<quality_record>) {
  using s = quality_record;
  return field_list{field{"not_recorded?", &s::not_recorded},
                    field{"dropped_events", &s::dropped_events},
                    field{"events_without_memory", &s::events_without_memory},
                    field{"events_without_log", &s::events_without_log},
                    field{"interrupting_events", &s::interrupting_events},
                    field{"misnested_scopes", &s::misnested_scopes},
                    field{"unmatched_ends", &s::unmatched_ends},
                    field{"wrong_ends", &s::wrong_ends},
                    field{"discarded_records", &s::discarded_records},
                    field{"untraced_records", &s::untraced_records},
                    field{"collapsed_scopes", &s::collapsed_scopes},
                    field{"dropped_kernels", &s::dropped_operations},
                    field{"invalid_kernels", &s::invalid_operations},
                    field{"open_scopes", &s::open_scopes},
                    field{"abandoned_steps", &s::abandoned_steps},
                    field{"untimed_gpu_scopes", &s::untimed_gpu_scopes},
                    field{"unread_gpu_times", &s::unread_gpu_times},
                    field{"clock_changes", &s::clock_changes},
                    field{"clock_change_ms", &s::clock_change},
                    field{"uncertain_operations", &s::uncertain_operations},
                    field{"clock?", &s::clock},
                    field{"snapshot", &s::snapshot},
                    field{"/quality/overhead/host_ns_per_scope", &s::cost_of_1000_scopes},
                    field{"/quality/overhead/between_steps_ms", &s::bookkeeping}};
}

/// Validates a summary from a file: positions must lie in their lists, and figures that are known together must all be present.
class summary_check {
 public:
  /// @throws profkit::error that says what is wrong.
  void operator()(summary const& read) const {
    for (std::size_t i = 0; i < read.scopes.size(); ++i) check_row(read, i);
    for (adopted_summary const& row : read.adopted) {
      require(row.depth <= row.path.size(), "an adopted scope lies deeper than its path says");
    }
    check_steps(read.steps);
    if (read.timeline) check_timeline(*read.timeline, true);
    for (step_kind_summary const& kind : read.kinds) check_kind(read, kind);
    if (read.host_samples) {
      for (sampled_scope_summary const& each : read.host_samples->scopes) {
        require(!each.scope || *each.scope < read.scopes.size(), "samples of a scope without a row");
      }
    }
    for (listed_step const& each : read.listed_steps) {
      require(!each.kind || *each.kind < read.kinds.size(), "a step has a kind that does not exist");
    }
  }

 private:
  static void require(bool is_right, char const* what) {
    if (!is_right) throw error{std::string{"the summary is damaged: "} + what};
  }

  static void check_row(summary const& read, std::size_t position) {
    scope_summary const& row = read.scopes[position];
    require(!row.parent || *row.parent < position, "a scope comes before its parent");
    std::uint32_t const depth = row.parent ? read.scopes[*row.parent].depth + 1 : 0;
    require(row.depth == depth, "a scope has another depth than its place in the tree");
    check_depth(std::uint64_t{depth} + 1);
    // Each level of depth needs at least one character of the path, so a damaged file cannot demand texts much longer than itself.
    require(depth <= row.path.size(), "a scope has another depth than its place in the tree");
    require(row.memory.empty() || row.memory.size() == read.allocators.size(), "a scope has memory of other allocators");
  }

  static void check_steps(step_summary const& steps) {
    require(steps.gpu.has_value() == steps.gpu_verdict.has_value(), "GPU steps without a verdict");
    bool const has_between = steps.between.count > 0;
    require(steps.between.mean.has_value() == has_between && steps.between.median.has_value() == has_between &&
                steps.between.max.has_value() == has_between,
            "times between steps without their figures");
    check_verdict(steps.host_verdict);
    if (steps.gpu_verdict) check_verdict(*steps.gpu_verdict);
    for (clock_summary const& each : steps.clocks) {
      require(each.mean_watt.has_value() == each.max_watt.has_value(), "a mean power without a maximum");
    }
    if (!steps.gpu_period) return;
    check_verdict(steps.gpu_period->verdict);
    require(steps.gpu_period->median_steps_ahead.has_value() == steps.gpu_period->max_steps_ahead.has_value(),
            "a host that runs ahead by an unknown number of steps");
  }

  static void check_kind(summary const& read, step_kind_summary const& kind) {
    check_steps(kind.times);
    for (kind_scope_summary const& each : kind.scopes) {
      require(each.scope < read.scopes.size(), "a kind of step has a scope without a row");
    }
    for (kind_kernel_summary const& each : kind.kernels) {
      require(read.gpu && each.kernel < read.gpu->kernels.size(), "a kind of step has a kernel without a row");
      for (launch_place_summary const& place : each.launched_in) {
        require(!place.scope || *place.scope < read.scopes.size(), "a kernel of a kind of step was launched in a scope without a row");
      }
    }
  }

  static void check_verdict(verdict_summary const& verdict) {
    require(verdict.ci95_low.has_value() == verdict.ci95_high.has_value(), "an interval of the mean with one end");
    require(!verdict.relative_half_width || verdict.effective_samples, "an interval of the mean without its samples");
    require(!verdict.drift || verdict.drift_p_value, "a drift without its probability");
    require(verdict.pattern || verdict.verdict != step_verdict::uneven, "uneven steps without a pattern");
    bool const has_steady_part = verdict.finding == warmup_finding::enough || verdict.finding == warmup_finding::never_steady;
    require(verdict.steady_from || !has_steady_part, "a steady part without its begin");
  }
};

// The description of a summary: the only place that lists its members. Writers, readers and comparisons use it.
//
// A name is the key of the member in `report.json` and ends in the unit. `report.json` has the members in this order.

constexpr file_enum file_enum_of(described_type<work_bound>) { return {work_bound::memory, "bound of work"}; }

// A record that a summary copies from the profile. Its binary form is described in `record_fields.hpp`.
constexpr auto describe(described_type<measured_roof_record>) {
  using s = measured_roof_record;
  return field_list{field{"precision?", &s::precision}, field{"tflops_per_s?", &s::flops_per_second},
                    field{"gb_per_s?", &s::bytes_per_second}, field{"how?", &s::how}};
}

constexpr auto describe(described_type<roof_share>) {
  using s = roof_share;
  return field_list{field{"roof_share", &s::share}, field{"bound", &s::bound}};
}
constexpr auto describe(described_type<work_summary>) {
  using s = work_summary;
  return field_list{field{"flops?", &s::flops},
                    field{"bytes?", &s::bytes},
                    field{"self_flops?", &s::self_flops},
                    field{"self_bytes?", &s::self_bytes},
                    field{"precision?", &s::precision},
                    field{"time_ms", &s::time},
                    field{"basis", &s::basis},
                    field{"tflops_per_s", &s::flops_per_second},
                    field{"gb_per_s", &s::bytes_per_second},
                    field{"intensity", &s::intensity},
                    field{"*", &s::roof},
                    field{"measured_*", &s::measured_roof},
                    field{"share_of_time_said", &s::share_of_time_said}};
}
constexpr auto describe(described_type<device_rates>) {
  using s = device_rates;
  return field_list{field{"tflops_per_s", &s::flops_per_second}, field{"gb_per_s", &s::bytes_per_second}};
}
constexpr auto describe(described_type<limits_summary>) {
  using s = limits_summary;
  return field_list{field{"device?", &s::device}, field{"source?", &s::source},    field{"reason?", &s::why_no_peaks},
                    field{"*", &s::peaks},        field{"measured", &s::measured}, field{"-measured_rates", &s::measured_rates}};
}
constexpr auto describe(described_type<model_summary>) {
  using s = model_summary;
  return field_list{field{"flops_per_step", &s::flops_per_step},
                    field{"flops_source", &s::flops_source},
                    field{"tflops_per_s", &s::flops_per_second},
                    field{"basis", &s::basis},
                    field{"mfu", &s::utilization},
                    field{"peak_tflops", &s::peak_flops_per_second},
                    field{"precision?", &s::precision},
                    field{"reason?", &s::why_no_peak},
                    field{"measured_peak_tflops", &s::measured_peak_flops_per_second},
                    field{"share_of_measured_peak", &s::share_of_measured}};
}

constexpr auto describe(described_type<share_of_unit>) {
  using s = share_of_unit;
  return field_list{field{"mean", &s::mean}, field{"min", &s::min}, field{"max", &s::max}};
}
constexpr auto describe(described_type<rate_of_unit>) {
  using s = rate_of_unit;
  return field_list{field{"mean_gb_per_s", &s::mean}, field{"min_gb_per_s", &s::min}, field{"max_gb_per_s", &s::max}};
}
constexpr auto describe(described_type<utilization_summary>) {
  using s = utilization_summary;
  return field_list{field{"device", &s::device},
                    field{"source", &s::source},
                    field{"windows", &s::windows},
                    field{"covered_ms", &s::covered},
                    field{"busy_*", &s::busy},
                    field{"sm_active_*", &s::sm_active},
                    field{"sm_occupancy_*", &s::sm_occupancy},
                    field{"tensor_*", &s::tensor},
                    field{"tensor_fp64_*", &s::tensor_fp64},
                    field{"tensor_float_*", &s::tensor_float},
                    field{"tensor_integer_*", &s::tensor_integer},
                    field{"fp64_*", &s::fp64},
                    field{"fp32_*", &s::fp32},
                    field{"fp16_*", &s::fp16},
                    field{"integer_*", &s::integer},
                    field{"dram_*", &s::dram},
                    field{"memory_active_*", &s::memory_active},
                    field{"nvlink_receive_*", &s::nvlink_receive},
                    field{"nvlink_send_*", &s::nvlink_send},
                    field{"pcie_receive_*", &s::pcie_receive},
                    field{"pcie_send_*", &s::pcie_send}};
}

constexpr auto describe(described_type<energy_scope_summary>) {
  using s = energy_scope_summary;
  return field_list{field{"path", &s::path}, field{"count", &s::count}, field{"joules", &s::joules}, field{"mean_watt", &s::mean_watt}};
}
constexpr auto describe(described_type<energy_summary>) {
  using s = energy_summary;
  return field_list{field{"meter", &s::meter},
                    field{"steps", &s::steps},
                    field{"covered_ms", &s::covered},
                    field{"joules", &s::joules},
                    field{"joules_per_step", &s::joules_per_step},
                    field{"joules_per_item", &s::joules_per_item},
                    field{"mean_watt", &s::mean_watt},
                    field{"resolution_ms", &s::resolution},
                    field{"min_joules", &s::min_joules},
                    field{"max_joules", &s::max_joules},
                    field{"scopes", &s::scopes}};
}

constexpr auto describe(described_type<gpu_work_summary>) {
  using s = gpu_work_summary;
  return field_list{field{"gpu_kernel_ms", &s::kernel_time},
                    field{"gpu_busy_ms", &s::busy},
                    field{"gpu_self_ms", &s::kernel_self},
                    field{"gpu_span_*", &s::span, "total_ms=gpu_span_ms,median_ms=gpu_span_p50_ms,p95_ms,p99_ms"},
                    field{"kernels", &s::kernels},
                    field{"gpu_operations", &s::operations},
                    field{"launch_latency_mean_us", &s::latency_mean},
                    field{"launch_latency_p95_us", &s::latency_p95}};
}
constexpr auto describe(described_type<gpu_idle_summary>) {
  using s = gpu_idle_summary;
  return field_list{field{"gpu_idle_ms", &s::inclusive}, field{"gpu_idle_self_ms", &s::self}};
}
constexpr auto describe(described_type<per_step_figures>) {
  using s = per_step_figures;
  return field_list{field{"mean_ms", &s::mean}, field{"std_ms", &s::standard_deviation}, field{"autocorrelation", &s::autocorrelation}};
}
constexpr auto describe(described_type<scope_per_step>) {
  using s = scope_per_step;
  return field_list{field{"steps", &s::steps}, field{"host_*", &s::host}, field{"gpu_steps", &s::gpu_steps}, field{"gpu_*", &s::gpu},
                    field{"gpu_host_copies_mean_ms", &s::host_copies}};
}
constexpr auto describe(described_type<kernel_per_step>) {
  using s = kernel_per_step;
  return field_list{field{"steps", &s::steps}, field{"gpu_*", &s::gpu}};
}
constexpr auto describe(described_type<scope_memory_summary>) {
  using s = scope_memory_summary;
  return field_list{field{"source", &s::source},
                    field{"polled", &s::is_polled},
                    field{"peak_bytes", &s::peak_bytes},
                    field{"own_peak_bytes", &s::own_peak_bytes},
                    field{"retained_bytes", &s::retained_bytes},
                    field{"own_retained_bytes", &s::own_retained_bytes},
                    field{"allocated_bytes", &s::allocated_bytes},
                    field{"own_allocated_bytes", &s::own_allocated_bytes},
                    field{"allocations", &s::allocations},
                    field{"wide_peak_bytes", &s::wide_peak_bytes},
                    field{"own_change_bytes", &s::own_change_bytes}};
}
constexpr auto describe(described_type<scope_summary>) {
  using s = scope_summary;
  return field_list{field{"path", &s::path},
                    field{"name", &s::name},
                    field{"index", &s::index},
                    field{"depth", &s::depth},
                    field{"source", &s::source},
                    field{"host_*", &s::host, "count=count,total_ms,mean_ms,std_ms,min_ms,max_ms,median_ms=host_p50_ms,p95_ms,p99_ms"},
                    field{"host_self_ms", &s::host_self},
                    field{"share_of_parent", &s::share_of_parent},
                    field{"share_of_steps", &s::share_of_steps},
                    field{"gpu_event_*", &s::gpu_events, "total_ms,mean_ms,std_ms,median_ms=gpu_event_p50_ms,p95_ms,p99_ms,count"},
                    field{"*", &s::gpu},
                    field{"*", &s::gpu_idle},
                    field{"per_step", &s::per_step},
                    field{"work", &s::work},
                    field{"memory", &s::memory},
                    field{"-parent", &s::parent}};
}
constexpr auto describe(described_type<scope_name_summary>) {
  using s = scope_name_summary;
  return field_list{field{"name", &s::name}, field{"host_*", &s::host, "count=count,total_ms,median_ms=host_p50_ms,p95_ms,p99_ms"},
                    field{"*", &s::gpu}, field{"*", &s::gpu_idle}, field{"work", &s::work}};
}
/// Keys for durations of single kernels, copies and calls, in microseconds.
inline constexpr char const* times_in_us =
    "count,total_ms,mean_ms=mean_us,median_ms=median_us,p95_ms=p95_us,p99_ms=p99_us,min_ms=min_us,max_ms=max_us,std_ms=std_us";
constexpr auto describe(described_type<launch_summary>) {
  using s = launch_summary;
  return field_list{field{"launches", &s::launches},
                    field{"total_ms", &s::total},
                    field{"device", &s::device},
                    field{"blocks", &s::blocks},
                    field{"threads", &s::threads},
                    field{"registers", &s::registers},
                    field{"shared_bytes", &s::shared_bytes},
                    field{"local_bytes", &s::local_bytes},
                    field{"cluster_blocks", &s::cluster_blocks},
                    field{"multiprocessors", &s::multiprocessors},
                    field{"blocks_per_multiprocessor", &s::blocks_per_multiprocessor},
                    field{"occupancy", &s::occupancy},
                    field{"limited_by?", &s::limited_by},
                    field{"waves", &s::waves},
                    field{"last_wave", &s::last_wave}};
}
constexpr auto describe(described_type<kernel_summary>) {
  using s = kernel_summary;
  return field_list{field{"name", &s::name},
                    field{"mangled?", &s::mangled},
                    field{"class", &s::kernel_class},
                    field{"*", &s::time, times_in_us},
                    field{"share", &s::share},
                    field{"per_step", &s::per_step},
                    field{"median_launch", &s::median_launch},
                    field{"worst_launch", &s::worst_launch}};
}
constexpr auto describe(described_type<kernel_class_summary>) {
  using s = kernel_class_summary;
  return field_list{field{"class", &s::name}, field{"count", &s::count}, field{"total_ms", &s::total}, field{"share", &s::share}};
}
constexpr auto describe(described_type<copy_summary>) {
  using s = copy_summary;
  return field_list{field{"name", &s::name}, field{"*", &s::time, times_in_us}, field{"bytes", &s::bytes}};
}
constexpr auto describe(described_type<unified_memory_place>) {
  using s = unified_memory_place;
  return field_list{field{"kernel?", &s::kernel},
                    field{"path?", &s::path},
                    field{"function?", &s::function},
                    field{"file?", &s::file},
                    field{"line", &s::line},
                    field{"migrations", &s::migrations},
                    field{"bytes_to_device", &s::bytes_to_device},
                    field{"bytes_to_host", &s::bytes_to_host},
                    field{"device_faults", &s::device_faults},
                    field{"host_faults", &s::host_faults},
                    field{"waiting_ms", &s::waiting}};
}
constexpr auto describe(described_type<unified_memory_summary>) {
  using s = unified_memory_summary;
  return field_list{field{"operations", &s::operations}, field{"places", &s::places}};
}
constexpr auto describe(described_type<api_summary>) {
  using s = api_summary;
  return field_list{field{"name", &s::name}, field{"*", &s::time, times_in_us}};
}
constexpr auto describe(described_type<gpu_summary>) {
  using s = gpu_summary;
  return field_list{field{"/kernels", &s::kernels},
                    field{"/kernel_classes", &s::classes},
                    field{"/copies", &s::copies},
                    field{"/api", &s::api},
                    field{"/gpu/steps", &s::steps},
                    field{"/gpu/*", &s::all},
                    field{"/gpu/*", &s::idle},
                    field{"/quality/unattributed_kernels", &s::unattributed_kernels},
                    field{"/quality/unattributed_operations", &s::unattributed_operations},
                    field{"/quality/unattributed_ms", &s::unattributed_time},
                    field{"/quality/unknown_launches", &s::unknown_launches},
                    field{"/quality/graph_operations", &s::operations_of_graphs},
                    field{"/quality/unknown_graph_operations", &s::operations_of_unknown_graphs}};
}
constexpr auto describe(described_type<adopted_summary>) {
  using s = adopted_summary;
  return field_list{field{"path", &s::path},
                    field{"name", &s::name},
                    field{"depth", &s::depth},
                    field{"role", &s::role},
                    field{"count", &s::count},
                    field{"host_total_ms", &s::host_total},
                    field{"gpu_operations", &s::operations},
                    field{"gpu_kernel_ms", &s::kernel_time},
                    field{"gpu_busy_ms", &s::busy},
                    field{"own_host_total_ms", &s::own_host_total},
                    field{"own_gpu_kernel_ms", &s::own_kernel_time},
                    field{"kernel_ratio", &s::kernel_ratio},
                    field{"work", &s::work}};
}
constexpr auto describe(described_type<memory_summary>) {
  using s = memory_summary;
  return field_list{field{"samples", &s::samples},
                    field{"first_bytes", &s::first_bytes},
                    field{"last_bytes", &s::last_bytes},
                    field{"max_sample_bytes", &s::max_sample_bytes},
                    field{"peak_bytes", &s::peak_bytes},
                    field{"peak_over?", &s::peak_note},
                    field{"capacity_bytes", &s::capacity_bytes},
                    field{"-source", &s::source},
                    field{"-quantity", &s::quantity}};
}
constexpr auto describe(described_type<allocator_summary>) {
  using s = allocator_summary;
  return field_list{field{"source", &s::source},
                    field{"polled", &s::is_polled},
                    field{"first_bytes", &s::first_bytes},
                    field{"last_bytes", &s::last_bytes},
                    field{"max_bytes", &s::max_bytes},
                    field{"outside_change_bytes", &s::outside_change_bytes},
                    field{"between_steps_change_bytes", &s::between_steps_change_bytes},
                    field{"unknown_releases", &s::unknown_releases},
                    field{"reused_addresses", &s::reused_addresses}};
}
constexpr auto describe(described_type<counter_summary>) {
  using s = counter_summary;
  return field_list{
      field{"name", &s::name}, field{"count", &s::count},          field{"last", &s::last}, field{"mean", &s::mean}, field{"min", &s::min},
      field{"max", &s::max},   field{"not_finite", &s::not_finite}};
}
constexpr auto describe(described_type<trend_window_summary>) {
  using s = trend_window_summary;
  return field_list{field{"first_step", &s::first_step},
                    field{"begin_ms", &s::begin},
                    field{"steps", &s::steps},
                    field{"mean_ms", &s::mean},
                    field{"p95_ms", &s::p95},
                    field{"gpu_busy_share", &s::gpu_busy_share},
                    field{"joules_per_step", &s::joules_per_step},
                    field{"memory_bytes", &s::memory_bytes}};
}
constexpr auto describe(described_type<level_change_summary>) {
  using s = level_change_summary;
  return field_list{field{"step", &s::step},          field{"time_ms", &s::time},   field{"begin_ms", &s::begin},
                    field{"before_ms", &s::before},   field{"after_ms", &s::after}, field{"p_value", &s::p_value},
                    field{"is_of_gpu", &s::is_of_gpu}};
}
constexpr auto describe(described_type<run_trend_summary>) {
  using s = run_trend_summary;
  return field_list{field{"memory", &s::memory}, field{"windows", &s::windows}, field{"change", &s::change}};
}
constexpr auto describe(described_type<sampled_share>) {
  using s = sampled_share;
  return field_list{field{"share", &s::share}, field{"share_ci95_low", &s::ci95_low}, field{"share_ci95_high", &s::ci95_high}};
}
constexpr auto describe(described_type<sampled_function_summary>) {
  using s = sampled_function_summary;
  return field_list{field{"name?", &s::name}, field{"module?", &s::module},  field{"caller?", &s::caller}, field{"file?", &s::file},
                    field{"line", &s::line},  field{"samples", &s::samples}, field{"time_ms", &s::time},   field{"*", &s::share_of_scope}};
}
constexpr auto describe(described_type<sampled_wait_summary>) {
  using s = sampled_wait_summary;
  return field_list{field{"name", &s::name}, field{"calls", &s::calls}, field{"time_ms", &s::time}, field{"share", &s::share}};
}
constexpr auto describe(described_type<sampled_scope_summary>) {
  using s = sampled_scope_summary;
  return field_list{field{"path?", &s::path},         field{"scope", &s::scope},         field{"samples", &s::samples},
                    field{"sampled_ms", &s::sampled}, field{"self_ms", &s::self},        field{"waiting_or_in_kernel", &s::waiting},
                    field{"waits", &s::waits},        field{"functions", &s::functions}, field{"other_functions", &s::other_functions},
                    field{"other_ms", &s::other_time}};
}
constexpr auto describe(described_type<host_samples_summary>) {
  using s = host_samples_summary;
  return field_list{field{"mechanism", &s::mechanism},
                    field{"interval_us", &s::interval},
                    field{"samples", &s::samples},
                    field{"sampled_ms", &s::sampled},
                    field{"lost", &s::lost},
                    field{"threads", &s::threads},
                    field{"threads_without", &s::threads_without},
                    field{"why_without?", &s::why_without},
                    field{"why_no_lines?", &s::why_no_lines},
                    field{"share_of_process", &s::share_of_process},
                    field{"kernel_share", &s::kernel_share},
                    field{"scopes", &s::scopes},
                    field{"functions", &s::functions}};
}
constexpr auto describe(described_type<summary>) {
  using s = summary;
  return field_list{field{"environment", &s::environment},
                    field{"covers", &s::covers_steps},
                    field{"elapsed_ms", &s::elapsed},
                    field{"threads", &s::threads},
                    field{"steps", &s::steps},
                    field{"scopes", &s::scopes},
                    field{"names", &s::names},
                    field{"adopted", &s::adopted},
                    field{"limits", &s::limits},
                    field{"model", &s::model},
                    field{"*", &s::gpu},
                    field{"budget", &s::budget},
                    field{"utilization!", &s::utilization},
                    field{"unified_memory", &s::unified_memory},
                    field{"energy!", &s::energy},
                    field{"memory", &s::memory},
                    field{"allocators", &s::allocators},
                    field{"counters", &s::counters},
                    field{"trend", &s::trend},
                    field{"quality", &s::quality},
                    field{"/quality/overhead/scopes", &s::scopes_recorded},
                    field{"/quality/collectors", &s::collectors},
                    field{"step_kinds", &s::kinds},
                    field{"step_list", &s::listed_steps},
                    field{"samples", &s::host_samples},
                    field{"-timeline", &s::timeline}};
}

}  // namespace PROFKIT_NAMESPACE::detail
