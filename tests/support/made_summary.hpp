// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/summary.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// A hand-made summary with the figures that reports show. Times are in milliseconds.
class made_summary {
 public:
  /// @param steps number of measured steps, each of `step_ms`.
  explicit made_summary(std::uint64_t steps = 40, double step_ms = 10.0) {
    made_.environment = {"vm", "NVIDIA H200", "13.0", "13.0", {"/opt/bin/prof", "-s"}, 1, {}};
    made_.steps = times(steps, step_ms);
    made_.steps.warmup = 5;
    made_.scopes_recorded = 100;
    made_.quality.clock = "time-stamp counter";
    made_.quality.cost_of_1000_scopes = std::chrono::nanoseconds{20'000};
  }

  /// Statistics of steps with a small standard error.
  static profkit::step_summary times(std::uint64_t steps, double ms) {
    using profkit::milliseconds;
    profkit::step_summary result;
    profkit::duration_summary& host = result.host;
    host.count = steps;
    host.total = milliseconds{ms * static_cast<double>(steps)};
    host.mean = host.median = host.min = host.max = milliseconds{ms};
    result.host_verdict.verdict = profkit::step_verdict::stable;
    result.host_verdict.measured = steps;
    result.host_verdict.ci95_low = milliseconds{0.999 * ms};
    result.host_verdict.ci95_high = milliseconds{1.001 * ms};
    result.host_verdict.relative_half_width = 0.001;
    result.host_verdict.effective_samples = static_cast<double>(steps);
    result.host_verdict.drift = 0.0;
    result.host_verdict.finding = profkit::warmup_finding::enough;
    result.host_verdict.steady_from = 1;
    result.step_time = profkit::step_time_summary{milliseconds{ms}, "host step time", profkit::step_verdict::stable};
    return result;
  }

  /// A part of the step per step: busy time, and idle time by cause.
  struct part {
    std::string name;
    double busy = 0.0;
    double launching = 0.0, host = 0.0, synchronisation = 0.0, copy = 0.0, queued = 0.0;
  };

  static profkit::budget_summary budget_of(std::vector<part> const& parts, std::uint64_t steps) {
    profkit::budget_summary result;
    result.steps = steps;
    auto const all = [&](double ms) { return profkit::milliseconds{ms * static_cast<double>(steps)}; };
    for (part const& each : parts) {
      profkit::budget_row row{each.name,
                              all(each.busy),
                              {all(each.launching), all(each.host), all(each.synchronisation), all(each.copy), all(each.queued)},
                              {}};
      row.total = row.busy;
      profkit::milliseconds idle{};
      for (profkit::milliseconds const cause : row.idle) idle += cause;
      row.total += idle;
      result.wall += row.total;
      result.busy += row.busy;
      result.starving.push_back({each.name, idle, row.idle});
      result.rows.push_back(std::move(row));
    }
    return result;
  }

  made_summary& budget(std::vector<part> const& parts) {
    made_.budget = budget_of(parts, made_.steps.host.count);
    if (!made_.gpu) made_.gpu.emplace();
    made_.gpu->steps = made_.steps.host.count;
    return *this;
  }

  /// Adds a scope. Its parent is the last scope with a smaller depth. @param ms total host time in a step.
  made_summary& scope(std::uint32_t depth, std::string name, double ms, std::optional<std::int64_t> index = {},
                      std::uint64_t count_per_step = 1) {
    profkit::scope_summary row;
    row.depth = depth;
    row.index = index;
    row.name = index ? name + "_" + std::to_string(*index) : std::move(name);
    for (std::size_t i = made_.scopes.size(); i-- > 0 && !row.parent;) {
      if (made_.scopes[i].depth < depth) row.parent = i;
    }
    row.path = row.parent ? made_.scopes[*row.parent].path + "/" + row.name : row.name;
    row.host.count = made_.steps.host.count * count_per_step;
    row.host.total = profkit::milliseconds{ms * static_cast<double>(made_.steps.host.count)};
    row.host_self = row.host.total;
    if (row.parent) made_.scopes[*row.parent].host_self -= row.host.total;
    made_.scopes.push_back(std::move(row));
    return *this;
  }

  /// Sets the GPU time per step of the last scope.
  made_summary& gpu_time(double busy, double idle) {
    double const steps = static_cast<double>(made_.steps.host.count);
    profkit::scope_summary& row = made_.scopes.back();
    row.gpu.emplace();
    row.gpu->busy = profkit::milliseconds{busy * steps};
    row.gpu_idle = profkit::gpu_idle_summary{profkit::milliseconds{idle * steps}, {}};
    return *this;
  }

  made_summary& kernel(std::string name, std::string kernel_class, double ms, std::uint64_t launches_per_step) {
    if (!made_.gpu) made_.gpu.emplace();
    made_.gpu->steps = made_.steps.host.count;
    profkit::kernel_summary row;
    row.name = std::move(name);
    row.kernel_class = std::move(kernel_class);
    row.time.count = launches_per_step * made_.steps.host.count;
    row.time.total = profkit::milliseconds{ms * static_cast<double>(made_.steps.host.count)};
    row.time.min = row.time.max = row.time.mean = row.time.total / static_cast<double>(row.time.count);
    made_.gpu->all.operations += row.time.count;
    made_.gpu->kernels.push_back(std::move(row));
    return *this;
  }

  /// Puts the whole step into the part "forward", which launches one kernel.
  made_summary& one_part(double busy, double idle) {
    double const all = busy + idle;
    budget({{"forward", busy, idle}}).scope(0, "step", all).gpu_time(busy, idle).scope(1, "forward", all).gpu_time(busy, idle);
    return kernel("gemm", "matmul", busy, 1);
  }

  /// Uses the present figures for the usual kind, and adds another kind.
  made_summary& other_kind(std::string name, std::vector<std::string> parts, std::uint64_t steps, double step_ms) {
    if (made_.kinds.empty()) {
      profkit::step_kind_summary usual;
      usual.name = "usual";
      usual.is_usual = true;
      usual.steps = made_.steps.host.count;
      usual.gpu_steps = made_.budget ? usual.steps : 0;
      usual.times = made_.steps;
      usual.budget = made_.budget;
      for (std::size_t i = 0; i < made_.scopes.size(); ++i) {
        profkit::scope_summary const& scope = made_.scopes[i];
        profkit::kind_scope_summary row;
        row.scope = i;
        row.count = scope.host.count;
        row.host = scope.host.total;
        row.host_self = scope.host_self;
        if (scope.gpu) row.busy = scope.gpu->busy;
        if (scope.gpu_idle) row.idle = scope.gpu_idle->inclusive;
        usual.scopes.push_back(row);
        if (scope.depth == 1) usual.parts.push_back(scope.name);
      }
      made_.kinds.push_back(std::move(usual));
    }
    profkit::step_kind_summary other;
    other.name = std::move(name);
    other.parts = std::move(parts);
    other.steps = steps;
    other.times = times(steps, step_ms);
    made_.kinds.push_back(std::move(other));
    made_.steps.host.count += steps;
    made_.steps.host.total += profkit::milliseconds{step_ms * static_cast<double>(steps)};
    return *this;
  }

  [[nodiscard]] profkit::summary& get() { return made_; }

 private:
  profkit::summary made_;
};
