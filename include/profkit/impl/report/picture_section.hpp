// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "../../document.hpp"
#include "../../summary.hpp"
#include "../analyze/samples/sample_rows.hpp"
#include "../profile/own_containers.hpp"
#include "../profile/own_memory.hpp"
#include "budget_section.hpp"
#include "numbers.hpp"
#include "report_view.hpp"
#include "shown_text.hpp"

namespace PROFKIT_NAMESPACE::detail {

// The section "Host samples": the functions in the self time of scopes.

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

/// The share of the processor time of the process that is neither in samples nor in the kernel; 0 if unknown. Timers also see the kernel.
inline double unseen_share(host_samples_summary const& samples) {
  if (!samples.share_of_process) return 0.0;
  return std::max(0.0, 1.0 - *samples.share_of_process - samples.kernel_share.value_or(0.0));
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
  text = (first.path.empty() ? std::string{"outside any scope"} : name_words(last_component(first.path))) + ": " + text + ".";
  constexpr double max_unseen = 0.1;
  double const unseen = unseen_share(samples);
  if (unseen > max_unseen) text += " Threads without scopes are not sampled: " + share_words(unseen) + " of the processor time.";
  return text;
}

/// A row for each scope; its children are the functions.
inline data_table samples_table(host_samples_summary const& samples) {
  constexpr std::size_t max_scopes = 24;
  constexpr std::size_t max_functions = 6;
  data_table result{"host_samples"};
  result.add_columns(
      {{"scope and function", column_kind::code},
       {"time", column_kind::milliseconds, column_use::always, "Self time of the scope; processor time of the samples of a function"},
       {"of self time", column_kind::share},
       {"\xc2\xb1 95%", column_kind::share, column_use::always, "Half of the 95 % interval, from the number of samples"},
       {"samples", column_kind::count},
       {"", column_kind::bar, column_use::page}});
  auto const add = [&](std::uint32_t depth, std::string_view what, double ms, std::optional<double> share,
                       std::optional<double> half_interval, std::optional<std::uint64_t> count, colour meaning) {
    row& next = result.add_row(depth).text(what).number(ms);
    for (std::optional<double> const& figure : {share, half_interval, count ? std::optional{static_cast<double>(*count)} : std::nullopt}) {
      if (figure) {
        next.number(*figure);
      } else {
        next.blank();
      }
    }
    next.bar({{meaning, 0, ms}});
  };
  auto const add_sampled = [&](std::string_view what, double ms, sampled_share const& sampled, std::optional<std::uint64_t> count,
                               colour meaning) {
    add(1, what, ms, sampled.share, (sampled.ci95_high - sampled.ci95_low) / 2.0, count, meaning);
  };
  for (std::size_t i = 0; i < samples.scopes.size() && i < max_scopes; ++i) {
    sampled_scope_summary const& scope = samples.scopes[i];
    milliseconds const time = scope.self.value_or(scope.sampled);
    add(0, scope.path.empty() ? "outside any scope" : scope.path, time.count(), {}, {}, scope.samples, colour::host);
    std::size_t const shown = std::min(scope.functions.size(), max_functions);
    milliseconds rest = scope.other_time;
    std::size_t others = static_cast<std::size_t>(scope.other_functions) + scope.functions.size() - shown;
    for (std::size_t k = 0; k < scope.functions.size(); ++k) {
      sampled_function_summary const& function = scope.functions[k];
      if (k < shown) {
        add_sampled(function_place_words(function), function.time.count(), function.share_of_scope, function.samples, colour::host);
      } else {
        rest += function.time;
      }
    }
    if (others > 0) add(1, counted(others, "more function", "more functions"), rest.count(), {}, {}, {}, colour::host);
    for (sampled_wait_summary const& each : scope.waits)
      add(1, "waiting in " + each.name, each.time.count(), each.share, {}, {}, colour::neutral);
    if (auto const unnamed = unnamed_waiting(scope))
      add_sampled(waiting_words, unnamed->share * time.count(), *unnamed, {}, colour::neutral);
  }
  if (samples.scopes.size() > max_scopes) {
    result.caption = fmt::format("The {} scopes with the longest self time; report.json has all {}.", max_scopes, samples.scopes.size());
  }
  return result;
}

inline std::optional<section> samples_section(report_view const& view) {
  if (!view.all.host_samples) return std::nullopt;
  host_samples_summary const& samples = *view.all.host_samples;
  section result{"samples", "Host samples", samples_answer(samples)};
  if (samples.samples > 0) result.add(samples_table(samples));
  std::string text = fmt::format("{} of {} ({}), one per {} of processor time.", counted(samples.samples, "sample", "samples"),
                                 counted(samples.threads, "thread", "threads"), one_line(samples.mechanism), time_words(samples.interval));
  if (samples.share_of_process) {
    text += fmt::format(" They saw {} of the processor time of the process; {} was in the kernel.", share_words(*samples.share_of_process),
                        share_words(samples.kernel_share.value_or(0.0)));
  }
  if (samples.lost > 0)
    text += fmt::format(" {} were lost, because the session's thread could not read them in time.", count_words(samples.lost));
  if (samples.threads_without > 0) {
    text +=
        fmt::format(" {} could not be sampled: {}.", counted(samples.threads_without, "thread", "threads"), one_line(samples.why_without));
  }
  if (!samples.why_no_lines.empty()) text += " No source lines: " + one_line(samples.why_no_lines) + ".";
  result.add_note(std::move(text));
  result.how_to_read =
      "Samples see processor time outside the kernel. The rest of a scope's self time is waiting, waiting for a processor, or system "
      "calls; "
      "for threads that live only some ten milliseconds also the time before sampling starts. Inlined functions count as their callers.";
  return result;
}

/// The boxes of functions in the self time of scopes, from host samples. The samples are from the measured steps of all kinds.
class sampled_boxes {
 public:
  static constexpr double min_share = 0.0025;  ///< minimum share of the figure; narrower boxes are left out

