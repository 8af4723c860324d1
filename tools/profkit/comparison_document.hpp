// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <profkit/report/column_numbers.hpp>
#include <profkit/report/document.hpp>
#include <profkit/report/html_changes.hpp>
#include <profkit/report/number_format.hpp>
#include <profkit/version.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "comparison.hpp"
#include "comparison_text.hpp"
#include "decision.hpp"
#include "run_figures.hpp"

namespace profkit_program {

namespace detail {

/// Makes the document of a comparison: what became faster and slower, where it comes from, and how sure that is.
class comparison_document {
 public:
  comparison_document(comparison const& result, compared_sides const& sides, compare_options const& options)
      : result_{result}, sides_{sides}, options_{options} {
    find_parents();
  }

  [[nodiscard]] profkit::detail::document make() const {
    profkit::detail::document document;
    document.title = "profkit compare";
    document.subtitle =
        fmt::format("before: {} ({}), after: {} ({})", sides_.path_a, side_text(sides_.a), sides_.path_b, side_text(sides_.b));
    document.version = std::string{"profkit "} + profkit::version;
    document.headline = headline();
    document.findings = findings();
    document.key_figures = key_figures();
    if (auto parts = where_from()) document.sections.push_back(std::move(*parts));
    document.sections.push_back(all_changes());
    if (auto runs = runs_section()) document.sections.push_back(std::move(*runs));
    document.sections.push_back(how_sure());
    return document;
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  static constexpr char const* plus_minus = "\xc2\xb1";

  using cell = profkit::detail::cell;
  using row = profkit::detail::row;

  /// Rows of scopes are in the order of the tree. The parent of a row is the row with the longest path around it.
  void find_parents() {
    std::unordered_map<std::string, std::size_t> scopes;
    parents_.assign(result_.rows.size(), none);
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      comparison_row const& each = result_.rows[i];
      if (each.kind != row_kind::scope) continue;
      scopes.try_emplace(each.name, i);
      for (std::size_t slash = each.name.rfind('/'); slash != std::string::npos && slash > 0; slash = each.name.rfind('/', slash - 1)) {
        auto const around = scopes.find(each.name.substr(0, slash));
        if (around == scopes.end()) continue;
        parents_[i] = around->second;
        break;
      }
    }
  }

  [[nodiscard]] std::uint32_t depth_of(std::size_t position) const {
    std::uint32_t depth = 0;
    for (std::size_t at = parents_[position]; at != none; at = parents_[at]) ++depth;
    return depth;
  }

  /// The name of a row without the path of its parent.
  [[nodiscard]] std::string name_of_row(std::size_t position) const {
    comparison_row const& each = result_.rows[position];
    std::string name = parents_[position] == none ? each.name : each.name.substr(result_.rows[parents_[position]].name.size() + 1);
    return each.figure.empty() ? name : name + " (" + each.figure + ")";
  }

  [[nodiscard]] static std::string side_text(std::vector<run_figures> const& runs) {
    std::uint64_t steps = 0;
    for (run_figures const& run : runs) steps += run.step.steps;
    std::string const count = fmt::format("{} {}", runs.size(), runs.size() == 1 ? "run" : "runs");
    return runs.front().has_steps ? fmt::format("{}, {} measured steps", count, steps) : count;
  }

  [[nodiscard]] static std::string ms(double value) {
    profkit::detail::column_numbers const numbers{profkit::detail::column_kind::milliseconds, value};
    return numbers.text(value) + "\xc2\xa0" + numbers.unit();
  }

  [[nodiscard]] static std::string signed_ms(double value) { return (value > 0.0 ? "+" : "") + ms(value); }

  [[nodiscard]] static std::string change_text(double change) { return profkit::detail::html_change_axis::change_text(change); }

  [[nodiscard]] static std::string range_text(std::optional<std::pair<double, double>> const& range) {
    return range ? change_text(range->first) + " to " + change_text(range->second) : profkit::detail::not_measured;
  }

  [[nodiscard]] static char const* word_of(verdict says) {
    switch (says) {
      case verdict::faster:
        return "faster";
      case verdict::slower:
        return "slower";
      case verdict::same:
        return "same";
      case verdict::unsure:
        return "unsure";
      case verdict::added:
        return "new";
      case verdict::gone:
        return "gone";
    }
    return "";
  }

