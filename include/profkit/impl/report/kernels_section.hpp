// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "../../document.hpp"
#include "../../summary.hpp"
#include "../analyze/gpu/launch_shapes.hpp"
#include "../profile/own_containers.hpp"
#include "../profile/own_memory.hpp"
#include "headline.hpp"
#include "numbers.hpp"
#include "report_view.hpp"
#include "shown_text.hpp"

// Lists of GPU operations and API calls over all measured steps.

namespace PROFKIT_NAMESPACE::detail {

inline void add_times_columns(data_table& to) {
  constexpr column_kind each = column_kind::duration;
  to.add_columns({{"count", column_kind::count},
                  {"total", column_kind::milliseconds},
                  {"mean", each},
                  {"median", each},
                  {"min", each},
                  {"max", each},
                  {"std", each}});
}

inline void add_times(row& to, duration_summary const& times) {
  to.count(times.count).ms(times.total).ms(times.mean).ms(times.median).ms(times.min).ms(times.max).ms(times.standard_deviation);
}

/// All kernels with complete names: the content of `kernels.csv`. Text prints the 20 longest.
inline data_table kernel_table(gpu_summary const& gpu) {
  constexpr std::size_t listed = 20;
  data_table result = text_list("kernels", "All kernels");
  result.add_columns({{"kernel", column_kind::code}, {"class"}});
  add_times_columns(result);
  result.add_columns({{"of all kernels", column_kind::share}});
  milliseconds rest{};
  for (kernel_summary const& each : gpu.kernels) {
    if (result.rows.size() >= listed) rest += each.time.total;
    row& next = result.add_row().text(each.name).text(each.kernel_class);
    add_times(next, each.time);
    next.number(each.share);
  }
  result.listed_rows = listed;
  if (result.rows.size() > listed)
    result.folded_label = fmt::format("and {} more with {} ms, in kernels.csv", result.rows.size() - listed, format_ms(rest));
  return result;
}

inline data_table class_table(gpu_summary const& gpu) {
  data_table result = folded_list("kernel_classes", "Kernel classes");
  result.add_columns(
      {{"class"}, {"kernels", column_kind::count}, {"total", column_kind::milliseconds}, {"of all kernels", column_kind::share}});
  for (kernel_class_summary const& each : gpu.classes) result.add_row().text(each.name).count(each.count).ms(each.total).number(each.share);
  return result;
}

/// @param pages migrations of unified memory; null if they were not recorded.
inline data_table copy_table(gpu_summary const& gpu, unified_memory_summary const* pages = nullptr) {
  data_table result = folded_list("copies", "Copies and memsets");
  result.add_columns({{"copy or memset"}});
  add_times_columns(result);
  result.add_columns({{"", column_kind::bytes}});
  auto const add = [&](copy_summary const& each) {
    row& next = result.add_row().text(each.name);
    add_times(next, each.time);
    next.count(each.bytes);
  };
  for (copy_summary const& each : gpu.copies) add(each);
  if (pages != nullptr) {
    for (copy_summary const& each : pages->operations) add(each);
  }
  return result;
}

/// API calls by name. Empty unless all API calls were collected.
inline data_table api_table(gpu_summary const& gpu) {
  data_table result = folded_list("api_calls", "API calls");
  result.add_columns({{"API call"}});
  add_times_columns(result);
  if (!gpu.api) return result;
  for (api_summary const& each : *gpu.api) add_times(result.add_row().text(each.name), each.time);
  return result;
}

/// Totals of all operations.
inline std::string operations_words(gpu_summary const& gpu) {
  std::string const steps = gpu.steps > 0 ? fmt::format(" in {}", counted(gpu.steps, "measured step", "measured steps")) : std::string{};
  return fmt::format("GPU{}: {} operations, {} of them kernels; {} in all, busy for {}.", steps, count_words(gpu.all.operations),
                     count_words(gpu.all.kernels), time_words(gpu.all.kernel_time), time_words(gpu.all.busy));
}

/// Position of the opening parenthesis or angle bracket that matches the closing one at `close`; npos if there is none.
inline std::size_t opening_of(std::string_view name, std::size_t close, char open_character, char close_character) {
  std::size_t depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    if (name[i] == close_character) ++depth;
    if (name[i] == open_character && --depth == 0) return i;
  }
  return std::string_view::npos;
}

