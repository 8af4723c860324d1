// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "made_series.hpp"

/// A series of step times, and what is true of it.
struct known_series {
  std::vector<double> ms;
  double mean = 100.0;                         ///< of further steps of the same kind; NaN if there is no such mean
  bool is_even = true;                         ///< `stable` may be said: no levels, long steps, tail, period or change
  bool has_tail = false;                       ///< a few steps may take much of the time
  bool has_kinds = false;                      ///< there are at least two kinds of step: spikes, levels, alternating steps
  std::size_t period = 0;                      ///< 0: none
  std::pair<std::size_t, std::size_t> warm{};  ///< the warm-up ends between these steps; 0: none
  double drift = 0.0;                          ///< over the series, relative
  bool wanders = false;                        ///< the level of a random walk: a drift in these steps, but not in further ones
  std::vector<std::size_t> changes{};          ///< lasting changes
};

/// A kind of series.
struct series_kind {
  std::string name;
  std::function<known_series(normal_numbers&, std::size_t)> make;
};

namespace catalogue {

/// What changes the mean by less may be called stable.
constexpr double harmless = 0.005;
constexpr double no_mean = std::numeric_limits<double>::quiet_NaN();

/// Steps that are told apart by their number.
template <class Value>
known_series each_step(normal_numbers& numbers, std::size_t count, Value const& value) {
  known_series result;
  for (std::size_t i = 0; i < count; ++i) result.ms.push_back(value(numbers, i));
  return result;
}

inline double noise(normal_numbers& numbers, double level = 100.0, double percent = 1.0) {
  return level * (1.0 + 0.01 * percent * numbers.next());
}

/// Every `period`th step takes `factor` times as long; the others 100.
inline known_series long_steps(normal_numbers& numbers, std::size_t count, std::size_t period, std::size_t phase, double factor) {
  known_series result =
      each_step(numbers, count, [&](normal_numbers& from, std::size_t i) { return noise(from) * (i % period == phase ? factor : 1.0); });
  result.mean = 100.0 * (1.0 + (factor - 1.0) / static_cast<double>(period));
  result.period = period;
  std::size_t const seen = (count + period - 1 - phase) / period;
  result.has_kinds = seen > 0;
  result.is_even = !result.has_kinds;
  if (!result.has_kinds) result.mean = 100.0;
  if (phase == 0 && seen == 1) result.warm = {1, 1};  // what these steps show
  return result;
}

/// Steps that take `factor` times as long with a probability.
inline known_series random_steps(normal_numbers& numbers, std::size_t count, double share, double factor) {
  known_series result;
  for (std::size_t i = 0; i < count; ++i) {
    bool const is_long = numbers.uniform() < share;
    result.has_kinds = result.has_kinds || is_long;
    result.ms.push_back(noise(numbers) * (is_long ? factor : 1.0));
  }
  double const effect = std::accumulate(result.ms.begin(), result.ms.end(), -100.0 * static_cast<double>(count));
  result.is_even = effect < harmless * 100.0 * static_cast<double>(count);
  result.mean = result.has_kinds ? 100.0 * (1.0 + share * (factor - 1.0)) : 100.0;
  return result;
}

/// A shape that repeats, with noise of 1 %. @param shape of 0 to 1; its mean is 0.
template <class Shape>
known_series repeated(normal_numbers& numbers, std::size_t count, std::size_t period, double percent, Shape const& shape) {
  auto const phase = static_cast<std::size_t>(numbers.uniform() * static_cast<double>(period - 1));
  auto const at = [&](std::size_t i) { return shape(static_cast<double>((i + phase) % period) / static_cast<double>(period)); };
  known_series result = each_step(numbers, count, [&](normal_numbers& from, std::size_t i) { return noise(from) + percent * at(i); });
  result.mean = 0.0;
  for (std::size_t i = 0; i < period; ++i) result.mean += (100.0 + percent * at(i)) / static_cast<double>(period);
  result.period = period;
  double low = at(0), high = at(0);
  for (std::size_t i = 1; i < count; ++i) low = (std::min)(low, at(i)), high = (std::max)(high, at(i));
  result.is_even = percent * (high - low) < 2.0;
  if (result.is_even) result.mean = no_mean;
  // Less than a period is a change or a drift.
  std::size_t jumps = 0;
  for (std::size_t i = 1; i < count; ++i) {
    if (std::abs(at(i) - at(i - 1)) < 0.7) continue;
    ++jumps;
    result.changes = {i};
    result.warm = {i, i};
  }
  if (jumps > 1) result.changes.clear(), result.warm = {};
  result.has_kinds = jumps > 0;
  if (count <= 2 * period) result.drift = at(count - 1) - at(0) > 0 ? 0.05 : -0.05, result.wanders = true;
  return result;
}

/// Levels, each for a random number of steps, `stay` on average.
inline known_series levels(normal_numbers& numbers, std::size_t count, std::vector<double> const& values, double stay) {
  known_series result;
  auto const any = [&] { return static_cast<std::size_t>(numbers.uniform() * 0.9999 * static_cast<double>(values.size())); };
  std::size_t level = any();
  std::vector<std::size_t> changes;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0 && numbers.uniform() < 1.0 / stay) {
      level = (level + 1 + (values.size() > 2 && numbers.uniform() < 0.5 ? 1 : 0)) % values.size();
      changes.push_back(i);
    }
    result.ms.push_back(noise(numbers, values[level]));
  }
  result.mean = 0.0;
  for (double const each : values) result.mean += each / static_cast<double>(values.size());
  result.is_even = changes.empty();
  result.has_kinds = !changes.empty();
  if (changes.empty()) result.mean = values[level];  // of these steps
  if (changes.size() == 1 || values.size() > 2) {
    result.changes = changes;
    if (changes.size() == 1) result.warm = {changes[0], changes[0]};
  }
  return result;
}

