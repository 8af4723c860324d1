// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "../../error.hpp"
#include "../../summary.hpp"
#include "../profile/flat_records.hpp"
#include "../profile/validate.hpp"
#include "ranks/timeline_part.hpp"

namespace profkit::detail {

// Records that a summary copies from the profile. Their binary form is described in `record_fields.hpp`.
constexpr auto describe(described_type<host_speed_record>) {
  using s = host_speed_record;
  return field_list{field{"probe_before_us?", &s::before}, field{"probe_after_us?", &s::after}, field{"waiting_share", &s::waiting}};
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
                    field{"-boot_id", &s::boot_id}, field{"-clock_offset_ns", &s::clock_offset_ns}};
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

}  // namespace profkit::detail
