// SPDX-License-Identifier: Apache-2.0

#include "../support/made_job.hpp"
#include "../support/testing.hpp"
#include "ranks/make_job.hpp"
#include "ranks/ranks_findings.hpp"

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
      if (job.straggler || job.irregular) ++named;
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
  CHECK_THAT(profkit::detail::straggler_finding(job).action, ContainsSubstring("a step can be at most 2.0"));
}

TEST_CASE("a rank for which the others wait long in some steps is not named as a straggler, but mentioned", "[ranks]") {
  made_job made;
  made.steps = 40;
  made.slow_rank = 2;
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  for (profkit::job_rank& each : ranks) {
    for (profkit::timeline_collective& one : each.timeline.collectives) {
      if (one.step % 8 != 4 || !is_first_of_step(made, one) || each.rank == made.slow_rank) continue;
      one.time.begin -= std::chrono::milliseconds{30};
      one.exposed = {one.time};
    }
    for (profkit::timeline_step& step : each.timeline.steps) {
      step.host.end = step.host.begin + (each.rank == made.slow_rank ? nanoseconds{3'400'000} : nanoseconds{2'500'000});
    }
  }
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK_FALSE(job.straggler);
  REQUIRE(job.irregular);
  CHECK(job.irregular->rank == made.slow_rank);
  CHECK(job.irregular->steps == 5);
  CHECK(job.irregular->imposed.count() == Approx(5.0 * 30.0 / 38.0).margin(0.1));
  CHECK_THAT(profkit::detail::job_headline(job),
             ContainsSubstring("no rank holds the others up in all steps; in 5 of 38 they wait for rank 2 (node)"));
  REQUIRE(job.slow_host);
  profkit::detail::finding const host = profkit::detail::slow_host_finding(job);
  CHECK_THAT(host.headline, ContainsSubstring("the others wait 3.9") && !ContainsSubstring("costs nothing"));
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

TEST_CASE("ranks that cannot be compared have no slowest host", "[ranks]") {
  made_job made;
  made.ranks = 2;
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  ranks.back().timeline.kinds.front().communicator = 99;
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK(job.steps == 0);
  CHECK_FALSE(job.slow_host);
}