  /// @param samples must outlive this.
  explicit sampled_boxes(host_samples_summary const& samples) {
    for (sampled_scope_summary const& each : samples.scopes) {
      if (each.scope) of_scope_.emplace(*each.scope, &each);
    }
  }

  /// Divides the self time of scopes among their functions, longest first, and waiting.
  /// @param scopes positions in `summary::scopes`.
  /// @param begin, self beginning and length of the self time, in milliseconds; nothing is added if it is too narrow.
  void add(icicle_figure& figure, own_vector<std::size_t> const& scopes, double begin, double self, std::uint32_t depth) const {
    if (self < min_share * figure.total) return;
    sums const totals = sums_of(scopes);
    if (!(totals.whole > 0.0)) return;
    own_vector<std::pair<std::string, double>> functions{totals.functions.begin(), totals.functions.end()};
    own_stable_sort(functions.begin(), functions.end(), [](auto const& a, auto const& b) { return a.second > b.second; });
    double rest = totals.other_time;
    std::uint64_t others = totals.others;
    auto const add_box = [&](std::string name, double time, icicle_figure::box_kind kind) {
      double const width = self * time / totals.whole;
      if (width < min_share * figure.total) return;
      sampled_share const share = share_of_samples(std::min(time / totals.whole, 1.0), totals.trials);
      figure.boxes.push_back({std::move(name), depth, begin, width, 0.0, kind, sampled_words(share) + " of the scope's own time"});
      begin += width;
    };
    for (auto& [name, time] : functions) {
      if (self * time / totals.whole < min_share * figure.total) {
        rest += time;
        ++others;
      } else {
        add_box(std::move(name), time, icicle_figure::box_kind::function);
      }
    }
    if (others > 0) add_box(counted(others, "more function", "more functions"), rest, icicle_figure::box_kind::function);
    double waiting = totals.whole - totals.sampled;
    for (auto const& [name, time] : totals.waits) {
      if (self * time / totals.whole < min_share * figure.total) continue;  // the last box contains its time
      add_box(name, time, icicle_figure::box_kind::waiting);
      waiting -= time;
    }
    add_box(waiting_words, std::max(waiting, 0.0), icicle_figure::box_kind::waiting);
  }

