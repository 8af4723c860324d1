// SPDX-License-Identifier: Apache-2.0
#include "summary_figures.hpp"

#include <profkit/error.hpp>
#include <profkit/impl/analyze/verdict/series_description.hpp>
#include <profkit/impl/report/folded_scopes.hpp>
#include <profkit/impl/report/headline.hpp>
#include <profkit/impl/report/picture_section.hpp>
#include <profkit/impl/report/report_view.hpp>
#include <profkit/impl/report/steps_section.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "autocorrelation.hpp"

namespace profkit_program {

namespace detail {

namespace {

/// The standard error of a statistic times sqrt(`count`), for normal values with a standard deviation of 1. Source: H. A. David and H. N.
/// Nagaraja, "Order Statistics", 3rd ed. (2003), 10.2 and 10.5.
double error_factor(run_statistic which, std::uint64_t count) {
  auto const n = static_cast<double>(std::max<std::uint64_t>(count, 2));
  return which == run_statistic::mean ? 1.0 : which == run_statistic::median ? 1.2533 : 1.2825 * std::sqrt(n / (2.0 * std::log(n)));
}

double ms(std::optional<profkit::milliseconds> value) { return value ? value->count() : 0.0; }

/// Converts the summary of one run to the figures of a comparison.
class summary_figures {
 public:
  summary_figures(profkit::summary const& what, std::string file, run_statistic which) : what_{what}, which_{which} {
    result_.file = std::move(file);
  }

  [[nodiscard]] run_figures make() && {
    result_.host = what_.environment.host;
    result_.gpu = what_.environment.gpu;
    add_host_speed();
    add_steps();
    add_scopes();
    add_kernels();
    add_functions();
    add_utilization();
    for (profkit::energy_summary const& each : what_.energy) result_.energy.emplace_back(each.meter, each.joules_per_step);
    add_doubts();
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(std::string const& what) const { throw profkit::error{result_.file + ": " + what}; }

  [[noreturn]] void fail_without_steps(char const* list, std::size_t row) const {
    fail(std::string{list} + "[" + std::to_string(row) + "].per_step is missing: the report was written by an older profkit");
  }

  /// The geometric mean of both readings of the probe, or the first reading if the session did not end.
  void add_host_speed() {
    if (!what_.environment.host_speed) return;
    profkit::host_speed_record const& speed = *what_.environment.host_speed;
    auto const us = [](std::chrono::nanoseconds time) { return static_cast<double>(time.count()) / 1000.0; };
    if (speed.before.count() <= 0 || speed.after.count() < 0) fail("environment.host_speed.probe_before_us is not a duration");
    result_.probe_us = speed.after.count() > 0 ? std::sqrt(us(speed.before) * us(speed.after)) : us(speed.before);
    if (!speed.waiting) return;
    result_.waiting = *speed.waiting;
    if (!(*result_.waiting >= 0.0 && *result_.waiting <= 1.0)) fail("environment.host_speed.waiting_share is not a share");
  }

  void add_steps() {
    profkit::step_summary const& steps = what_.steps;
    result_.has_steps = what_.covers_steps;
    if (!result_.has_steps) return;
    if (steps.host_samples.size() < 2) {
      fail("steps.samples_ms has " + std::to_string(steps.host_samples.size()) + " measured steps, at least 2 are needed");
    }
    result_.step = figures_of_steps(steps.host_samples, which_);
    result_.gpu_step = gpu_step_of(steps);
    result_.gpu_period = gpu_period_of(steps);
    result_.budget = budget_of(what_.budget);
    add_usual_steps();
    add_series();
  }

  [[nodiscard]] std::optional<figures> gpu_step_of(profkit::step_summary const& steps) const {
    return steps.gpu_samples.size() >= 2 ? std::optional{figures_of_steps(steps.gpu_samples, which_)} : std::nullopt;
  }

  [[nodiscard]] std::optional<figures> gpu_period_of(profkit::step_summary const& steps) const {
    bool const is_known = steps.gpu_period && steps.gpu_period->is_longer && steps.gpu_period->samples.size() >= 2;
    return is_known ? std::optional{figures_of_steps(steps.gpu_period->samples, which_)} : std::nullopt;
  }

  void add_usual_steps() {
    if (what_.kinds.empty() || !what_.kinds.front().is_usual) return;
    profkit::step_kind_summary const& kind = what_.kinds.front();
    if (kind.times.host_samples.size() < 2 || kind.steps > what_.steps.host.count) return;
    result_.usual = usual_steps{kind.parts,
                                what_.steps.host.count - kind.steps,
                                figures_of_steps(kind.times.host_samples, which_),
                                gpu_step_of(kind.times),
                                gpu_period_of(kind.times),
                                budget_of(kind.budget)};
  }

  [[nodiscard]] std::optional<budget_figures> budget_of(std::optional<profkit::budget_summary> const& budget) const {
    if (!budget || budget->steps == 0 || which_ != run_statistic::mean) return std::nullopt;  // only means add up
    auto const steps = static_cast<double>(budget->steps);
    budget_figures result{budget->is_of_gpu, budget->wall.count() / steps, {}};
    std::set<std::string> taken;
    for (profkit::budget_row const& each : budget->rows) {
      result.parts.push_back({unique(taken, each.part), each.busy.count() / steps, (each.total - each.busy).count() / steps});
    }
    return result;
  }

  /// The series of steps for the picture.
  void add_series() {
    profkit::detail::report_view const view{what_};
    result_.host_steps = profkit::detail::plotted_steps(view, false);
    auto const has_gpu = [](profkit::listed_step const& each) { return each.gpu.has_value(); };
    bool const is_gpu_known = std::any_of(what_.listed_steps.begin(), what_.listed_steps.end(), has_gpu);
    if (is_gpu_known) result_.gpu_steps = profkit::detail::plotted_steps(view, true);
  }

  void add_scopes() {
    std::set<std::string> taken;
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < what_.scopes.size(); ++i) {
      profkit::scope_summary const& row = what_.scopes[i];
      scope_figures scope;
      scope.path = unique(taken, row.path);
      paths.push_back(scope.path);
      if (row.parent && *row.parent < i) scope.around = paths[*row.parent];
      if (result_.has_steps) {
        if (!row.per_step) fail_without_steps("scopes", i);
        if (which_ != run_statistic::mean) {
          scope.host = figures_of_part(figures_of_calls(row.host, row.per_step->steps, which_), result_.step, which_);
        } else {
          if (scope.path == row.path) scope.number = number_of(row);
          scope.host = figures_of_part(figures_of(row.per_step->host, row.per_step->steps), result_.step);
          if (row.per_step->gpu) scope.gpu = figures_of_part(figures_of(*row.per_step->gpu, row.per_step->gpu_steps), gpu_steps());
          if (row.per_step->host_copies) scope.host_copies_ms = row.per_step->host_copies->count();
        }
      } else {
        if (row.depth == 0) result_.step.mean_ms += row.host.total.count();
        if (row.host.count == 0 || !row.host.mean) continue;  // open during the whole run
        scope.host = figures_of_times(row.host);
        scope.count = row.host.count;
        scope.quantiles_ms = {ms(row.host.median), ms(row.host.p95), ms(row.host.p99)};
      }
      result_.scopes.push_back(std::move(scope));
    }
    profkit::duration_summary const& between = what_.steps.between;
    constexpr double min_share = 0.01;  // shorter ones are noise
    if (!result_.has_steps || !between.mean || *between.mean < min_share * profkit::loop_time(what_.steps)) return;
    scope_figures pause;
    pause.path = unique(taken, "between steps");
    pause.host = figures_of_times(between);
    result_.scopes.push_back(std::move(pause));
  }

