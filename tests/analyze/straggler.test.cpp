// SPDX-License-Identifier: Apache-2.0

#include "../support/made_job.hpp"
#include "../support/simulated_jobs.hpp"
#include "../support/testing.hpp"
#include "ranks/make_job.hpp"
#include "ranks/ranks_document.hpp"
#include "ranks/ranks_findings.hpp"
#include "ranks/shown_ranks.hpp"

namespace {

using profkit::timestamp;
using std::chrono::nanoseconds;

/// The first of `made.collectives` collectives of a step, before which `made_job` delays the slow rank.
bool is_first_of_step(made_job const& made, profkit::timeline_collective const& each) { return each.sequence % made.collectives == 0; }

}  // namespace

TEST_CASE("fewer than 5 compared steps name no rank", "[ranks]") {
  made_job made;
  made.warmup = 1;
  made.jitter = nanoseconds{400'000};
  for (std::uint32_t steps = 2; steps <= 5; ++steps) {
    CAPTURE(steps);
    made.steps = steps;
    int named = 0;
    for (std::uint32_t seed = 0; seed < 100; ++seed) {
      made.seed = seed;
      profkit::job_summary const job = profkit::summarize_job(made.make());
      if (job.straggler || job.unproven_host) ++named;
      CHECK_THAT(profkit::detail::job_headline(job), ContainsSubstring("not enough to say whether a rank holds the others up"));
    }
    CHECK(named == 0);
  }
  made.steps = 6;
  made.jitter = nanoseconds{20'000};
  made.delay = std::chrono::milliseconds{2};
  CHECK(profkit::summarize_job(made.make()).straggler);
}

TEST_CASE("a rank that takes longer in one scope and less in another one holds the others up by what they wait", "[ranks]") {
  made_job made;
  made.delay = std::chrono::milliseconds{2};
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  nanoseconds const moved = std::chrono::milliseconds{10};
  for (profkit::job_rank& each : ranks) {
    for (profkit::timeline_step& step : each.timeline.steps) step.compute += moved;
    for (profkit::timeline_collective& one : each.timeline.collectives) {
      if (!is_first_of_step(made, one)) continue;
      // The path 0 is "step/data", 1 is "step/forward".
      std::uint32_t const longer = each.rank == made.slow_rank ? 0 : 1;
      for (profkit::path_time& busy : one.busy) busy.time += busy.path == longer ? moved : nanoseconds{};
    }
  }
  profkit::job_summary const job = profkit::summarize_job(ranks);
  REQUIRE(job.straggler);
  CHECK(job.straggler->path == "step/data");
  CHECK(job.straggler->excess.count() == Approx(12.0).margin(0.1));
  CHECK(job.straggler->delay.count() == Approx(2.0).margin(0.1));
  CHECK_THAT(profkit::detail::job_headline(job), ContainsSubstring("holds the others up by 2.0") && ContainsSubstring("data takes 12.0"));
  CHECK_THAT(profkit::detail::straggler_finding(job).action, ContainsSubstring("a step can be at most 12.0"));
}

TEST_CASE("a rank that is late in each tenth step is named with these steps", "[ranks]") {
  made_job made;
  made.steps = 83;
  made.slow_rank = 2;
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  nanoseconds const late = std::chrono::milliseconds{30};
  for (profkit::job_rank& each : ranks) {
    for (profkit::timeline_collective& one : each.timeline.collectives) {
      if (one.step % 10 != 4 || !is_first_of_step(made, one)) continue;
      if (each.rank == made.slow_rank) {
        one.idle.push_back({0, late});
      } else {
        one.time.begin -= late;
        one.exposed = {one.time};
      }
    }
  }
  profkit::job_summary const job = profkit::summarize_job(ranks);
  REQUIRE(job.straggler);
  CHECK(job.straggler->rank == made.slow_rank);
  CHECK(job.straggler->path == "step/data");
  CHECK_FALSE(job.straggler->is_gpu_time);
  CHECK(job.straggler->steps == 8);
  CHECK(job.straggler->excess.count() == Approx(8.0 * 30.0 / static_cast<double>(job.steps)).margin(0.01));
  CHECK(job.straggler->excess_low < job.straggler->excess);
  CHECK_THAT(profkit::detail::job_headline(job), ContainsSubstring("Rank 2 (node) holds the others up by 30.") &&
                                                     ContainsSubstring("in 1 of 10 steps, in the mean step by 2.9") &&
                                                     ContainsSubstring("while its host is in data"));
}

TEST_CASE("few even jobs name a rank, and a slow rank is found", "[ranks]") {
  constexpr std::size_t jobs = 20;
  std::size_t even = 0;
  std::size_t named = 0;
  for (simulated::job_scenario const& scenario : simulated::job_scenarios()) {
    constexpr std::size_t max_values = 800;
    if (scenario.ranks * scenario.steps > max_values) continue;
    INFO(scenario.name << ", " << scenario.ranks << " ranks, " << scenario.steps << " steps");
    std::size_t right = 0;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < jobs; ++i) {
      simulated::simulated_job const job = simulated::job_simulator{scenario, i}.make();
      simulated::found_straggler const found = simulated::find_straggler(scenario, job);
      if (!found.ranks.empty()) ++(found.is_right ? right : wrong);
      if (!found.is_right) continue;
      CHECK(job.length - job.faster <= found.bound.value() + 1e-9);
      if (scenario.delay >= 30.0) CHECK(found.delay == Approx(scenario.delay).epsilon(0.1));
    }
    if (scenario.slow.empty()) {
      even += jobs;
      named += wrong;
    } else {
      CHECK(wrong <= 1);
    }
    if (scenario.name == "GPU 3 % slow" && scenario.steps > 8) CHECK(right >= jobs - jobs / 20);
    if (scenario.every > 1) CHECK(right == jobs);
  }
  CHECK(50 * named <= even);
}

TEST_CASE("of two GPUs, one that is 3 % slow is found in 95 % of jobs, and few even jobs with correlated steps name one", "[ranks]") {
  constexpr std::size_t jobs = 1000;
  auto const share_named = [](simulated::job_scenario const& scenario) {
    std::size_t named = 0;
    for (std::uint64_t seed = 0; seed < jobs; ++seed) {
      simulated::simulated_job const job = simulated::job_simulator{scenario, seed}.make();
      simulated::found_straggler const found = simulated::find_straggler(scenario, job);
      if (!found.ranks.empty() && !scenario.slow.empty()) CHECK(found.is_right);
      named += found.ranks.empty() ? 0 : 1;
    }
    return static_cast<double>(named) / static_cast<double>(jobs);
  };
  for (std::size_t const ranks : {2U, 4U}) {
    for (std::size_t const steps : {8U, 20U}) {
      CAPTURE(ranks, steps);
      simulated::job_scenario scenario;
      scenario.ranks = ranks;
      scenario.steps = steps;
      scenario.is_gpu = true;
      scenario.host_spread = 0.4;  // what the rule assumes of processes
      CHECK(share_named(scenario) <= 0.02);
      scenario.host_spread = 0.0;
      scenario.slow = {1};
      scenario.delay = 3.0;
      CHECK(share_named(scenario) >= 0.95);
      scenario.slow.clear();
      scenario.kind = simulated::noise_kind::autocorrelated;
      if (steps > 8) CHECK(share_named(scenario) <= 0.02);
    }
  }
}

TEST_CASE("few even jobs of many ranks with slow noise in few steps name a rank", "[ranks]") {
  simulated::job_scenario scenario;
  scenario.ranks = 16;
  scenario.steps = 12;
  scenario.is_gpu = true;
  scenario.kind = simulated::noise_kind::autocorrelated;
  scenario.decay = 0.9;
  std::size_t named = 0;
  constexpr std::size_t jobs = 400;
  for (std::uint64_t seed = 0; seed < jobs; ++seed)
    named += simulated::find_straggler(scenario, simulated::job_simulator{scenario, seed}.make()).ranks.empty() ? 0 : 1;
  CHECK(named <= jobs / 30);
}

TEST_CASE("a slow half of the ranks is named, and neither of two equally slow ones of three", "[ranks]") {
  made_job made;
  made.ranks = 8;
  made.also_slow = {1, 2, 3};
  made.delay = std::chrono::milliseconds{2};
  made.hosts = {"a", "a", "a", "a", "b", "b", "b", "b"};
  profkit::job_summary job = profkit::summarize_job(made.make());
  REQUIRE(job.straggler);
  CHECK(job.straggler->is_whole_host);
  CHECK(job.straggler->also.size() == 3);
  CHECK(job.straggler->delay.count() == Approx(2.0).margin(0.1));

  made = {};
  made.ranks = 3;
  made.slow_rank = 1;
  made.also_slow = {2};
  made.delay = std::chrono::milliseconds{2};
  for (made.seed = 0; made.seed < 10; ++made.seed) CHECK_FALSE(profkit::summarize_job(made.make()).straggler);
}

TEST_CASE("values far from the median are clipped if they are few", "[ranks]") {
  profkit::detail::own_vector<double> values;
  for (int i = 0; i < 20; ++i) values.push_back(i % 2 == 0 ? 9.9 : 10.1);
  values[3] = 50.0;
  CHECK(profkit::detail::without_extremes(values)[3] < 11.0);
  for (std::size_t i = 0; i < 7; ++i) values[2 * i] = -10.0;  // another kind of step
  CHECK(profkit::detail::without_extremes(values) == values);
}

TEST_CASE("without a straggler, the headline names the rank with the longest waits", "[ranks]") {
  profkit::job_summary job = profkit::summarize_job(made_job{}.make());
  CHECK_THAT(profkit::detail::job_headline(job), ContainsSubstring("no rank holds the others up"));
  job.ranks[2].imposed = 0.1 * job.step;
  CHECK_THAT(profkit::detail::job_headline(job), ContainsSubstring("no rank is shown to hold the others up; they wait longest for rank 2"));
}

TEST_CASE("the critical path of a job adds up to the step, and bounds what a step can become shorter", "[ranks]") {
  for (simulated::job_scenario const& scenario : simulated::job_scenarios()) {
    constexpr std::size_t max_values = 800;
    if (scenario.ranks * scenario.steps > max_values) continue;
    INFO(scenario.name << ", " << scenario.ranks << " ranks, " << scenario.steps << " steps");
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      simulated::checked_path const path = simulated::check_path(simulated::job_simulator{scenario, seed}.make());
      CHECK(path.off == Approx(0.0).margin(1e-3));
      CHECK(path.broken + path.broken_late == 0);
    }
  }
}

