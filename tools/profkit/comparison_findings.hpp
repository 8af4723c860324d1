// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <profkit/document.hpp>
#include <profkit/impl/report/numbers.hpp>

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
  /// @param result, tree, sides, options, decided must outlive this.
  /// @param decided null without a limit.
  comparison_findings(comparison const& result, comparison_tree const& tree, compared_sides const& sides, compare_options const& options,
                      decision const* decided)
      : result_{result}, tree_{tree}, sides_{sides}, options_{options}, decided_{decided} {}

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
    return fmt::format("The step is not known to have changed: {} before, {} after", time_words(whole->a_ms), time_words(whole->b_ms));
  }

  [[nodiscard]] std::vector<profkit::detail::finding> findings() const {
    std::vector<profkit::detail::finding> findings;
    add_decision(findings);
    for (verdict const says : {verdict::slower, verdict::faster}) {
      add_part(findings, says);
      add_row(findings, says);
      add_member(findings, says);
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
    auto const beside_step = [&](verdict says) { return result_.count(says) - (whole != nullptr && whole->says == says ? 1U : 0U); };
    figures.push_back({"faster, slower", fmt::format("{}, {}", beside_step(verdict::faster), beside_step(verdict::slower)),
                       fmt::format("of {} {}rows that matter", result_.judged, whole != nullptr ? "other " : "")});
    figures.push_back(
        {"new, gone", fmt::format("{}, {}", result_.count(verdict::added), result_.count(verdict::gone)), "on one side only"});
    figures.push_back({"same, unsure", fmt::format("{}, {}", beside_step(verdict::same), beside_step(verdict::unsure)), "listed below"});
    return figures;
  }

 private:
  /// What decides the exit code comes first.
  void add_decision(std::vector<profkit::detail::finding>& to) const {
    if (decided_ == nullptr) return;
    profkit::detail::finding found = decision_finding(*decided_, result_.is_noise_measured);
    if (found.headline.empty()) return;
    if (decided_->says() == decision::outcome::fails) found.headline = "fails: " + found.headline;
    for (std::string* const each : {&found.headline, &found.text, &found.action}) {
      if (!each->empty()) *each = profkit::detail::capitalized(*each) + ".";
    }
    to.push_back(std::move(found));
  }

  /// Whether the change of a row is worth a sentence: 1 % of the step.
  [[nodiscard]] bool matters(comparison_row const& row) const {
    comparison_row const* const whole = tree_.step();
    return whole == nullptr || std::abs(difference_of(row)) >= min_share * std::max(whole->a_ms, whole->b_ms);
  }

  /// The part of the step that changed most in one direction, if most of that is the time for which the GPU waits: no row has it.
  void add_part(std::vector<profkit::detail::finding>& to, verdict says) const {
    if (!result_.budget) return;
    auto const difference = [](comparison_part const& part) { return part.b_ms - part.a_ms; };
    comparison_part const* largest = nullptr;
    for (comparison_part const& each : result_.budget->parts) {
      if (each.says != says || each.a_ms <= 0.0) continue;
      if (largest == nullptr || std::abs(difference(each)) > std::abs(difference(*largest))) largest = &each;
    }
    if (largest == nullptr) return;
    double const change = difference(*largest);
    double const idle = change - largest->busy_difference_ms;
    constexpr double most = 0.5;
    if (std::abs(change) < min_share * std::max(result_.budget->a_ms, result_.budget->b_ms) || idle / change < most) return;
    profkit::detail::finding found;
    found.headline = fmt::format("{}: {}, by {} a step ({}), mostly because the GPU waits {}.",
                                 says == verdict::slower ? "Slower" : "Faster", largest->name, time_words(std::abs(change)),
                                 profkit::detail::change_words(change / largest->a_ms), says == verdict::slower ? "longer" : "less");
    found.text = fmt::format("GPU idle time: {}; GPU busy time: {}.", signed_time(idle), signed_time(largest->busy_difference_ms));
    if (says == verdict::slower) {
      found.action = fmt::format(
          "Look in the report of a run after, where the step went. With {} as before, the step would be about {:.1f}\xc2\xa0% shorter.",
          largest->name, 100.0 * change / result_.budget->b_ms);
    }
    to.push_back(std::move(found));
  }

  /// The row that changed most in one direction, and what in it did.
  void add_row(std::vector<profkit::detail::finding>& to, verdict says) const {
    std::size_t const position = tree_.largest(says);
    if (position == none || !matters(result_.rows[position])) return;
    comparison_row const& each = result_.rows[position];
    profkit::detail::finding found;
    found.headline = headline_of(each, tree_.name_of_row(position));
    std::size_t const cause = tree_.cause_of(position);
    std::string cause_name = tree_.name_of_row(cause);
    comparison_row const* inner = &result_.rows[cause];
    // One of its numbered scopes can be the cause.
    auto const& odd = tree_.odd_members(cause);
    if (!odd.empty() && odd.front()->says == says && difference_of(*odd.front()) / difference_of(each) >= 0.8) {
      cause_name = member_text({odd.front(), cause});
      inner = odd.front();
    }
    if (inner != &each) found.text = share_text(difference_of(*inner) / difference_of(each), cause_name, difference_of(*inner));
    if (comparison_row const* const function = tree_.function_in(inner->name, says)) {
      found.text += fmt::format("{}In it {}: {}.", found.text.empty() ? "" : " ", function->name.substr(inner->name.size() + 2),
                                signed_time(difference_of(*function)));
    }
    if (says == verdict::slower) found.action = action_text(cause_name, each);
    found.scope = inner->name;
    to.push_back(std::move(found));
  }

  /// The numbered scope that changed most otherwise than its row, unless the finding of a row names it.
  void add_member(std::vector<profkit::detail::finding>& to, verdict says) const {
    comparison_tree::odd_member const largest = tree_.largest_member(says);
    if (largest.scope == nullptr || !matters(*largest.scope)) return;
    comparison_tree::odd_member const cause = tree_.cause_of(largest);
    auto const is_named = [&](profkit::detail::finding const& each) {
      return each.scope == largest.scope->name || each.scope == cause.scope->name;
    };
    if (std::any_of(to.begin(), to.end(), is_named)) return;
    profkit::detail::finding found;
    found.headline = headline_of(*largest.scope, member_text(largest));
    double const difference = difference_of(*largest.scope);
    std::string const cause_name = tree_.name_of_member(*cause.scope, cause.row);
    if (cause.scope != largest.scope)
      found.text = share_text(difference_of(*cause.scope) / difference, cause_name, difference_of(*cause.scope));
    if (says == verdict::slower) found.action = action_text(cause_name, *largest.scope);
    found.scope = cause.scope->name;
    to.push_back(std::move(found));
  }

  [[nodiscard]] std::string headline_of(comparison_row const& row, std::string const& name) const {
    return fmt::format("{}: {}, by {}{} ({}{}).", row.says == verdict::slower ? "Slower" : "Faster", name,
                       time_words(std::abs(difference_of(row))), result_.has_steps ? " a step" : "",
                       row.change ? profkit::detail::change_words(*row.change) : profkit::detail::not_measured,
                       row.range ? "; range " + range_text(row.range) : std::string{});
  }

  [[nodiscard]] static std::string share_text(double share, std::string const& name, double difference) {
    return fmt::format("{:.0f}\xc2\xa0% of it is {}: {}.", 100.0 * std::min(1.0, share), name, signed_time(difference));
  }

  [[nodiscard]] std::string action_text(std::string const& cause, comparison_row const& row) const {
    comparison_row const* const whole = tree_.step();
    std::string text = fmt::format("Find out what changed in {}.", cause);
    if (whole != nullptr && whole->b_ms > 0.0 && row.is_gpu == whole->is_gpu) {
      text += fmt::format(" With it as before, the step would be about {:.1f}\xc2\xa0% shorter.", 100.0 * difference_of(row) / whole->b_ms);
    }
    return text;
  }

  /// "layer_7 of layer_* × 48", and "layer_7/attention" for a scope inside.
  [[nodiscard]] std::string member_text(comparison_tree::odd_member const& member) const {
    std::string const name = tree_.name_of_member(*member.scope, member.row);
    return result_.rows[member.row].siblings > 1 ? name + " of " + tree_.name_of_row(member.row) : name;
  }

  static constexpr std::size_t none = comparison_tree::none;
  static constexpr std::size_t max_named = 5;
  static constexpr double min_share = 0.01;  ///< of the step, for a finding
  static constexpr char const* plus_minus = "\xc2\xb1";

  void add_new_and_gone(std::vector<profkit::detail::finding>& to) const {
    auto const names = [&](verdict says) {
      std::string text;
      std::size_t count = 0;
      auto const add = [&](std::string const& name, comparison_row const& row) {
        if (++count > max_named) return;
        text += fmt::format("{}{}, {}", count > 1 ? "; " : "", name, time_words(std::max(row.a_ms, row.b_ms)));
      };
      for (std::size_t i = 0; i < result_.rows.size(); ++i) {
        for (comparison_row const* const each : tree_.odd_members(i)) {
          if (each->says == says) add(member_text({each, i}), *each);
        }
        if (result_.rows[i].says != says || result_.rows[i].kind != row_kind::scope || !result_.rows[i].figure.empty()) continue;
        if (tree_.parent(i) != none && result_.rows[tree_.parent(i)].says == says) continue;  // the scope around it is listed
        add(tree_.name_of_row(i), result_.rows[i]);
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

  /// Why a change of the step by 3 % cannot be told, and what would show it.
  void add_noise(std::vector<profkit::detail::finding>& to) const {
    comparison_row const* const whole = tree_.step();
    constexpr double wanted = 0.03;
    if (whole == nullptr || !whole->range || !whole->spread) return;
    double const width = std::log1p(whole->range->second) - std::log1p(whole->range->first);
    double const half = std::expm1(0.5 * width);
    if (half <= wanted) return;
    profkit::detail::finding found;
    std::string const hidden =
        fmt::format("so a change of the step below {} cannot be told.", plain_percent(std::round(100.0 * half) / 100.0));
    std::string const spread = plain_percent(std::round(1000.0 * *whole->spread) / 1000.0);
    constexpr std::size_t enough_runs = 6;  // of both sides: see `half_width`
    std::size_t const all = sides_.a.size() + sides_.b.size();
    log_range const machine = result_.machine ? result_.machine->effect() : log_range{};
    if (machine.high - machine.low > 0.5 * width) {
      found.headline = "The machines of both sides differ in speed.";
      found.text = "The step can follow the speed of its machine or not, " + hidden;
      found.action = "Run both sides on one machine, in turns.";
    } else if (!result_.is_noise_measured) {
      found.headline = "One run a side does not show the noise of the machine.";
      found.text = fmt::format("Runs of one side are assumed to differ by {} (standard deviation), {}", spread, hidden);
      found.action = "Make three or more runs a side, in turns: they show by how much runs differ.";
    } else if (all < enough_runs) {
      found.headline = fmt::format("{} runs do not show whether runs are of several kinds.", all);
      found.text =
          fmt::format("Runs of one side differ by {} (standard deviation), but few runs can be alike by chance, {}", spread, hidden);
      found.action = "Make three or more runs a side, in turns.";
    } else {
      add_spread(found, *whole, spread, hidden, half);
    }
    if (decided_ != nullptr && decided_->says() == decision::outcome::undecided) found.action.clear();  // the first finding says what to do
    to.push_back(std::move(found));
  }

  /// The noise as the runs show it.
  void add_spread(profkit::detail::finding& found, comparison_row const& whole, std::string const& spread, std::string const& hidden,
                  double half) const {
    constexpr double wanted = 0.03;
    auto const n = static_cast<double>(result_.runs);
    double const of_runs = profkit::student_quantile(0.95, 2.0 * n - 2.0 + (n < 2.0 ? 1.0 : 0.0)) * *whole.spread * std::sqrt(2.0 / n);
    if (2.0 * of_runs < half) {
      found.headline = "The steps of a run vary too much.";
      found.text =
          fmt::format("Runs of one side differ by {} (standard deviation), but further steps can have another mean, {}", spread, hidden);
      found.action = "Measure more steps in each run, or compare medians (--statistic median).";
      return;
    }
    found.headline = "The machine is noisy.";
    found.text = fmt::format("Runs of one side differ by {} (standard deviation), {}", spread, hidden);
    std::optional<std::size_t> const runs = runs_to_decide(*whole.spread, wanted);
    found.action =
        runs ? fmt::format("For {}3\xc2\xa0% make about {} runs a side, in turns, or use a quieter machine.", plus_minus,
                           std::max(*runs, result_.runs + 1))
             : fmt::format("For {}3\xc2\xa0% use a quieter machine: more than {} runs a side would be needed.", plus_minus, max_runs);
  }

  comparison const& result_;
  comparison_tree const& tree_;
  compared_sides const& sides_;
  compare_options const& options_;
  decision const* decided_;
};

}  // namespace profkit_program::detail
