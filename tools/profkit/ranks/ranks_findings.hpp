// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <profkit/document.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/impl/report/numbers.hpp>
#include <profkit/impl/report/shown_text.hpp>
#include <string>
#include <utility>

#include "job_summary.hpp"

// The sentences at the top of the report of many ranks.

namespace PROFKIT_NAMESPACE::detail {

/// The scope of a straggler, in words for a sentence.
inline std::string scope_words(std::string const& path) {
  return path.empty() ? std::string{"code outside any scope"} : name_words(last_component(path));
}

/// The same at the beginning of a sentence. Names of the program keep their case.
inline std::string subject_words(std::string const& path) { return path.empty() ? capitalized(scope_words(path)) : scope_words(path); }

/// "rank 3 (node17)", "ranks 3 (node17), 9 (node18) and 2 more", "all 8 ranks of node17".
inline std::string straggler_words(job_summary const& job) {
  straggler_summary const& late = *job.straggler;
  job_rank_summary const& first = job.ranks[late.rank];
  if (late.also.empty()) return name_words(first.name);
  if (late.is_whole_host) return fmt::format("all {} ranks of {}", late.also.size() + 1, name_words(first.host));
  constexpr std::size_t max_named = 3;
  own_vector<std::size_t> all{late.rank};
  all.insert(all.end(), late.also.begin(), late.also.end());
  std::string text = "ranks ";
  for (std::size_t i = 0; i < std::min(all.size(), max_named); ++i) {
    std::string const& name = job.ranks[all[i]].name;
    text += (i == 0 ? "" : i + 1 == all.size() ? " and " : ", ") + name_words(name.rfind("rank ", 0) == 0 ? name.substr(5) : name);
  }
  return all.size() > max_named ? text + fmt::format(" and {} more", all.size() - max_named) : text;
}

/// "forward/extra takes 3.01 ms of GPU time there, the others 0 ms".
inline std::string excess_words(straggler_summary const& straggler) {
  std::string const scope = scope_words(straggler.path);
  std::string const others =
      straggler.others.count() < 0.0005 ? std::string{"on no other rank"} : time_words(straggler.others) + " on the others";
  if (straggler.is_gpu_time) return fmt::format("{} takes {} of GPU time a step there, {}", scope, time_words(straggler.own), others);
  if (straggler.is_host_only) return fmt::format("{} takes {} a step there, {}", scope, time_words(straggler.own), others);
  return fmt::format(
      "{} {} a step while {} in {}; {}", straggler.also.empty() ? "its GPU waits" : "their GPUs wait", time_words(straggler.own),
      straggler.also.empty() ? "its host is" : "their hosts are", scope,
      straggler.others.count() < 0.0005 ? std::string{"no other rank waits there"} : "the others wait " + time_words(straggler.others));
}

/// @param rank position in `job_summary::ranks`.
inline bool holds_others_up(job_summary const& job, std::size_t rank) {
  if (!job.straggler) return false;
  auto const& also = job.straggler->also;
  return job.straggler->rank == rank || std::find(also.begin(), also.end(), rank) != also.end();
}

/// Whether the straggler's step thread waits for a processor for at least half of the excess, because its host is overloaded.
inline bool lacks_processors(job_summary const& job) {
  straggler_summary const& late = *job.straggler;
  constexpr double min_share = 0.5;
  auto const& wait = job.ranks[late.rank].processor_wait;
  return wait && !late.is_gpu_time && *wait >= min_share * late.excess;
}

/// Whether the waits for some ranks are unknown, because these have no usable file.
inline bool lacks_ranks(job_summary const& job) {
  return job.missing_members > 0 || (job.by_order > 0 && job.ranks_expected > job.ranks.size());
}

/// "3.0 ms (1.0 %, 2.7 to 3.3)": a time, its share of the step, and its 95 % interval.
inline std::string interval_words(milliseconds time, milliseconds low, milliseconds high, milliseconds step) {
  std::string const last = time_words(high);
  std::string first = time_words(low);
  // The unit of the upper end holds for both.
  std::size_t const unit = last.find_last_of("0123456789") + 1;
  if (first.size() >= last.size() - unit &&
      first.compare(first.find_last_of("0123456789") + 1, std::string::npos, last, unit, std::string::npos) == 0)
    first.resize(first.find_last_of("0123456789") + 1);
  bool const is_one_unit = first.size() < time_words(low).size();
  return fmt::format("{} ({}, {} to {})", time_words(time), share_words(step.count() > 0.0 ? time / step : 0.0), first,
                     is_one_unit ? last.substr(0, unit) : last);
}

/// Whether only host times are known: all that is not declared communication is one part, also undeclared waits.
inline bool is_on_host(job_summary const& job) { return !job.budget.empty() && job.budget.front().name == outside_communication; }

/// One sentence that names the straggler, or says that there is none.
inline std::string job_headline(job_summary const& job) {
  if (job.ranks.empty()) return "No rank has a usable file";
  if (job.steps == 0) return "The ranks have no collective of a measured step in common, so they cannot be compared";
  if (!job.straggler) {
    std::string const all = fmt::format("{} step together in {}", counted(job.ranks.size(), "rank", "ranks"), time_words(job.step));
    if (lacks_ranks(job)) return all + "; whether a rank holds the others up is unknown, because ranks have no usable file";
    if (job.steps < min_steps_for_straggler) {
      return fmt::format("{}; {} not enough to say whether a rank holds the others up", all, counted(job.steps, "step is", "steps are"));
    }
    if (job.unproven_host) {
      return fmt::format("{}, and no rank holds the others up by more than hosts differ: the host of {} takes {} longer in each step", all,
                         name_words(job.ranks[job.unproven_host->rank].name), time_words(job.unproven_host->excess));
    }
    std::string const where = is_on_host(job) ? " in declared communication" : "";
    auto const last =
        std::max_element(job.ranks.begin(), job.ranks.end(), [](auto const& a, auto const& b) { return a.imposed < b.imposed; });
    if (last->imposed < min_shown_waiting * job.step) return all + ", and no rank holds the others up" + where;
    return fmt::format("{}, and no rank is shown to hold the others up{}; they wait longest for {}, {} ({}) of the mean step", all, where,
                       name_words(last->name), time_words(last->imposed), share_words(last->imposed / job.step));
  }
  straggler_summary const& late = *job.straggler;
  std::string const name = capitalized(straggler_words(job)) + (late.also.empty() ? " holds" : " hold");
  std::string const size = interval_words(late.delay, late.delay_low, late.delay_high, job.step);
  if (late.steps > 0) {
    auto const every = static_cast<double>(job.steps) / static_cast<double>(late.steps);
    return fmt::format("{} the others up by {} in 1 of {:.0f} steps, in the mean step by {}: {}", name, time_words(late.delay * every),
                       every, size, excess_words(late));
  }
  return fmt::format("{} the others up by {} of each {} step: {}", name, size, time_words(job.step), excess_words(late));
}

/// The cost of the waits for the straggler.
inline finding straggler_finding(job_summary const& job) {
  straggler_summary const& late = *job.straggler;
  job_rank_summary const& rank = job.ranks[late.rank];
  bool const is_one = late.also.empty();
  finding result;
  result.headline = fmt::format("The others wait for {}.", straggler_words(job));
  result.text = fmt::format("In each step they wait {} in {} until {}, {} of it with nothing else to do.", time_words(late.imposed),
                            job.matched_messages > 0 ? "collectives and messages" : "collectives",
                            is_one ? "it arrives" : "the last of these arrives", time_words(late.imposed_exposed));
  // In several communicators, a wait may be for a delay elsewhere, so the excess of all these ranks is the bound.
  milliseconds const bound = late.excess_high * static_cast<double>(late.also.size() + 1);
  constexpr double small_part = 0.5;
  if (late.is_gpu_time && late.imposed_exposed < small_part * late.delay) {
    result.text += " A collective that waits slows down the work beside it.";
  }
  if (lacks_ranks(job)) result.text += " They may wait longer for ranks that have no usable file.";
  if (late.last_share && job.matched_messages == 0) {
    result.text +=
        fmt::format(" {} last at {} of the collectives.", is_one ? "It arrives" : "One of them arrives", share_words(*late.last_share));
  }
  if (job.slow_host && job.slow_host->rank == late.rank && !job.slow_host->stage.empty()) {
    result.text += fmt::format(" On the host, {} takes {} a step there, {} on the others.", scope_words(job.slow_host->stage),
                               time_words(job.slow_host->stage_time), time_words(job.slow_host->stage_others));
  }
  if (lacks_processors(job)) {
    result.text += fmt::format(" Its step thread waits {} of each step for a processor, because other threads use it.",
                               time_words(*rank.processor_wait));
    result.action = fmt::format("Give {} processors of its own: without the difference, a step can be at most {} shorter.",
                                name_words(rank.name), time_words(bound));
  } else {
    result.action = fmt::format("Look at {} on {}: without the difference, a step can be at most {} shorter.", scope_words(late.path),
                                name_words(rank.name), time_words(bound));
  }
  result.scope = late.path;
  return result;
}

/// The longest wait for messages of a rank.
inline finding messages_finding(job_summary const& job) {
  job_message_summary const& longest = job.messages.front();
  finding result;
  result.headline = longest.is_late_sender ? "Late sender:" : "Late receiver:";
  result.text = fmt::format("{} waits {} of each step in {} until {} {} messages.", name_words(job.ranks[longest.rank].name),
                            time_words(longest.waiting), scope_words(longest.path), name_words(job.ranks[longest.partner].name),
                            longest.is_late_sender ? "sends" : "receives");
  if (holds_others_up(job, longest.partner)) {
    result.action = "See the straggler: it is the late rank.";
  } else if (job.straggler) {
    result.action = fmt::format("See the straggler: {} may itself be late because it waits.", name_words(job.ranks[longest.partner].name));
  } else {
    result.action = fmt::format("See what {} does before.", name_words(job.ranks[longest.partner].name));
  }
  result.scope = longest.path;
  return result;
}

/// The bound of the step: the largest part of the budget.
inline finding pace_finding(job_summary const& job) {
  auto const share = [&](std::size_t part) { return job.step.count() > 0.0 ? job.budget[part].time / job.step : 0.0; };
  milliseconds communication{};
  for (job_rank_summary const& each : job.ranks) communication += each.communication / static_cast<double>(job.ranks.size());
  milliseconds const exposed = job.budget[1].time + job.budget[2].time;
  double const hidden = communication.count() > 0.0 ? std::max(0.0, 1.0 - exposed / communication) : 0.0;
  finding result;
  std::size_t largest = 0;
  for (std::size_t i = 1; i < job.budget.size(); ++i) {
    if (job.budget[i].time > job.budget[largest].time) largest = i;
  }
  static constexpr char const* heads[] = {
      "Computing sets the pace:", "Communication sets the pace:", "Waiting for other ranks sets the pace:", "Idle GPUs set the pace:"};
  result.headline = is_on_host(job) && largest == 0 ? "Code outside declared communication sets the pace:" : heads[largest];
  result.text = fmt::format("{} ({}). {} of the communication runs beside computing; {} ({}) does not",
                            part_words(job.budget[largest].time, job.step), share_words(share(largest)), share_words(hidden),
                            time_words(exposed), share_words(share(1) + share(2)));
  result.text += lacks_ranks(job) ? std::string{"."} : fmt::format(", {} of it waiting.", time_words(job.budget[2].time));
  static constexpr char const* actions[] = {"Faster kernels help most.", "Start collectives earlier, or make the last one smaller.",
                                            "See which rank arrives last, below.",
                                            "See the report of one rank for what its GPU waits for."};
  result.action = actions[largest];
  if (is_on_host(job) && largest == 0) {
    result.text += job.matched_messages > 0 ? " Waits that are not declared are part of it."
                                            : " Waits that are not declared, such as those of MPI_Wait, are part of it.";
    result.action = "Make this code faster, or declare its waits; those of MPI with profkit/mpi.hpp.";
  }
  if (job.straggler) result.action = "Read this again without the straggler: it changes all parts.";
  if (!job.straggler && largest == 0 && exposed.count() > 0.0)
    result.action += " Less communication can save " + time_words(exposed) + " at most.";
  return result;
}

inline finding slow_host_finding(job_summary const& job) {
  slow_host_summary const& host = *job.slow_host;
  std::string const name = name_words(job.ranks[host.rank].name);
  finding result;
  milliseconds const imposed = job.ranks[host.rank].imposed;
  milliseconds const exposed = job.ranks[host.rank].imposed_exposed;
  milliseconds others{};
  for (job_rank_summary const& each : job.ranks) others += each.imposed / static_cast<double>(job.ranks.size());
  bool const is_free = imposed < min_clock_bounds * job.clocks.bound || imposed < min_other_waits * others || exposed.count() <= 0.0;
  bool const is_unknown = lacks_ranks(job);
  result.headline = is_unknown ? fmt::format("{} has the slowest host:", capitalized(name))
                    : is_free  ? fmt::format("{} has the slowest host, which costs nothing yet:", capitalized(name))
                               : fmt::format("{} has the slowest host, and the others wait {} of the mean step for it:", capitalized(name),
                                             time_words(imposed));
  result.text = fmt::format("{} a step, the others {}", time_words(host.pace), time_words(host.others));
  if (!host.stage.empty()) {
    result.text += fmt::format("; its {} takes {}", scope_words(host.stage), time_words(host.stage_time));
    result.text += host.stage_others.count() < 0.0005 ? ", the others have none" : ", " + time_words(host.stage_others) + " on the others";
  }
  if (is_unknown) {
    result.text += ". How long the others wait for it is unknown, because ranks have no usable file.";
    result.action = "Report all ranks together.";
  } else if (is_free) {
    result.text += fmt::format(". The step takes {}, so the host runs ahead.", time_words(job.step));
    result.action =
        fmt::format("Fix it before the step takes less than {}: below that, all ranks wait for this rank.", time_words(host.pace));
  } else {
    result.text += ". Chance or the usual differences between hosts may explain it, so no rank is named.";
    result.action = fmt::format("See in which steps the others wait for {}, below.", name);
  }
  result.scope = host.stage;
  return result;
}

/// A host that takes longer, but not by more than hosts differ.
inline finding unproven_host_finding(job_summary const& job) {
  std::string const name = name_words(job.ranks[job.unproven_host->rank].name);
  finding result;
  result.headline = "The hosts differ:";
  result.text = fmt::format("that of {} takes {} longer in each step. Hosts differ by as much between runs of a program.", name,
                            time_words(job.unproven_host->excess));
  result.action = fmt::format("Run the job again on other hosts. If {} is slow there as well, the program is the reason.", name);
  return result;
}

/// The step threads wait for processors: more threads run than the hosts have processors for, so times of hosts are not reliable.
inline std::optional<finding> busy_finding(job_summary const& job) {
  milliseconds waiting{};
  job_rank_summary const* most = nullptr;
  for (job_rank_summary const& each : job.ranks) {
    milliseconds const own = each.processor_wait.value_or(milliseconds{});
    waiting += own / static_cast<double>(job.ranks.size());
    if (most == nullptr || own > most->processor_wait.value_or(milliseconds{})) most = &each;
  }
  milliseconds host{};
  for (job_rank_summary const& each : job.ranks) host += each.host_step / static_cast<double>(job.ranks.size());
  constexpr double min_share = 0.05;
  if (most == nullptr || waiting <= min_share * host) return std::nullopt;
  finding result;
  result.headline = "The hosts are busy:";
  result.text = fmt::format("the step threads wait {} ({}) of the host time of a step for a processor, {} on {}.", time_words(waiting),
                            share_words(waiting / host), time_words(*most->processor_wait), name_words(most->name));
  result.action = "Stop other programs, or use fewer threads than processors: times of hosts are not reliable.";
  return result;
}

/// The most important findings, at most 6.
inline own_vector<finding> job_findings(job_summary const& job) {
  own_vector<finding> result;
  if (auto busy = busy_finding(job); busy && job.steps > 0) result.push_back(std::move(*busy));
  if (!job.problems.empty()) {
    finding problems;
    problems.headline = "Not all ranks can be compared.";
    constexpr std::size_t max_named = 3;
    for (std::size_t i = 0; i < std::min(job.problems.size(), max_named); ++i) problems.text += (i > 0 ? "; " : "") + job.problems[i];
    if (job.problems.size() > max_named) problems.text += fmt::format("; and {} more", job.problems.size() - max_named);
    problems.text += ".";
    problems.action = "The figures are those of the other ranks; see Data quality.";
    result.push_back(std::move(problems));
  }
  if (job.steps == 0) return result;
  if (job.straggler) result.push_back(straggler_finding(job));
  if (job.unproven_host) result.push_back(unproven_host_finding(job));
  constexpr double small_share = 0.01;
  if (!job.messages.empty() && job.messages.front().waiting > small_share * job.step) result.push_back(messages_finding(job));
  result.push_back(pace_finding(job));
  bool const is_straggler = job.slow_host && holds_others_up(job, job.slow_host->rank);
  // If a host needs more time than the step, it delays its own GPU, independently of stragglers.
  if (job.slow_host && !is_straggler && job.slow_host->pace < job.step) result.push_back(slow_host_finding(job));
  if (job.startup) {
    finding startup;
    startup.headline = fmt::format("At the start the others waited {} for {},", time_words(job.startup->waiting),
                                   name_words(job.ranks[job.startup->rank].name));
    startup.text = fmt::format("once, in warm-up step {}.", job.startup->step);
    startup.action = "Nothing, unless start-up time matters. The measured steps do not contain it.";
    result.push_back(std::move(startup));
  }
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