TEST_CASE("a host that is slower than the others, but not by more than hosts differ, is not named", "[ranks]") {
  made_job made;
  made.ranks = 2;
  made.is_delay_on_gpu = false;
  made.delay = nanoseconds{100'000};
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  for (profkit::job_rank& each : ranks) {
    for (profkit::timeline_step& step : each.timeline.steps) step.stages = {{0, nanoseconds{2'000'000}}};
  }
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK_FALSE(job.straggler);
  REQUIRE(job.unproven_host);
  CHECK(job.unproven_host->rank == 0);
  CHECK(job.unproven_host->excess.count() == Approx(0.1).margin(0.02));
  CHECK_THAT(profkit::detail::job_headline(job), ContainsSubstring("no rank holds the others up by more than hosts differ"));
  for (profkit::job_rank& each : ranks) {
    for (profkit::timeline_step& step : each.timeline.steps) step.stages.clear();
  }
  CHECK(profkit::summarize_job(ranks).straggler);
}

TEST_CASE("ranks of different communicators that are equally slow are named together", "[ranks]") {
  made_job made;
  made.also_slow = {2};
  made.delay = std::chrono::milliseconds{2};
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  for (profkit::job_rank& each : ranks) each.timeline.kinds.front().communicator = 10 + each.rank / 2;
  profkit::job_summary const job = profkit::summarize_job(ranks);
  REQUIRE(job.straggler);
  std::vector<std::size_t> named = job.straggler->also;
  named.push_back(job.straggler->rank);
  std::sort(named.begin(), named.end());
  CHECK(named == std::vector<std::size_t>{0, 2});
  CHECK(job.straggler->delay.count() == Approx(2.0).margin(0.1));
  CHECK(job.straggler->imposed.count() == Approx(2.0).margin(0.1));
  CHECK(job.straggler->last_share.value() <= 1.0);
}

TEST_CASE("a rank that is late because it waited for another one passes the delay on", "[ranks]") {
  made_job made;
  made.collectives = 2;  // of the pairs {0, 1} and {2, 3}, and of all
  made.slow_rank = 1;
  made.delay = std::chrono::milliseconds{10};
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  for (profkit::job_rank& each : ranks) {
    each.timeline.kinds.push_back(each.timeline.kinds.front());
    each.timeline.kinds.back().communicator = 10 + each.rank / 2;
    for (profkit::timeline_collective& one : each.timeline.collectives) {
      bool const is_of_pair = is_first_of_step(made, one);
      one.sequence = one.step;
      if (is_of_pair) one.kind = 1;
      if (each.rank < 2) continue;
      (is_of_pair ? one.time.end : one.time.begin) -= made.delay;
      one.exposed = {one.time};
    }
  }
  profkit::job_summary const job = profkit::summarize_job(ranks);
  REQUIRE(job.straggler);
  CHECK(job.straggler->rank == 1);
  CHECK(job.straggler->delay.count() == Approx(10.0).margin(0.1));
  CHECK(job.ranks[1].imposed.count() == Approx(10.0).margin(0.1));
  CHECK(job.ranks[0].imposed.count() < 0.1);
  CHECK_THAT(profkit::detail::straggler_finding(job).action, ContainsSubstring("a step can be at most 10.0"));
}

TEST_CASE("in a reduction only the root waits, and the rank that it waits for is named", "[ranks]") {
  made_job made;
  made.is_reduction = true;
  made.is_delay_on_gpu = false;
  made.slow_rank = 2;
  for (int const ms : {0, 2}) {
    made.delay = std::chrono::milliseconds{ms};
    profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
    for (profkit::job_rank& each : ranks) each.timeline.kinds[0].is_host = true;
    profkit::job_summary const job = profkit::summarize_job(ranks);
    double const transfer = 0.5 * made.collectives;  // another rank that starts meanwhile may be the one that was awaited
    for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
      CHECK(job.ranks[rank].waiting.value_or(profkit::milliseconds{}).count() < transfer);
    }
    REQUIRE(job.straggler.has_value() == (ms > 0));
    if (ms == 0) continue;
    CHECK(job.straggler->rank == 2);
    CHECK(job.straggler->path == "step/data");
    CHECK(job.straggler->delay.count() == Approx(2.0).margin(0.1));
    CHECK(job.ranks[0].waiting.value().count() == Approx(2.0).margin(0.1));
  }
}

