// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "run_figures.hpp"

/// Runs of a made program: a step on the host, `scopes` scopes of GPU work under it, a kernel for each. Their mean times differ from run to
/// run by `gpu_noise` and `host_noise` (relative standard deviations), and each is the mean of 30 steps that vary by 1 %.
struct made_program {
  std::size_t scopes = 40;
  double gpu_noise = 0.002;
  double host_noise = 0.1;
  double host_factor = 1.0;       ///< of all host times
  std::vector<double> factors{};  ///< of the scopes' times; 1 where there is none

  [[nodiscard]] std::vector<profkit_program::run_figures> runs(std::size_t count, std::mt19937_64& random) const {
    std::vector<profkit_program::run_figures> result;
    for (std::size_t i = 0; i < count; ++i) result.push_back(run(random));
    return result;
  }

 private:
  [[nodiscard]] profkit_program::run_figures run(std::mt19937_64& random) const {
    std::normal_distribution<double> normal;
    auto const figures_around = [&](double ms, double noise) {
      double const of_steps = 0.01 / std::sqrt(30.0);
      return profkit_program::figures{30, ms * (1.0 + noise * normal(random) + of_steps * normal(random)), 0.01 * ms, 0.0};
    };
    profkit_program::run_figures result;
    result.file = "made";
    result.step = figures_around(30.0 * host_factor, host_noise);
    result.kernels.emplace();
    profkit_program::scope_figures step{"step", figures_around(30.0 * host_factor, host_noise), profkit_program::figures{30, 0.0, 0.0, 0.0},
                                        0.0};
    result.scopes.push_back(step);
    for (std::size_t i = 0; i < scopes; ++i) {
      double const factor = i < factors.size() ? factors[i] : 1.0;
      std::string const name = "part_" + std::to_string(i);
      profkit_program::figures const gpu = figures_around(factor * (0.05 + 0.003 * static_cast<double>(i)), gpu_noise);
      result.scopes.push_back({"step/" + name, figures_around(0.2 * host_factor, host_noise), gpu, 0.0});
      result.scopes.front().gpu->mean_ms += gpu.mean_ms;
      result.kernels->push_back({"kernel of " + name, "_Z" + name, gpu});
    }
    return result;
  }
};
