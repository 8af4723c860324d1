// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <profkit/document.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/impl/report/numbers.hpp>
#include <profkit/version.hpp>
#include <string>
#include <utility>

#include "job_summary.hpp"
#include "ranks_comparison.hpp"
#include "ranks_details.hpp"
#include "ranks_findings.hpp"
#include "ranks_map_section.hpp"
#include "ranks_sections.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// "4 ranks on 1 host, 20 measured steps after 5 of warm-up".
inline std::string job_subtitle(job_summary const& job) {
  own_vector<std::string> hosts;
  for (job_rank_summary const& each : job.ranks) hosts.push_back(each.host);
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  std::string text = "\xc2\xb7 " + counted(job.ranks.size(), "rank", "ranks");
  if (!job.ranks.empty() && !job.ranks.front().gpu.empty()) text += " on " + name_words(job.ranks.front().gpu);
  text += " \xc2\xb7 " + counted(hosts.size(), "host", "hosts");
  if (hosts.size() == 1 && !hosts.front().empty()) text += " (" + name_words(hosts.front()) + ")";
  text += " \xc2\xb7 " + counted(job.measured_steps, "measured step", "measured steps");
  return job.warmup_steps > 0 ? text + " after " + count_words(job.warmup_steps) + " of warm-up" : text;
}

/// The report of a job of many ranks.
inline document ranks_document(job_summary const& job) {
  document result;
  result.version = fmt::format("profkit {}", version);
  result.title = job.program.empty() ? "job" : job.program.substr(job.program.rfind('/') + 1);
  result.subtitle = job_subtitle(job);
  result.headline = job_headline(job);
  result.findings = job_findings(job);
  if (job.steps == 0) {
    result.sections.push_back(job_quality_section(job));
    return result;
  }
  auto const key = [&](char const* name, std::string value, std::string note) {
    result.key_figures.push_back({name, std::move(value), std::move(note)});
  };
  auto const share = [&](std::size_t part) { return job.step.count() > 0.0 ? job.budget[part].time / job.step : 0.0; };
  key("step", time_words(job.step), "mean of the ranks");
  for (std::size_t i = 0; i < job.budget.size(); ++i)
    key(job.budget[i].name.c_str(), share_words(share(i)), time_words(job.budget[i].time));
  if (!job.clocks.is_one_clock)
    key("clocks agree to", time_words(job.clocks.residual_median), "median; 95 % within " + time_words(job.clocks.residual_p95));
  result.sections.push_back(job_ranks_section(job));
  result.sections.push_back(job_budget_section(job));
  if (!job.critical_path.empty()) result.sections.push_back(job_path_section(job));
  result.sections.push_back(job_map_section(job));
  if (job.one_step) result.sections.push_back(job_step_section(job));
  result.sections.push_back(job_collectives_section(job));
  if (!job.messages.empty()) result.sections.push_back(job_messages_section(job));
  result.sections.push_back(job_differences_section(job));
  result.sections.push_back(job_stages_section(job));
  if (!job.functions.empty()) result.sections.push_back(job_functions_section(job));
  result.sections.push_back(job_quality_section(job));
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