/// A first part that takes longer. @param excess of a step, relative.
template <class Excess>
known_series warming(normal_numbers& numbers, std::size_t count, std::pair<std::size_t, std::size_t> ends, Excess const& excess) {
  known_series result =
      each_step(numbers, count, [&](normal_numbers& from, std::size_t i) { return noise(from) * (1.0 + excess(static_cast<double>(i))); });
  result.mean = no_mean;
  double effect = 0.0;
  for (std::size_t i = 0; i < count; ++i) effect += excess(static_cast<double>(i)) / static_cast<double>(count);
  result.is_even = effect < harmless;
  if (ends.first == ends.second && count <= ends.first) {  // only the first level is seen
    result.is_even = true;
    result.mean = 100.0 * (1.0 + excess(0.0));
    return result;
  }
  result.warm = ends;
  if (count <= 3 * ends.second && ends.first < ends.second) {  // gradual: a drift, too
    result.wanders = true;
    result.drift = -0.01;
  }
  if (count < 2 * ends.second) {  // most of the steps: nobody can say which part is steady
    result.wanders = true;
    result.drift = -0.01;
  }
  result.has_kinds = true;
  for (std::size_t i = ends.first; i <= ends.second; ++i) result.changes.push_back(i);
  return result;
}

inline known_series drifting(normal_numbers& numbers, std::size_t count, double percent) {
  known_series result = each_step(numbers, count, [&](normal_numbers& from, std::size_t i) {
    return noise(from) + percent * static_cast<double>(i) / static_cast<double>(count - 1);
  });
  result.mean = no_mean;
  result.drift = 0.01 * percent;
  result.is_even = percent <= 1.0;
  return result;
}

inline known_series correlated(normal_numbers& numbers, std::size_t count, double decay, double share, double percent) {
  known_series result;
  result.ms = made_series(numbers, count, percent * std::sqrt(share), decay);
  for (double& each : result.ms) each += percent * std::sqrt(1.0 - share) * numbers.next();
  return result;
}

/// Makes series of independent values. @param value makes one of them.
template <class Value>
auto independent_steps(double mean, bool has_tail, Value value) {
  return [=](normal_numbers& numbers, std::size_t count) {
    known_series result = each_step(numbers, count, [&](normal_numbers& from, std::size_t) { return value(from); });
    result.mean = mean;
    result.has_tail = has_tail;
    return result;
  };
}

}  // namespace catalogue

