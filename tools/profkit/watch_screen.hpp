// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <profkit/impl/report/headline.hpp>
#include <profkit/impl/report/quality_section.hpp>
#include <profkit/impl/report/report_view.hpp>
#include <profkit/profile.hpp>
#include <profkit/summary.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "screen_line.hpp"
#include "watch_scopes.hpp"
#include "watch_view.hpp"
#include "watch_words.hpp"

namespace profkit_program {

/// In characters.
struct screen_size {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

/// Makes the screen of `profkit watch`: plain values to lines of text. Each line has an importance; a small screen shows the most important
/// ones, in the same order.
class watch_screen {
 public:
  watch_screen(screen_size size, screen_style style) : size_{size}, style_{style} {}

  /// @param views at least one.
  /// @param chosen position of the session that is shown in detail.
  /// @param has_keys whether the last line names the keys.
  /// @return at most as many lines, of at most as many columns, as the screen has; with escape sequences only for colours.
  [[nodiscard]] std::vector<std::string> lines(std::vector<watch_view> const& views, std::size_t chosen, bool has_keys) && {
    watch_view const& view = views[chosen];
    if (views.size() > 1) {
      add_journals(views, chosen);
      add_gap();
    }
    add_head(view);
    if (view.state == watch_state::unreadable) {
      add(96, label("PROBLEM", colour::bad).add(screen_name(view.problem, style_)));
    } else if (view.state == watch_state::waiting) {
      add(96, line().add("no journal yet: start the program with PROFKIT=journal=" + screen_name(view.path, style_)));
    }
    if (!view.stuck.empty()) add(97, label("STUCK", colour::bad).add(screen_name(view.stuck, style_)));
    add_steps(view);
    if (view.figures != nullptr) {
      add_gpu(*view.figures);
      add_scopes(*view.figures);
      add_gap();
      add_memory(*view.figures);
      add_data(view, *view.figures);
    }
    if (has_keys) add(50, line().add(views.size() > 1 ? "q quit   up, down choose a journal" : "q quit", colour::dim));
    return important_lines();
  }

 private:
  static constexpr std::size_t label_columns = 9;

  struct weighted_line {
    double importance;
    std::string text;
  };

  [[nodiscard]] screen_line line() const { return {size_.columns, style_}; }
  [[nodiscard]] screen_line label(std::string_view word, std::string_view colour = colour::bold) const {
    screen_line result = line();
    result.add(word, colour).to(label_columns);
    return result;
  }
  void add(double importance, screen_line const& what) { lines_.push_back({importance, what.text()}); }
  void add_gap() { lines_.push_back({45.0, {}}); }

  [[nodiscard]] std::vector<std::string> important_lines() {
    std::vector<double> order;
    for (weighted_line const& each : lines_) order.push_back(each.importance);
    std::sort(order.begin(), order.end(), std::greater<>{});
    std::vector<std::string> result;
    if (size_.rows == 0) return result;
    double const min_importance = order.size() > size_.rows ? order[size_.rows - 1] : -1.0;
    auto at_least = static_cast<std::size_t>(std::count_if(order.begin(), order.end(), [&](double each) { return each > min_importance; }));
    for (weighted_line& each : lines_) {
      bool const is_shown = each.importance > min_importance || (each.importance == min_importance && at_least++ < size_.rows);
      if (is_shown) result.push_back(std::move(each.text));
    }
    return result;
  }

  [[nodiscard]] static std::string_view colour_of(watch_state state) {
    switch (state) {
      case watch_state::running:
        return colour::good;
      case watch_state::silent:
      case watch_state::reading:
        return colour::warning;
      case watch_state::gone:
      case watch_state::unreadable:
        return colour::bad;
      case watch_state::waiting:
      case watch_state::ended:
        break;
    }
    return colour::dim;
  }

  /// Measured steps so far: the figures know those before the series, the series those after the figures.
  [[nodiscard]] static std::string steps_words(watch_view const& view) {
    return view.figures != nullptr && view.figures->covers_steps ? detail::count_words(view.figures->steps.host.count) : "none";
  }

