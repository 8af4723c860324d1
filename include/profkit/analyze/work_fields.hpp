// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>

#include "../profile/described.hpp"
#include "../profile/flat_records.hpp"
#include "work/work_summary.hpp"

// Describes the members of a summary about declared work and limits: see `summary_fields.hpp`.

namespace profkit::detail {

template <>
struct file_enum<work_bound> {
  static constexpr work_bound last = work_bound::memory;
  static constexpr char const* what = "bound of work";
};

// A record that a summary copies from the profile. Its binary form is described in `record_fields.hpp`.
constexpr auto describe(described_type<measured_roof_record>) {
  using s = measured_roof_record;
  return std::tuple{field{"precision?", &s::precision}, field{"tflops_per_s?", &s::flops_per_second},
                    field{"gb_per_s?", &s::bytes_per_second}, field{"how?", &s::how}};
}

constexpr auto describe(described_type<roof_share>) {
  using s = roof_share;
  return std::tuple{field{"roof_share", &s::share}, field{"bound", &s::bound}};
}
constexpr auto describe(described_type<work_summary>) {
  using s = work_summary;
  return std::tuple{field{"flops?", &s::flops},
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
  return std::tuple{field{"tflops_per_s", &s::flops_per_second}, field{"gb_per_s", &s::bytes_per_second}};
}
constexpr auto describe(described_type<limits_summary>) {
  using s = limits_summary;
  return std::tuple{field{"device?", &s::device}, field{"source?", &s::source},    field{"reason?", &s::why_no_peaks},
                    field{"*", &s::peaks},        field{"measured", &s::measured}, field{"-measured_rates", &s::measured_rates}};
}
constexpr auto describe(described_type<model_summary>) {
  using s = model_summary;
  return std::tuple{field{"flops_per_step", &s::flops_per_step},
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

}  // namespace profkit::detail
