// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/numbers.hpp"
#include "../../profile/own_memory.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/counted_operations.hpp"
#include "../kinds/kind_table.hpp"
#include "../kinds/step_kinds.hpp"
#include "../windows/state.hpp"
#include "measured_time.hpp"
#include "path_tree.hpp"
#include "quantiles.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Times of many rows (scopes, kernels) per measured step: mean, standard deviation and autocorrelation. A step without a row counts as 0
/// for that row.
///
/// Memory is proportional to the rows, and time to the rows that occur in each step.
class step_rows {
 public:
  /// Makes rows for all positions below a number.
  void grow(std::size_t rows) {
    grow_rows(now_, rows);
    grow_rows(figures_, rows);
  }

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
    std::sort(touched_.begin(), touched_.end(), std::greater<>{});  // children follow their parents
    for (std::size_t const path : touched_) {
      if (parents[path] != path_record::no_parent) now_[parents[path]].time += now_[path].time;
    }
  }

  /// @param visit called with each row of the current step, the number of its values and their sum.
  template <class Visit>
  void for_each_in_step(Visit const& visit) const {
    for (std::size_t const row : touched_) visit(row, now_[row].count, now_[row].time);
  }

  /// @param step position among all measured steps, from 0, in increasing order.
  void end_step(std::size_t step) {
    for (std::size_t const row : touched_) {
      figures_[row].append(step, now_[row].time.count());
      now_[row] = {};
    }
    touched_.clear();
  }

  /// @param steps the number of measured steps, at least one.
  [[nodiscard]] per_step_figures summarize(std::size_t row, std::size_t steps) const {
    return row < figures_.size() ? figures_[row].summarize(steps) : figures{}.summarize(steps);
  }

  /// Whether there are at most so many rows, with values in at most so many steps.
  [[nodiscard]] bool is_in(std::size_t rows, std::size_t steps) const noexcept {
    return figures_.size() <= rows && std::all_of(figures_.begin(), figures_.end(), [&](figures const& each) { return each.is_in(steps); });
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

    auto members() { return listed(sums, summed(products), first_step, last_step, summed(first), summed(last)); }

    [[nodiscard]] bool is_empty() const noexcept { return first_step == none; }

    /// Whether the positions are in order and below `steps`.
    [[nodiscard]] bool is_in(std::size_t steps) const noexcept { return is_empty() || (first_step <= last_step && last_step < steps); }

    void append(std::size_t step, std::int64_t value) noexcept {
      sums.add(value);
      if (is_empty()) {
        first_step = step;
        first = value;
      } else if (last_step + 1 == step) {
        products += wide_integer{last} * value;
      }
      last_step = step;
      last = value;
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
  };

  /// Describes the members for an archive. To be called between steps.
  template <class Archive>
  friend void fields(Archive& archive, step_rows& state) {
    archive(state.figures_);
    if constexpr (Archive::is_reader) state.now_.resize(state.figures_.size());
  }

  void touch(std::size_t row) {
    if (now_[row].is_touched) return;
    now_[row].is_touched = true;
    touched_.push_back(row);
  }

  own_vector<value> now_;            ///< values of the current step
  own_vector<std::size_t> touched_;  ///< rows of the current step
  own_vector<figures> figures_;
};

/// Whether records are in the order of the steps in which they count. @param step_of as in `for_each_by_step`.
template <class StepOf>
bool are_in_step_order(std::uint32_t records, std::size_t steps, StepOf const& step_of) {
  std::size_t last = 0;
  for (std::uint32_t i = 0; i < records; ++i) {
    std::size_t const step = step_of(i);
    if (step == steps) continue;
    if (step < last) return false;
    last = step;
  }
  return true;
}

/// Visits records step by step, in order within a step.
/// @param step_of the position of the measured step in which a record counts; `steps` if in none.
/// @param is_in_order whether the records are in the order of these steps.
/// @param add called with the position of a record.
/// @param end_step called with the position of a step after all its records.
template <class StepOf, class Add, class EndStep>
void for_each_by_step(std::uint32_t records, std::size_t steps, StepOf const& step_of, bool is_in_order, Add const& add,
                      EndStep const& end_step) {
  if (steps == 0) return;
  if (is_in_order) {
    bool has_records = false;
    std::size_t last = 0;
    for (std::uint32_t i = 0; i < records; ++i) {
      std::size_t const step = step_of(i);
      if (step == steps) continue;
      if (has_records && step != last) end_step(last);
      has_records = true;
      last = step;
      add(i);
    }
    if (has_records) end_step(last);
    return;
  }
  own_vector<std::uint32_t> ends(steps + 2);  // by step: end of its records
  for (std::uint32_t i = 0; i < records; ++i) ++ends[step_of(i) + 1];
  for (std::size_t step = 1; step < ends.size(); ++step) ends[step] += ends[step - 1];
  own_vector<std::uint32_t> sorted(records);
  for (std::uint32_t i = 0; i < records; ++i) sorted[ends[step_of(i)]++] = i;
  std::uint32_t begin = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    if (begin == ends[step]) continue;
    for (; begin < ends[step]; ++begin) add(sorted[begin]);
    end_step(step);
  }
}