  /// The mean time of the latest measured steps; n/a without one.
  [[nodiscard]] static std::optional<std::pair<profkit::milliseconds, std::size_t>> latest_mean(watch_view const& view) {
    constexpr std::size_t max_steps = 32;
    profkit::milliseconds sum{};
    std::size_t count = 0;
    if (view.steps == nullptr) return std::nullopt;
    for (auto each = std::make_reverse_iterator(view.steps->end());
         each != std::make_reverse_iterator(view.steps->begin()) && count < max_steps; ++each) {
      if (!each->is_measured()) continue;
      sum += each->time.duration();
      ++count;
    }
    if (count == 0) return std::nullopt;
    return std::pair{sum / static_cast<double>(count), count};
  }

  /// The mean step of the main kind, as the report has it; n/a without a measured step.
  [[nodiscard]] static std::optional<profkit::milliseconds> usual_step(watch_view const& view) {
    if (view.figures == nullptr || !view.figures->covers_steps || view.figures->steps.host.count == 0) return std::nullopt;
    return profkit::detail::mean_step_time(profkit::detail::report_kinds{*view.figures}.main().times);
  }

  void add_journals(std::vector<watch_view> const& views, std::size_t chosen) {
    std::size_t const state = std::clamp<std::size_t>(size_.columns / 3, 12, 32);
    std::array<std::size_t, 4> const ends{state + 28, state + 38, state + 46, state + 48};  // steps, step time, busy; the sparkline
    screen_line head = line();
    head.add("JOURNAL", colour::bold).to(state).add("state", colour::bold).right(ends[0], "steps", colour::bold);
    add(85, head.right(ends[1], "step", colour::bold).right(ends[2], "busy", colour::bold));
    for (std::size_t i = 0; i < views.size(); ++i) {
      watch_view const& view = views[i];
      screen_line row = line();
      row.add(i == chosen ? "> " : "  ", colour::bold)
          .add(shortened_to(screen_name(view.name, style_), state - 4), i == chosen ? colour::bold : colour::none);
      row.to(state).add(first_columns(detail::state_words(view), 19), colour_of(view.state)).right(ends[0], steps_words(view));
      auto const mean = usual_step(view);
      row.right(ends[1], mean ? detail::time_words(*mean) : profkit::detail::not_measured);
      row.right(ends[2], view.figures != nullptr && has_gpu_time(*view.figures) ? detail::percent_words(busy_share(*view.figures))
                                                                                : profkit::detail::not_measured);
      if (row.to(ends[3]).left() > 8) add_recent(row, view, row.left());
      double const distance = static_cast<double>(i > chosen ? i - chosen : chosen - i);
      add(i == chosen ? 88 : 66 - 40.0 * distance / (distance + 8.0), row);
    }
  }

  void add_head(watch_view const& view) {
    screen_line head = line();
    std::string const state = detail::state_words(view) + (view.recorded.count() > 0 ? ", " + detail::format_clock(view.recorded) : "");
    std::size_t const room = size_.columns > columns_of(state) + 2 ? size_.columns - columns_of(state) - 2 : 0;
    std::string const name = shortened_to(screen_name(view.name, style_), room);
    head.add(name, colour::bold);
    if (!view.environment.command.empty()) {
      std::string const program = std::filesystem::path{view.environment.command.front()}.filename().string();
      std::string const who = fmt::format("  {}, process {} on {}", program, view.environment.process_id, view.environment.host);
      head.add(shortened_to(screen_name(who, style_), room - std::min(room, head.used())), colour::none);
    }
    add(100, head.right(size_.columns, state, colour_of(view.state)));
  }