  /// The index that the recorder knows. Digits in other names mean nothing. An adopting scope has the path of the adopted one in its name,
  /// "forward/layer_3/softmax (backward)", and thereby its first index.
  [[nodiscard]] std::optional<numbered_name> number_of(profkit::scope_summary const& row) const {
    if (row.index) return numbered_name{profkit::detail::folded_tree::without_index(row), *row.index};
    std::size_t const role = row.name.rfind(" (");
    if (role == std::string::npos || row.name.back() != ')') return std::nullopt;
    profkit::scope_summary const* const adopted = scope_at(row.name.substr(0, role));
    if (adopted == nullptr) return std::nullopt;
    std::optional<numbered_name> result;
    std::string pattern = row.name.substr(role);
    char const* between = "";
    for (profkit::scope_summary const* each = adopted; each != nullptr; each = around(*each)) {
      if (!each->parent && each->path == what_.scopes.front().path) break;  // the step is not in the names of adopting scopes
      pattern.insert(0, profkit::detail::folded_tree::without_index(*each) + between);
      between = "/";
      if (each->index) result = numbered_name{{}, *each->index};
    }
    if (result) result->pattern = std::move(pattern);
    return result;
  }

  [[nodiscard]] profkit::scope_summary const* around(profkit::scope_summary const& scope) const {
    auto const position = static_cast<std::size_t>(&scope - what_.scopes.data());
    return scope.parent && *scope.parent < position ? &what_.scopes[*scope.parent] : nullptr;
  }

