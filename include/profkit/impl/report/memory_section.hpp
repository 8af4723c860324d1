// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "../../document.hpp"
#include "../../profile_builder.hpp"
#include "../../summary.hpp"
#include "../profile/own_memory.hpp"
#include "numbers.hpp"
#include "quality_section.hpp"
#include "report_view.hpp"

// Tables of memory by scope and by allocator.

namespace PROFKIT_NAMESPACE::detail {

inline own_vector<bool> rows_with_memory(summary const& summary, std::size_t allocator) {
  own_vector<bool> result(summary.scopes.size());
  for (std::size_t row = result.size(); row-- > 0;) {
    scope_summary const& scope = summary.scopes[row];
    if (!scope.memory.empty()) {
      scope_memory_summary const& memory = scope.memory[allocator];
      if (memory.peak_bytes > 0 || memory.retained_bytes != 0) result[row] = true;
    }
    if (result[row] && scope.parent) result[*scope.parent] = true;
  }
  return result;
}

/// Adds memory cells of a scope and an allocator: peaks of one scope, then means over the scopes.
inline void add_memory_cells(row& to, scope_summary const& scope, std::size_t allocator) {
  if (scope.memory.empty()) {
    to.cells.resize(to.cells.size() + 7);
    return;
  }
  scope_memory_summary const& memory = scope.memory[allocator];
  auto const scopes = static_cast<double>(scope.host.count);
  to.count(memory.peak_bytes).count(memory.own_peak_bytes);
  to.number(static_cast<double>(memory.retained_bytes) / scopes).number(static_cast<double>(memory.own_retained_bytes) / scopes);
  for (std::optional<std::uint64_t> const& sum : {memory.allocated_bytes, memory.allocations})
    to.number(sum ? std::optional{static_cast<double>(*sum) / scopes} : std::nullopt, "the allocator is polled");
  to.count(memory.wide_peak_bytes);
}

inline std::string shown_source(allocator_summary const& allocator) {
  return allocator.is_polled ? allocator.source + " (polled)" : allocator.source;
}

/// Memory by scope and allocator, for scopes with allocations: the content of `scope_memory.csv`.
inline data_table scope_memory_table(summary const& all) {
  data_table result = text_list("scope_memory", "Memory by scope");
  constexpr column_kind bytes = column_kind::bytes;
  result.add_columns({{"scope"},
                      {"memory of"},
                      {"peak", bytes},
                      {"own peak", bytes},
                      {"retained", bytes},
                      {"own retained", bytes},
                      {"allocated", bytes},
                      {"allocations", column_kind::count},
                      {"all of it, peak", bytes}});
  for (std::size_t allocator = 0; allocator < all.allocators.size(); ++allocator) {
    own_vector<bool> const is_shown = rows_with_memory(all, allocator);
    for (std::size_t i = 0; i < is_shown.size(); ++i) {
      if (!is_shown[i]) continue;
      row& next = result.add_row(all.scopes[i].depth).text(all.scopes[i].name).text(shown_source(all.allocators[allocator]));
      add_memory_cells(next, all.scopes[i], allocator);
    }
  }
  return result;
}

/// The explanation below the table.
inline constexpr char const* scope_memory_note =
    "peak: maximum that one scope held at once of the memory allocated in it and inside it (own: in the scope itself)\n"
    "retained, allocated, allocations: means per scope; retained memory is still live at the end of the scope\n"
    "all of it, peak: maximum usage of the allocator, by all threads, during one of the scopes\n";
/// The explanation of polled allocators.
inline constexpr char const* polled_memory_note = "polled: read at both ends of scopes; a peak in between is not seen\n";

/// The change of each allocator's usage over the measured steps, by origin.
inline data_table allocator_table(summary const& all) {
  data_table result = folded_list("allocators", "Memory of allocators");
  result.add_columns({{"memory of"},
                      {"first", column_kind::bytes},
                      {"last", column_kind::bytes},
                      {"highest", column_kind::bytes},
                      {"change in scopes", column_kind::bytes},
                      {"outside scopes", column_kind::bytes},
                      {"between steps", column_kind::bytes}});
  for (allocator_summary const& each : all.allocators) {
    // Modulo 2^64, like the sums: an allocator may report any number.
    auto const as_sum = [](std::int64_t bytes) { return static_cast<std::uint64_t>(bytes); };
    std::uint64_t const elsewhere = as_sum(each.outside_change_bytes) + as_sum(each.between_steps_change_bytes);
    auto const in_scopes = static_cast<std::int64_t>(as_sum(each.last_bytes) - as_sum(each.first_bytes) - elsewhere);
    row& next = result.add_row().text(shown_source(each));
    next.bytes(each.first_bytes).bytes(each.last_bytes).count(each.max_bytes);
    next.bytes(in_scopes).bytes(each.outside_change_bytes).bytes(each.between_steps_change_bytes);
  }
  return result;
}

// Findings about memory.

/// The largest known usage of a memory source.
inline std::uint64_t max_bytes(memory_summary const& memory) { return std::max(memory.peak_bytes.value_or(0), memory.max_sample_bytes); }

/// (e) Memory that is nearly full: at least 90 % of the device.
inline std::optional<finding> memory_finding(summary const& all) {
  constexpr double nearly_full = 0.9;
  for (memory_summary const& each : all.memory) {
    auto const used = static_cast<double>(max_bytes(each));
    auto const capacity = static_cast<double>(each.capacity_bytes.value_or(0));
    if (capacity <= 0.0 || used < nearly_full * capacity) continue;
    return finding{"Memory is nearly full.",
                   fmt::format("{}: {} of {} ({}).", name_words(each.source + " " + each.quantity), bytes_words(used),
                               bytes_words(capacity), share_words(used / capacity)),
                   all.allocators.empty() ? "Find the scopes that need it (memory=scopes) before you raise the batch size."
                                          : "The section Memory has the scopes that need most of it."};
  }
  return std::nullopt;
}

/// Managed memory whose migrations were not recorded. It is only a suspicion: kernels whose pages are on the device do not wait.
inline std::optional<finding> managed_memory_finding(summary const& all) {
  auto const allocator = std::find_if(all.allocators.begin(), all.allocators.end(),
                                      [](allocator_summary const& each) { return each.source == managed_allocator && each.max_bytes > 0; });
  if (allocator == all.allocators.end() || !all.gpu || is_asked_for(all, collector_kind::unified_memory)) return std::nullopt;
  return finding{fmt::format("Kernels may wait for pages: the program uses {} of managed memory.",
                             bytes_words(static_cast<double>(allocator->max_bytes))),
                 "This is a suspicion: kernels whose pages are on the device already do not wait.",
                 "PROFKIT=unified_memory shows which kernels wait, and for how many bytes."};
}

// The section "Memory".

/// Memory of one allocator in a row of the folded tree: the maxima over its scopes.
struct folded_memory {
  double peak = 0.0;
  double own_peak = 0.0;
  double retained = 0.0;
  double own_retained = 0.0;
  std::optional<double> allocated;
  std::optional<double> allocations;
  double wide_peak = 0.0;
};

/// The maxima over the scopes of a row. @param allocator position in `summary::allocators`.
inline folded_memory memory_of(summary const& all, folded_scope const& scope, std::size_t allocator) {
  folded_memory result;
  for (std::size_t const i : scope.scopes) {
    scope_summary const& row = all.scopes[i];
    if (row.memory.size() <= allocator) continue;
    scope_memory_summary const& memory = row.memory[allocator];
    double const scopes = static_cast<double>(std::max<std::uint64_t>(1, row.host.count));
    auto const raise = [](double& most, double value) { most = std::max(most, value); };
    raise(result.peak, static_cast<double>(memory.peak_bytes));
    raise(result.own_peak, static_cast<double>(memory.own_peak_bytes));
    raise(result.retained, static_cast<double>(memory.retained_bytes) / scopes);
    raise(result.own_retained, static_cast<double>(memory.own_retained_bytes) / scopes);
    raise(result.wide_peak, static_cast<double>(memory.wide_peak_bytes));
    if (memory.allocated_bytes)
      result.allocated = std::max(result.allocated.value_or(0.0), static_cast<double>(*memory.allocated_bytes) / scopes);
    if (memory.allocations)
      result.allocations = std::max(result.allocations.value_or(0.0), static_cast<double>(*memory.allocations) / scopes);
  }
  return result;
}

/// Adds the scopes with at least 0.5 % of the largest peak. A scope is left out with all scopes inside it.
inline void add_memory_rows(data_table& table, report_view const& view, std::size_t allocator, double largest) {
  constexpr double min_share = 0.005;
  own_vector<bool> is_shown(view.tree().rows().size());
  for (std::size_t i = 0; i < is_shown.size(); ++i) {
    folded_scope const& scope = view.tree().rows()[i];
    if (scope.parent && !is_shown[*scope.parent]) continue;
    folded_memory const memory = memory_of(view.all, scope, allocator);
    if (memory.peak < min_share * largest || memory.peak <= 0.0) continue;
    is_shown[i] = true;
    constexpr char const* polled = "the allocator is polled";
    double const retained = std::min(std::max(memory.retained, 0.0), memory.peak);
    row& next = table.add_row(scope.depth);
    next.text(scope.folded > 1 ? fmt::format("{} {} {}", scope.name, times_sign, scope.folded) : scope.name).number(memory.peak);
    next.bar({{colour::busy, 0, retained}, {colour::neutral, 0, memory.peak - retained}});
    next.number(memory.retained).number(memory.own_peak).number(memory.own_retained);
    next.number(memory.allocated, polled).number(memory.allocations, polled).number(memory.wide_peak);
  }
}

/// The tree of scopes with their memory. @param allocator position in `summary::allocators`.
inline data_table scope_memory_rows(report_view const& view, std::size_t allocator) {
  constexpr column_kind bytes = column_kind::bytes;
  data_table table{fmt::format("scope_memory_tree_{}", allocator), "Memory by scope, " + shown_source(view.all.allocators[allocator])};
  table.add_columns({{"scope"},
                     {"peak", bytes, column_use::always, "maximum memory that one scope held, of its own allocations"},
                     {"retained of it", column_kind::bar},
                     {"retained", bytes, column_use::always, "still live at the end of the scope"},
                     {"own peak", bytes, column_use::wide},
                     {"own retained", bytes, column_use::wide},
                     {"allocated", bytes},
                     {"allocations", column_kind::count},
                     {"all of it, peak", bytes, column_use::wide, "maximum usage of the allocator during the scope, by any thread"}});
  double largest = 0.0;
  for (folded_scope const& each : view.tree().rows()) largest = std::max(largest, memory_of(view.all, each, allocator).peak);
  add_memory_rows(table, view, allocator, largest);
  return table;
}

/// A row for each memory source and each allocator.
inline data_table memory_sources_table(summary const& all) {
  constexpr column_kind bytes = column_kind::bytes;
  data_table table{"memory"};
  table.has_fixed_units = true;  // fixed units keep a change of 0.1 MiB visible beside 10 GiB
  table.add_columns({{"memory"},
                     {"samples", column_kind::count, column_use::wide},
                     {"first", bytes},
                     {"last", bytes},
                     {"highest reading", bytes},
                     {"peak", bytes},
                     {"peak over", column_kind::text, column_use::wide}});
  bool const has_capacity =
      std::any_of(all.memory.begin(), all.memory.end(), [](auto const& each) { return each.capacity_bytes.has_value(); });
  if (has_capacity) table.add_columns({{"capacity", bytes}});
  constexpr char const* no_peak = "no peak reported";
  for (memory_summary const& each : all.memory) {
    row& next = table.add_row().text(each.source + " " + each.quantity).count(each.samples);
    next.count(each.first_bytes).count(each.last_bytes).count(each.max_sample_bytes);
    next.count(each.peak_bytes, "the source reports no peak").text(each.peak_bytes ? each.peak_note : no_peak);
    if (has_capacity) next.count(each.capacity_bytes, "the source reports no capacity");
  }
  for (allocator_summary const& each : all.allocators) {
    row& next = table.add_row().text("allocator " + shown_source(each)).missing("its allocations and releases were recorded");
    next.bytes(each.first_bytes).bytes(each.last_bytes).count(each.max_bytes).missing("the allocator reports no peak").text(no_peak);
    if (has_capacity) next.missing("the allocator reports no capacity");
  }
  return table;
}

/// Whether the memory at the end of the first and of the last measured step differs by 0.1 % or more.
inline bool has_changed(memory_summary const& memory) {
  double const change = static_cast<double>(memory.last_bytes) - static_cast<double>(memory.first_bytes);
  return std::max(change, -change) >= 0.001 * static_cast<double>(std::max<std::uint64_t>(memory.max_sample_bytes, 1));
}

/// "12.1 GiB cuda used", "12.1 GiB cuda used (+1.00 GiB over the measured steps)".
inline std::string memory_words(memory_summary const& memory) {
  std::string text = bytes_words(static_cast<double>(max_bytes(memory)));
  if (memory.capacity_bytes) text += " of " + bytes_words(static_cast<double>(*memory.capacity_bytes));
  text += " " + name_words(memory.source + " " + memory.quantity);
  if (!has_changed(memory)) return text;
  double const change = static_cast<double>(memory.last_bytes) - static_cast<double>(memory.first_bytes);
  return fmt::format("{} ({}{} over the measured steps)", text, change > 0.0 ? "+" : "\xe2\x88\x92",
                     bytes_words(change > 0.0 ? change : -change));
}

/// The first two memory sources, and the scope with the highest peak.
inline std::string memory_answer(report_view const& view) {
  summary const& all = view.all;
  std::string text;
  constexpr std::size_t max_sources = 2;
  std::size_t changed = 0;
  std::size_t const shown = std::min(all.memory.size(), max_sources);
  for (std::size_t i = 0; i < shown; ++i) {
    text += (i == 0 ? "" : ", ") + memory_words(all.memory[i]);
    if (has_changed(all.memory[i])) ++changed;
  }
  if (shown > 0 && changed == 0 && view.has_steps()) text += "; no change over the measured steps";
  if (all.allocators.empty()) return text + ".";
  folded_scope const* largest = nullptr;
  double peak = 0.0;
  for (folded_scope const& each : view.tree().rows()) {
    double const of_scope = memory_of(all, each, 0).peak;
    if (of_scope > peak || (of_scope >= peak && peak > 0.0 && each.depth > largest->depth)) {
      peak = of_scope;
      largest = &each;
    }
  }
  if (!text.empty()) text += "; ";
  if (largest == nullptr) return text + (all.covers_steps ? "no scope allocates in the measured steps." : "no scope allocates.");
  return text + fmt::format("{} allocates at most {} at once and retains {}.", name_words(largest->name), bytes_words(peak),
                            bytes_words(std::max(0.0, memory_of(all, *largest, 0).retained)));
}

/// Which sources were not read after each measured step; empty if there is none.
inline std::string left_out_readings(report_view const& view) {
  std::string text;
  std::size_t const steps = view.all.steps.host.count;
  for (memory_summary const& each : view.all.memory) {
    if (!view.has_steps() || each.samples >= steps) continue;
    text += fmt::format("{}{} was read after {} of {} measured steps", text.empty() ? "" : ", ",
                        name_words(each.source + " " + each.quantity), count_words(each.samples), count_words(steps));
  }
  return text.empty() ? text : text + ": readings take at most 1 % of the time. Highest and last are of these readings.";
}

/// The section; n/a without a memory source.
inline std::optional<section> memory_section(report_view const& view) {
  if (view.all.memory.empty() && view.all.allocators.empty()) return std::nullopt;
  section result{"memory", "Memory", memory_answer(view)};
  result.add(memory_sources_table(view.all));
  if (std::string left_out = left_out_readings(view); !left_out.empty()) result.add_notes(std::move(left_out));
  for (std::size_t i = 0; i < view.all.allocators.size(); ++i) result.add_unless_empty(scope_memory_rows(view, i));
  if (!view.all.allocators.empty()) {
    if (data_table table = scope_memory_table(view.all); !table.rows.empty()) {
      result.add(std::move(table));
      bool const is_polled =
          std::any_of(view.all.allocators.begin(), view.all.allocators.end(), [](auto const& each) { return each.is_polled; });
      result.add_notes(std::string{scope_memory_note} + (is_polled ? polled_memory_note : ""), block_use::text);
    }
    result.add(allocator_table(view.all));
    if (std::optional<finding> const each = managed_memory_finding(view.all))
      result.add_notes(each->headline + " " + each->text + " " + each->action);
    result.how_to_read =
        "Scopes under 0.5 % of the largest peak are not shown; scopes that differ in their index only are one row with the largest of "
        "them.";
  }
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