/// Removes namespaces. The libraries of kernels write them in lower case: "at::native::FillFunctor" -> "FillFunctor".
inline void remove_namespaces(std::string& name) {
  auto const is_part = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  for (std::size_t at = name.find("::"); at != std::string::npos; at = name.find("::", at)) {
    std::size_t begin = at;
    while (begin > 0 && is_part(name[begin - 1])) --begin;
    bool const is_whole = begin == 0 || std::string_view{" <,(:&*"}.find(name[begin - 1]) != std::string_view::npos;
    if (begin == at || !is_whole) {
      at += 2;
      continue;
    }
    name.erase(begin, at + 2 - begin);
    at = begin;
  }
}

/// The name of a kernel without return type, namespaces and arguments. Long template arguments are cut at the end.
inline std::string short_kernel_name(std::string name) {
  for (std::string_view const unnamed : {std::string_view{"(anonymous namespace)::"}, std::string_view{"<unnamed>::"}}) {
    for (std::size_t at = name.find(unnamed); at != std::string::npos; at = name.find(unnamed)) name.erase(at, unnamed.size());
  }
  constexpr std::string_view no_result = "void ";
  if (name.compare(0, no_result.size(), no_result) == 0) name.erase(0, no_result.size());
  if (!name.empty() && name.back() == ')') {
    std::size_t const open = opening_of(name, name.size() - 1, '(', ')');
    if (open != std::string::npos && open > 0) name.erase(open);
  }
  remove_namespaces(name);
  constexpr std::size_t max_arguments = 32;
  if (!name.empty() && name.back() == '>') {
    std::size_t const open = opening_of(name, name.size() - 1, '<', '>');
    if (open != std::string::npos && open > 0 && name.size() - open > max_arguments)
      name = as_utf8(name.substr(0, open + max_arguments)) + "\xe2\x80\xa6>";
  }
  return name;
}

/// What the longest kernels ask of a device: the median launch, and the worst one if it is another. Empty if the shapes are unknown.
inline data_table launch_table(gpu_summary const& gpu) {
  constexpr std::size_t listed = 15;
  data_table result = folded_list("launches", "Launches of the longest kernels");
  result.add_columns({{"kernel", column_kind::code},
                      {"launch"},
                      {"launches", column_kind::count},
                      {"of all kernels", column_kind::share},
                      {"blocks", column_kind::count},
                      {"threads", column_kind::count},
                      {"registers", column_kind::count},
                      {"shared", column_kind::bytes},
                      {"blocks per SM", column_kind::count},
                      {"occupancy", column_kind::share, column_use::always, "", "%"},
                      {"limited by"},
                      {"waves", column_kind::real},
                      {"last wave", column_kind::share, column_use::always, "", "%"}});
  for (std::size_t i = 0; i < gpu.kernels.size() && i < listed; ++i) {
    kernel_summary const& kernel = gpu.kernels[i];
    auto const add = [&](char const* which, launch_summary const& launch) {
      row& next = result.add_row().text(short_kernel_name(kernel.name), kernel.name).text(which).count(launch.launches);
      next.number(kernel.share).count(launch.blocks).count(launch.threads).count(launch.registers).count(launch.shared_bytes);
      next.count(launch.blocks_per_multiprocessor).number(launch.occupancy).text(launch.limited_by);
      next.number(launch.waves).number(launch.last_wave);
    };
    if (kernel.median_launch) add("median", *kernel.median_launch);
    if (kernel.worst_launch && used_share(*kernel.worst_launch) < used_share(*kernel.median_launch)) add("worst", *kernel.worst_launch);
  }
  return result;
}

/// Migrations and faults of unified memory, by kernel and scope. Empty without them.
inline data_table unified_memory_table(unified_memory_summary const& pages) {
  data_table result = folded_list("unified_memory", "Unified memory");
  result.listed_rows = 20;
  result.add_columns({{"kernel, or function of the host", column_kind::code},
                      {"scope"},
                      {"kernel waits", column_kind::milliseconds},
                      {"to the device", column_kind::bytes},
                      {"to the host", column_kind::bytes},
                      {"migrations", column_kind::count},
                      {"GPU faults", column_kind::count},
                      {"host faults", column_kind::count}});
  for (unified_memory_place const& each : pages.places) {
    std::string const line = each.line > 0 ? fmt::format(" ({}:{})", last_component(each.file), each.line) : std::string{};
    row& next = result.add_row();
    next.text(each.kernel.empty() ? each.function + line : short_kernel_name(each.kernel), each.kernel);
    next.text(each.path.empty() ? outside_any_scope : each.path).ms(each.waiting);
    next.count(each.bytes_to_device).count(each.bytes_to_host).count(each.migrations);
    next.count(each.device_faults).count(each.host_faults);
  }
  return result;
}