  /// The scope with a path below the step, or with a complete path; null if there is none.
  [[nodiscard]] profkit::scope_summary const* scope_at(std::string const& path) const {
    for (std::string const& each : {what_.scopes.front().path + "/" + path, path}) {
      auto const found =
          std::find_if(what_.scopes.begin(), what_.scopes.end(), [&](profkit::scope_summary const& scope) { return scope.path == each; });
      if (found != what_.scopes.end()) return &*found;
    }
    return nullptr;
  }

  void add_kernels() {
    if (!what_.gpu || !result_.has_steps) return;
    result_.kernels.emplace();
    std::set<std::string> taken;
    for (std::size_t i = 0; i < what_.gpu->kernels.size(); ++i) {
      profkit::kernel_summary const& row = what_.gpu->kernels[i];
      if (!row.per_step) fail_without_steps("kernels", i);
      figures const times = which_ == run_statistic::mean ? figures_of(row.per_step->gpu, row.per_step->steps)
                                                          : figures_of_calls(row.time, row.per_step->steps, which_);
      std::string key = unique(taken, row.mangled.empty() ? row.name : row.mangled);
      result_.kernels->push_back({row.name, std::move(key), figures_of_part(times, gpu_steps(), which_)});
    }
  }

  /// Adds the functions of host samples. Samples are independent events, so the variance of their number is at most its mean. The variation
  /// between steps comes on top; it is at most that of the scope.
  void add_functions() {
    if (!what_.host_samples || !result_.has_steps || which_ != run_statistic::mean) return;
    profkit::host_samples_summary const& samples = *what_.host_samples;
    if (samples.samples == 0 || what_.steps.host.count == 0) return;  // such as where sampling was refused
    result_.functions.emplace();
    result_.sample_ms = samples.sampled.count() / static_cast<double>(samples.samples * what_.steps.host.count);
    result_.sampling_interval_us = static_cast<double>(samples.interval.count()) / 1000.0;
    std::uint64_t const steps = what_.steps.host.count;
    std::set<std::string> taken;
    for (profkit::sampled_scope_summary const& scope : samples.scopes) {
      figures const around = scope.scope && *scope.scope < result_.scopes.size() ? result_.scopes[*scope.scope].host : result_.step;
      double const spread = around.mean_ms > 0.0 ? around.std_ms / around.mean_ms : 0.0;
      if (scope.other_functions > 0) result_.cut_scopes.push_back(scope.path);
      for (profkit::sampled_function_summary const& each : scope.functions) {
        if (each.samples == 0) continue;
        double const mean = each.time.count() / static_cast<double>(steps);
        double const variance = static_cast<double>(steps) / static_cast<double>(each.samples) + spread * spread;
        std::string const place = scope.path.empty() ? "outside any scope" : scope.path;
        result_.functions->push_back({unique(taken, place + ": " + profkit::detail::function_words(each)),
                                      scope.path,
                                      {steps, mean, mean * std::sqrt(variance), std::max(around.autocorrelation, 0.0)},
                                      each.samples});
      }
    }
  }

  void add_utilization() {
    if (what_.utilization.empty()) return;
    using use = profkit::utilization_summary;
    unit_shares shares;
    auto const add = [&](char const* name, std::optional<profkit::share_of_unit> use::*unit) {
      double sum = 0.0;
      std::size_t devices = 0;
      for (use const& each : what_.utilization) {
        if (!(each.*unit)) continue;
        sum += (each.*unit)->mean;
        ++devices;
      }
      if (devices > 0) shares.emplace_back(name, sum / static_cast<double>(devices));
    };
    add("a kernel ran", &use::busy);
    add("SMs active", &use::sm_active);
    add("tensor pipes", &use::tensor);
    add("fp32 pipes", &use::fp32);
    add("fp64 pipes", &use::fp64);
    add("fp16 pipes", &use::fp16);
    add("integer pipes", &use::integer);
    add("DRAM bandwidth", &use::dram);
    add("memory active", &use::memory_active);
    result_.utilization = std::move(shares);
    result_.utilized_devices = what_.utilization.size();
  }

  /// Adds a doubt: lost records make times too short.
  void add_doubts() {
    profkit::quality_record const& quality = what_.quality;
    auto const lost = [&](std::uint64_t count, char const* name) {
      if (count > 0) result_.doubts.push_back(std::to_string(count) + " " + name);
    };
    lost(quality.dropped_events, "dropped_events");
    lost(quality.dropped_operations, "dropped_kernels");
    lost(quality.discarded_records, "discarded_records");
    auto const doubt = [&](std::string const& name, profkit::verdict_summary const& verdict) {
      using profkit::step_verdict;
      if (verdict.verdict == step_verdict::stable || verdict.verdict == step_verdict::noisy || verdict.verdict == step_verdict::uneven)
        return;  // covered by the ranges
      result_.doubts.push_back(name + ": " + profkit::verdict_name(verdict.verdict) + "; the report says why");
    };
    if (result_.has_steps) doubt("step time", what_.steps.host_verdict);
    if (what_.steps.gpu_verdict) doubt("GPU step time", *what_.steps.gpu_verdict);
  }

