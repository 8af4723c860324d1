// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "made_series.hpp"

/// Step times whose true mean is known.
struct step_scenario {
  std::string name;
  double mean = 100.0;
  std::function<std::vector<double>(normal_numbers&, std::size_t)> make;
};

/// An autoregressive process of the first order, variance 1.
inline std::vector<double> autoregressive(normal_numbers& numbers, std::size_t count, double decay) {
  std::vector<double> result = made_series(numbers, count, 1.0, decay);
  for (double& each : result) each -= 100.0;
  return result;
}

/// Step times around 100 with a noise of `noise`, with the patterns of real programs.
/// @param noise standard deviation of a step; with several levels, within a level.
inline std::vector<step_scenario> step_scenarios(double noise = 1.0) {
  std::vector<step_scenario> result;
  auto const add = [&](std::string name, double mean, auto const& value) {
    result.push_back({std::move(name), mean, [value](normal_numbers& numbers, std::size_t count) {
                        std::vector<double> series(count);
                        for (double& each : series) each = value(numbers);
                        return series;
                      }});
  };
  add("independent", 100.0, [noise](normal_numbers& numbers) { return 100.0 + noise * numbers.next(); });
  for (auto const& [name, decay] : {std::pair{"AR(0.3)", 0.3}, std::pair{"AR(0.6)", 0.6}, std::pair{"AR(0.9)", 0.9}}) {
    result.push_back({name, 100.0, [noise, decay = decay](normal_numbers& numbers, std::size_t count) {
                        return made_series(numbers, count, noise, decay);
                      }});
  }
  for (auto const& [name, decay] : {std::pair{"white + AR(0.95)", 0.95}, std::pair{"white + AR(0.98)", 0.98}}) {
    result.push_back({name, 100.0, [noise, decay = decay](normal_numbers& numbers, std::size_t count) {
                        std::vector<double> series = autoregressive(numbers, count, decay);
                        for (double& each : series) each = 100.0 + noise * (std::sqrt(0.2) * each + std::sqrt(0.8) * numbers.next());
                        return series;
                      }});
  }
  add("10 % of steps +30 %", 103.0, [noise](normal_numbers& numbers) {
    double const level = numbers.uniform() < 0.1 ? 130.0 : 100.0;
    return level + noise * numbers.next();
  });
  add("5 % of steps +50 %", 102.5, [noise](normal_numbers& numbers) {
    double const level = numbers.uniform() < 0.05 ? 150.0 : 100.0;
    return level + noise * numbers.next();
  });
  add("1 % of steps doubled", 101.0, [noise](normal_numbers& numbers) {
    double const factor = numbers.uniform() < 0.01 ? 2.0 : 1.0;
    return factor * (100.0 + noise * numbers.next());
  });
  result.push_back({"two levels, +-5 %", 100.0, [noise](normal_numbers& numbers, std::size_t count) {
                      std::vector<double> series(count);
                      double level = numbers.uniform() < 0.5 ? 5.0 : -5.0;
                      for (double& each : series) {
                        each = 100.0 + level + noise * numbers.next();
                        if (numbers.uniform() < 0.05) level = -level;  // after 20 steps on average
                      }
                      return series;
                    }});
  result.push_back({"drift of 5 %", 100.0, [noise](normal_numbers& numbers, std::size_t count) {
                      std::vector<double> series(count);
                      for (std::size_t i = 0; i < count; ++i) {
                        double const along = static_cast<double>(i) / static_cast<double>(count - 1) - 0.5;
                        series[i] = 100.0 + 5.0 * along + noise * numbers.next();
                      }
                      return series;
                    }});
  add("exponential", 100.0, [noise](normal_numbers& numbers) { return 100.0 - noise * (1.0 + std::log(numbers.uniform())); });
  double const lognormal_deviation = std::sqrt(std::exp(1.0) * (std::exp(1.0) - 1.0));
  add("lognormal", 100.0, [noise, lognormal_deviation](normal_numbers& numbers) {
    return 100.0 + noise / lognormal_deviation * (std::exp(numbers.next()) - std::exp(0.5));
  });
  return result;
}