/// Kinds of series that programs have. An ordinary step takes 100; the noise is 1 % unless the name says more.
inline std::vector<series_kind> series_catalogue() {
  using namespace catalogue;
  using N = normal_numbers;
  using S = std::size_t;
  constexpr double pi = 3.14159265358979323846;
  std::vector<series_kind> all;
  auto const add = [&](std::string name, auto make) { all.push_back({std::move(name), std::move(make)}); };
  auto const independent = [&](std::string name, double mean, bool tail, auto value) {
    add(std::move(name), independent_steps(mean, tail, value));
  };
  independent("white", 100, false, [](N& n) { return noise(n); });
  independent("white, 5 %", 100, false, [](N& n) { return noise(n, 100, 5); });
  for (double const decay : {0.3, 0.6, 0.9})
    add("AR(0." + std::to_string(static_cast<int>(10 * decay + 0.5)) + ")", [=](N& n, S c) { return correlated(n, c, decay, 1, 1); });
  add("AR(0.9), 3 %", [](N& n, S c) { return correlated(n, c, 0.9, 1, 3); });
  add("white + AR(0.95)", [](N& n, S c) { return correlated(n, c, 0.95, 0.2, 1); });
  add("white + AR(0.98)", [](N& n, S c) { return correlated(n, c, 0.98, 0.2, 1); });
  add("neighbours differ, AR(-0.5)", [](N& n, S c) { return correlated(n, c, -0.5, 1, 1); });
  add("random walk, 0.3 % a step", [](N& n, S c) {
    double level = 100;
    known_series r = each_step(n, c, [&](N& from, S) { return level += 0.3 * from.next(); });
    r.mean = no_mean;
    r.is_even = c < 100;
    r.wanders = true;
    return r;
  });
  auto const saw = [](double x) { return x - 0.5; };
  auto const square = [](double x) { return x < 0.5 ? -0.5 : 0.5; };
  auto const sine = [=](double x) { return 0.5 * std::sin(2 * pi * x); };
  add("sawtooth 5 %, period 20", [=](N& n, S c) { return repeated(n, c, 20, 5, saw); });
  add("sawtooth 5 %, period 100", [=](N& n, S c) { return repeated(n, c, 100, 5, saw); });
  add("square 10 %, period 20", [=](N& n, S c) { return repeated(n, c, 20, 10, square); });
  add("square 10 %, period 100", [=](N& n, S c) { return repeated(n, c, 100, 10, square); });
  add("sine 6 %, period 25", [=](N& n, S c) { return repeated(n, c, 25, 6, sine); });
  add("sine 6 %, period 100", [=](N& n, S c) { return repeated(n, c, 100, 6, sine); });
  add("alternating 100, 160", [](N& n, S c) {
    known_series r = each_step(n, c, [](N& from, S i) { return noise(from, i % 2 == 0 ? 100 : 160); });
    r.mean = 130, r.period = 2, r.is_even = false, r.has_kinds = true;
    return r;
  });
  add("every 3rd 110", [](N& n, S c) {
    known_series r = long_steps(n, c, 3, 2, 1.1);
    return r;
  });
  add("two levels, 20 steps each", [](N& n, S c) { return levels(n, c, {95, 105}, 20); });
  add("two levels, 100 steps each", [](N& n, S c) { return levels(n, c, {100, 130}, 100); });
  add("three levels, 20 steps each", [](N& n, S c) { return levels(n, c, {90, 100, 115}, 20); });
  add("bursts of 5 steps, +50 %", [](N& n, S c) {
    known_series r;
    S left = 0;
    for (S i = 0; i < c; ++i) {
      if (left > 0)
        --left;
      else if (n.uniform() < 0.02)
        left = 5;
      r.ms.push_back(noise(n, left > 0 ? 150 : 100));
      r.has_kinds = r.has_kinds || left > 0;
    }
    r.mean = r.has_kinds ? 100 + 50 * 5 / (5 + 49.0) : 100;
    r.is_even = !r.has_kinds;
    if (std::count_if(r.ms.begin(), r.ms.end(), [](double each) { return each > 125; }) < 6) {
      S const first = static_cast<S>(std::find_if(r.ms.begin(), r.ms.end(), [](double each) { return each < 125; }) - r.ms.begin());
      if (first > 0) r.warm = {first, first};
    }
    return r;
  });
  for (S const period : {S{20}, S{50}, S{100}})
    add("every " + std::to_string(period) + "th x 10", [=](N& n, S c) {
      auto const phase = static_cast<S>(n.uniform() * static_cast<double>(period - 1));
      return long_steps(n, c, period, phase, 10);
    });
  add("1 in 50 x 10, random", [](N& n, S c) { return random_steps(n, c, 0.02, 10); });
  add("1 in 100 x 2, random", [](N& n, S c) { return random_steps(n, c, 0.01, 2); });
  add("5 % x 1.5, random", [](N& n, S c) { return random_steps(n, c, 0.05, 1.5); });
  add("10 % x 1.3, random", [](N& n, S c) { return random_steps(n, c, 0.1, 1.3); });
  add("half x 1.2, random", [](N& n, S c) { return random_steps(n, c, 0.5, 1.2); });
  add("first of 50 x 10", [](N& n, S c) { return long_steps(n, c, 50, 0, 10); });
  add("first of 20 x 3", [](N& n, S c) { return long_steps(n, c, 20, 0, 3); });
  add("first of 10 x 1.2", [](N& n, S c) { return long_steps(n, c, 10, 0, 1.2); });
  for (double const index : {1.2, 1.5, 2.0})
    add("Pareto " + std::to_string(index).substr(0, 3), [=](N& n, S c) {
      known_series r = each_step(n, c, [&](N& from, S) { return 100 * std::pow(from.uniform(), -1 / index); });
      r.mean = 100 * index / (index - 1);
      r.is_even = false, r.has_tail = true, r.has_kinds = true;
      return r;
    });
  double const spread = std::sqrt(std::exp(1.0) * (std::exp(1.0) - 1.0));
  independent("lognormal, 1 %", 100, true, [=](N& n) { return 100 + (std::exp(n.next()) - std::exp(0.5)) / spread; });
  independent("lognormal, sigma 0.5", 100 * std::exp(0.125), true, [](N& n) { return 100 * std::exp(0.5 * n.next()); });
  independent("exponential, 1 %", 100, false, [](N& n) { return 99 - std::log(n.uniform()); });
  independent("exponential, 50 %", 100, true, [](N& n) { return 50 - 50 * std::log(n.uniform()); });
  independent("uniform, 10 %", 100, false, [](N& n) { return 90 + 20 * n.uniform(); });
  independent("quantised at 1 %", 100, false, [](N& n) { return std::round(noise(n)); });
  independent("quantised at 5 %", 100, false, [](N& n) { return 5 * std::round(noise(n, 101, 2) / 5); });
  all.back().make = [](N& n, S c) {
    known_series r = each_step(n, c, [](N& from, S) { return 5 * std::round(noise(from, 101, 2) / 5); });
    r.mean = 100 + 5 * (0.5 * std::erfc(1.5 / 2.02 / std::sqrt(2.0)) - 0.5 * std::erfc(3.5 / 2.02 / std::sqrt(2.0)));
    r.has_kinds = true;
    return r;
  };
  independent("constant", 100, false, [](N&) { return 100.0; });
  for (double const percent : {0.5, 1.0, 1.9, 5.0, 10.0})
    add("drift of " + std::to_string(percent).substr(0, percent < 10 ? 3 : 4) + " %", [=](N& n, S c) { return drifting(n, c, percent); });
  for (auto const& [share, percent] : {std::pair{0.5, 10.0}, std::pair{0.7, -5.0}, std::pair{0.5, 2.0}})
    add(std::string{"from "} + (share < 0.6 ? "half" : "70 %") + " on " + (percent > 0 ? "+" : "") +
            std::to_string(static_cast<int>(percent)) + " %",
        [share = share, percent = percent](N& n, S c) {
          auto const at = static_cast<S>(share * static_cast<double>(c));
          known_series r = each_step(n, c, [&](N& from, S i) { return noise(from, i < at ? 100 : 100 + percent); });
          r.mean = no_mean, r.is_even = false, r.changes = {at}, r.warm = {at, at}, r.drift = 0.01 * percent, r.has_kinds = true;
          return r;
        });
  add("first third half as long", [](N& n, S c) {
    S const at = c / 3;
    known_series r = each_step(n, c, [&](N& from, S i) { return noise(from, i < at ? 50 : 100); });
    r.mean = no_mean, r.is_even = false, r.changes = {at}, r.has_kinds = true;
    return r;
  });
  for (S const first : {S{1}, S{5}, S{8}, S{50}, S{100}})
    add("first " + std::to_string(first) + " x 2", [=](N& n, S c) {
      return warming(n, c, {first, first}, [=](double i) { return i < static_cast<double>(first) ? 1.0 : 0.0; });
    });
  add("first 5 x 1.1", [](N& n, S c) { return warming(n, c, {5, 5}, [](double i) { return i < 5 ? 0.1 : 0.0; }); });
  add("first 100 x 1.1", [](N& n, S c) { return warming(n, c, {100, 100}, [](double i) { return i < 100 ? 0.1 : 0.0; }); });
  add("exponential warm-up, 3 steps", [](N& n, S c) { return warming(n, c, {9, 18}, [](double i) { return std::exp(-i / 3); }); });
  add("exponential warm-up, 20 steps", [](N& n, S c) { return warming(n, c, {40, 120}, [](double i) { return std::exp(-i / 20); }); });
  add("linear warm-up of 10 steps", [](N& n, S c) {
    return warming(n, c, {8, 10}, [](double i) { return (std::max)(0.0, 0.5 - 0.05 * i); });
  });
  add("first 5 x 2, every 20th x 3", [](N& n, S c) {
    known_series r = warming(n, c, {5, 5}, [](double i) { return i < 5 ? 1.0 : 0.0; });
    for (S i = 12; i < c; i += 20) r.ms[i] *= 3;
    r.period = 20, r.has_kinds = true;
    return r;
  });
  add("step 3 x 5", [](N& n, S c) {
    known_series r = each_step(n, c, [](N& from, S i) { return noise(from) * (i == 3 ? 5 : 1); });
    r.mean = no_mean, r.is_even = c >= 1000, r.has_kinds = true;
    return r;
  });
  add("busy host: AR(0.8) 5 % and tails", [](N& n, S c) {
    known_series r = correlated(n, c, 0.8, 1, 5);
    for (double& each : r.ms) each += n.uniform() < 0.05 ? -60 * std::log(n.uniform()) : 0;
    r.mean = 103, r.is_even = false, r.has_tail = true, r.has_kinds = true;
    return r;
  });
  return all;
}