  [[nodiscard]] static bool has_changed(comparison_row const& each) { return each.says != verdict::same && each.says != verdict::unsure; }

  [[nodiscard]] comparison_row const* step() const {
    return !result_.rows.empty() && result_.rows.front().kind == row_kind::step ? &result_.rows.front() : nullptr;
  }

  [[nodiscard]] static double difference_of(comparison_row const& each) { return each.b_ms - each.a_ms; }

  [[nodiscard]] std::string headline() const {
    comparison_row const* const whole = step();
    if (whole == nullptr) {
      return fmt::format("{} rows are faster and {} are slower", result_.count(verdict::faster), result_.count(verdict::slower));
    }
    std::string const percent = change_text(std::abs(whole->change.value_or(0.0))).substr(1);
    switch (whole->says) {
      case verdict::faster:
      case verdict::slower:
        return fmt::format("The step is {} {} ({})", percent, word_of(whole->says), range_text(whole->range));
      case verdict::same:
        return fmt::format("The step takes the same time (within {})", plain_percent(options_.margin));
      case verdict::unsure:
      case verdict::added:
      case verdict::gone:
        break;
    }
    return fmt::format("The step is not known to have changed: {} before, {} after", ms(whole->a_ms), ms(whole->b_ms));
  }

  /// The scope that changed most in one direction. Scopes inside another one that did are its details.
  [[nodiscard]] std::size_t largest(verdict says) const {
    std::size_t found = none;
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      comparison_row const& each = result_.rows[i];
      if (each.kind != row_kind::scope || each.says != says || !each.figure.empty() || is_step_scope(i) || is_inside_of(says, i)) continue;
      if (found == none || std::abs(difference_of(each)) > std::abs(difference_of(result_.rows[found]))) found = i;
    }
    return found;
  }

  /// Whether a scope around this one, other than that of the step, has the verdict.
  [[nodiscard]] bool is_inside_of(verdict says, std::size_t position) const {
    for (std::size_t at = parents_[position]; at != none; at = parents_[at]) {
      if (result_.rows[at].says == says && !is_step_scope(at)) return true;
    }
    return false;
  }

  /// The scope of the step itself, which the row of the step tells better.
  [[nodiscard]] bool is_step_scope(std::size_t position) const {
    return step() != nullptr && parents_[position] == none && result_.rows[position].name == "step";
  }

  /// The host time of the step's scope says the same as the row of the step.
  [[nodiscard]] bool is_row_of_step(std::size_t position) const {
    return is_step_scope(position) && !result_.rows[position].is_gpu && !result_.rows.front().is_gpu;
  }

  [[nodiscard]] std::uint32_t depth_in_table(std::size_t position) const {
    std::size_t root = position;
    while (parents_[root] != none) root = parents_[root];
    std::uint32_t const depth = depth_of(position);
    return depth > 0 && is_row_of_step(root) ? depth - 1 : depth;
  }

  /// The innermost scope inside that has at least 80 % of the difference.
  [[nodiscard]] std::size_t cause_of(std::size_t position) const {
    std::size_t cause = position;
    for (std::size_t i = position + 1; i < result_.rows.size(); ++i) {
      comparison_row const& each = result_.rows[i];
      if (each.kind != row_kind::scope || !each.figure.empty() || parents_[i] != cause) continue;
      if (difference_of(each) / difference_of(result_.rows[position]) >= 0.8) cause = i;
    }
    return cause;
  }