 private:
  /// Sums over scopes, in milliseconds of all measured steps.
  struct sums {
    double whole = 0.0;    ///< self time
    double sampled = 0.0;  ///< processor time of all functions
    double trials = 0.0;   ///< estimated number of samples in the self time
    std::map<std::string, double> functions;
    std::map<std::string, double> waits;  ///< by API call
    std::uint64_t others = 0;
    double other_time = 0.0;
  };

  [[nodiscard]] sums sums_of(own_vector<std::size_t> const& scopes) const {
    sums result;
    std::uint64_t samples = 0;
    for (std::size_t const scope : scopes) {
      auto const at = of_scope_.find(scope);
      if (at == of_scope_.end()) continue;
      sampled_scope_summary const& each = *at->second;
      result.whole += std::max(each.self.value_or(each.sampled), each.sampled).count();
      result.sampled += each.sampled.count();
      samples += each.samples;
      for (sampled_function_summary const& function : each.functions) result.functions[function_words(function)] += function.time.count();
      for (sampled_wait_summary const& wait : each.waits) result.waits["waiting in " + wait.name] += wait.time.count();
      result.others += each.other_functions;
      result.other_time += each.other_time.count();
    }
    if (result.sampled > 0.0) result.trials = static_cast<double>(samples) * (result.whole / result.sampled);
    return result;
  }

