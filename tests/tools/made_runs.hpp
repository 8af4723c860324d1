// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "run_figures.hpp"

/// Runs of a simulated program: `groups` scopes under the step with `parts` scopes in each, and one kernel per part. Noise is the standard
/// deviation between runs as a share of a time.
struct made_program {
  std::size_t groups = 4;
  std::size_t parts = 10;
  bool has_gpu = true;
  bool has_steps = true;            ///< false: times are of single scopes, and there is no probe
  double gpu_own_noise = 0.002;     ///< noise of each part and its kernel
  double gpu_common_noise = 0.0;    ///< noise of all GPU times of a run
  double host_own_noise = 0.02;     ///< noise of the host time of each part
  double host_common_noise = 0.02;  ///< noise of all host times of a run, which the probe follows
  double probe_error = 0.02;        ///< error of the probe
  bool has_probe = true;
  double machine_factor = 1.0;        ///< factor of all host times, which the probe follows
  double host_factor = 1.0;           ///< factor of all host times due to the program, which the probe does not measure
  std::optional<std::size_t> slow{};  ///< this part takes `slow_factor` times as long
  double slow_factor = 1.0;
  /// Groups are "layer_3", and their parts have the same names and kernels in each: "step/layer_3/part_2".
  bool is_layered = false;
  bool has_index = true;                    ///< layers are scopes with an index, which a comparison merges
  std::size_t singles = 0;                  ///< scopes beside the groups
  double layers_factor = 1.0;               ///< factor of all parts of all layers
  std::optional<std::size_t> slow_layer{};  ///< all parts of this layer take `slow_factor` times as long
  std::optional<std::size_t> slow_kind{};   ///< this part of each layer does

  [[nodiscard]] std::vector<profkit_program::run_figures> runs(std::size_t count, std::mt19937_64& random) const {
    std::vector<profkit_program::run_figures> result;
    for (std::size_t i = 0; i < count; ++i) result.push_back(run(random));
    return result;
  }

 private:
  using figures = profkit_program::figures;

  /// The mean of 30 steps that vary by 1 %.
  [[nodiscard]] static figures figures_of(double ms, std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    constexpr double of_steps = 0.01;
    return {30, ms * (1.0 + of_steps / std::sqrt(30.0) * normal(random)), of_steps * ms, 0.0};
  }

  /// A quantile varies between runs like the mean, and more for higher quantiles.
  void make_stepless(profkit_program::run_figures& run, std::mt19937_64& random) const {
    std::normal_distribution<double> normal;
    auto const noise = [&](double level) { return std::exp(level * normal(random)); };
    constexpr std::uint64_t count = 400;
    run.has_steps = false;
    run.probe_us.reset();
    run.waiting.reset();
    run.step.mean_ms *= count;  // of all outermost scopes
    for (profkit_program::scope_figures& scope : run.scopes) {
      scope.count = scope.host.steps = count;
      scope.quantiles_ms = {scope.host.mean_ms * noise(0.5 * host_own_noise), 1.5 * scope.host.mean_ms * noise(host_own_noise),
                            2.5 * scope.host.mean_ms * noise(2.0 * host_own_noise)};
    }
  }

  /// Kernels of parts with one name are one kernel.
  static void add_kernel(std::vector<profkit_program::kernel_figures>& to, std::string const& part, figures const& time) {
    for (profkit_program::kernel_figures& each : to) {
      if (each.key == "_Z" + part) {
        each.gpu.mean_ms += time.mean_ms;
        each.gpu.std_ms += time.std_ms;
        return;
      }
    }
    to.push_back({"kernel of " + part, "_Z" + part, time});
  }

  /// Parts have different sizes.
  [[nodiscard]] double size_of(std::size_t part) const { return 0.05 + 0.003 * static_cast<double>(part); }

  [[nodiscard]] profkit_program::run_figures run(std::mt19937_64& random) const {
    std::normal_distribution<double> normal;
    auto const noise = [&](double level) { return std::exp(level * normal(random)); };
    double const machine = machine_factor * noise(host_common_noise);
    double const gpu_clock = noise(gpu_common_noise);
    profkit_program::run_figures result;
    result.file = "made";
    if (has_probe) {
      result.probe_us = 100.0 * machine * noise(probe_error);
      result.waiting = 0.0;
    }
    if (has_gpu) result.kernels.emplace();
    figures const zero{30, 0.0, 0.0, 0.0};
    profkit_program::scope_figures step{"step", zero, has_gpu ? std::optional{zero} : std::nullopt, 0.0};
    std::vector<profkit_program::scope_figures> inside;
    auto const add_part = [&](profkit_program::scope_figures& group, std::string const& name, double size, double factor,
                              std::vector<profkit_program::scope_figures>& of_group) {
      profkit_program::scope_figures scope{group.path + "/" + name, zero, std::nullopt, 0.0};
      scope.around = group.path;
      double const host = has_gpu ? 0.5 : factor * 10.0 * size;
      scope.host = figures_of(host * host_factor * machine * noise(host_own_noise), random);
      if (has_gpu) {
        scope.gpu = figures_of(factor * size * gpu_clock * noise(gpu_own_noise), random);
        group.gpu->mean_ms += scope.gpu->mean_ms;
        add_kernel(*result.kernels, name, *scope.gpu);
      }
      group.host.mean_ms += scope.host.mean_ms;
      of_group.push_back(std::move(scope));
    };
    for (std::size_t i = 0; i < groups; ++i) {
      profkit_program::scope_figures group{(is_layered ? "step/layer_" : "step/group_") + std::to_string(i), zero, step.gpu, 0.0};
      group.around = step.path;
      if (is_layered && has_index && has_steps) group.number = {"layer_*", static_cast<std::int64_t>(i)};
      if (has_gpu) group.gpu = zero;
      std::vector<profkit_program::scope_figures> of_group;
      for (std::size_t k = 0; k < parts; ++k) {
        std::size_t const part = is_layered ? k : i * parts + k;
        bool const is_slow = is_layered ? slow_layer == i || slow_kind == k : slow == part;
        double const factor = (is_slow ? slow_factor : 1.0) * layers_factor;
        add_part(group, "part_" + std::to_string(part), size_of(part), factor, of_group);
      }
      step.host.mean_ms += group.host.mean_ms;
      if (has_gpu) step.gpu->mean_ms += group.gpu->mean_ms;
      inside.push_back(std::move(group));
      inside.insert(inside.end(), of_group.begin(), of_group.end());
    }
    for (std::size_t i = 0; i < singles; ++i) add_part(step, "single_" + std::to_string(i), size_of(10 * i), 1.0, inside);
    result.step = step.host;
    result.scopes.push_back(std::move(step));
    result.scopes.insert(result.scopes.end(), inside.begin(), inside.end());
    if (!has_steps) make_stepless(result, random);
    return result;
  }
};