/// Times of scopes and kernels per measured step. Takes time proportional to the records and the depth of the paths.
class time_per_step {
 public:
  /// Adds the next window.
  /// @param is_in_order whether the scopes are in the order of the steps.
  /// @param with_kernels the part of the measured time with kernels collected.
  /// @param counted null if kernels were not collected.
  /// @param found the kinds of the steps.
  /// @param kinds receives the scopes and kernels of each step; `self_times` has made its rows of scopes.
  void add(profile const& profile, measured_time const& when, bool is_in_order, measured_time const& with_kernels,
           counted_operations const* counted, step_kinds const& found, kind_table& kinds) {
    for (step_rows* const each : {&host_, &gpu_, &host_copies_}) each->grow(profile.paths.size());
    kernels_.grow(profile.gpu_names.size());
    add_scopes(profile, when, is_in_order, found, kinds);
    if (counted != nullptr) add_operations(profile, with_kernels, *counted, found, kinds);
  }

  [[nodiscard]] std::size_t steps() const noexcept { return steps_; }

  /// Whether all rows are below these numbers.
  [[nodiscard]] bool is_in(std::size_t paths, std::size_t names) const noexcept {
    return host_.is_in(paths, steps_) && gpu_.is_in(paths, gpu_steps_) && host_copies_.is_in(paths, gpu_steps_) &&
           kernels_.is_in(names, gpu_steps_);
  }

  /// @return n/a without a measured step.
  [[nodiscard]] std::optional<scope_per_step> of_path(std::size_t path) const {
    if (steps_ == 0) return std::nullopt;
    scope_per_step result{steps_, host_.summarize(path, steps_), std::nullopt, std::nullopt, gpu_steps_};
    if (gpu_steps_ > 0) {
      result.gpu = gpu_.summarize(path, gpu_steps_);
      result.host_copies = host_copies_.summarize(path, gpu_steps_).mean;
    }
    return result;
  }

  /// @return n/a without a measured step with kernels collected.
  /// @param name position in `profile::gpu_names`.
  [[nodiscard]] std::optional<kernel_per_step> of_kernel(std::size_t name) const {
    if (gpu_steps_ == 0) return std::nullopt;
    return kernel_per_step{gpu_steps_, kernels_.summarize(name, gpu_steps_)};
  }

  auto members() { return listed(summed(steps_), summed(gpu_steps_), host_, gpu_, host_copies_, kernels_); }

 private:
  void add_scopes(profile const& profile, measured_time const& when, bool is_in_order, step_kinds const& found, kind_table& kinds) {
    std::size_t const steps = when.steps().size();
    measured_time_cursor in{when};
    for_each_by_step(
        static_cast<std::uint32_t>(profile.scopes.size()), steps,
        [&](std::uint32_t scope) { return std::min<std::size_t>(in.step_of(when.moment_of(profile.scopes[scope])), steps); }, is_in_order,
        [&](std::uint32_t scope) { host_.add(profile.scopes[scope].path, profile.scopes[scope].time.duration()); },
        [&](std::size_t step) {
          auto& of_kind = kinds[found.of_step(step)].scopes;
          host_.for_each_in_step([&](std::size_t path, std::uint64_t count, std::chrono::nanoseconds time) {
            of_kind[path].count += count;
            of_kind[path].time += time;
          });
          host_.end_step(steps_ + step);
        });
    steps_ += steps;
  }

  void add_operations(profile const& profile, measured_time const& when, counted_operations const& counted, step_kinds const& found,
                      kind_table& kinds) {
    std::size_t const steps = when.steps().size();
    own_vector<kind_figures*> kind_of_step;
    for (interval const& step : when.steps()) {
      kind_of_step.push_back(&kinds[found.of_step_at(step.begin)]);
      ++kind_of_step.back()->gpu_steps;
    }
    own_vector<bool> touches_host;  // by name: whether it copies from or to the host
    for (gpu_name_record const& each : profile.gpu_names) touches_host.push_back(is_host_copy(each.direction));
    own_vector<std::uint32_t> const parents = parents_of(profile.paths);
    own_vector<timed_operation> const& operations = counted.all();
    auto const step_of = [&](std::uint32_t each) { return operations[each].is_counted() ? operations[each].step : steps; };
    auto const add = [&](std::uint32_t which) {
      timed_operation const& operation = operations[which];
      std::chrono::nanoseconds const time = operation.time.duration();
      if (operation.kind == gpu_operation_kind::kernel) {
        kernels_.add(operation.name, time);
        kind_of_step[operation.step]->kernels.add(operation.name, operation.path, time);
      }
      if (operation.path == attribution::none) return;
      gpu_.add(operation.path, time);
      if (operation.kind == gpu_operation_kind::copy && touches_host[operation.name]) host_copies_.add(operation.path, time);
    };
    auto const count = static_cast<std::uint32_t>(operations.size());
    for_each_by_step(count, steps, step_of, are_in_step_order(count, steps, step_of), add, [&](std::size_t step) {
      for (step_rows* const each : {&gpu_, &host_copies_}) {
        each->fold(parents);
        each->end_step(gpu_steps_ + step);
      }
      kernels_.end_step(gpu_steps_ + step);
    });
    gpu_steps_ += steps;
  }

  std::size_t steps_ = 0;
  std::size_t gpu_steps_ = 0;  ///< number of steps with kernels collected
  step_rows host_;             ///< by path
  step_rows gpu_;              ///< by path, including the scopes inside
  step_rows host_copies_;
  step_rows kernels_;  ///< by name
};

}  // namespace PROFKIT_NAMESPACE::detail
