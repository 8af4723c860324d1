// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "change_estimate.hpp"
#include "machine_speed.hpp"
#include "moderated_variance.hpp"

namespace profkit_program {

/// A row of a family with the figures of its runs.
struct family_row {
  side_of_row a;
  side_of_row b;
  double assumed = 0.0;  ///< assumed variance of the row alone between runs of one side
  bool is_part = true;   ///< not a sum of other rows, so it takes part in estimating the shared part

  [[nodiscard]] double log_ratio() const { return std::log(b.mean() / a.mean()); }
  [[nodiscard]] double both() const { return 1.0 / a.runs() + 1.0 / b.runs(); }
  [[nodiscard]] std::vector<double> deviations() const {
    std::vector<double> result = a.deviations();
    result.insert(result.end(), b.deviations().begin(), b.deviations().end());
    return result;
  }
};

/// The rows with times of one kind, such as all kernels. A run differs from another run in two ways: as a whole (clocks, a busy neighbour),
/// and row by row. The median of the rows separates both, for each run and for the change from A to B.
class row_family {
 public:
  /// @param rows at least one.
  /// @param common assumed variance between runs of one side that all rows share.
  /// @param machine null if the speed of the machine is unknown or irrelevant for these rows.
  row_family(std::vector<family_row> rows, double common, machine_change const* machine) : rows_{std::move(rows)} {
    if (machine != nullptr) machine_ = *machine;
    runs_freedom_ = rows_.front().a.runs() + rows_.front().b.runs() - 2.0;
    std::vector<std::vector<double>> all;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].is_part) parts_.push_back(i);
      all.push_back(rows_[i].deviations());
    }
    if (parts_.empty()) {
      for (std::size_t i = 0; i < rows_.size(); ++i) parts_.push_back(i);
    }
    find_common(all, common);
    find_own(all);
  }

  [[nodiscard]] std::size_t rows() const { return rows_.size(); }

  /// The range of the change of all rows that the machine alone can have caused.
  /// @param error probability of a larger effect.
  [[nodiscard]] log_range machine_range(double error) const {
    double const half = half_width(common_, error);
    log_range const seen = machine_.effect();
    return {seen.low - half, seen.high + half};
  }

  /// The change of a row without the part that the program certainly did not cause. It lies in all ranges of the row.
  [[nodiscard]] double estimate(std::size_t row) const { return rows_[row].log_ratio() - machine_.certain(); }

  /// The range of the change of a row caused by the program, if the machine caused no more than the change of most rows.
  /// @param machine the result of `machine_range`.
  [[nodiscard]] log_range change(std::size_t row, log_range const& machine, double error) const {
    double const shared = std::clamp(median_change_, machine.low, machine.high);
    double const certain = machine_.certain();
    double const half = half_width(own_[row], error);
    double const middle = rows_[row].log_ratio();
    return {middle - std::max(certain, shared) - half, middle - std::min(certain, shared) + half};
  }

  /// The range of the change of a row caused by the program, independent of other rows.
  [[nodiscard]] log_range change_alone(std::size_t row, double error) const {
    run_noise together = own_[row];
    together.assumed += common_.assumed;
    together.is_shared = true;
    if (runs_freedom_ > 0.0) {
      double const sum = together.variance + common_.variance;
      double const squares =
          together.variance * together.variance / together.freedom + common_.variance * common_.variance / common_.freedom;
      together.freedom = squares > 0.0 ? std::clamp(sum * sum / squares, 1.0, known) : known;
      together.variance = sum;
    }
    double const half = half_width(together, error);
    log_range const seen = machine_.effect();
    double const middle = rows_[row].log_ratio();
    return {middle - seen.high - half, middle - seen.low + half};
  }

  /// Standard deviation of a row between runs of one side: measured, or assumed.
  [[nodiscard]] double spread(std::size_t row) const {
    bool const is_measured = runs_freedom_ > 0.0;
    return std::sqrt(is_measured ? own_[row].variance + common_.variance : own_[row].assumed + common_.assumed);
  }

 private:
  static double median(std::vector<double> values) {
    auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return 0.5 * (*middle + *std::max_element(values.begin(), middle));
  }

  /// Subtracts the mean of each side.
  void center(std::vector<double>& deviations) const {
    auto const middle = deviations.begin() + static_cast<std::ptrdiff_t>(rows_.front().a.runs());
    for (auto [begin, end] : {std::pair{deviations.begin(), middle}, std::pair{middle, deviations.end()}}) {
      double mean = 0.0;
      for (auto each = begin; each != end; ++each) mean += *each / static_cast<double>(end - begin);
      for (auto each = begin; each != end; ++each) *each -= mean;
    }
  }

  static double product(std::vector<double> const& x, std::vector<double> const& y) {
    double sum = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
    return sum;
  }

  [[nodiscard]] double median_of_parts(double (*figure)(family_row const&)) const {
    std::vector<double> values;
    for (std::size_t const part : parts_) values.push_back(figure(rows_[part]));
    return median(std::move(values));
  }

  void find_common(std::vector<std::vector<double>>& all, double assumed) {
    median_change_ = median_of_parts([](family_row const& row) { return row.log_ratio(); });
    common_.assumed = assumed;
    common_.is_shared = true;
    common_.both = rows_.front().both();
    common_.within = median_of_parts([](family_row const& row) { return row.a.within() + row.b.within(); });
    common_.within_squared_over_freedom =
        median_of_parts([](family_row const& row) { return row.a.within_squared_over_freedom() + row.b.within_squared_over_freedom(); });
    common_.runs_freedom = runs_freedom_;
    if (runs_freedom_ <= 0.0) return;
    std::vector<double> shared;
    for (std::size_t run = 0; run < all.front().size(); ++run) {
      std::vector<double> of_run;
      for (std::size_t const part : parts_) of_run.push_back(all[part][run]);
      shared.push_back(median(std::move(of_run)));
    }
    center(shared);
    for (std::vector<double>& each : all) {
      for (std::size_t run = 0; run < shared.size(); ++run) each[run] -= shared[run];
      center(each);
    }
    set_common_variance(std::move(shared));
  }

  /// The spread that the speed of the machine does not explain. The slope between 0 (independent of the speed) and 1 is fitted (analysis of
  /// covariance with one slope). An unbounded slope would take one degree of freedom; this one takes half, which gives the documented error
  /// rates in simulations (bench/compare_power.cpp).
  void set_common_variance(std::vector<double> deviations) {
    std::vector<double> machine = machine_.probe_deviations;
    for (std::size_t run = 0; run < machine.size(); ++run) {
      (machine_.is_waiting_certain ? deviations : machine)[run] +=
          (machine_.is_waiting_certain ? -1.0 : 1.0) * machine_.waiting_deviations[run];
    }
    double const squares = product(machine, machine);
    common_.freedom = squares > 0.0 ? runs_freedom_ - 0.5 : runs_freedom_;
    if (squares > 0.0) {
      double const slope = std::clamp(product(deviations, machine) / squares, 0.0, 1.0);
      double rest = 0.0;
      double rest_of_full = 0.0;
      for (std::size_t run = 0; run < deviations.size(); ++run) {
        rest_of_full += (deviations[run] - machine[run]) * (deviations[run] - machine[run]);
        deviations[run] -= slope * machine[run];
        rest += deviations[run] * deviations[run];
      }
      // The error of the slope counts where machines differ, but no more than the error of the probe does with the full slope.
      double const difference = machine_.log_ratio() - machine_.certain();
      double const of_slope = rest * (1.0 + difference * difference / (squares * common_.both));
      common_.variance = std::min(of_slope, std::max(rest, rest_of_full)) / common_.freedom;
      return;
    }
    common_.variance = product(deviations, deviations) / common_.freedom;
  }

  /// @param all variances without the shared part.
  void find_own(std::vector<std::vector<double>> const& all) {
    std::vector<double> variances;
    if (runs_freedom_ > 0.0) {
      for (std::size_t const part : parts_) variances.push_back(product(all[part], all[part]) / runs_freedom_);
    }
    double const max_freedom = runs_freedom_ * static_cast<double>(variances.size());
    variance_prior const prior = runs_freedom_ > 0.0 ? fit_variance_prior(std::move(variances), runs_freedom_) : variance_prior{};
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      family_row const& row = rows_[i];
      run_noise noise;
      noise.assumed = row.assumed;
      noise.both = row.both();
      noise.within = row.a.within() + row.b.within();
      noise.within_squared_over_freedom = row.a.within_squared_over_freedom() + row.b.within_squared_over_freedom();
      noise.runs_freedom = runs_freedom_;
      if (runs_freedom_ > 0.0) {
        double const variance = product(all[i], all[i]) / runs_freedom_;
        variance_prior const own = moderate(variance, runs_freedom_, prior, max_freedom);
        noise.variance = own.variance;
        noise.freedom = own.freedom;
      }
      own_.push_back(noise);
    }
  }

  std::vector<family_row> rows_;
  std::vector<std::size_t> parts_;  ///< positions of rows
  machine_change machine_{};        ///< equally fast if unknown
  double runs_freedom_ = 0.0;
  double median_change_ = 0.0;
  run_noise common_;
  std::vector<run_noise> own_;
};

}  // namespace profkit_program
