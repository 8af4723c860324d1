// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ranks/make_job.hpp"
#include "ranks/straggler_rule.hpp"
#include "ranks/wait_origins.hpp"

/// Simulated jobs of many ranks with a known truth: the figures that the rule for stragglers reads, without profiles.
namespace simulated {
using profkit::detail::rank_steps;

enum class noise_kind { white, autocorrelated, heavy_tailed, bursts };

/// A job in which all ranks work, and then meet in collectives.
struct job_scenario {
  std::string name;
  std::size_t ranks = 8;
  std::size_t steps = 20;
  double step = 100.0;  ///< ms of work of a rank
  double noise = 1.0;   ///< standard deviation of a step within a process, in percent
  noise_kind kind = noise_kind::white;
  double decay = 0.8;             ///< of autocorrelated noise
  bool is_gpu = false;            ///< the noise and the delay are on the GPU; else the GPU waits for the host
  double host_spread = 0.0;       ///< standard deviation between processes, in percent of the work on the host
  std::size_t per_host = 1;       ///< ranks of a host; its ranks share the difference
  std::vector<std::size_t> slow;  ///< the ranks with the delay
  double delay = 0.0;             ///< mean delay of a slow rank in a step, in ms
  std::size_t every = 1;          ///< the delay comes in each n-th step, n times as long
  bool is_growing = false;        ///< the delay grows from 0 to twice its mean
  bool is_delay_gpu = false;      ///< of the delay alone, if it differs from the noise
  std::size_t row = 0;            ///< ranks of a row: collectives of the row, then of the column; 2: pairs, then all; 0: all
  bool is_delay_second = false;   ///< the delay comes before the second collective of a step
};

/// The times of one simulated job.
struct simulated_job {
  rank_steps held;                                            ///< mean wait of the others that the rank caused
  std::vector<std::vector<std::vector<std::size_t>>> groups;  ///< by collective of a step: the ranks of each communicator
  std::vector<rank_steps> gpu;                                ///< by collective of a step: work before it
  std::vector<rank_steps> host;
  std::vector<rank_steps> late;  ///< the part of both that is the delay
  double length = 0.0;           ///< mean step
  double faster = 0.0;           ///< mean step without the delay
};

/// The ranks of a communicator wait for the last one.
/// @param before called with the position of the last one.
template <class Before>
void meet(std::vector<std::size_t> const& group, std::vector<double>& now, Before const& before) {
  auto const last = std::max_element(group.begin(), group.end(), [&](std::size_t a, std::size_t b) { return now[a] < now[b]; });
  before(static_cast<std::size_t>(last - group.begin()));
  for (std::size_t const each : group) now[each] = std::max(now[each], now[*last]);
}

/// Runs a job, and returns its mean step.
/// @param work_of called with collective of a step, rank and step: the work before it, in ms.
/// @param before called with collective, communicator, step, the times of all ranks, and the last one of the communicator.
template <class WorkOf, class Before>
double run_job(simulated_job const& job, WorkOf const& work_of, Before const& before) {
  std::vector<double> now(job.held.size());
  std::size_t const steps = job.held.front().size();
  for (std::size_t s = 0; s < steps; ++s) {
    for (std::size_t c = 0; c < job.groups.size(); ++c) {
      for (std::size_t r = 0; r < now.size(); ++r) now[r] += work_of(c, r, s);
      for (std::size_t g = 0; g < job.groups[c].size(); ++g)
        meet(job.groups[c][g], now, [&](std::size_t last) { before(c, g, s, now, last); });
    }
  }
  return *std::max_element(now.begin(), now.end()) / static_cast<double>(steps);
}

/// What the ranks of a simulated job record: the delay is in the scope "late", other work in "work".
inline profkit::detail::own_vector<profkit::job_rank> recorded_ranks(simulated_job const& job) {
  auto const time = [](double ms) { return profkit::timestamp{std::chrono::nanoseconds{std::llround(ms * 1e6)}}; };
  profkit::detail::own_vector<profkit::job_rank> ranks(job.held.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    ranks[r].rank = static_cast<std::uint32_t>(r);
    ranks[r].environment.host = "node";
    ranks[r].timeline.paths = {"step/work", "step/late"};
    ranks[r].timeline.kinds.resize(job.groups.size());
  }
  bool is_host = true;
  for (rank_steps const& each : job.gpu) is_host = is_host && each.front().front() <= 0.0 && each.back().front() <= 0.0;
  std::vector<double> free(ranks.size());
  auto const work_of = [&](std::size_t c, std::size_t r, std::size_t s) { return job.gpu[c][r][s] + job.host[c][r][s]; };
  run_job(job, work_of, [&](std::size_t c, std::size_t g, std::size_t s, std::vector<double> const& now, std::size_t last) {
    std::vector<std::size_t> const& group = job.groups[c][g];
    for (std::size_t const r : group) {
      profkit::rank_timeline& to = ranks[r].timeline;
      to.kinds[c] = {1 + c * 100'000 + g, "", "AllReduce", "", "", "", is_host, static_cast<std::uint32_t>(group.size()), 0};
      to.kinds[c].rank = static_cast<std::uint32_t>(std::find(group.begin(), group.end(), r) - group.begin());
      profkit::interval const taken{time(now[r]), time(now[group[last]])};
      profkit::timeline_collective next;
      next.step = next.sequence = s;
      next.kind = static_cast<std::uint32_t>(c);
      next.time = taken;
      next.exposed.push_back(taken);
      for (bool const is_gpu : {true, false}) {
        double const all = (is_gpu ? job.gpu : job.host)[c][r][s];
        double const late = std::min(all, job.late[c][r][s]);
        profkit::detail::own_vector<profkit::path_time>& work = is_gpu ? next.busy : next.idle;
        if (all > late) work.push_back({0, time(all) - time(late)});
        if (late > 0.0) work.push_back({1, time(late) - time(0.0)});
      }
      to.collectives.push_back(std::move(next));
      if (c == 0) {
        to.steps.emplace_back().index = s;
        to.steps.back().begin = time(free[r]);
      }
      to.steps.back().end = taken.end;
      to.steps.back().next_begin = taken.end;
      to.steps.back().host = {to.steps.back().begin, taken.end};
      free[r] = now[group[last]];
    }
  });
  return ranks;
}

/// The critical path of a simulated job against the truth.
struct checked_path {
  double off = 0.0;             ///< its length minus the mean step, in ms
  std::size_t broken = 0;       ///< number of parts without which the step would become shorter by more than their time
  std::size_t broken_late = 0;  ///< the same, of the delays of all ranks together
};

inline checked_path check_path(simulated_job const& job) {
  profkit::job_summary const found = profkit::summarize_job(recorded_ranks(job));
  checked_path result;
  constexpr double rounding = 1e-3;
  auto const step_without = [&](auto const& is_left_out) {
    return run_job(
        job,
        [&](std::size_t c, std::size_t r, std::size_t s) {
          double const late = job.late[c][r][s];
          double const work = job.gpu[c][r][s] + job.host[c][r][s] - late;
          return (is_left_out(r, false) ? 0.0 : work) + (is_left_out(r, true) ? 0.0 : late);
        },
        [](std::size_t, std::size_t, std::size_t, std::vector<double> const&, std::size_t) {});
  };
  double late = 0.0;
  std::size_t tried = 0;
  result.off = -job.length;
  for (profkit::job_path_part const& part : found.critical_path) {
    result.off += part.time.count();
    bool const is_late = part.path == "step/late";
    if (is_late || part.kind == "rest") late += part.time.count();
    constexpr std::size_t max_tried = 4;
    if ((part.kind != "GPU" && part.kind != "host") || ++tried > max_tried) continue;
    double const without = step_without([&](std::size_t r, bool of_late) { return r == *part.rank && of_late == is_late; });
    result.broken += job.length - without > part.time.count() + rounding ? 1 : 0;
  }
  result.broken_late = job.length - job.faster > late + rounding ? 1 : 0;
  return result;
}

class job_simulator {
 public:
  job_simulator(job_scenario const& scenario, std::uint64_t seed) : is_{scenario}, random_{seed} {}

  simulated_job make() {
    rank_steps const noise = noises();
    std::vector<double> factor(is_.ranks);
    for (std::size_t r = 0; r < is_.ranks; ++r) factor[r] = r % is_.per_host == 0 ? is_.host_spread * normal_(random_) : factor[r - 1];
    simulated_job result;
    result.groups = groups_of_collectives();
    result.held = rank_steps(is_.ranks, profkit::detail::own_vector<double>(is_.steps));
    result.gpu = result.host = result.late = std::vector<rank_steps>(result.groups.size(), result.held);
    profkit::detail::wait_origins origins{is_.ranks};
    for (std::size_t s = 0; s < is_.steps; ++s) {
      for (std::size_t r = 0; r < is_.ranks; ++r) {
        double const work = std::max(0.0, is_.step * (1.0 + 0.01 * (noise[r][s] + factor[r])));
        for (std::size_t c = 0; c < result.groups.size(); ++c) {
          double const part = work / static_cast<double>(result.groups.size());
          bool const is_late = c == (is_.is_delay_second ? 1U : 0U) && std::find(is_.slow.begin(), is_.slow.end(), r) != is_.slow.end();
          double const late = is_late ? delay_in(s) : 0.0;
          (is_.is_gpu ? result.gpu : result.host)[c][r][s] += part;
          (is_.is_gpu || is_.is_delay_gpu ? result.gpu : result.host)[c][r][s] += late;
          result.late[c][r][s] = late;
        }
      }
    }
    auto const all_of = [&](std::size_t c, std::size_t r, std::size_t s) { return result.gpu[c][r][s] + result.host[c][r][s]; };
    result.length = run_job(result, all_of, [&](std::size_t c, std::size_t g, std::size_t s, std::vector<double> const& now, auto last) {
      std::vector<std::size_t> const& group = result.groups[c][g];
      auto const charge = [&](std::size_t origin, std::size_t i, double time) {
        if (origin != group[i]) result.held[origin][s] += time / static_cast<double>(is_.ranks - 1);
      };
      origins.meet(
          group.size(), last, [&](std::size_t i) { return group[i]; }, [&](std::size_t i) { return now[group[last]] - now[group[i]]; },
          charge);
    });
    result.faster = run_job(
        result, [&](auto c, auto r, auto s) { return all_of(c, r, s) - result.late[c][r][s]; },
        [](std::size_t, std::size_t, std::size_t, std::vector<double> const&, std::size_t) {});
    return result;
  }

 private:
  [[nodiscard]] double delay_in(std::size_t step) const {
    if (step % is_.every != is_.every / 2) return 0.0;
    double const grown = is_.is_growing ? 2.0 * (static_cast<double>(step) + 0.5) / static_cast<double>(is_.steps) : 1.0;
    return is_.delay * static_cast<double>(is_.every) * grown;
  }

  rank_steps noises() {
    rank_steps result(is_.ranks, profkit::detail::own_vector<double>(is_.steps));
    for (profkit::detail::own_vector<double>& row : result) {
      double slow = normal_(random_);
      std::size_t burst = 0;
      for (double& each : row) {
        double value = normal_(random_);
        if (is_.kind == noise_kind::autocorrelated) {
          slow = is_.decay * slow + std::sqrt(1.0 - is_.decay * is_.decay) * value;
          value = slow;
        } else if (is_.kind == noise_kind::heavy_tailed) {  // Student's t with 3 degrees of freedom has a standard deviation of 1.73
          double squares = 0.0;
          for (int i = 0; i < 3; ++i) squares += std::pow(normal_(random_), 2);
          value /= std::sqrt(squares / 3.0);
        } else if (is_.kind == noise_kind::bursts) {  // every 50th step begins 1 to 5 steps that are 10 standard deviations longer
          if (burst == 0 && random_() % 50 == 0) burst = 1 + random_() % 5;
          if (burst > 0) value += 10.0, --burst;
        }
        each = is_.noise * value;
      }
    }
    return result;
  }

  /// By collective of a step: the ranks of each communicator.
  [[nodiscard]] std::vector<std::vector<std::vector<std::size_t>>> groups_of_collectives() const {
    std::vector<std::vector<std::size_t>> all(1);
    for (std::size_t r = 0; r < is_.ranks; ++r) all[0].push_back(r);
    if (is_.row == 0) return {all};
    std::vector<std::vector<std::size_t>> rows(is_.ranks / is_.row);
    std::vector<std::vector<std::size_t>> columns(is_.row);
    for (std::size_t r = 0; r < is_.ranks; ++r) {
      rows[r / is_.row].push_back(r);
      columns[r % is_.row].push_back(r);
    }
    return {rows, is_.row == 2 ? all : columns};
  }

  job_scenario is_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

/// The scenarios of the table in docs/distributed.md.
inline std::vector<job_scenario> job_scenarios() {
  std::vector<job_scenario> result;
  auto const add = [&](std::string name, std::size_t ranks, std::size_t steps, auto const& change) {
    job_scenario next;
    next.name = std::move(name);
    next.ranks = ranks;
    next.steps = steps;
    change(next);
    result.push_back(std::move(next));
  };
  struct size {
    std::size_t ranks, steps;
  };
  std::vector<size> const sizes{{2, 8}, {2, 20}, {2, 100}, {4, 20}, {8, 8}, {16, 8}, {32, 20}, {128, 50}, {1024, 8}, {1024, 100}};
  for (auto const& [ranks, steps] : sizes) add("even, white", ranks, steps, [](job_scenario&) {});
  for (auto const& [ranks, steps] : sizes) add("even, white, GPU", ranks, steps, [](job_scenario& j) { j.is_gpu = true; });
  std::vector<size> const few{{2, 20}, {2, 100}, {2, 1000}, {4, 20}, {8, 50}, {32, 20}, {128, 100}};
  struct kind_name {
    noise_kind kind;
    char const* name;
  };
  for (auto const& [kind, name] : {kind_name{noise_kind::autocorrelated, "autocorrelated (0.8)"},
                                   kind_name{noise_kind::heavy_tailed, "heavy tails"}, kind_name{noise_kind::bursts, "bursts"}}) {
    for (bool const is_gpu : {false, true}) {
      for (auto const& [ranks, steps] : few)
        add(std::string{"even, "} + name + (is_gpu ? ", GPU" : ""), ranks, steps,
            [&, k = kind](job_scenario& j) { j.kind = k, j.is_gpu = is_gpu; });
    }
  }
  for (auto const& [ranks, steps] : {size{2, 20}, {4, 20}, {8, 50}, {32, 20}, {128, 50}, {1024, 20}})
    add("even, hosts differ by 5 %", ranks, steps, [](job_scenario& j) { j.host_spread = 5.0; });
  for (auto const& [ranks, steps] : {size{16, 20}, {64, 20}, {1024, 20}})
    add("even, hosts of 8 ranks differ by 5 %", ranks, steps, [](job_scenario& j) { j.host_spread = 5.0, j.per_host = 8; });
  for (auto const& [ranks, steps] : {size{8, 20}, {64, 20}}) {
    add("even, pairs and all", ranks, steps, [](job_scenario& j) { j.row = 2; });
    add("even, grid of rows of 4", ranks, steps, [](job_scenario& j) { j.row = 4; });
  }
  auto const slow = [&](std::string name, std::size_t ranks, std::size_t steps, auto const& change) {
    add(std::move(name), ranks, steps, [&](job_scenario& j) {
      j.slow = {j.ranks / 2};
      j.delay = 3.0;
      change(j);
    });
  };
  for (auto const& [ranks, steps] : sizes) slow("GPU 3 % slow", ranks, steps, [](job_scenario& j) { j.is_gpu = true; });
  for (auto const& [ranks, steps] : {size{8, 20}, {32, 20}, {128, 50}, {1024, 8}, {1024, 100}})
    slow("host 3 % slow", ranks, steps, [](job_scenario&) {});
  for (auto const& [ranks, steps] : {size{2, 20}, {4, 20}}) slow("host 60 % slow", ranks, steps, [](job_scenario& j) { j.delay = 60.0; });
  for (auto const& [kind, name] : {kind_name{noise_kind::autocorrelated, "autocorrelated (0.8)"},
                                   kind_name{noise_kind::heavy_tailed, "heavy tails"}, kind_name{noise_kind::bursts, "bursts"}}) {
    for (auto const& [ranks, steps] : {size{2, 100}, {8, 50}, {128, 50}})
      slow(std::string{"GPU 3 % slow, "} + name, ranks, steps, [k = kind](job_scenario& j) { j.kind = k, j.is_gpu = true; });
  }
  for (auto const& [ranks, steps] : {size{2, 20}, {4, 20}, {8, 20}, {128, 20}})
    slow("GPU 1 % slow, noise 0.1 %", ranks, steps, [](job_scenario& j) { j.is_gpu = true, j.noise = 0.1, j.delay = 1.0; });
  for (auto const& [ranks, steps] : {size{2, 20}, {4, 20}, {32, 20}})
    slow("GPU slow by 20 ms, hosts differ by 5 %", ranks, steps,
         [](job_scenario& j) { j.host_spread = 5.0, j.is_delay_gpu = true, j.delay = 20.0; });
  for (auto const& [ranks, steps] : {size{4, 20}, {8, 20}, {32, 20}, {128, 50}})
    slow("two GPUs 3 % slow", ranks, steps, [](job_scenario& j) { j.is_gpu = true, j.slow.push_back(0); });
  for (auto const& [ranks, steps] : {size{2, 100}, {4, 100}, {8, 100}, {64, 50}, {1024, 100}})
    slow("host slow by 50 ms in 1 of 10 steps", ranks, steps, [](job_scenario& j) { j.every = 10, j.delay = 5.0; });
  for (auto const& [ranks, steps] : {size{2, 20}, {8, 50}, {128, 50}})
    slow("GPU drifts to 6 % slow", ranks, steps, [](job_scenario& j) { j.is_gpu = true, j.is_growing = true; });
  for (auto const& [ranks, steps] : {size{8, 20}, {64, 20}}) {
    for (std::size_t const row : {2U, 4U}) {
      std::string const where = row == 2 ? ", pairs and all" : ", grid of rows of 4";
      slow("GPU 3 % slow" + where, ranks, steps, [&](job_scenario& j) { j.is_gpu = true, j.row = row; });
      slow("GPU 3 % slow before the second collective" + where, ranks, steps,
           [&](job_scenario& j) { j.is_gpu = true, j.row = row, j.is_delay_second = true; });
      slow("host 30 % slow" + where, ranks, steps, [&](job_scenario& j) { j.row = row, j.delay = 30.0; });
      slow("two neighbouring GPUs 10 % slow" + where, ranks, steps,
           [&](job_scenario& j) { j.is_gpu = true, j.row = row, j.delay = 10.0, j.slow.push_back(j.slow.front() + 1); });
      slow("two GPUs of different rows 10 % slow" + where, ranks, steps,
           [&](job_scenario& j) { j.is_gpu = true, j.row = row, j.delay = 10.0, j.slow.push_back(0); });
    }
  }
  for (auto const& [ranks, steps] : {size{2, 50}, {4, 30}, {8, 30}, {16, 12}, {128, 50}})
    add("even, autocorrelated (0.9), GPU", ranks, steps,
        [](job_scenario& j) { j.kind = noise_kind::autocorrelated, j.decay = 0.9, j.is_gpu = true; });
  return result;
}

/// The answer of the rule about a simulated job.
struct found_straggler {
  std::vector<std::size_t> ranks;  ///< empty: nobody
  double low = 0.0;                ///< interval of the size, ms
  double high = 0.0;
  double delay = 0.0;           ///< "holds the others up by", ms
  std::optional<double> bound;  ///< "a step can be at most so much shorter"
  bool is_right = false;        ///< all of them have the delay
  bool is_busy = false;         ///< a host is slower, but not by more than hosts differ
};

/// The times of a simulated job, all in one scope.
class simulated_times {
 public:
  explicit simulated_times(simulated_job const& job)
      : job_{job}, work_{times_of(job.host, every(job.held.size())), times_of(job.gpu, every(job.held.size()))} {}

  [[nodiscard]] profkit::detail::work_times const& all(bool is_gpu) const { return work_[is_gpu ? 1 : 0]; }
  static std::optional<std::string> scope(bool /*is_gpu*/, std::size_t /*rank*/, profkit::detail::own_vector<bool> const& /*steps*/) {
    return "step";
  }
  [[nodiscard]] profkit::detail::work_times in(bool is_gpu, std::string const& /*scope*/,
                                               profkit::detail::own_vector<bool> const& counts) const {
    return times_of(is_gpu ? job_.gpu : job_.host, counts);
  }

 private:
  /// Beyond the median of the other ranks of each communicator.
  [[nodiscard]] profkit::detail::work_times times_of(std::vector<rank_steps> const& work,
                                                     profkit::detail::own_vector<bool> const& counts) const {
    profkit::detail::work_times result;
    std::size_t const ranks = job_.held.size();
    std::size_t const steps = job_.held.front().size();
    result.excess.assign(ranks, profkit::detail::own_vector<double>(steps));
    result.own.assign(ranks, 0.0);
    result.usual.assign(ranks, 0.0);
    for (std::size_t c = 0; c < work.size(); ++c) {
      for (std::vector<std::size_t> const& group : job_.groups[c]) {
        profkit::detail::own_vector<bool> is_other;
        for (std::size_t const each : group) is_other.push_back(counts[each]);
        for (std::size_t s = 0; s < steps; ++s) {
          profkit::detail::own_vector<double> values;
          for (std::size_t const each : group) values.push_back(work[c][each][s]);
          profkit::detail::own_vector<double> const medians = profkit::detail::medians_of_others(values, is_other);
          for (std::size_t i = 0; i < group.size(); ++i) {
            result.excess[group[i]][s] += values[i] - medians[i];
            result.usual[group[i]] += medians[i] / static_cast<double>(steps);
          }
        }
      }
    }
    return result;
  }

  static profkit::detail::own_vector<bool> every(std::size_t ranks) { return profkit::detail::own_vector<bool>(ranks, true); }

  simulated_job const& job_;
  profkit::detail::work_times work_[2];
};

inline found_straggler find_straggler(job_scenario const& scenario, simulated_job const& job) {
  profkit::detail::own_vector<std::size_t> hosts;
  for (std::size_t r = 0; r < scenario.ranks; ++r) hosts.push_back(r / scenario.per_host);
  simulated_times times{job};
  profkit::detail::straggler_rule<simulated_times> rule{times, job.held, hosts, 0.0};
  auto const named = rule.find();
  found_straggler result;
  result.is_busy = rule.unproven().has_value();
  if (!named) return result;
  result.ranks = named->ranks;
  result.is_right = std::all_of(named->ranks.begin(), named->ranks.end(), [&](std::size_t each) {
    return std::find(scenario.slow.begin(), scenario.slow.end(), each) != scenario.slow.end();
  });
  for (std::size_t const each : named->ranks) {
    for (double const step : job.held[each]) result.delay += step / static_cast<double>(scenario.steps);
  }
  result.delay = std::min(result.delay, named->excess);
  result.low = named->low;
  result.high = named->high;
  result.bound = named->high * static_cast<double>(named->ranks.size());
  return result;
}

}  // namespace simulated