  [[nodiscard]] std::vector<profkit::detail::finding> findings() const {
    std::vector<profkit::detail::finding> findings;
    for (verdict const says : {verdict::slower, verdict::faster}) {
      std::size_t const position = largest(says);
      if (position == none) continue;
      comparison_row const& each = result_.rows[position];
      profkit::detail::finding found;
      std::string const per = result_.has_steps ? " a step" : "";
      found.headline = fmt::format("{}: {}, by {}{} ({}; range {}).", says == verdict::slower ? "Slower" : "Faster", name_of_row(position),
                                   ms(std::abs(difference_of(each))), per,
                                   each.change ? change_text(*each.change) : profkit::detail::not_measured, range_text(each.range));
      std::size_t const cause = cause_of(position);
      if (cause != position) {
        comparison_row const& inner = result_.rows[cause];
        found.text = fmt::format("{:.0f}\xc2\xa0% of it is {}: {}.", 100.0 * std::min(1.0, difference_of(inner) / difference_of(each)),
                                 name_of_row(cause), signed_ms(difference_of(inner)));
      }
      if (says == verdict::slower) {
        comparison_row const* const whole = step();
        found.action = fmt::format("Find out what changed in {}.", name_of_row(cause));
        if (whole != nullptr && whole->b_ms > 0.0 && each.is_gpu == whole->is_gpu) {
          found.action += fmt::format(" With it as before, the step would be about {:.1f}\xc2\xa0% shorter.",
                                      100.0 * difference_of(each) / whole->b_ms);
        }
      }
      found.scope = result_.rows[cause].name;
      findings.push_back(std::move(found));
    }
    add_new_and_gone(findings);
    add_noise(findings);
    return findings;
  }

  void add_new_and_gone(std::vector<profkit::detail::finding>& to) const {
    auto const names = [&](verdict says) {
      std::string text;
      std::size_t count = 0;
      for (std::size_t i = 0; i < result_.rows.size(); ++i) {
        if (result_.rows[i].says != says || result_.rows[i].kind != row_kind::scope || !result_.rows[i].figure.empty()) continue;
        if (parents_[i] != none && result_.rows[parents_[i]].says == says) continue;  // the scope around it is listed
        if (++count > max_named) continue;
        text += fmt::format("{}{}, {}", count > 1 ? "; " : "", name_of_row(i), ms(std::max(result_.rows[i].a_ms, result_.rows[i].b_ms)));
      }
      return count > max_named ? fmt::format("{} and {} more", text, count - max_named) : text;
    };
    std::string const added = names(verdict::added);
    std::string const gone = names(verdict::gone);
    if (added.empty() && gone.empty()) return;
    profkit::detail::finding found;
    found.headline = added.empty() ? "Scopes are gone." : gone.empty() ? "Scopes are new." : "Scopes are new, and others are gone.";
    if (!added.empty()) found.text += "New: " + added + ".";
    if (!gone.empty()) found.text += (added.empty() ? "" : " ") + ("Gone: " + gone + ".");
    to.push_back(std::move(found));
  }

  /// What the noise hides, and how many runs would show a change of 3 %.
  void add_noise(std::vector<profkit::detail::finding>& to) const {
    comparison_row const* const whole = step();
    constexpr double wanted = 0.03;
    if (whole == nullptr || !whole->range || !whole->spread) return;
    double const half = 0.5 * (whole->range->second - whole->range->first);
    if (half <= wanted) return;
    profkit::detail::finding found;
    found.headline = result_.is_noise_measured ? "The machine is noisy." : "One run a side does not show the noise of the machine.";
    found.text = fmt::format("Runs of one side differ by {} (standard deviation{}), so a change of the step below {} cannot be told.",
                             plain_percent(std::round(1000.0 * *whole->spread) / 1000.0), result_.is_noise_measured ? "" : ", assumed",
                             plain_percent(std::round(100.0 * half) / 100.0));
    std::optional<std::size_t> const runs = runs_to_decide(*whole->spread, wanted);
    found.action =
        runs ? fmt::format("For {}3\xc2\xa0% make about {} runs a side, in turns, or use a quieter machine.", plus_minus, *runs)
             : fmt::format("For {}3\xc2\xa0% use a quieter machine: more than {} runs a side would be needed.", plus_minus, max_runs);
    to.push_back(std::move(found));
  }

  [[nodiscard]] std::vector<profkit::detail::key_figure> key_figures() const {
    std::vector<profkit::detail::key_figure> figures;
    comparison_row const* const whole = step();
    if (whole != nullptr) {
      auto const runs = [](std::vector<run_figures> const& side) {
        return fmt::format("{} {}", side.size(), side.size() == 1 ? "run" : "runs");
      };
      figures.push_back({"step before", ms(whole->a_ms), runs(sides_.a)});
      figures.push_back({"step after", ms(whole->b_ms), runs(sides_.b)});
      figures.push_back({"change", whole->change ? change_text(*whole->change) : "", "95\xc2\xa0%: " + range_text(whole->range)});
      figures.push_back(
          {"verdict of the step", word_of(whole->says), whole->says == verdict::unsure ? "neither changed nor the same" : ""});
    }
    figures.push_back({"faster, slower", fmt::format("{}, {}", result_.count(verdict::faster), result_.count(verdict::slower)),
                       fmt::format("of {} rows that matter", result_.judged)});
    figures.push_back(
        {"new, gone", fmt::format("{}, {}", result_.count(verdict::added), result_.count(verdict::gone)), "on one side only"});
    figures.push_back(
        {"same, unsure", fmt::format("{}, {}", result_.count(verdict::same), result_.count(verdict::unsure)), "listed below"});
    return figures;
  }

