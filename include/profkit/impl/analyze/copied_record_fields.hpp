// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>

#include "../profile/described.hpp"
#include "../profile/flat_records.hpp"

namespace profkit::detail {

// Records that a summary copies from the profile. Their binary form is described in `record_fields.hpp`.
constexpr auto describe(described_type<host_speed_record>) {
  using s = host_speed_record;
  return std::tuple{field{"probe_before_us?", &s::before}, field{"probe_after_us?", &s::after}, field{"waiting_share", &s::waiting}};
}
constexpr auto describe(described_type<rank_record>) {
  using s = rank_record;
  return std::tuple{field{"rank", &s::rank}, field{"size", &s::size}, field{"local_rank", &s::local_rank}, field{"restart", &s::restart},
                    field{"launcher?", &s::launcher}};
}
constexpr auto describe(described_type<environment_record>) {
  using s = environment_record;
  return std::tuple{field{"host?", &s::host},       field{"gpu?", &s::gpu},
                    field{"driver?", &s::driver},   field{"cuda?", &s::cuda},
                    field{"command", &s::command},  field{"host_speed", &s::host_speed},
                    field{"rank", &s::rank},        field{"-process_id", &s::process_id},
                    field{"-boot_id", &s::boot_id}, field{"-clock_offset_ns", &s::clock_offset_ns}};
}
constexpr auto describe(described_type<collector_record>) {
  using s = collector_record;
  return std::tuple{field{"name", &s::name}, field{"status", &s::status}, field{"reason?", &s::reason}, field{"-kind", &s::kind}};
}
constexpr auto describe(described_type<wrong_end_record>) {
  using s = wrong_end_record;
  return std::tuple{field{"what", &s::what}, field{"count", &s::count}};
}
constexpr auto describe(described_type<snapshot_record>) {
  using s = snapshot_record;
  return std::tuple{field{"step_open", &s::is_step_open}, field{"behind", &s::is_behind},
                    field{"missing_operations", &s::missing_operations}, field{"untimed_steps", &s::untimed_steps}};
}
constexpr auto describe(described_type<quality_record>) {
  using s = quality_record;
  return std::tuple{field{"not_recorded?", &s::not_recorded},
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

}  // namespace profkit::detail