  /// The steps whose series says how slowly GPU times vary.
  [[nodiscard]] figures gpu_steps() const { return result_.gpu_period.value_or(result_.gpu_step.value_or(figures{})); }

  static figures figures_of(profkit::per_step_figures const& row, std::uint64_t steps) {
    return {steps, row.mean.count(), ms(row.standard_deviation), row.autocorrelation.value_or(0.0)};
  }

  /// The figure of single times.
  [[nodiscard]] figures figures_of_times(profkit::duration_summary const& times) const {
    if (which_ != run_statistic::mean) return figures_of_calls(times, times.count, which_);
    return {times.count, ms(times.mean), ms(times.standard_deviation), 0.0};
  }

  /// Distinguishes rows with the same name by their order.
  static std::string unique(std::set<std::string>& taken, std::string const& name) {
    std::string result = name;
    for (int i = 2; !taken.insert(result).second; ++i) result = name + " #" + std::to_string(i);
    return result;
  }

  profkit::summary const& what_;
  run_statistic which_;
  run_figures result_;
};

}  // namespace

}  // namespace detail

figures figures_of_samples(std::vector<profkit::milliseconds> const& samples) {
  auto const count = static_cast<double>(samples.size());
  double sum = 0.0;
  for (profkit::milliseconds const each : samples) sum += each.count();
  double const mean = sum / count;
  double squares = 0.0;
  double products = 0.0;  // of neighbouring samples
  double before = 0.0;
  for (profkit::milliseconds const each : samples) {
    double const difference = each.count() - mean;
    squares += difference * difference;
    products += before * difference;
    before = difference;
  }
  double const deviation = samples.size() > 1 ? std::sqrt(squares / (count - 1.0)) : 0.0;
  return {samples.size(), mean, deviation, squares > 0.0 ? std::clamp(products / squares, -1.0, 1.0) : 0.0};
}

figures figures_of_steps(std::vector<profkit::milliseconds> const& samples, run_statistic which) {
  figures result = figures_of_samples(samples);
  profkit::detail::own_vector<double> values;
  for (profkit::milliseconds const each : samples) values.push_back(each.count());
  profkit::series_description const found = profkit::describe(values);
  bool has_mean = !found.without_mean;
  if (which != run_statistic::mean) {
    has_mean = has_mean || found.shape == profkit::series_shape::tailed;  // a few large values move neither
    auto const middle = profkit::median_and_mad(values);
    result.mean_ms = which == run_statistic::median ? middle->median : *std::min_element(values.begin(), values.end());
    result.std_ms = 1.4826 * middle->mad * detail::error_factor(which, samples.size());
    if (which == run_statistic::minimum) result.autocorrelation = 0.0;
  }
  if (!has_mean) {
    result.slow = std::numeric_limits<double>::infinity();
  } else if (found.interval) {
    double const usual =
        profkit::effective_samples(values.size(), profkit::unbiased_autocorrelation(result.autocorrelation, values.size()));
    result.slow = std::max(1.0, usual / found.interval->effective);
  }
  return result;
}

figures figures_of_calls(profkit::duration_summary const& calls, std::uint64_t steps, run_statistic which) {
  if (calls.count == 0 || steps == 0) return {steps, 0.0, 0.0, 0.0};
  double const per_step = static_cast<double>(calls.count) / static_cast<double>(steps);
  // Of normal values, on both sides: a median that lies on one of two levels has calls of the other level on one side only. The least of n
  // normal values is about 0.8 sqrt(2 ln n) standard deviations below the median.
  constexpr double normal_p95 = 1.6449;
  double const normal_min = 0.8 * std::sqrt(2.0 * std::log(static_cast<double>(std::max<std::uint64_t>(calls.count, 2))));
  double const median = detail::ms(calls.median);
  double const spread = std::max({0.0, (detail::ms(calls.p95) - median) / normal_p95, (median - detail::ms(calls.min)) / normal_min});
  double const value = which == run_statistic::median ? median : detail::ms(calls.min);
  return {calls.count, per_step * value, per_step * spread * detail::error_factor(which, calls.count), 0.0};
}

figures figures_of_part(figures part, figures const& step, run_statistic which) {
  // The mean of a part changes gradually with the share of a level, its median does not.
  if (std::isfinite(step.slow) || which != run_statistic::mean) part.slow = step.slow;
  return part;
}

run_figures figures_of_run(profkit::summary const& run, std::string file, run_statistic which) {
  return detail::summary_figures{run, std::move(file), which}.make();
}

}  // namespace profkit_program