TEST_CASE("waits at the same time in several communicators count once", "[ranks]") {
  made_job made;
  made.slow_rank = 1;
  made.delay = std::chrono::milliseconds{2};
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  for (profkit::job_rank& each : ranks) {
    each.timeline.kinds.push_back(each.timeline.kinds.front());
    each.timeline.kinds.back().communicator = 8;
    std::vector<profkit::timeline_collective> const known = each.timeline.collectives;
    for (profkit::timeline_collective one : known) {
      one.kind = 1;
      one.busy.clear();
      one.idle.clear();
      each.timeline.collectives.push_back(one);
    }
  }
  profkit::job_summary const job = profkit::summarize_job(ranks);
  REQUIRE(job.straggler);
  CHECK(job.straggler->rank == 1);
  CHECK(job.straggler->imposed.count() == Approx(2.0).margin(0.1));
  CHECK(job.ranks[1].imposed.count() == Approx(2.0).margin(0.1));
}

TEST_CASE("without GPU work, the report does not call undeclared waits computing", "[ranks]") {
  profkit::detail::own_vector<profkit::job_rank> ranks = made_job{}.make();
  profkit::job_summary const on_gpu = profkit::summarize_job(ranks);
  CHECK(profkit::detail::pace_finding(on_gpu).headline == "Computing sets the pace:");
  CHECK_THAT(profkit::detail::job_headline(on_gpu), !ContainsSubstring("declared"));
  for (profkit::job_rank& each : ranks) each.timeline.kinds.front().is_host = true;
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK(job.budget.front().name == "outside communication");
  CHECK(profkit::detail::pace_finding(job).headline == "Code outside declared communication sets the pace:");
  CHECK_THAT(profkit::detail::pace_finding(job).text, ContainsSubstring("Waits that are not declared, such as those of MPI_Wait"));
  CHECK_THAT(profkit::detail::job_headline(job), ContainsSubstring("no rank holds the others up in declared communication"));
}