  own_hash_map<std::size_t, sampled_scope_summary const*> of_scope_;
};

// The section "Picture of the step": the nesting of scopes, as an icicle for each kind of step.

/// Adds the boxes of all scopes, in the order in which the scopes first ran. Leaves out scopes of other threads, because the step's time
/// does not include them. With host samples, the functions in a scope's self time follow its children.
/// @return the end of the last box of a root.
inline double add_boxes(icicle_figure& figure, folded_tree const& tree, sampled_boxes const* samples) {
  struct open_box {
    std::size_t row;
    double children_end;
    double end;
  };
  own_vector<open_box> open;  // the boxes around the next one, outermost first
  double roots_end = 0.0;
  auto const close = [&] {
    open_box const& last = open.back();
    folded_scope const& scope = tree.rows()[last.row];
    if (samples != nullptr) samples->add(figure, scope.scopes, last.children_end, last.end - last.children_end, scope.depth + 1);
    open.pop_back();
  };
  own_vector<bool> is_shown(tree.rows().size());
  for (std::size_t i = 0; i < tree.rows().size(); ++i) {  // depth first
    folded_scope const& scope = tree.rows()[i];
    if (scope.parent && !is_shown[*scope.parent]) continue;
    while (!open.empty() && open.back().row != scope.parent) close();
    if (!scope.is_of_step_thread && figure.is_host) continue;
    double const time = figure.is_host ? scope.host : scope.time;
    double& end = open.empty() ? roots_end : open.back().children_end;
    double const begin = end;
    end += time;
    if (time < sampled_boxes::min_share * figure.total) continue;
    is_shown[i] = true;
    std::string name = scope.folded > 1 ? scope.name + " " + times_sign + " " + std::to_string(scope.folded) : scope.name;
    figure.boxes.push_back({std::move(name), scope.depth, begin, time, figure.is_host ? 0.0 : scope.idle.value_or(0.0)});
    open.push_back({i, begin, begin + time});
  }
  while (!open.empty()) close();
  return roots_end;
}

/// Widens the figure if the times of concurrent scopes add up to more than the step.
inline void widen(icicle_figure& figure) {
  for (icicle_figure::box const& each : figure.boxes) figure.total = std::max(figure.total, each.begin + each.time);
}

/// GPU time of a kind of step; kernels must be collected.
inline icicle_figure icicle_of(report_view const& view, kind_tree const& shown) {
  icicle_figure figure{kind_title(view, *shown.kind), step_length(*shown.kind).count()};
  add_boxes(figure, shown.tree, nullptr);
  widen(figure);
  return figure;
}

/// Host time of a step of a kind. @param samples with the sampled functions; null: without.
inline icicle_figure host_icicle(report_view const& view, kind_tree const& shown, sampled_boxes const* samples) {
  step_kind_summary const& kind = *shown.kind;
  folded_tree const& tree = shown.tree;
  icicle_figure figure;
  figure.total = tree.step() ? tree.step()->host : step_length(kind).count();
  figure.title = fmt::format("{}: {} on the host{}", capitalized(view.is_main(kind) ? view.kinds.main_words() : kind.name),
                             time_words(milliseconds{figure.total}), samples != nullptr ? ", with the functions in it" : "");
  figure.is_host = true;
  double const end = add_boxes(figure, tree, samples);
  if (samples != nullptr && tree.step()) samples->add(figure, {0}, end, figure.total - end, 0);  // position 0 is the scope of the step
  widen(figure);
  return figure;
}

/// Adds the pictures of a kind: GPU time if kernels were collected, and host time. @param samples null: without functions.
inline void add_pictures(section& to, report_view const& view, kind_tree const& shown, std::string const& finding,
                         sampled_boxes const* samples) {
  auto const add = [&](std::string const& words, icicle_figure picture) {
    if (!picture.boxes.empty()) to.add(figure{words, std::move(picture)});
  };
  bool const has_gpu = shown.tree.has_gpu();
  if (has_gpu) add(finding, icicle_of(view, shown));
  icicle_figure host = host_icicle(view, shown, samples);
  std::string const takes = "The host takes " + time_words(milliseconds{host.total}) + " for a step.";
  add(samples != nullptr ? samples_answer(*view.all.host_samples) : has_gpu ? takes : finding, std::move(host));
}

/// The place to begin with.
inline std::string picture_answer(report_view const& view) {
  auto const place = view.largest_place();
  if (!place) return "n/a: no scope was recorded in the measured steps.";
  return fmt::format("Largest: {}, {} of the {}.", view.tree().name_of(*place), share_words(place->time / view.step_ms()),
                     view.kinds.main_words());
}

/// The section; n/a without measured steps or without scopes in them.
inline std::optional<section> picture_section(report_view const& view) {
  if (view.step_ms() <= 0.0 || view.tree().rows().empty()) return std::nullopt;
  section result{"picture", "Picture of the step"};
  result.answer = picture_answer(view);
  bool const is_sampled = view.all.host_samples && view.all.host_samples->samples > 0;
  std::optional<sampled_boxes> samples;
  if (is_sampled) samples.emplace(*view.all.host_samples);
  for (kind_tree const& each : view.trees) {
    bool const is_main = view.is_main(*each.kind);
    add_pictures(result, view, each, is_main ? result.answer : "The scopes of " + name_words(each.kind->name) + ".",
                 is_main && samples ? &*samples : nullptr);
  }
  result.how_to_read =
      view.tree().has_gpu()
          ? "Blue: GPU busy time of a scope, and the idle time that is charged to it (hatched). Grey: host time of the same step. Below a "
            "scope are those inside it, in the order in which they first ran; blank is the scope itself."
          : "Width: host time. Below a scope are those inside it, in the order in which they first ran; blank is the scope itself.";
  if (is_sampled)
    result.how_to_read +=
        " Where host samples were taken, the functions in the scope's own time follow, the longest first; a box without colour is waiting. "
        "Code outside "
        "any scope is in the table of host samples.";
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