/// Other kinds and other sizes, which were not looked at when the thresholds were fixed.
inline std::vector<series_kind> held_out_series() {
  using namespace catalogue;
  using N = normal_numbers;
  using S = std::size_t;
  constexpr double pi = 3.14159265358979323846;
  std::vector<series_kind> all;
  auto const add = [&](std::string name, auto make) { all.push_back({std::move(name), std::move(make)}); };
  auto const independent = [&](std::string name, double mean, bool tail, auto value) {
    add(std::move(name), independent_steps(mean, tail, value));
  };
  independent("white, 0.2 %", 100, false, [](N& n) { return noise(n, 100, 0.2); });
  independent("white, 15 %", 100, false, [](N& n) { return noise(n, 100, 15); });
  add("AR(0.8), 2 %", [](N& n, S c) { return correlated(n, c, 0.8, 1, 2); });
  add("white + AR(0.9), 3 %", [](N& n, S c) { return correlated(n, c, 0.9, 0.5, 3); });
  add("AR(0.95)", [](N& n, S c) { return correlated(n, c, 0.95, 1, 1); });
  add("mean of 4 neighbours, 2 %", [](N& n, S c) {
    std::vector<double> parts{n.next(), n.next(), n.next()};
    return each_step(n, c, [&](N& from, S i) {
      parts.push_back(from.next());
      return 100 + parts[i] + parts[i + 1] + parts[i + 2] + parts[i + 3];
    });
  });
  independent("triangular, 5 %", 100, false, [](N& n) { return 95 + 5 * (n.uniform() + n.uniform()); });
  independent("gamma(4), 10 %", 100, true, [](N& n) {
    double sum = 0;
    for (int i = 0; i < 4; ++i) sum -= std::log(n.uniform());
    return 80 + 5 * sum;
  });
  independent("Pareto 1.35", 100 * 1.35 / 0.35, true, [](N& n) { return 100 * std::pow(n.uniform(), -1 / 1.35); });
  independent("Pareto 1.7", 100 * 1.7 / 0.7, true, [](N& n) { return 100 * std::pow(n.uniform(), -1 / 1.7); });
  independent("lognormal, sigma 1", 100 * std::exp(0.5), true, [](N& n) { return 100 * std::exp(n.next()); });
  independent("Weibull(0.6)", 150.4575, true, [](N& n) { return 100 * std::pow(-std::log(n.uniform()), 1 / 0.6); });
  for (S i = all.size() - 5; i < all.size(); ++i) {
    auto const make = all[i].make;
    bool const is_wide = all[i].name.find("gamma") == std::string::npos;
    all[i].make = [make, is_wide](N& n, S c) {
      known_series r = make(n, c);
      r.is_even = !is_wide;
      r.has_kinds = true;
      return r;
    };
  }
  add("sawtooth 8 %, period 37", [=](N& n, S c) { return repeated(n, c, 37, 8, [](double x) { return x - 0.5; }); });
  add("falling sawtooth 6 %, period 64", [=](N& n, S c) { return repeated(n, c, 64, 6, [](double x) { return 0.5 - x; }); });
  add("square 8 %, period 14", [=](N& n, S c) { return repeated(n, c, 14, 8, [](double x) { return x < 0.5 ? -0.5 : 0.5; }); });
  add("square 20 %, period 60", [=](N& n, S c) { return repeated(n, c, 60, 20, [](double x) { return x < 0.5 ? -0.5 : 0.5; }); });
  add("sine 10 %, period 40", [=](N& n, S c) { return repeated(n, c, 40, 10, [=](double x) { return 0.5 * std::sin(2 * pi * x); }); });
  add("alternating 100, 112", [](N& n, S c) {
    known_series r = each_step(n, c, [](N& from, S i) { return noise(from, i % 2 == 0 ? 100 : 112); });
    r.mean = 106, r.period = 2, r.is_even = false, r.has_kinds = true;
    return r;
  });
  add("every 4th x 1.3", [](N& n, S c) { return long_steps(n, c, 4, 1, 1.3); });
  add("every 30th x 5", [](N& n, S c) { return long_steps(n, c, 30, static_cast<S>(29 * n.uniform()), 5); });
  add("first of 25 x 4", [](N& n, S c) { return long_steps(n, c, 25, 0, 4); });
  add("1 in 30 x 4, random", [](N& n, S c) { return random_steps(n, c, 1 / 30.0, 4); });
  add("a third x 1.5, random", [](N& n, S c) { return random_steps(n, c, 0.33, 1.5); });
  add("two levels, 40 steps each", [](N& n, S c) { return levels(n, c, {100, 120}, 40); });
  add("four levels, 30 steps each", [](N& n, S c) { return levels(n, c, {80, 95, 110, 130}, 30); });
  for (double const percent : {-3.0, 8.0})
    add("drift of " + std::to_string(static_cast<int>(percent)) + " %", [=](N& n, S c) { return drifting(n, c, percent); });
  for (auto const& [share, percent] : {std::pair{0.4, 6.0}, std::pair{0.8, -10.0}})
    add("from " + std::to_string(static_cast<int>(100 * share)) + " % on " + std::to_string(static_cast<int>(percent)) + " %",
        [share = share, percent = percent](N& n, S c) {
          auto const at = static_cast<S>(share * static_cast<double>(c));
          known_series r = each_step(n, c, [&](N& from, S i) { return noise(from, i < at ? 100 : 100 + percent); });
          r.mean = no_mean, r.is_even = false, r.changes = {at}, r.drift = 0.01 * percent, r.has_kinds = true;
          return r;
        });
  for (auto const& [first, excess] : {std::pair<S, double>{3, 0.5}, std::pair<S, double>{20, 0.3}, std::pair<S, double>{2, 4.0}})
    add("first " + std::to_string(first) + " + " + std::to_string(static_cast<int>(100 * excess)) + " %",
        [first = first, excess = excess](N& n, S c) {
          return warming(n, c, {first, first}, [=](double i) { return i < static_cast<double>(first) ? excess : 0.0; });
        });
  add("exponential warm-up, 7 steps", [](N& n, S c) { return warming(n, c, {16, 42}, [](double i) { return 0.8 * std::exp(-i / 7); }); });
  add("first 3 x 2, then every 15th x 4", [](N& n, S c) {
    known_series r = warming(n, c, {3, 3}, [](double i) { return i < 3 ? 1.0 : 0.0; });
    for (S i = 10; i < c; i += 15) r.ms[i] *= 4;
    r.period = 15, r.has_kinds = true, r.is_even = false;
    return r;
  });
  add("step 6 x 8", [](N& n, S c) {
    known_series r = each_step(n, c, [](N& from, S i) { return noise(from) * (i == 6 ? 8 : 1); });
    r.mean = no_mean, r.is_even = c > 1400, r.has_kinds = c > 6;
    return r;
  });
  return all;
}