/// "12", or "0.50" if a step has fewer than one on average.
inline std::string mean_count_words(double per_step) {
  bool const is_whole = per_step - static_cast<double>(static_cast<std::uint64_t>(per_step)) < 0.001;
  return is_whole ? count_words(static_cast<std::uint64_t>(per_step)) : significant(per_step);
}

/// "12 launches", "1 launch", "0.50 launches".
inline std::string launches_words(double per_step) {
  std::string const number = mean_count_words(per_step);
  return number + (number == "1" ? " launch" : " launches");
}

/// The shade of a kernel class: its position in the fixed order of `colour::kernel_class`.
inline std::uint8_t shade_of_class(std::string_view kernel_class) {
  constexpr std::array<std::string_view, 11> classes{"communication", "optimizer",       "attention", "convolution", "matmul",   "softmax",
                                                     "norm",          "embedding/index", "copy/cast", "elementwise", "reduction"};
  return static_cast<std::uint8_t>(std::find(classes.begin(), classes.end(), kernel_class) - classes.begin());
}

// The section "Kernels": the kernels of the main kind of step.

/// Adds "layer_* > attention +1": the last two scopes of the longest place, and the number of other places.
inline void add_launched_in(row& to, summary const& all, own_vector<launch_place_summary> const& places) {
  if (places.empty()) {
    to.missing("the places of launches are unknown");
    return;
  }
  own_vector<std::string> texts;
  own_hash_set<std::string> known;
  for (launch_place_summary const& each : places) {
    std::string text = outside_any_scope;
    if (each.scope && *each.scope < all.scopes.size()) {
      scope_summary const& scope = all.scopes[*each.scope];
      std::string const name = folded_tree::without_index(scope);
      text = last_component(name);
      // The name of an adopting scope has its role, such as "(backward)".
      bool const is_path = text.size() < name.size();
      if (scope.parent && !is_path) text.insert(0, folded_tree::without_index(all.scopes[*scope.parent]).append(" \xe2\x80\xba "));
    }
    if (known.insert(text).second) texts.push_back(std::move(text));
  }
  std::string shown = texts.front();
  if (texts.size() > 1) shown += fmt::format(" +{}", texts.size() - 1);
  std::string detail;
  for (std::string const& each : texts) detail += (detail.empty() ? "" : ", ") + each;
  to.text(shown, detail);
}

/// Adds the row of a kernel in a kind of step. @param total kernel time per step in milliseconds, the denominator of the share.
inline void add_kernel_row(data_table& to, summary const& all, step_kind_summary const& kind, kind_kernel_summary const& each,
                           double total) {
  kernel_summary const& kernel = all.gpu->kernels[each.kernel];
  double const steps = gpu_steps(kind);
  double const ms = each.total.count() / steps;
  double const mean = each.total.count() / static_cast<double>(std::max<std::uint64_t>(1, each.count));
  row& next = to.add_row().text(short_kernel_name(kernel.name), kernel.name).text(kernel.kernel_class);
  next.number(ms).number(total > 0.0 ? ms / total : 0.0).bar({{colour::kernel_class, shade_of_class(kernel.kernel_class), ms}});
  next.number(static_cast<double>(each.count) / steps).number(mean).range({each.min.count(), mean, each.max.count()});
  add_launched_in(next, all, each.launched_in);
}