TEST_CASE("ranks that cannot be compared have no slowest host", "[ranks]") {
  made_job made;
  made.ranks = 2;
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  ranks.back().timeline.kinds.front().communicator = 99;
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK(job.steps == 0);
  CHECK_FALSE(job.slow_host);
}

TEST_CASE("beyond 8 ranks, the report shows the ranks that it names, the slowest, the median and the fastest", "[ranks]") {
  made_job made;
  made.ranks = 12;
  made.slow_rank = 7;
  made.delay = std::chrono::milliseconds{2};
  profkit::job_summary const job = profkit::summarize_job(made.make());
  REQUIRE(job.straggler);
  profkit::detail::document const report = profkit::detail::ranks_document(job);
  auto const section_of = [](profkit::detail::document const& from, std::string_view id) {
    return *std::find_if(from.sections.begin(), from.sections.end(), [&](auto const& each) { return each.id == id; });
  };
  auto const table = std::get<profkit::detail::data_table>(section_of(report, "ranks").blocks.at(0));
  CHECK(table.shown_rows <= 6);
  CHECK(std::get<std::string>(table.rows.at(0).cells.at(0).value) == "rank 7 (node)");
  CHECK(table.rows.size() == 13);
  CHECK(profkit::detail::shown_ranks(job).size() >= 3);
  made.ranks = 8;
  CHECK(profkit::detail::shown_ranks(profkit::summarize_job(made.make())).size() == 8);
}

