// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <profkit/report/change_words.hpp>
#include <profkit/report/document.hpp>
#include <profkit/report/number_format.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comparison.hpp"
#include "comparison_tree.hpp"
#include "comparison_words.hpp"
#include "decision.hpp"
#include "run_figures.hpp"

namespace profkit_program::detail {

/// The head of a comparison: what became faster and slower, by how much, and what the noise hides.
class comparison_findings {
 public:
  /// @param result, tree, sides, options must outlive this.
  comparison_findings(comparison const& result, comparison_tree const& tree, compared_sides const& sides, compare_options const& options)
      : result_{result}, tree_{tree}, sides_{sides}, options_{options} {}

  [[nodiscard]] std::string headline() const {
    comparison_row const* const whole = tree_.step();
    if (whole == nullptr) {
      return fmt::format("{} rows are faster and {} are slower", result_.count(verdict::faster), result_.count(verdict::slower));
    }
    std::string const percent = profkit::detail::change_words(std::abs(whole->change.value_or(0.0))).substr(1);
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
    return fmt::format("The step is not known to have changed: {} before, {} after", time_text(whole->a_ms), time_text(whole->b_ms));
  }

  [[nodiscard]] std::vector<profkit::detail::finding> findings() const {
    std::vector<profkit::detail::finding> findings;
    for (verdict const says : {verdict::slower, verdict::faster}) {
      std::size_t const position = tree_.largest(says);
      if (position == none) continue;
      comparison_row const& each = result_.rows[position];
      if (!matters(each)) continue;
      profkit::detail::finding found;
      std::string const per = result_.has_steps ? " a step" : "";
      found.headline = fmt::format("{}: {}, by {}{} ({}{}).", says == verdict::slower ? "Slower" : "Faster", tree_.name_of_row(position),
                                   time_text(std::abs(difference_of(each))), per,
                                   each.change ? profkit::detail::change_words(*each.change) : profkit::detail::not_measured,
                                   each.range ? "; range " + range_text(each.range) : std::string{});
      std::size_t const cause = tree_.cause_of(position);
      if (cause != position) {
        comparison_row const& inner = result_.rows[cause];
        found.text = fmt::format("{:.0f}\xc2\xa0% of it is {}: {}.", 100.0 * std::min(1.0, difference_of(inner) / difference_of(each)),
                                 tree_.name_of_row(cause), signed_time(difference_of(inner)));
      }
      if (comparison_row const* const function = tree_.function_in(result_.rows[cause].name, says)) {
        found.text += fmt::format("{}In it {}: {}.", found.text.empty() ? "" : " ",
                                  function->name.substr(result_.rows[cause].name.size() + 2), signed_time(difference_of(*function)));
      }
      if (says == verdict::slower) {
        comparison_row const* const whole = tree_.step();
        found.action = fmt::format("Find out what changed in {}.", tree_.name_of_row(cause));
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

  [[nodiscard]] std::vector<profkit::detail::key_figure> key_figures() const {
    std::vector<profkit::detail::key_figure> figures;
    comparison_row const* const whole = tree_.step();
    if (whole != nullptr) {
      auto const runs = [&](std::vector<run_figures> const& side) {
        return fmt::format("{}{} {}", result_.is_usual_step ? "usual steps of " : "", side.size(), side.size() == 1 ? "run" : "runs");
      };
      figures.push_back({"step before", time_text(whole->a_ms), runs(sides_.a)});
      figures.push_back({"step after", time_text(whole->b_ms), runs(sides_.b)});
      figures.push_back(
          {"change", whole->change ? profkit::detail::change_words(*whole->change) : "", "95\xc2\xa0%: " + range_text(whole->range)});
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

 private:
  /// Whether the change of a row is worth a sentence: 1 % of the step.
  [[nodiscard]] bool matters(comparison_row const& row) const {
    constexpr double min_share = 0.01;
    comparison_row const* const whole = tree_.step();
    return whole == nullptr || std::abs(difference_of(row)) >= min_share * std::max(whole->a_ms, whole->b_ms);
  }

  static constexpr std::size_t none = comparison_tree::none;
  static constexpr std::size_t max_named = 5;
  static constexpr char const* plus_minus = "\xc2\xb1";

  void add_new_and_gone(std::vector<profkit::detail::finding>& to) const {
    auto const names = [&](verdict says) {
      std::string text;
      std::size_t count = 0;
      for (std::size_t i = 0; i < result_.rows.size(); ++i) {
        if (result_.rows[i].says != says || result_.rows[i].kind != row_kind::scope || !result_.rows[i].figure.empty()) continue;
        if (tree_.parent(i) != none && result_.rows[tree_.parent(i)].says == says) continue;  // the scope around it is listed
        if (++count > max_named) continue;
        text += fmt::format("{}{}, {}", count > 1 ? "; " : "", tree_.name_of_row(i),
                            time_text(std::max(result_.rows[i].a_ms, result_.rows[i].b_ms)));
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
    comparison_row const* const whole = tree_.step();
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

  comparison const& result_;
  comparison_tree const& tree_;
  compared_sides const& sides_;
  compare_options const& options_;
};

}  // namespace profkit_program::detail
