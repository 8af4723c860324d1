// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "../../document.hpp"
#include "../../summary.hpp"
#include "../profile/own_memory.hpp"
#include "../profile/own_sort.hpp"
#include "numbers.hpp"
#include "report_view.hpp"
#include "shown_text.hpp"

// The section "Host samples": the functions in the self time of scopes.

namespace profkit::detail {

inline constexpr char const* waiting_words = "waiting or in the kernel";

/// "exp_loop", "memmove (libc.so.6)", "libc.so.6, called by load_batch".
inline std::string function_words(sampled_function_summary const& function) {
  bool const is_of_library = function.module.find(".so") != std::string::npos;
  if (!function.name.empty()) return is_of_library ? function.name + " (" + function.module + ")" : function.name;
  std::string const place = function.module.empty() ? "code outside any module" : function.module;
  return function.caller.empty() ? place : place + ", called by " + function.caller;
}

/// "exp_loop (layer.cpp:40)", "exp_loop (libmodel.so, layer.cpp:40)"; without a line like `function_words`, which is the same in all
/// builds.
inline std::string function_place_words(sampled_function_summary const& function) {
  std::string words = function_words(function);
  if (function.name.empty() || function.file.empty()) return words;
  std::string const place = function.file.substr(function.file.rfind('/') + 1) + ':' + std::to_string(function.line);
  bool const has_module = words.size() > function.name.size();
  if (has_module) words.pop_back();
  return words + (has_module ? ", " : " (") + place + ")";
}

/// "62 % (±3)".
inline std::string sampled_words(sampled_share const& sampled) {
  double const half = 50.0 * (sampled.ci95_high - sampled.ci95_low);
  return share_words(sampled.share) + fmt::format(" ({}{:.{}f})", plus_minus, half, half < 0.95 ? 1 : 0);
}

/// The share of waiting without a known call. The known calls have measured times, so they only shift its interval.
inline std::optional<sampled_share> unnamed_waiting(sampled_scope_summary const& scope) {
  if (!scope.waiting) return std::nullopt;
  double named = 0.0;
  for (sampled_wait_summary const& each : scope.waits) named += each.share;
  auto const without = [&](double share) { return std::max(0.0, share - named); };
  return sampled_share{without(scope.waiting->share), without(scope.waiting->ci95_low), without(scope.waiting->ci95_high)};
}

/// "softmax: 62 % (±3) exp_loop (layer.cpp:40), 21 % (±3) memmove (libc.so.6), 17 % waiting in cuStreamSynchronize" for the scope with
/// the longest self time.
inline std::string samples_answer(host_samples_summary const& samples) {
  if (samples.samples == 0) {
    return samples.threads_without > 0 ? "No samples: " + one_line(samples.why_without) + "."
                                       : "No thread used processor time that was sampled.";
  }
  sampled_scope_summary const& first = samples.scopes.front();
  own_vector<std::pair<double, std::string>> parts;  // share and words
  for (sampled_function_summary const& each : first.functions) {
    parts.emplace_back(each.share_of_scope.share, sampled_words(each.share_of_scope) + ' ' + name_words(function_place_words(each)));
  }
  for (sampled_wait_summary const& each : first.waits) {
    parts.emplace_back(each.share, share_words(each.share) + " waiting in " + name_words(each.name));
  }
  if (auto const rest = unnamed_waiting(first)) parts.emplace_back(rest->share, sampled_words(*rest) + ' ' + waiting_words);
  own_stable_sort(parts.begin(), parts.end(), [](auto const& a, auto const& b) { return a.first > b.first; });
  constexpr std::size_t max_parts = 3;
  if (parts.size() > max_parts) parts.resize(max_parts);
  std::string text;
  for (auto const& [share, words] : parts) text += (text.empty() ? "" : ", ") + words;
  return (first.path.empty() ? std::string{"outside any scope"} : name_words(last_component(first.path))) + ": " + text + ".";
}

/// A row for each scope; its children are the functions.
inline data_table samples_table(host_samples_summary const& samples) {
  constexpr std::size_t max_scopes = 24;
  constexpr std::size_t max_functions = 6;
  data_table result;
  result.name = "host_samples";
  result.columns = {
      {"scope and function", column_kind::code},
      {"time", column_kind::milliseconds, column_use::always, "Self time of the scope; processor time of the samples of a function"},
      {"of self time", column_kind::share},
      {"\xc2\xb1 95%", column_kind::share, column_use::always, "Half of the 95 % interval, from the number of samples"},
      {"samples", column_kind::count},
      {"", column_kind::bar, column_use::page}};
  auto const add = [&](std::string what, double ms, std::optional<sampled_share> const& sampled, std::optional<std::uint64_t> count,
                       colour meaning) {
    result.rows.push_back(row_at(1, {text_cell(std::move(what)), number_cell(ms), sampled ? number_cell(sampled->share) : empty_cell(),
                                     sampled ? number_cell((sampled->ci95_high - sampled->ci95_low) / 2.0) : empty_cell(),
                                     count ? count_cell(*count) : empty_cell(), bar({{meaning, 0, ms}})}));
  };
  for (std::size_t i = 0; i < samples.scopes.size() && i < max_scopes; ++i) {
    sampled_scope_summary const& scope = samples.scopes[i];
    milliseconds const time = scope.self.value_or(scope.sampled);
    result.rows.push_back(row_at(0, {text_cell(scope.path.empty() ? "outside any scope" : scope.path), number_cell(time.count()),
                                     empty_cell(), empty_cell(), count_cell(scope.samples), bar({{colour::host, 0, time.count()}})}));
    std::size_t const shown = std::min(scope.functions.size(), max_functions);
    milliseconds rest = scope.other_time;
    std::size_t others = static_cast<std::size_t>(scope.other_functions) + scope.functions.size() - shown;
    for (std::size_t k = 0; k < scope.functions.size(); ++k) {
      sampled_function_summary const& function = scope.functions[k];
      if (k < shown) {
        add(function_place_words(function), function.time.count(), function.share_of_scope, function.samples, colour::host);
      } else {
        rest += function.time;
      }
    }
    if (others > 0) add(counted(others, "more function", "more functions"), rest.count(), std::nullopt, std::nullopt, colour::host);
    for (sampled_wait_summary const& each : scope.waits) {
      result.rows.push_back(row_at(1, {text_cell("waiting in " + each.name), number_cell(each.time.count()), number_cell(each.share),
                                       empty_cell(), empty_cell(), bar({{colour::neutral, 0, each.time.count()}})}));
    }
    if (auto const unnamed = unnamed_waiting(scope)) {
      add(waiting_words, unnamed->share * time.count(), unnamed, std::nullopt, colour::neutral);
    }
  }
  if (samples.scopes.size() > max_scopes) {
    result.caption = fmt::format("The {} scopes with the longest self time; report.json has all {}.", max_scopes, samples.scopes.size());
  }
  return result;
}

/// @return n/a without host samples.
inline std::optional<section> samples_section(report_view const& view) {
  if (!view.all.host_samples) return std::nullopt;
  host_samples_summary const& samples = *view.all.host_samples;
  section result;
  result.id = "samples";
  result.title = "Host samples";
  result.answer = samples_answer(samples);
  if (samples.samples > 0) result.blocks.emplace_back(samples_table(samples));
  std::string text = fmt::format("{} of {} ({}), one per {} of processor time.", counted(samples.samples, "sample", "samples"),
                                 counted(samples.threads, "thread", "threads"), one_line(samples.mechanism), time_words(samples.interval));
  if (samples.lost > 0)
    text += fmt::format(" {} were lost, because the session's thread could not read them in time.", count_words(samples.lost));
  if (samples.threads_without > 0) {
    text +=
        fmt::format(" {} could not be sampled: {}.", counted(samples.threads_without, "thread", "threads"), one_line(samples.why_without));
  }
  if (!samples.why_no_lines.empty()) text += " No source lines: " + one_line(samples.why_no_lines) + ".";
  result.blocks.emplace_back(note{std::move(text), false});
  result.how_to_read =
      "Samples see processor time outside the kernel. The rest of a scope's self time is waiting, waiting for a processor, or system "
      "calls; "
      "for threads that live only some ten milliseconds also the time before sampling starts. Inlined functions count as their callers.";
  return result;
}

}  // namespace profkit::detail