  /// The parts of the step, if their times add up to it: host times do.
  [[nodiscard]] std::optional<profkit::detail::section> where_from() const {
    comparison_row const* const whole = step();
    if (whole == nullptr) return std::nullopt;
    profkit::detail::section section{"parts", "Where the change comes from", {}, {}, {}};
    profkit::detail::waterfall_figure figure{whole->a_ms, whole->b_ms, {}};
    double rest = difference_of(*whole);
    double small = 0.0;
    bool adds_up = !whole->is_gpu;
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      comparison_row const& each = result_.rows[i];
      if (each.kind != row_kind::scope || !each.figure.empty() || parents_[i] == none || !is_step_scope(parents_[i])) continue;
      adds_up = adds_up && !each.is_gpu;
      double const difference = difference_of(each);
      rest -= difference;
      if (std::abs(difference) < 0.0005 * std::max(whole->a_ms, whole->b_ms)) {
        small += difference;
        continue;
      }
      figure.parts.push_back({name_of_row(i), difference, has_changed(each), signed_ms(difference) + " " + word_of(each.says)});
    }
    if (!adds_up) {
      section.answer =
          "n/a: scopes are compared by GPU time, which does not add up to the step. Use --metric host to see the parts of the step on the "
          "host.";
      return section;
    }
    if (figure.parts.empty()) {
      section.answer = "No part of the step changed by 0.05\xc2\xa0% of it or more.";
      return section;
    }
    if (small != 0.0 || rest != 0.0) figure.parts.push_back({"other", small + rest, false, signed_ms(small + rest)});
    auto const order = std::minmax_element(figure.parts.begin(), figure.parts.end(),
                                           [](auto const& a, auto const& b) { return a.difference < b.difference; });
    section.answer = fmt::format("{} in {}, {} in {}: {} together.", signed_ms(order.first->difference), order.first->name,
                                 signed_ms(order.second->difference), order.second->name, signed_ms(difference_of(*whole)));
    if (figure.parts.size() == 1)
      section.answer = fmt::format("{} in {}.", signed_ms(figure.parts.front().difference), figure.parts.front().name);
    section.how_to_read =
        "Milliseconds a step; the parts add up to the difference of the two means. The axis does not begin at 0. Parts below 0.05\xc2\xa0% "
        "of the step are in \"other\".";
    section.blocks.emplace_back(profkit::detail::figure{section.answer, std::move(figure)});
    return section;
  }

  [[nodiscard]] row row_of(std::size_t position, std::uint32_t depth, bool with_path) const {
    comparison_row const& each = result_.rows[position];
    row line;
    line.depth = depth;
    bool const is_whole = each.kind == row_kind::step;
    line.is_total = is_whole;
    cell const before = each.says == verdict::added ? cell{std::string{"none"}} : cell{each.a_ms};
    cell const after = each.says == verdict::gone ? cell{std::string{"none"}} : cell{each.b_ms};
    cell range{std::string{}};
    if (each.range && each.change) {
      range.value = profkit::detail::change_cell{each.range->first, *each.change, each.range->second,
                                                 each.says == verdict::faster || each.says == verdict::slower};
    } else if (each.says == verdict::added || each.says == verdict::gone) {
      range.value = std::string{each.says == verdict::added ? "only after" : "only before"};
    }
    auto const text = [](std::string words) { return words == profkit::detail::not_measured ? cell{} : cell{std::move(words)}; };
    line.cells = {{with_path ? each.name + (each.figure.empty() ? "" : " (" + each.figure + ")") : name_of_row(position), each.name},
                  {std::string{each.is_gpu ? "GPU" : "host"}},
                  before,
                  after,
                  {difference_of(each)},
                  range,
                  text(each.change ? change_text(*each.change) : profkit::detail::not_measured),
                  text(range_text(each.range)),
                  {std::string{word_of(each.says)}}};
    return line;
  }