  void add_steps(watch_view const& view) {
    if (view.steps == nullptr || view.steps->empty()) {
      if (view.figures != nullptr) {
        add(95, label("STEPS").add(view.figures->covers_steps ? "no step has ended yet"
                                                              : "no step so far: the figures are of all that was recorded"));
      }
      return;
    }
    screen_line now = label("STEPS");
    if (auto const mean = usual_step(view)) {
      now.add(detail::time_words(*mean), colour::bold).add(" a " + profkit::detail::report_kinds{*view.figures}.main_words());
    }
    if (std::string const rate = rate_words(*view.steps); !rate.empty()) now.add(", " + rate);
    if (view.figures != nullptr)
      now.add(fmt::format("; {} measured, {} warm-up", steps_words(view), detail::count_words(view.figures->steps.warmup)));
    add(95, now);
    add(90, spark_line("recent", recent_range(view), [&](screen_line& to, std::size_t columns) { add_recent(to, view, columns); }));
    if (view.figures == nullptr || view.figures->trend.windows.empty()) return;
    add(55,
        spark_line("run", run_words(*view.figures), [&](screen_line& to, std::size_t columns) { add_trend(to, *view.figures, columns); }));
  }

  /// A label, a picture, and words at its right.
  template <class Draw>
  [[nodiscard]] screen_line spark_line(std::string_view word, std::string const& words, Draw const& draw) const {
    constexpr std::size_t min_width = 8;
    screen_line result = label(word, colour::dim);
    std::size_t const room = result.left();
    draw(result,
         room > columns_of(words) + 2 + min_width ? std::min<std::size_t>(room - columns_of(words) - 2, 120) : std::min(room, min_width));
    result.add("  ").add(words);
    return result;
  }

  /// Steps a second, from the last 32.
  [[nodiscard]] static std::string rate_words(step_series const& steps) {
    if (steps.size() < 2) return {};
    std::size_t const count = std::min<std::size_t>(steps.size(), 33);
    auto const first = steps.end() - static_cast<std::ptrdiff_t>(count);
    std::chrono::duration<double> const time = steps.last().time.end - first->time.end;
    return time.count() > 0.0 ? profkit::detail::significant(static_cast<double>(count - 1) / time.count()) + " a second" : "";
  }

  /// The steps that `add_recent` shows on most screens.
  [[nodiscard]] std::string recent_range(watch_view const& view) const {
    auto const [low, high] = range_of(view, size_.columns);
    auto const mean = latest_mean(view);
    std::string const words = mean ? fmt::format(", mean of {}: {}", mean->second, detail::time_words(mean->first)) : "";
    return detail::time_words(low) + " to " + detail::time_words(high) + words;
  }

  [[nodiscard]] static std::pair<profkit::milliseconds, profkit::milliseconds> range_of(watch_view const& view, std::size_t steps) {
    std::size_t const count = std::min(view.steps->size(), steps);
    profkit::milliseconds low = profkit::milliseconds::max();
    profkit::milliseconds high{};
    for (auto each = view.steps->end() - static_cast<std::ptrdiff_t>(count); each != view.steps->end(); ++each) {
      low = std::min<profkit::milliseconds>(low, each->time.duration());
      high = std::max<profkit::milliseconds>(high, each->time.duration());
    }
    return {std::min(low, high), high};
  }

  /// A character for each of the latest steps; those that are not measured are dim.
  void add_recent(screen_line& to, watch_view const& view, std::size_t columns) const {
    if (view.steps == nullptr || view.steps->empty()) return;
    auto const [low, high] = range_of(view, columns);
    std::size_t const count = std::min(view.steps->size(), columns);
    for (auto each = view.steps->end() - static_cast<std::ptrdiff_t>(count); each != view.steps->end(); ++each) {
      double const ms = profkit::milliseconds{each->time.duration()}.count();
      to.add(spark(ms, low.count(), high.count(), style_.is_utf8), each->is_measured() ? colour::busy : colour::dim);
    }
  }

  [[nodiscard]] static std::string run_words(profkit::summary const& figures) {
    profkit::detail::report_kinds const kinds{figures};
    profkit::step_summary const& steps = kinds.main().times;
    if (!steps.step_time) return {};
    std::string text = kinds.main_words() + " " + detail::time_words(steps.step_time->mean);
    bool const is_of_host = steps.step_time->basis == "host step time";
    if (is_of_host && steps.host_verdict.relative_half_width)
      text += " " + profkit::detail::format_half_width(*steps.host_verdict.relative_half_width);
    if (!is_of_host) text += " on the GPU";
    return text + ", " + profkit::verdict_name(steps.step_time->verdict);
  }

