// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../profile/flat_records.hpp"
#include "step_kind_summary.hpp"

// Describes the members of a summary about steps: see `summary_fields.hpp`.

namespace PROFKIT_NAMESPACE::detail {

constexpr file_enum file_enum_of(described_type<step_verdict>) { return {step_verdict::uneven, "verdict on steps"}; }
constexpr file_enum file_enum_of(described_type<series_shape>) { return {series_shape::tailed, "shape of a series"}; }
constexpr file_enum file_enum_of(described_type<warmup_finding>) { return {warmup_finding::drifting, "finding on the warm-up"}; }

// A record that a summary copies from the profile. Its binary form is described in `record_fields.hpp`.
constexpr auto describe(described_type<stop_record>) {
  using s = stop_record;
  return field_list{field{"wanted_percent", &s::wanted}, field{"reached_percent", &s::reached}, field{"by", &s::is_of_gpu},
                    field{"max_steps", &s::max_steps}};
}

constexpr auto describe(described_type<duration_summary>) {
  using s = duration_summary;
  return field_list{
      field{"count", &s::count}, field{"total_ms", &s::total},   field{"mean_ms", &s::mean}, field{"std_ms", &s::standard_deviation},
      field{"min_ms", &s::min},  field{"median_ms", &s::median}, field{"p95_ms", &s::p95},   field{"p99_ms", &s::p99},
      field{"max_ms", &s::max}};
}
constexpr auto describe(described_type<step_pattern>) {
  using s = step_pattern;
  return field_list{field{"shape", &s::shape},       field{"others", &s::others},    field{"runs", &s::runs},
                    field{"usual_ms", &s::usual},    field{"other_ms", &s::other},   field{"period", &s::period},
                    field{"first_steps", &s::first}, field{"mean_change", &s::moved}};
}
constexpr auto describe(described_type<verdict_summary>) {
  using s = verdict_summary;
  return field_list{field{"mad_ms", &s::mad},
                    field{"ci95_low_ms", &s::ci95_low},
                    field{"ci95_high_ms", &s::ci95_high},
                    field{"effective_samples", &s::effective_samples},
                    field{"outliers", &s::outliers},
                    field{"drift_percent", &s::drift},
                    field{"drift_p_value", &s::drift_p_value},
                    field{"drift_is_significant", &s::has_drift},
                    field{"pattern", &s::pattern},
                    field{"verdict", &s::verdict},
                    field{"steady_from", &s::steady_from},
                    field{"-measured", &s::measured},
                    field{"-relative_half_width", &s::relative_half_width},
                    field{"-cautious_half_width", &s::cautious_half_width},
                    field{"-warmup", &s::warmup},
                    field{"-warmup_finding", &s::finding},
                    field{"-change", &s::change}};
}
constexpr auto describe(described_type<clock_summary>) {
  using s = clock_summary;
  return field_list{field{"device", &s::device},
                    field{"readings", &s::readings},
                    field{"throttled_readings", &s::throttled_readings},
                    field{"min_mhz", &s::min_mhz},
                    field{"mean_mhz", &s::mean_mhz},
                    field{"max_mhz", &s::max_mhz},
                    field{"device_max_mhz", &s::device_max_mhz},
                    field{"-reason_bits", &s::reasons},
                    field{"mean_watt", &s::mean_watt},
                    field{"max_watt", &s::max_watt},
                    field{"max_celsius", &s::max_celsius}};
}
constexpr auto describe(described_type<gpu_period_summary>) {
  using s = gpu_period_summary;
  return field_list{field{"gpu_period_*", &s::time, "count,mean_ms,std_ms,median_ms,min_ms,max_ms,p95_ms,p99_ms"},
                    field{"gpu_period_*", &s::verdict},
                    field{"host_runs_ahead", &s::is_longer},
                    field{"run_ahead_median_steps", &s::median_steps_ahead},
                    field{"run_ahead_max_steps", &s::max_steps_ahead},
                    field{"gpu_period_samples_ms", &s::samples},
                    field{"-gpu_period_host_mean_ms", &s::host_mean}};
}
constexpr auto describe(described_type<step_time_summary>) {
  using s = step_time_summary;
  return field_list{field{"step_time_ms", &s::mean}, field{"step_time_basis", &s::basis}, field{"step_time_verdict", &s::verdict}};
}
constexpr auto describe(described_type<step_summary>) {
  using s = step_summary;
  return field_list{field{"warmup", &s::warmup},
                    field{"excluded", &s::excluded},
                    field{"*", &s::host, "count=measured,mean_ms,std_ms,median_ms,min_ms,max_ms,p95_ms,p99_ms"},
                    field{"between_*", &s::between, "count,total_ms,mean_ms,std_ms,min_ms,median_ms,p95_ms,p99_ms,max_ms"},
                    field{"item_name", &s::item_name},
                    field{"items_per_second", &s::items_per_second},
                    field{"items_per_second_basis?", &s::items_per_second_basis},
                    field{"gpu_*", &s::gpu, "mean_ms,std_ms,median_ms,min_ms,max_ms,p95_ms,p99_ms"},
                    field{"*", &s::host_verdict},
                    field{"gpu_*", &s::gpu_verdict},
                    field{"*", &s::gpu_period},
                    field{"*", &s::step_time},
                    field{"clocks?", &s::clocks},
                    field{"stop", &s::stop},
                    field{"samples_ms", &s::host_samples},
                    field{"gpu_samples_ms", &s::gpu_samples},
                    field{"-items", &s::items}};
}
constexpr auto describe(described_type<budget_row>) {
  using s = budget_row;
  return field_list{field{"part", &s::part}, field{"gpu_busy_ms", &s::busy}, field{"gpu_idle", &s::idle}, field{"total_ms", &s::total}};
}
constexpr auto describe(described_type<hidden_work>) {
  using s = hidden_work;
  return field_list{field{"busy_ms", &s::busy}, field{"exposed_ms", &s::exposed}};
}
constexpr auto describe(described_type<starving_scope>) {
  using s = starving_scope;
  return field_list{field{"name", &s::name}, field{"total_ms", &s::total}, field{"*", &s::by_cause}};
}
constexpr auto describe(described_type<budget_summary>) {
  using s = budget_summary;
  return field_list{field{"steps", &s::steps},
                    field{"wall_of", &s::is_of_gpu},
                    field{"wall_ms", &s::wall},
                    field{"gpu_busy_ms", &s::busy},
                    field{"parts", &s::rows},
                    field{"starving", &s::starving},
                    field{"overlap_ms", &s::overlap},
                    field{"copies", &s::copies},
                    field{"communication", &s::communication},
                    field{"-has_launches", &s::has_launches}};
}
constexpr auto describe(described_type<kind_scope_summary>) {
  using s = kind_scope_summary;
  return field_list{field{"scope", &s::scope},      field{"count", &s::count},
                    field{"host_ms", &s::host},     field{"host_self_ms", &s::host_self},
                    field{"gpu_busy_ms", &s::busy}, field{"gpu_busy_self_ms", &s::busy_self},
                    field{"gpu_idle_ms", &s::idle}, field{"gpu_idle_self_ms", &s::idle_self}};
}
constexpr auto describe(described_type<launch_place_summary>) {
  using s = launch_place_summary;
  return field_list{field{"scope", &s::scope}, field{"count", &s::count}, field{"total_ms", &s::total}};
}
constexpr auto describe(described_type<kind_kernel_summary>) {
  using s = kind_kernel_summary;
  return field_list{field{"kernel", &s::kernel}, field{"count", &s::count}, field{"total_ms", &s::total},
                    field{"min_us", &s::min},    field{"max_us", &s::max},  field{"launched_in", &s::launched_in}};
}
constexpr auto describe(described_type<step_kind_summary>) {
  using s = step_kind_summary;
  return field_list{
      field{"name", &s::name},           field{"usual", &s::is_usual}, field{"parts", &s::parts},   field{"steps", &s::steps},
      field{"gpu_steps", &s::gpu_steps}, field{"times", &s::times},    field{"budget", &s::budget}, field{"outside_scopes_ms", &s::outside},
      field{"scopes", &s::scopes},       field{"kernels", &s::kernels}};
}
constexpr auto describe(described_type<listed_step>) {
  using s = listed_step;
  return field_list{field{"step", &s::index}, field{"warmup", &s::is_warmup}, field{"excluded", &s::is_excluded},
                    field{"kind", &s::kind},  field{"host_ms", &s::host},     field{"gpu_ms", &s::gpu}};
}

}  // namespace PROFKIT_NAMESPACE::detail
