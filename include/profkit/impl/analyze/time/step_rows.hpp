// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/numbers.hpp"
#include "../../profile/own_memory.hpp"
#include "../merge/add_rows.hpp"
#include "durations.hpp"

namespace profkit::detail {

/// Times of many rows (scopes, kernels) per measured step: mean, standard deviation and autocorrelation. A step without a row counts as 0
/// for that row.
///
/// Memory is proportional to the rows, and time to the rows that occur in each step. Rows of consecutive stretches of steps can be joined;
/// all sums are integers, so the result does not depend on the cut.
class step_rows {
 public:
  explicit step_rows(std::size_t rows = 0) : now_(rows), figures_(rows) {}

  /// Adds time to a row in the current step.
  void add(std::size_t row, std::chrono::nanoseconds time) {
    touch(row);
    now_[row].time += time;
    ++now_[row].count;
  }

  /// Adds the time of each path in the current step to all paths around it. The rows are paths.
  /// @param parents by path: a smaller position, or `path_record::no_parent`.
  void fold(own_vector<std::uint32_t> const& parents) {
    for (std::size_t i = 0; i < touched_.size(); ++i) {  // `touched_` grows in the loop
      std::uint32_t const parent = parents[touched_[i]];
      if (parent != path_record::no_parent) touch(parent);
    }
    auto const add_to_parent = [&](std::size_t path) {
      std::uint32_t const parent = parents[path];
      if (parent != path_record::no_parent) now_[parent].time += now_[path].time;
    };
    constexpr std::size_t worth_sorting = 16;  // sorting pays off if at least this many paths per touched path are skipped
    if (touched_.size() * worth_sorting > parents.size()) {
      for (std::size_t path = parents.size(); path-- > 0;) {  // children follow their parents
        if (now_[path].is_touched) add_to_parent(path);
      }
    } else {
      std::sort(touched_.begin(), touched_.end(), std::greater<>{});
      for (std::size_t const path : touched_) add_to_parent(path);
    }
  }

  /// @param visit called with each row of the current step, the number of its values and their sum.
  template <class Visit>
  void for_each_in_step(Visit const& visit) const {
    for (std::size_t const row : touched_) visit(row, now_[row].count, now_[row].time);
  }

  /// @param step position among the measured steps, from 0, in increasing order.
  void end_step(std::size_t step) {
    for (std::size_t const row : touched_) {
      figures_[row].append(step, now_[row].time.count());
      now_[row] = {};
    }
    touched_.clear();
  }

  /// Sets the number of measured steps. To be called once, after the last step.
  void finish(std::size_t steps) noexcept { steps_ = steps; }

  /// Appends the following steps: the result is as if they had been added here. Both objects are finished.
  void append(step_rows const& next) {
    grow_rows(figures_, next.figures_.size());
    grow_rows(now_, next.figures_.size());
    for (std::size_t row = 0; row < next.figures_.size(); ++row) {
      if (!next.figures_[row].is_empty()) figures_[row].append(steps_, next.figures_[row]);
    }
    steps_ += next.steps_;
  }

  [[nodiscard]] std::size_t steps() const noexcept { return steps_; }
  [[nodiscard]] std::size_t rows() const noexcept { return figures_.size(); }

  /// Requires at least one step.
  [[nodiscard]] per_step_figures summarize(std::size_t row) const {
    return row < figures_.size() ? figures_[row].summarize(steps_) : figures{}.summarize(steps_);
  }

 private:
  struct value {
    std::chrono::nanoseconds time{};
    std::uint32_t count = 0;
    bool is_touched = false;
  };

  /// The sums of one row. Values of 0 are not added, because they change no sum.
  struct figures {
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    exact_sums sums;
    wide_integer products = 0;  ///< sum of products of consecutive values
    std::size_t first_step = none;
    std::size_t last_step = none;
    std::int64_t first = 0;  ///< value in `first_step`
    std::int64_t last = 0;   ///< value in `last_step`

    template <class Archive>
    friend void fields(Archive& archive, figures& state) {
      archive(state.sums), archive.amount(state.products), archive(state.first_step), archive(state.last_step);
      archive.amount(state.first), archive.amount(state.last);
    }

    [[nodiscard]] bool is_empty() const noexcept { return first_step == none; }

    /// Whether the positions are in order and below `steps`.
    [[nodiscard]] bool is_in(std::size_t steps) const noexcept { return is_empty() || (first_step <= last_step && last_step < steps); }

    void append(std::size_t step, std::int64_t value) noexcept {
      sums.add(value);
      follow(step, value);
      last_step = step;
      last = value;
    }

    void append(std::size_t steps_before, figures const& next) noexcept {
      sums.add(next.sums);
      products += next.products;
      follow(steps_before + next.first_step, next.first);
      last_step = steps_before + next.last_step;
      last = next.last;
    }

    [[nodiscard]] per_step_figures summarize(std::size_t steps) const {
      per_step_figures result;
      auto const n = static_cast<std::int64_t>(steps);
      result.mean = std::chrono::duration<double, std::nano>{static_cast<double>(sums.sum()) / static_cast<double>(n)};
      if (steps < 2) return result;
      double const squares = std::max(0.0, sums.squares_around_mean(steps));
      result.standard_deviation = std::chrono::duration<double, std::nano>{std::sqrt(squares / static_cast<double>(n - 1))};
      if (squares <= 0.0) return result;
      // Exact integers around the integer part of the mean; then a correction for its fraction.
      std::int64_t const whole = sums.sum() / n;
      double const rest = static_cast<double>(sums.sum() % n) / static_cast<double>(n);
      std::int64_t const at_begin = first_step == 0 ? first : 0;
      std::int64_t const at_end = last_step + 1 == steps ? last : 0;
      wide_integer const inner = 2 * wide_integer{sums.sum()} - at_begin - at_end;  // sum over all pairs of consecutive values
      wide_integer const around_whole = products - whole * inner + wide_integer{whole} * whole * (n - 1);
      auto const inner_around_whole = static_cast<double>(inner - 2 * wide_integer{whole} * (n - 1));
      double const around_mean = static_cast<double>(around_whole) - rest * inner_around_whole + rest * rest * static_cast<double>(n - 1);
      result.autocorrelation = std::clamp(around_mean / squares, -1.0, 1.0);
      return result;
    }

   private:
    void follow(std::size_t step, std::int64_t value) noexcept {
      if (is_empty()) {
        first_step = step;
        first = value;
      } else if (last_step + 1 == step) {
        products += wide_integer{last} * value;
      }
    }
  };

  /// Describes the members for an archive. To be called between steps.
  template <class Archive>
  friend void fields(Archive& archive, step_rows& state) {
    archive(state.steps_), archive(state.figures_);
    if constexpr (Archive::is_reader) {
      state.now_.resize(state.figures_.size());
      for (figures const& each : state.figures_) archive.check(each.is_in(state.steps_), "a row refers to a missing step");
    }
  }

  void touch(std::size_t row) {
    if (now_[row].is_touched) return;
    now_[row].is_touched = true;
    touched_.push_back(row);
  }

  own_vector<value> now_;            ///< values of the current step
  own_vector<std::size_t> touched_;  ///< rows of the current step
  own_vector<figures> figures_;
  std::size_t steps_ = 0;
};

}  // namespace profkit::detail