  /// The whole run: the mean step time of each of its parts.
  void add_trend(screen_line& to, profkit::summary const& figures, std::size_t columns) const {
    auto const& windows = figures.trend.windows;
    std::size_t const shown = std::min(windows.size(), columns);
    std::vector<double> means(shown);
    for (std::size_t i = 0; i < shown; ++i) {
      std::size_t const end = (i + 1) * windows.size() / shown;
      double count = 0.0;
      for (std::size_t j = i * windows.size() / shown; j < end; ++j) {
        means[i] += windows[j].mean.count() * static_cast<double>(windows[j].steps);
        count += static_cast<double>(windows[j].steps);
      }
      means[i] /= std::max(1.0, count);
    }
    auto const [low, high] = std::minmax_element(means.begin(), means.end());
    for (double const each : means) to.add(spark(each, *low, *high, style_.is_utf8), colour::busy);
  }

  [[nodiscard]] static double busy_share(profkit::summary const& figures) {
    return usual_budget(figures).busy / usual_budget(figures).wall;
  }

  void add_gpu(profkit::summary const& figures) {
    if (!has_gpu_time(figures)) {
      if (!figures.gpu && !profkit::detail::is_asked_for(figures, profkit::collector_kind::kernels)) return;
      std::string const why = figures.gpu ? "no measured step with kernels yet"
                                          : profkit::detail::why_not_collected(figures, profkit::collector_kind::kernels, "no kernels yet");
      add(80, label("GPU").add("n/a: " + screen_name(why, style_)));
      return;
    }
    profkit::budget_summary const& budget = usual_budget(figures);
    double const steps = static_cast<double>(budget.steps);
    std::array<profkit::milliseconds, profkit::idle_causes> const idle = profkit::detail::idle_of_all(budget);
    std::string const words = fmt::format("{} of {}", detail::time_words(budget.busy / steps), detail::time_words(budget.wall / steps));
    screen_line bar = label("GPU");
    bar.add("busy " + detail::percent_words(busy_share(figures)) + " ", colour::bold).to(label_columns + 13);
    if (bar.left() > words.size() + 12) add_budget_bar(bar, budget, idle, std::min<std::size_t>(bar.left() - words.size() - 2, 100));
    add(85, bar.add("  " + words + " a step"));
    screen_line causes = label("");
    causes.add("idle " + detail::percent_words(1.0 - busy_share(figures)) + " ");
    bool is_first = true;
    for (std::size_t cause = 0; cause < profkit::idle_causes; ++cause) {
      if (!profkit::detail::is_known(budget, cause) || idle[cause].count() == 0.0) continue;
      causes.add(is_first ? "= " : " + ").add(profkit::detail::idle_cause_names[cause], colour::idle[cause]);
      causes.add(" " + fmt::format("{:.1f}", 100.0 * (idle[cause] / budget.wall)));
      is_first = false;
    }
    add(70, causes);
  }

  /// A step as 100 %: busy, then the causes of idle time.
  void add_budget_bar(screen_line& to, profkit::budget_summary const& budget,
                      std::array<profkit::milliseconds, profkit::idle_causes> const& idle, std::size_t columns) const {
    profkit::milliseconds sum = budget.busy;
    std::size_t drawn = 0;
    auto const draw = [&](std::string_view utf8, std::string_view ascii, std::string_view colour) {
      double const share = std::clamp(sum / budget.wall, 0.0, 1.0);
      auto const end = static_cast<std::size_t>(std::lround(share * static_cast<double>(columns)));
      for (; drawn < end; ++drawn) to.add(style_.is_utf8 ? utf8 : ascii, colour);
    };
    draw("█", "#", colour::busy);
    for (std::size_t cause = 0; cause < profkit::idle_causes; ++cause) {
      sum += idle[cause];
      draw("░", ".", colour::idle[cause]);
    }
  }