/// The longest 60 kernels, and the sum of all others. @param kind the kind; its kernels refer to `all`.
inline data_table kernels_table(summary const& all, step_kind_summary const& kind) {
  constexpr std::size_t shown = 15;
  constexpr std::size_t listed = 60;
  data_table table{"step_kernels"};
  table.add_columns({{"kernel", column_kind::code},
                     {"class"},
                     {all.covers_steps ? "per step" : "time", column_kind::milliseconds, column_use::always, "", "{}"},
                     {"of kernels", column_kind::share, column_use::always, "", "%"},
                     {"", column_kind::bar},
                     {"launches", column_kind::count},
                     {"mean", column_kind::duration},
                     {"from, mean, to", column_kind::logarithmic_range, column_use::wide},
                     {"launched in", column_kind::text, column_use::wide}});
  double const total = kernel_ms(kind);
  double folded = 0.0;
  double rest = 0.0;
  for (std::size_t i = 0; i < kind.kernels.size(); ++i) {
    double const ms = kind.kernels[i].total.count() / gpu_steps(kind);
    if (i < listed) add_kernel_row(table, all, kind, kind.kernels[i], total);
    if (i >= shown) folded += ms;
    if (i >= listed) rest += ms;
  }
  if (kind.kernels.size() > listed) {
    row& others = table.add_row();
    others.text(counted(kind.kernels.size() - listed, "more kernel", "more kernels") + " in kernels.csv").blank();
    others.number(rest).number(rest / total);
    while (others.cells.size() < table.columns.size()) others.blank();
    others.is_quiet = true;
    others.stands_for = kind.kernels.size() - listed;
  }
  if (kind.kernels.size() > shown && total > 0.0) {
    table.shown_rows = shown;
    std::size_t const more = kind.kernels.size() - shown;
    table.folded_label = fmt::format("{}: {}, {} of kernel time", counted(more, "more kernel", "more kernels"),
                                     time_words(milliseconds{folded}), share_words(folded / total));
  }
  table.sorted_by = 2;
  return table;
}

/// Adds tables of all operations in the measured steps of all kinds.
inline void add_operations(section& to, summary const& all) {
  to.add(kernel_table(*all.gpu));
  to.add_unless_empty(launch_table(*all.gpu));
  to.add_unless_empty(class_table(*all.gpu));
  to.add_unless_empty(copy_table(*all.gpu, all.unified_memory ? &*all.unified_memory : nullptr));
  if (all.unified_memory) {
    to.add_unless_empty(unified_memory_table(*all.unified_memory));
    to.add_note(
        "The counters of unified memory were on. They make kernels and a host that fault about twice as slow, so times of such kernels "
        "and steps are too long. Bytes are a lower bound.");
    auto const& places = all.unified_memory->places;
    if (std::any_of(places.begin(), places.end(), [](auto const& each) { return each.host_faults > 0 && each.line == 0; }))
      to.add_note("Source lines of faults need modules with debug information (-g1), and libdw.so.1 (elfutils) where the program runs.");
  }
  to.add_unless_empty(api_table(*all.gpu));
  to.add_notes(operations_words(*all.gpu) + "\n" + collected_steps_note(all));
}

inline section kernels_of_kind(report_view const& view) {
  section result{"kernels", "Kernels"};
  step_kind_summary const& kind = view.main();
  double const total = kernel_ms(kind);
  if (kind.kernels.empty() || total <= 0.0) {
    result.answer = "none: no kernel ran.";
    return result;
  }
  std::uint64_t launches = 0;
  double shown = 0.0;
  constexpr std::size_t first = 15;
  for (std::size_t i = 0; i < kind.kernels.size(); ++i) {
    launches += kind.kernels[i].count;
    if (i < first) shown += kind.kernels[i].total.count() / gpu_steps(kind);
  }
  std::string const times = launches_words(static_cast<double>(launches) / gpu_steps(kind));
  result.answer = fmt::format("{} of kernels{}, {}", times, view.has_steps() ? " a step" : "", time_words(milliseconds{total}));
  result.answer += kind.kernels.size() > first
                       ? fmt::format("; the first {} of {} take {}.", first, kind.kernels.size(), share_words(shown / total))
                       : std::string{"."};
  own_vector<std::pair<std::string, double>> const classes = class_times(view.all, kind);
  bars_figure bars;
  bars.bars.emplace_back();
  for (auto const& [name, ms] : classes) {
    bar_part const part{colour::kernel_class, shade_of_class(name), ms};
    bars.bars.front().parts.push_back({name, {part}});
    bars.legend.emplace_back(bar_part{colour::kernel_class, shade_of_class(name), 0.0}, name + " " + share_words(ms / total));
  }
  result.add(figure{result.answer, std::move(bars)});
  data_table table = kernels_table(view.all, kind);
  if (view.kinds.has_several()) table.caption = view.kinds.main_words();
  result.add(std::move(table));
  if (view.kinds.has_several() && kind.is_usual) result.how_to_read = "Times, launches and means cover only the usual steps. ";
  result.how_to_read +=
      "A bar has the colour of its kernel's class. The range covers single executions, from the shortest to the longest, on a "
      "logarithmic scale; the mark is their mean. kernels.csv has all kernels with their complete names.";
  return result;
}

inline std::optional<section> kernels_section(report_view const& view) {
  if (!view.all.gpu) return std::nullopt;
  section result = kernels_of_kind(view);
  add_operations(result, view.all);
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
