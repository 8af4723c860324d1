// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <profkit/impl/report/numbers.hpp>
#include <profkit/impl/report/quality_section.hpp>
#include <profkit/impl/report/text_width.hpp>
#include <profkit/impl/report/trend_section.hpp>
#include <profkit/summary.hpp>
#include <profkit/time.hpp>

#include <cstdint>
#include <string>

#include "watch_view.hpp"

// The words and numbers of `profkit watch`.

namespace profkit_program::detail {

/// Words of reports for any terminal: ASCII, with blanks.
inline std::string plain_words(std::string const& words) {
  profkit::detail::text_style ascii;
  ascii.is_utf8 = false;
  return profkit::detail::without_no_break(profkit::detail::printable(words, ascii));
}

/// Such as "46.3 ms", "12.0 us", "1.24 s".
inline std::string time_words(profkit::milliseconds time) { return plain_words(profkit::detail::time_words(time)); }

/// Such as "12.09 GiB".
inline std::string bytes_words(double bytes) { return plain_words(profkit::detail::bytes_words(bytes)); }

using profkit::detail::count_words;
using profkit::detail::format_clock;

/// Such as "96.7 %".
inline std::string percent_words(double share) { return fmt::format("{:.1f} %", 100.0 * share); }

/// The state of a session in few words.
inline std::string state_words(watch_view const& view) {
  switch (view.state) {
    case watch_state::waiting:
      return "waiting";
    case watch_state::reading:
      return fmt::format("reading, {:.0f} %", 100.0 * view.share_read);
    case watch_state::running:
      return "running";
    case watch_state::silent:
      return fmt::format("no news for {} s", view.silence.count());
    case watch_state::gone:
      return "process is gone";
    case watch_state::ended:
      return "ended";
    case watch_state::unreadable:
      return "unreadable";
  }
  return {};
}

/// What the figures lack, such as "12 scopes and counters dropped"; empty if nothing is lost.
inline std::string loss_words(profkit::summary const& figures) {
  profkit::quality_record const& quality = figures.quality;
  if (!quality.not_recorded.empty()) return "nothing recorded: " + quality.not_recorded;
  std::string text;
  auto const count = [&](std::uint64_t number, char const* what) {
    if (number > 0) text += fmt::format("{}{} {}", text.empty() ? "" : "; ", count_words(number), what);
  };
  count(quality.dropped_events, "scopes and counters dropped");
  count(quality.discarded_records, "records beyond records=N");
  count(quality.collapsed_scopes, "scopes merged: too deep, or too many indices");
  count(quality.misnested_scopes + quality.unmatched_ends, "scopes ended wrongly");
  count(quality.abandoned_steps, "steps exited by an exception");
  count(quality.unread_gpu_times + quality.untimed_gpu_scopes, "GPU times missing");
  count(quality.dropped_operations + quality.invalid_operations, "GPU operations lost");
  count(quality.uncertain_operations, "GPU operations with uncertain times");
  return text;
}

/// Collectors that did not work, with their reasons; empty if all did.
inline std::string refusal_words(profkit::summary const& figures) {
  std::string text;
  for (profkit::collector_record const& each : figures.collectors) {
    if (each.status != "not collected" && each.status != "not written") continue;
    text +=
        fmt::format("{}{}: {}{}", text.empty() ? "" : "; ", each.name, each.status, each.reason.empty() ? "" : " (" + each.reason + ")");
  }
  return text;
}

}  // namespace profkit_program::detail