  void add_scopes(profkit::summary const& figures) {
    std::vector<watched_scope> const rows = watched_scopes(figures);
    if (rows.empty()) return;
    bool const is_of_gpu = has_gpu_time(figures);
    bool const is_wide = is_of_gpu && size_.columns >= 96;
    constexpr std::size_t number = 10;  // columns of a number
    std::size_t const numbers = number * (is_wide ? 6 : 3);
    std::size_t const names = size_.columns > numbers + 16 ? std::min<std::size_t>(size_.columns - numbers, 60) : 16;
    char const* const time = !figures.covers_steps ? "host ms" : is_of_gpu ? "ms a step" : "host ms";
    add_gap();
    screen_line head = line();
    head.add("SCOPES", colour::bold).right(names + number, "calls").right(names + 2 * number, time);
    head.right(names + 3 * number, figures.covers_steps ? "% of step" : "");
    if (is_wide) head.right(names + 4 * number, "busy").right(names + 5 * number, "idle").right(names + 6 * number, "host");
    add(65, head);
    auto const ms = [](std::optional<profkit::milliseconds> value) {
      if (!value) return std::string{profkit::detail::not_measured};
      return value->count() > 0.0 && value->count() < 0.0005 ? std::string{"<0.001"} : fmt::format("{:.3f}", value->count());
    };
    for (watched_scope const& row : rows) {
      screen_line shown = line();
      std::string const indent(std::min<std::size_t>(2 * std::size_t{row.depth}, names / 2), ' ');
      shown.add(indent).add(shortened_to(screen_name(row.name, style_), names - indent.size() - 1));
      shown.right(names + number, row.calls == std::floor(row.calls) ? fmt::format("{:.0f}", row.calls) : fmt::format("{:.2f}", row.calls));
      shown.right(names + 2 * number, ms(row.time));
      shown.right(names + 3 * number, row.share              ? fmt::format("{:.1f}", 100.0 * *row.share)
                                      : figures.covers_steps ? profkit::detail::not_measured
                                                             : "");
      if (is_wide)
        shown.right(names + 4 * number, ms(row.busy)).right(names + 5 * number, ms(row.idle)).right(names + 6 * number, ms(row.host));
      double const rank = static_cast<double>(row.rank);
      add(64 - 44.0 * rank / (rank + 20.0), shown);
    }
  }

  void add_memory(profkit::summary const& figures) {
    std::string text;
    auto const put = [&](std::string const& name, double now, double peak) {
      text += fmt::format("{}{} {} (at most {})", text.empty() ? "" : " | ", name, detail::bytes_words(now), detail::bytes_words(peak));
    };
    for (profkit::memory_summary const& each : figures.memory) {
      put(each.source + " " + each.quantity, static_cast<double>(each.last_bytes), static_cast<double>(each.max_sample_bytes));
    }
    for (profkit::allocator_summary const& each : figures.allocators) {
      put(each.source, static_cast<double>(each.last_bytes), static_cast<double>(each.max_bytes));
    }
    if (!text.empty()) add(60, label("MEMORY").add(screen_name(text, style_)));
  }

  void add_data(watch_view const& view, profkit::summary const& figures) {
    std::string const lost = detail::loss_words(figures);
    bool const is_cut = view.state == watch_state::gone;
    screen_line data = label("DATA");
    data.add(lost.empty() ? "nothing lost" : screen_name(lost, style_), lost.empty() ? colour::none : colour::bad);
    if (is_cut) data.add("; the session did not end: its last 100 ms may be missing", colour::warning);
    add(80, data);
    std::string const refused = detail::refusal_words(figures);
    if (!refused.empty()) add(40, label("").add(screen_name(refused, style_), colour::warning));
  }

  screen_size size_;
  screen_style style_;
  std::vector<weighted_line> lines_;
};

}  // namespace profkit_program
