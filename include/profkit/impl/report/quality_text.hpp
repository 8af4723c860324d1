// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "../../summary.hpp"
#include "../../time.hpp"
#include "../profile/path_table.hpp"
#include "shown_text.hpp"

namespace profkit::detail {

/// Lines that say what the figures cover if there are no measured steps, or if the session has not ended; otherwise empty.
inline std::string coverage_text(summary const& summary) {
  if (!summary.quality.not_recorded.empty()) return fmt::format("Nothing was recorded: {}.\n", one_line(summary.quality.not_recorded));
  std::string text;
  if (summary.quality.snapshot) text = "Snapshot of a running session: the figures cover the steps that ended before the snapshot.\n";
  if (!summary.covers_steps) return text + "No step was made (profkit::step): everything below covers the whole session.\n";
  if (summary.steps.host.count > 0) return text;
  text += "No step was measured; the figures of steps and scopes cover measured steps only.";
  auto const count = [&](std::uint64_t number, char const* what) {
    if (number > 0) text += fmt::format(" {} {}.", number, what);
  };
  count(summary.steps.warmup, "warm-up steps were made");
  count(summary.steps.excluded, "steps were excluded by the program");
  count(summary.quality.abandoned_steps, "steps were exited by an exception");
  return text + "\n";
}

/// The number of steps with kernels collected, such as "in 3 of 30 measured steps"; empty if it is all steps or none.
inline std::string collected_steps_text(summary const& summary) {
  if (!summary.gpu || !summary.covers_steps || summary.gpu->steps == summary.steps.host.count) return {};
  return fmt::format("in {} of {} measured steps", summary.gpu->steps, summary.steps.host.count);
}

/// The line below tables with GPU figures if kernels were collected in some steps only; otherwise empty.
inline std::string collected_steps_note(summary const& summary) {
  std::string const text = collected_steps_text(summary);
  return text.empty() ? text : "kernels were collected " + text + ": figures of operations, GPU and idle cover these steps\n";
}

/// Why a kind of data was not collected. @param otherwise the text if no collector gave a reason.
inline std::string why_not_collected(summary const& summary, collector_kind collector, char const* otherwise) {
  for (collector_record const& each : summary.collectors) {
    if (each.kind == collector) return each.reason.empty() ? otherwise : one_line(each.reason, max_shown_reason);
  }
  return collector == collector_kind::kernels ? "no kernel collector" : "no collector";
}

/// A line about the speed of the host; empty if it was not measured.
inline std::string host_speed_text(std::optional<host_speed_record> const& speed) {
  if (!speed) return {};
  auto const us_of = [](std::chrono::nanoseconds time) { return static_cast<double>(time.count()) / 1000.0; };
  std::string text = fmt::format("host speed: the probe took {:.1f} us before the measured steps", us_of(speed->before));
  if (speed->after.count() > 0) text += fmt::format(", {:.1f} us after them", us_of(speed->after));
  if (speed->waiting) text += fmt::format("; the step thread waited for a processor {:.1f} % of the time", 100.0 * *speed->waiting);
  return text + "\n";
}

inline std::string clock_change_text(quality_record const& quality) {
  double const seconds = std::chrono::duration<double>{quality.clock_change}.count();
  if (quality.clock_changes == 1) {
    return fmt::format("the system clock was set by {:+.3f} s during the session; durations are not affected\n", seconds);
  }
  return fmt::format("the system clock was set {} times during the session, by {:+.3f} s in all; durations are not affected\n",
                     quality.clock_changes, seconds);
}

/// The data that a snapshot lacks, with a line for each kind of data.
inline std::string snapshot_text(snapshot_record const& snapshot) {
  std::string text = "snapshot of a running session";
  if (snapshot.is_step_open) text += "; the open step is not in the report";
  text += "\n";
  if (snapshot.is_behind) text += "the latest records may be missing: the logs were not read within a second\n";
  if (snapshot.missing_operations > 0)
    text += fmt::format("{} launching calls have no GPU operation yet; GPU figures exclude them\n", snapshot.missing_operations);
  if (snapshot.untimed_steps > 0) text += fmt::format("{} steps have no time between CUDA events yet\n", snapshot.untimed_steps);
  return text;
}

/// The reason why a collector has no data, or the steps in which it has data.
inline std::string collector_reason(summary const& summary, collector_record const& collector) {
  bool const is_collected = collector.kind == collector_kind::kernels && collector.reason.empty();
  return is_collected ? collected_steps_text(summary) : collector.reason;
}

/// Lost data and the overhead of profkit, with a line for each.
inline std::string quality_text(summary const& summary) {
  quality_record const& quality = summary.quality;
  if (!quality.not_recorded.empty()) return "nothing was recorded\n";
  std::string text;
  if (quality.snapshot) text = snapshot_text(*quality.snapshot);
  auto const count = [&](std::uint64_t number, char const* what) {
    if (number > 0) text += fmt::format("{} {}\n", number, what);
  };
  std::uint64_t const other_reasons = quality.events_without_memory + quality.events_without_log + quality.interrupting_events;
  count(quality.dropped_events - std::min(other_reasons, quality.dropped_events),
        "scopes and counters were dropped: a thread's log was full (log=SIZE)");
  count(quality.events_without_memory, "scopes and counters were dropped: the system gave no memory for a thread's log");
  count(quality.events_without_log, "scopes and counters were dropped: more than 16,384 threads had logs, or the thread was ending");
  count(quality.interrupting_events, "scopes and counters of signal handlers were dropped: they interrupted the recorder on their thread");
  count(quality.misnested_scopes,
        "scopes were left without their destructors (longjmp, a coroutine); they end at the previous known event");
  count(quality.unmatched_ends, "ends of scopes were dropped: the scope began on another thread, or an outer scope had ended");
  for (wrong_end_record const& each : quality.wrong_ends) {
    text += fmt::format("  {} times: {}\n", each.count, one_line(each.what, max_shown_reason));
  }
  count(quality.discarded_records, "scopes, GPU operations and other records exceed records=N and are in no figure");
  count(quality.untraced_records,
        "scopes, GPU operations and other records exceed records=N: they are in the figures, but not in the profile and in traces");
  count(
      quality.collapsed_scopes,
      fmt::format("scopes exceed the maximum number of paths (a growing index) or of {} levels (recursion): they count in the row without "
                  "an index, or are merged into a row \"{}\"",
                  path_table::max_depth, path_table::merged_name)
          .c_str());
  count(quality.open_scopes,
        quality.snapshot ? "scopes were open and are not in the report" : "scopes were still open at the end and are not in the report");
  count(quality.abandoned_steps, "steps were exited by an exception, or by the end of the program, and are excluded");
  count(quality.untimed_gpu_scopes, "GPU scopes could not be timed (stream capture, or no usable device)");
  count(quality.unread_gpu_times,
        "GPU times of scopes and steps could not be read, or were not complete at the end, and are not in the report");
  count(quality.dropped_operations, "records of GPU operations and API calls were dropped: CUPTI had no buffer for them");
  count(quality.invalid_operations, "GPU operations had no valid time and are not in the report");
  if (summary.gpu && summary.gpu->unattributed_operations > 0) {
    text += fmt::format(
        "{} GPU operations ({} of them kernels; {:.3f} ms) were launched outside any scope; the launches of {} were not recorded\n",
        summary.gpu->unattributed_operations, summary.gpu->unattributed_kernels, summary.gpu->unattributed_time.count(),
        summary.gpu->unknown_launches);
  }
  if (summary.gpu) {
    count(summary.gpu->operations_of_unknown_graphs,
          "operations of CUDA graphs whose capture was not seen (before kernels were collected, or in a child graph) are charged to the "
          "scope that launched the graph");
  }
  for (allocator_summary const& each : summary.allocators) {
    count(each.unknown_releases,
          ("releases of " + one_line(each.source) + " have no known allocation (before the session, or dropped)").c_str());
    count(each.reused_addresses,
          ("allocations of " + one_line(each.source) + " reused a live address: a release was not recorded").c_str());
  }
  count(quality.uncertain_operations,
        "GPU operations may have run before or after the system clock was set back: their launches are unknown");
  if (quality.clock_changes > 0) text += clock_change_text(quality);
  if (text.empty()) text = "nothing dropped, no scope left open\n";
  double const ns_per_scope = static_cast<double>(quality.cost_of_1000_scopes.count()) / 1000.0;
  text += fmt::format("overhead: {:.1f} ns per scope", ns_per_scope);
  if (summary.steps.host.total.count() > 0.0) {
    double const share = ns_per_scope * static_cast<double>(summary.scopes_recorded) / (summary.steps.host.total.count() * 1e6);
    text += fmt::format(" ({} scopes, {:.3f} % of step time)", summary.scopes_recorded, 100.0 * share);
  }
  return text + fmt::format("; {:.3f} ms between steps\nclock: {}\n", milliseconds{quality.bookkeeping}.count(), one_line(quality.clock)) +
         host_speed_text(summary.environment.host_speed);
}

}  // namespace profkit::detail
