// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../analyze/ranks/job_summary.hpp"
#include "document.hpp"
#include "sentence_numbers.hpp"
#include "short_names.hpp"

// The sentences at the top of the report of many ranks.

namespace profkit::detail {

/// The scope of a straggler in a sentence.
inline std::string scope_words(std::string const& path) {
  return path.empty() ? std::string{"code outside any scope"} : name_words(last_component(path));
}

/// "forward/extra takes 3.01 ms of GPU time there, the others 0 ms".
inline std::string excess_words(straggler_summary const& of) {
  std::string const scope = scope_words(of.path);
  std::string const others = of.others.count() < 0.0005 ? std::string{"on no other rank"} : time_words(of.others) + " on the others";
  if (of.is_gpu_time) return fmt::format("{} takes {} of GPU time a step there, {}", scope, time_words(of.own), others);
  if (of.is_host_only) return fmt::format("{} takes {} a step there, {}", scope, time_words(of.own), others);
  return fmt::format("its GPU waits {} a step while its host is in {}, {}", time_words(of.own), scope,
                     of.others.count() < 0.0005 ? std::string{"that of no other rank does"} : "the others " + time_words(of.others));
}

/// One sentence: the straggler, or that there is none.
inline std::string job_headline(job_summary const& of) {
  if (of.ranks.empty()) return "No rank has a usable file";
  if (of.steps == 0) return "The ranks have no collective of a measured step in common, so they cannot be compared";
  if (!of.straggler) {
    return fmt::format("{} step together in {}, and no rank holds the others up", counted(of.ranks.size(), "rank", "ranks"),
                       time_words(of.step));
  }
  straggler_summary const& late = *of.straggler;
  std::string const name = capitalized(name_words(of.ranks[late.rank].name));
  if (late.excess.count() <= 0.0) {
    return fmt::format("{} holds the others up: they wait {} of each {} step for it", name, time_words(of.ranks[late.rank].imposed),
                       time_words(of.step));
  }
  return fmt::format("{} holds the others up by {} of each {} step ({}): {}", name, time_words(late.excess), time_words(of.step),
                     share_words(late.excess / of.step), excess_words(late));
}

/// What the waits for the straggler cost.
inline finding straggler_finding(job_summary const& of) {
  straggler_summary const& late = *of.straggler;
  job_rank_summary const& rank = of.ranks[late.rank];
  finding result;
  result.headline = fmt::format("The others wait for {}.", name_words(rank.name));
  result.text = fmt::format("In each step they wait {} in collectives until it arrives, {} of it with nothing else to do.",
                            time_words(rank.imposed), time_words(rank.imposed_exposed));
  if (rank.last_share) result.text += fmt::format(" It arrives last at {} of the collectives.", share_words(*rank.last_share));
  if (of.slow_host && of.slow_host->rank == late.rank && !of.slow_host->stage.empty()) {
    result.text += fmt::format(" On the host, {} takes {} a step there, {} on the others.", scope_words(of.slow_host->stage),
                               time_words(of.slow_host->stage_time), time_words(of.slow_host->stage_others));
  }
  result.action = late.excess.count() > 0.0
                      ? fmt::format("Look at {} on {}: without the difference, a step can be {} shorter at the very most.",
                                    scope_words(late.path), name_words(rank.name), time_words(late.excess))
                      : fmt::format("Compare the report of {} with that of another rank.", name_words(rank.name));
  result.scope = late.path;
  return result;
}

/// What bounds the step: the largest part of the budget.
inline finding pace_finding(job_summary const& of) {
  auto const share = [&](std::size_t part) { return of.step.count() > 0.0 ? of.budget[part].time / of.step : 0.0; };
  milliseconds communication{};
  for (job_rank_summary const& each : of.ranks) communication += each.communication / static_cast<double>(of.ranks.size());
  milliseconds const exposed = of.budget[1].time + of.budget[2].time;
  double const hidden = communication.count() > 0.0 ? std::max(0.0, 1.0 - exposed / communication) : 0.0;
  finding result;
  std::size_t largest = 0;
  for (std::size_t i = 1; i < of.budget.size(); ++i) {
    if (of.budget[i].time > of.budget[largest].time) largest = i;
  }
  static constexpr char const* heads[] = {
      "Computing sets the pace:", "Communication sets the pace:", "Waiting for other ranks sets the pace:", "Idle GPUs set the pace:"};
  result.headline = heads[largest];
  result.text = fmt::format("{} ({}). {} of the communication runs beside computing; {} ({}) does not, {} of it waiting.",
                            part_words(of.budget[largest].time, of.step), share_words(share(largest)), share_words(hidden),
                            time_words(exposed), share_words(share(1) + share(2)), time_words(of.budget[2].time));
  static constexpr char const* actions[] = {"Faster kernels help most.", "Start collectives earlier, or make the last one smaller.",
                                            "See which rank arrives last, below.",
                                            "See the report of one rank for what its GPU waits for."};
  result.action = actions[largest];
  if (of.clocks.is_one_clock && largest == 0) result.action = "Faster computing helps most.";
  if (of.straggler) result.action = "Read this again without the straggler: it changes all parts.";
  if (!of.straggler && largest == 0 && exposed.count() > 0.0)
    result.action += " Less communication can save " + time_words(exposed) + " at the very most.";
  return result;
}

inline finding slow_host_finding(job_summary const& of) {
  slow_host_summary const& host = *of.slow_host;
  std::string const name = name_words(of.ranks[host.rank].name);
  finding result;
  result.headline = fmt::format("{} has the slowest host, which costs nothing yet:", capitalized(name));
  result.text = fmt::format("{} a step, the others {}", time_words(host.pace), time_words(host.others));
  if (!host.stage.empty()) {
    result.text += fmt::format("; its {} takes {}", scope_words(host.stage), time_words(host.stage_time));
    result.text += host.stage_others.count() < 0.0005 ? ", the others have none" : ", that of the others " + time_words(host.stage_others);
  }
  result.text += fmt::format(". The step takes {}, so the host runs ahead.", time_words(of.step));
  result.action = fmt::format("Mend it before the step gets below {}: from there on all ranks would wait for it.", time_words(host.pace));
  result.scope = host.stage;
  return result;
}

/// What is worth reading first, at most 4.
inline std::vector<finding> job_findings(job_summary const& of) {
  std::vector<finding> result;
  if (!of.problems.empty()) {
    finding problems;
    problems.headline = "Not all ranks can be compared.";
    constexpr std::size_t max_named = 3;
    for (std::size_t i = 0; i < std::min(of.problems.size(), max_named); ++i) problems.text += (i > 0 ? "; " : "") + of.problems[i];
    if (of.problems.size() > max_named) problems.text += fmt::format("; and {} more", of.problems.size() - max_named);
    problems.text += ".";
    problems.action = "The figures are those of the other ranks; see Data quality.";
    result.push_back(std::move(problems));
  }
  if (of.steps == 0) return result;
  if (of.straggler) result.push_back(straggler_finding(of));
  result.push_back(pace_finding(of));
  bool const is_straggler = of.straggler && of.slow_host && of.straggler->rank == of.slow_host->rank;
  // A host that is slower than the step is long delays its own GPU, whoever holds the others up.
  if (of.slow_host && !is_straggler && of.slow_host->pace < of.step) result.push_back(slow_host_finding(of));
  if (of.startup) {
    finding startup;
    startup.headline = fmt::format("At the start the others waited {} for {},", time_words(of.startup->waiting),
                                   name_words(of.ranks[of.startup->rank].name));
    startup.text = fmt::format("once, in warm-up step {}.", of.startup->step);
    startup.action = "Nothing, unless start-up time matters. The measured steps do not contain it.";
    result.push_back(std::move(startup));
  }
  return result;
}

}  // namespace profkit::detail
