// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/impl/profile/flat_records.hpp>

#include "job_summary.hpp"

// Describes the members of a job summary: their keys in JSON, which end in the unit.

namespace PROFKIT_NAMESPACE::detail {

constexpr auto describe(described_type<job_rank_summary>) {
  using s = job_rank_summary;
  return field_list{field{"rank", &s::rank},
                    field{"name", &s::name},
                    field{"host", &s::host},
                    field{"gpu", &s::gpu},
                    field{"measured_steps", &s::measured_steps},
                    field{"step_ms", &s::step},
                    field{"compute_ms", &s::compute},
                    field{"communication_ms", &s::communication},
                    field{"exposed_transfer_ms", &s::exposed_transfer},
                    field{"exposed_waiting_ms", &s::exposed_waiting},
                    field{"idle_ms", &s::idle},
                    field{"waiting_ms", &s::waiting},
                    field{"transfer_ms", &s::transfer},
                    field{"held_others_up_ms", &s::imposed},
                    field{"held_others_up_exposed_ms", &s::imposed_exposed},
                    field{"came_last_share", &s::last_share},
                    field{"host_step_ms", &s::host_step},
                    field{"host_pace_ms", &s::host_pace},
                    field{"processor_wait_ms", &s::processor_wait},
                    field{"clock_offset_ms", &s::clock_offset},
                    field{"clock_drift", &s::clock_drift}};
}
constexpr auto describe(described_type<job_collective_summary>) {
  using s = job_collective_summary;
  return field_list{field{"path", &s::path},
                    field{"function", &s::function},
                    field{"datatype", &s::datatype},
                    field{"algorithm", &s::algorithm},
                    field{"protocol", &s::protocol},
                    field{"bytes", &s::bytes},
                    field{"ranks", &s::ranks},
                    field{"per_step", &s::per_step},
                    field{"transfer_ms", &s::transfer},
                    field{"waiting_ms", &s::waiting},
                    field{"exposed_ms_per_step", &s::exposed},
                    field{"bus_bytes_per_s", &s::bus_bandwidth},
                    field{"link_share", &s::link_share},
                    field{"usual_last_rank", &s::last}};
}
constexpr auto describe(described_type<job_message_summary>) {
  using s = job_message_summary;
  return field_list{field{"path", &s::path},
                    field{"position", &s::rank},
                    field{"partner_position", &s::partner},
                    field{"is_late_sender", &s::is_late_sender},
                    field{"per_step", &s::per_step},
                    field{"waiting_ms", &s::waiting}};
}
constexpr auto describe(described_type<straggler_summary>) {
  using s = straggler_summary;
  return field_list{field{"position", &s::rank},
                    field{"also", &s::also},
                    field{"is_whole_host", &s::is_whole_host},
                    field{"path", &s::path},
                    field{"is_gpu_time", &s::is_gpu_time},
                    field{"is_host_only", &s::is_host_only},
                    field{"delay_ms", &s::delay},
                    field{"delay_low_ms", &s::delay_low},
                    field{"delay_high_ms", &s::delay_high},
                    field{"excess_ms", &s::excess},
                    field{"excess_low_ms", &s::excess_low},
                    field{"excess_high_ms", &s::excess_high},
                    field{"steps", &s::steps},
                    field{"own_ms", &s::own},
                    field{"others_ms", &s::others},
                    field{"held_others_up_ms", &s::imposed},
                    field{"held_others_up_exposed_ms", &s::imposed_exposed},
                    field{"came_last_share", &s::last_share}};
}
constexpr auto describe(described_type<unproven_host_summary>) {
  using s = unproven_host_summary;
  return field_list{field{"position", &s::rank}, field{"excess_ms", &s::excess}};
}
constexpr auto describe(described_type<slow_host_summary>) {
  using s = slow_host_summary;
  return field_list{field{"position", &s::rank}, field{"pace_ms", &s::pace},        field{"others_ms", &s::others},
                    field{"stage", &s::stage},   field{"stage_ms", &s::stage_time}, field{"stage_others_ms", &s::stage_others}};
}
constexpr auto describe(described_type<startup_wait_summary>) {
  using s = startup_wait_summary;
  return field_list{field{"position", &s::rank}, field{"step", &s::step}, field{"waiting_ms", &s::waiting}};
}
constexpr auto describe(described_type<scope_difference_summary>) {
  using s = scope_difference_summary;
  return field_list{field{"path", &s::path}, field{"position", &s::rank}, field{"is_gpu_time", &s::is_gpu_time}, field{"own_ms", &s::own},
                    field{"others_ms", &s::others}};
}
constexpr auto describe(described_type<job_function_summary>) {
  using s = job_function_summary;
  return field_list{field{"path", &s::path},       field{"name", &s::name},        field{"module", &s::module},
                    field{"caller", &s::caller},   field{"file", &s::file},        field{"line", &s::line},
                    field{"samples", &s::samples}, field{"ms", &s::time},          field{"position", &s::rank},
                    field{"own_ms", &s::own},      field{"others_ms", &s::others}, field{"is_different", &s::is_different}};
}
constexpr auto describe(described_type<job_span>) {
  using s = job_span;
  return field_list{field{"begin_ms", &s::begin}, field{"end_ms", &s::end}};
}
constexpr auto describe(described_type<job_span_of_collective>) {
  using s = job_span_of_collective;
  return field_list{field{"function", &s::function}, field{"time", &s::time}, field{"waiting_ms", &s::waiting}};
}
constexpr auto describe(described_type<job_step_rank>) {
  using s = job_step_rank;
  return field_list{field{"position", &s::rank}, field{"computing", &s::computing}, field{"collectives", &s::collectives}};
}
constexpr auto describe(described_type<job_step_summary>) {
  using s = job_step_summary;
  return field_list{field{"step", &s::step}, field{"ranks", &s::ranks}};
}
constexpr auto describe(described_type<job_clock_summary>) {
  using s = job_clock_summary;
  return field_list{field{"has_many_hosts", &s::has_many_hosts},
                    field{"is_one_clock", &s::is_one_clock},
                    field{"is_by_machine", &s::is_by_machine},
                    field{"collectives", &s::collectives},
                    field{"residual_median_ms", &s::residual_median},
                    field{"residual_p95_ms", &s::residual_p95},
                    field{"bound_ms", &s::bound}};
}
constexpr auto describe(described_type<job_part>) {
  using s = job_part;
  return field_list{field{"name", &s::name}, field{"ms", &s::time}};
}
constexpr auto describe(described_type<job_path_part>) {
  using s = job_path_part;
  return field_list{field{"kind", &s::kind}, field{"position", &s::rank}, field{"path", &s::path}, field{"ms", &s::time},
                    field{"median_ms", &s::median}};
}
constexpr auto describe(described_type<job_map>) {
  using s = job_map;
  return field_list{field{"steps", &s::steps}, field{"is_measured", &s::is_measured}, field{"values_ms", &s::values}};
}
constexpr auto describe(described_type<job_summary>) {
  using s = job_summary;
  return field_list{field{"program", &s::program},
                    field{"ranks_expected", &s::ranks_expected},
                    field{"steps", &s::steps},
                    field{"measured_steps", &s::measured_steps},
                    field{"warmup_steps", &s::warmup_steps},
                    field{"step_ms", &s::step},
                    field{"straggler", &s::straggler},
                    field{"unproven_host", &s::unproven_host},
                    field{"slow_host", &s::slow_host},
                    field{"startup_wait", &s::startup},
                    field{"differing_scopes", &s::differing_scopes},
                    field{"functions", &s::functions},
                    field{"sampled_ranks", &s::sampled_ranks},
                    field{"one_step", &s::one_step},
                    field{"budget", &s::budget},
                    field{"frontier", &s::frontier},
                    field{"critical_path", &s::critical_path},
                    field{"ranks", &s::ranks},
                    field{"collectives", &s::collectives},
                    field{"messages", &s::messages},
                    field{"clocks", &s::clocks},
                    field{"held_others_up", &s::held},
                    field{"host_steps", &s::host_steps},
                    field{"matched", &s::matched},
                    field{"matched_messages", &s::matched_messages},
                    field{"unmatched_messages", &s::unmatched_messages},
                    field{"incomplete", &s::incomplete},
                    field{"of_missing_ranks", &s::of_missing_ranks},
                    field{"missing_members", &s::missing_members},
                    field{"ambiguous", &s::ambiguous},
                    field{"by_order", &s::by_order},
                    field{"contradictory", &s::contradictory},
                    field{"unknown", &s::unknown},
                    field{"unknown_in_graphs", &s::unknown_in_graphs},
                    field{"problems", &s::problems},
                    field{"differences", &s::differences}};
}

}  // namespace PROFKIT_NAMESPACE::detail