  [[nodiscard]] profkit::detail::data_table table_of(std::string name, char const* first) const {
    using kind = profkit::detail::column_kind;
    using use = profkit::detail::column_use;
    profkit::detail::data_table table{std::move(name),
                                      "",
                                      {{first},
                                       {"time", kind::text, use::wide, "GPU time of what was launched inside, or host time"},
                                       {"before", kind::milliseconds},
                                       {"after", kind::milliseconds},
                                       {"difference", kind::milliseconds},
                                       {"faster \xe2\x86\x90 \xe2\x86\x92 slower", kind::change},
                                       {"change", kind::text},
                                       {"range", kind::text, use::wide, "in which the change lies"},
                                       {"verdict"}},
                                      {}};
    table.columns[4].is_difference = true;
    table.columns[5].margin = options_.margin;
    return table;
  }

  /// Changed rows with the scopes around them, in the order of the tree; then changed kernels; then all other rows, by size.
  [[nodiscard]] profkit::detail::section all_changes() const {
    std::vector<bool> shown(result_.rows.size(), false);
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      if (!has_changed(result_.rows[i]) && result_.rows[i].kind != row_kind::step) continue;
      for (std::size_t at = i; at != none; at = parents_[at]) shown[at] = true;
    }
    profkit::detail::data_table scopes = table_of("changes", "scope");
    profkit::detail::data_table kernels = table_of("kernel_changes", "kernel");
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      bool const is_kernel = result_.rows[i].kind == row_kind::kernel;
      if (!shown[i] && !is_row_of_step(i)) {
        others.push_back(i);
      } else if (is_kernel) {
        kernels.rows.push_back(row_of(i, 0, true));
      } else {
        if (is_row_of_step(i)) continue;
        scopes.rows.push_back(row_of(i, depth_in_table(i), false));
      }
    }
    kernels.columns.front().kind = profkit::detail::column_kind::code;
    std::stable_sort(others.begin(), others.end(), [&](std::size_t a, std::size_t b) {
      return std::max(result_.rows[a].a_ms, result_.rows[a].b_ms) > std::max(result_.rows[b].a_ms, result_.rows[b].b_ms);
    });
    profkit::detail::data_table rest = table_of("other_rows", "scope or kernel");
    for (std::size_t const each : others) rest.rows.push_back(row_of(each, 0, true));
    rest.shown_rows = 0;
    rest.folded_label = fmt::format("{} rows without a change that can be told", others.size());

    profkit::detail::section section{"changes", "All changes", {}, {}, {}};
    section.answer = fmt::format("{} rows are faster, {} slower, {} new, {} gone; {} are the same and {} unsure.",
                                 result_.count(verdict::faster), result_.count(verdict::slower), result_.count(verdict::added),
                                 result_.count(verdict::gone), result_.count(verdict::same), result_.count(verdict::unsure));
    section.how_to_read = fmt::format(
        "Dot: change of the mean; line: range in which it lies, {} for the step and for all {} other rows at once. Filled dots: the range "
        "excludes 0. Grey band: {}{}, "
        "which does not matter. Arrow: the range goes on. The axis is logarithmic, so half and twice the time are equally far from 0.",
        plain_percent(1.0 - options_.error_rate), result_.judged, plus_minus, plain_percent(options_.margin));
    if (!scopes.rows.empty()) section.blocks.emplace_back(std::move(scopes));
    if (!kernels.rows.empty()) section.blocks.emplace_back(std::move(kernels));
    if (!rest.rows.empty()) section.blocks.emplace_back(std::move(rest));
    return section;
  }

  [[nodiscard]] std::optional<profkit::detail::section> runs_section() const {
    if (!result_.has_steps) return std::nullopt;
    profkit::detail::section section{"runs", "Runs", {}, {}, {}};
    if (sides_.a.size() == 1 && sides_.b.size() == 1) {
      section.title = "Steps";
      section.answer = "The steps of both runs, in the order of time.";
      for (auto const& [name, side] : {std::pair{"before", &sides_.a}, std::pair{"after", &sides_.b}}) {
        profkit::detail::steps_figure figure;
        run_figures const& run = side->front();
        figure.mean = run.step.mean_ms;
        figure.quantity = std::string{"ms of host time, "} + name;
        for (std::size_t i = 0; i < run.step_ms.size(); ++i) figure.steps.push_back({i, run.step_ms[i]});
        section.blocks.emplace_back(
            profkit::detail::figure{fmt::format("Steps {}: mean {}", name, ms(run.step.mean_ms)), std::move(figure)});
      }
      return section;
    }
    profkit::detail::pairs_figure figure{"run, in the order of the names of their files; mean host step in ms", {}, {}};
    for (run_figures const& run : sides_.a) figure.before.push_back(run.step.mean_ms);
    for (run_figures const& run : sides_.b) figure.after.push_back(run.step.mean_ms);
    std::size_t const pairs = std::min(figure.before.size(), figure.after.size());
    std::size_t faster = 0;
    for (std::size_t i = 0; i < pairs; ++i) faster += figure.after[i] < figure.before[i] ? 1 : 0;
    section.answer = fmt::format("After is faster in {} of {} pairs of runs.", faster, pairs);
    section.how_to_read =
        "Hollow: before; filled: after. The axis does not begin at 0. Runs of both sides stand side by side by their number; run them in "
        "turns, so that changes of the machine affect both.";
    profkit::detail::data_table table{"runs",
                                      "",
                                      {{"run", profkit::detail::column_kind::count},
                                       {"before", profkit::detail::column_kind::milliseconds},
                                       {"after", profkit::detail::column_kind::milliseconds}},
                                      {}};
    for (std::size_t i = 0; i < std::max(figure.before.size(), figure.after.size()); ++i) {
      auto const value = [&](std::vector<double> const& side) { return i < side.size() ? cell{side[i]} : cell{std::string{"none"}}; };
      table.rows.push_back({{cell{static_cast<double>(i + 1)}, value(figure.before), value(figure.after)}});
    }
    table.shown_rows = 0;
    table.folded_label = fmt::format("All {} runs as a table", figure.before.size() + figure.after.size());
    section.blocks.emplace_back(profkit::detail::figure{section.answer, std::move(figure)});
    section.blocks.emplace_back(std::move(table));
    return section;
  }

  [[nodiscard]] profkit::detail::section how_sure() const {
    profkit::detail::section section{"sure", "How sure", {}, {}, {}};
    section.answer = result_.is_noise_measured ? "The noise between runs is estimated from these runs."
                                               : "The noise between runs is assumed, because one run a side does not show it.";
    profkit::detail::data_table table{"method", "", {{"what"}, {"how"}}, {}};
    auto const add = [&](std::string what, std::string how) { table.rows.push_back({{cell{std::move(what)}, cell{std::move(how)}}}); };
    comparison_row const* const whole = step();
    if (whole != nullptr && whole->spread) {
      add("noise between runs", fmt::format("{:.1f}\xc2\xa0% for the step (standard deviation), {}", 100.0 * *whole->spread,
                                            result_.is_noise_measured ? "from the runs" : "assumed"));
    }
    add("ranges",
        fmt::format("{} for the step, and for all {} other rows at once", plain_percent(1.0 - options_.error_rate), result_.judged));
    add("a change matters",
        fmt::format("from {}, in rows of at least {} of the step", plain_percent(options_.margin), plain_percent(options_.floor)));
    std::string machine = machine_text(result_);
    while (!machine.empty() && machine.back() == '\n') machine.pop_back();
    if (!machine.empty()) add("machines", machine.substr(machine.find(": ") + 2));
    for (std::string const& each : result_.notes) add("note", each);
    section.blocks.emplace_back(std::move(table));
    return section;
  }

  static constexpr std::size_t max_named = 5;

  comparison const& result_;
  compared_sides const& sides_;
  compare_options const& options_;
  std::vector<std::size_t> parents_;  ///< by row: the row of the scope around it
};

}  // namespace detail

/// The comparison as a document, for `profkit compare --html`.
[[nodiscard]] inline profkit::detail::document make_comparison_document(comparison const& result, compared_sides const& sides,
                                                                        compare_options const& options) {
  return detail::comparison_document{result, sides, options}.make();
}

}  // namespace profkit_program