TEST_CASE("maps of ranks and steps, and columns, are only where they show something", "[ranks]") {
  made_job made;
  made.jitter = nanoseconds{2'000};
  auto const map_of = [](profkit::job_summary const& job) { return profkit::detail::job_map_section(job).blocks.size(); };
  profkit::job_summary job = profkit::summarize_job(made.make());
  CHECK(map_of(job) == 0);
  job.slow_host = profkit::slow_host_summary{};
  CHECK(map_of(job) == 1);
  made.delay = std::chrono::milliseconds{2};
  CHECK(map_of(profkit::summarize_job(made.make())) == 1);
  made.is_delay_on_gpu = false;
  CHECK(map_of(profkit::summarize_job(made.make())) == 2);
  auto const headings = [](profkit::job_summary const& from) {
    profkit::detail::section const section = profkit::detail::job_collectives_section(from);
    std::string result;
    for (auto const& each : std::get<profkit::detail::data_table>(section.blocks.at(0)).columns) result += each.heading + ",";
    return result;
  };
  CHECK_THAT(headings(job), !ContainsSubstring("of the link") && ContainsSubstring("bus GB/s"));
}

TEST_CASE("the report of a job on busy hosts says so first", "[ranks]") {
  profkit::detail::own_vector<profkit::job_rank> ranks = made_job{}.make();
  for (profkit::job_rank& each : ranks) each.environment.host_speed = profkit::host_speed_record{{}, {}, 0.04};
  CHECK(profkit::detail::job_findings(profkit::summarize_job(ranks)).front().headline != "The hosts are busy:");
  ranks[2].environment.host_speed->waiting = 0.30;
  profkit::detail::finding const first = profkit::detail::job_findings(profkit::summarize_job(ranks)).front();
  CHECK(first.headline == "The hosts are busy:");
  CHECK_THAT(first.text, ContainsSubstring("on rank 2 (node)"));
}
