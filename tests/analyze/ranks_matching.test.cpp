// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/save_load.hpp>
#include <profkit/summary_file.hpp>

#include "../support/made_job.hpp"
#include "../support/temporary_folder.hpp"
#include "../support/testing.hpp"
#include "ranks/make_job.hpp"
#include "ranks/ranks_details.hpp"
#include "ranks/ranks_json.hpp"

// Which collectives of the ranks are the same one, and which ranks are of one job.

using profkit::milliseconds;
using std::chrono::nanoseconds;

namespace {

/// Gives the communicator of all ranks its size and the number of each rank.
void declare(profkit::detail::own_vector<profkit::job_rank>& ranks) {
  auto const size = static_cast<std::uint32_t>(ranks.size());
  for (profkit::job_rank& each : ranks) {
    each.environment.rank = profkit::rank_record{each.rank, size};
    for (profkit::collective_kind& kind : each.timeline.kinds) kind.size = size, kind.rank = each.rank;
  }
}

void move_by(profkit::job_rank& rank, nanoseconds time) {
  for (profkit::timeline_step& each : rank.timeline.steps) {
    each.begin += time, each.end += time, each.host.begin += time, each.host.end += time;
    if (each.next_begin) *each.next_begin += time;
  }
  for (profkit::timeline_collective& each : rank.timeline.collectives) {
    each.time.begin += time, each.time.end += time;
    each.exposed = {each.time};
  }
}

/// Two jobs of two ranks each as one job of four.
/// @param later the second pair does everything so much later.
profkit::detail::own_vector<profkit::job_rank> two_pairs(nanoseconds later) {
  made_job made;
  made.ranks = 2;
  made.jitter = nanoseconds{5'000};
  profkit::detail::own_vector<profkit::job_rank> result = made.make();
  made.seed = 5;
  for (profkit::job_rank& each : made.make()) {
    each.rank += 2;
    each.source = "rank" + std::to_string(each.rank);
    move_by(each, later);
    result.push_back(std::move(each));
  }
  for (profkit::job_rank& each : result) each.environment.rank = profkit::rank_record{each.rank, 4};
  return result;
}

/// The notes of the section "Data quality", one a line.
std::string quality_of(profkit::job_summary const& job) {
  profkit::detail::section const section = profkit::detail::job_quality_section(job);
  std::string result = section.answer + "\n";
  for (auto const& each : section.blocks) {
    if (auto const* const note = std::get_if<profkit::detail::note>(&each)) result += note->text + "\n";
  }
  return result;
}

std::string lines_of(std::vector<std::string> const& list) {
  std::string result;
  for (std::string const& each : list) result += each + "\n";
  return result;
}

/// Numbers the collectives of a rank by their order, as without NCCL's plugin.
void forget_numbers(profkit::job_rank& rank) {
  std::uint64_t next = 0;
  for (profkit::timeline_collective& each : rank.timeline.collectives) each.sequence = next++;
  for (profkit::collective_kind& kind : rank.timeline.kinds) {
    kind.communicator = 0;
    kind.group.clear();
    kind.size = kind.rank = 0;
  }
  rank.timeline.has_numbers = false;
}

}  // namespace

TEST_CASE("if a rank has no file, the waits in its communicator are unknown", "[ranks]") {
  made_job made;
  made.slow_rank = 3;
  made.delay = std::chrono::milliseconds{2};
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  declare(ranks);
  profkit::job_summary const all = profkit::summarize_job(ranks);
  REQUIRE(all.straggler);
  CHECK(all.ranks[all.straggler->rank].rank == 3);
  CHECK(all.missing_members == 0);
  REQUIRE(all.collectives.size() == 1);
  CHECK(all.collectives[0].bus_bandwidth);
  ranks.pop_back();
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK(job.missing_members == 1);
  CHECK(job.matched == 0);
  CHECK(job.incomplete == 60);
  CHECK(job.of_missing_ranks == 60);
  CHECK_FALSE(job.straggler);
  CHECK(job.steps == all.steps);
  CHECK(job.step.count() == Approx(all.step.count()).epsilon(0.02));
  for (profkit::job_rank_summary const& each : job.ranks) {
    CHECK_FALSE(each.waiting);
    CHECK_FALSE(each.exposed_waiting);
    CHECK_FALSE(each.last_share);
    CHECK(each.imposed < made.jitter * made.collectives);
    CHECK(each.transfer.count() == Approx(each.communication.count()));
  }
  for (auto const& of_rank : job.held.values) {
    for (auto const& each : of_rank) CHECK(each.value_or(1.0) > 0.0);  // 0 is unknown
  }
  CHECK_THAT(profkit::detail::job_headline(job),
             ContainsSubstring("whether a rank holds the others up is unknown, because ranks have no usable file"));
  REQUIRE(job.collectives.size() == 1);
  CHECK(job.collectives[0].ranks == 4);
  CHECK(job.collectives[0].per_step == Approx(3.0));
  CHECK_FALSE(job.collectives[0].waiting);
  CHECK_FALSE(job.collectives[0].bus_bandwidth);
  CHECK_FALSE(job.collectives[0].last);
  CHECK_THAT(quality_of(job), ContainsSubstring("60 collectives are of communicators of which one rank has no usable file."));
  CHECK_THAT(profkit::ranks_json(job), ContainsSubstring("\"missing_members\": 1"));
}

TEST_CASE("a rank that is late is named although another rank has no file", "[ranks]") {
  made_job made;
  made.slow_rank = 1;
  made.delay = std::chrono::milliseconds{2};
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  declare(ranks);
  ranks.pop_back();
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK(job.missing_members == 1);
  REQUIRE(job.straggler);
  CHECK(job.straggler->rank == 1);
  CHECK(job.straggler->path == "step/data");
  CHECK(job.straggler->delay.count() == Approx(2.0).margin(0.1));
  CHECK_FALSE(job.straggler->last_share);
  CHECK_THAT(profkit::detail::straggler_finding(job).text, ContainsSubstring("They may wait longer for ranks that have no usable file."));
}

TEST_CASE("a communicator with all its ranks is compared although a larger one lacks a rank", "[ranks]") {
  made_job made;
  made.slow_rank = 3;
  made.delay = std::chrono::milliseconds{2};
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  for (profkit::job_rank& each : ranks) {
    profkit::collective_kind pair = each.timeline.kinds[0];
    pair.communicator = 10 + each.rank / 2;
    pair.size = 2, pair.rank = each.rank % 2;
    profkit::collective_kind world = each.timeline.kinds[0];
    world.size = 4, world.rank = each.rank;
    each.timeline.kinds = {pair, world};
    // The last collective of each step is of all ranks.
    for (profkit::timeline_collective& one : each.timeline.collectives) one.kind = one.sequence % 3 == 2 ? 1 : 0;
  }
  ranks.erase(ranks.begin());
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK(job.missing_members == 1);
  CHECK(job.matched == 40);
  CHECK(job.of_missing_ranks == 20 + 40);
  REQUIRE(job.ranks.size() == 3);
  CHECK(job.ranks[2].imposed.count() == Approx(1.0).epsilon(0.05));  // rank 2 waits for 2 ms, rank 1 does not
  CHECK_FALSE(job.ranks[1].waiting);                                 // it may have waited for rank 0
}

TEST_CASE("two ranks of a communicator in one process do not make it incomplete", "[ranks]") {
  made_job made;
  made.ranks = 2;
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  for (profkit::job_rank& each : ranks) {
    profkit::collective_kind& kind = each.timeline.kinds[0];
    kind.size = 4, kind.rank = 2 * each.rank;
    each.timeline.kinds.push_back(kind);
    each.timeline.kinds.back().rank = 2 * each.rank + 1;
    std::vector<profkit::timeline_collective> second = each.timeline.collectives;
    for (profkit::timeline_collective& one : second) one.kind = 1;
    each.timeline.collectives.insert(each.timeline.collectives.end(), second.begin(), second.end());
  }
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK(job.matched == 60);
  CHECK(job.missing_members == 0);
  REQUIRE(job.collectives.size() == 1);
  CHECK(job.collectives[0].ranks == 4);
  // 2(n-1)/n is 1.5 for the four ranks, not 1 for the two processes. The transfer takes 0.5 ms.
  CHECK(job.collectives[0].bus_bandwidth.value() == Approx(1.5 * 67'108'864.0 / 0.5e-3).epsilon(0.01));
}

TEST_CASE("the size of a communicator and the number of the rank are in the summary file", "[ranks]") {
  profkit::profile const recorded = profkit::load(TEST_RANKS "/four/rank2.profile");
  temporary_folder const folder{"ranks_matching"};
  std::string const file = (folder.path / "summary.profkit").string();
  profkit::save_summary(profkit::analyze(recorded), file);
  profkit::summary const loaded = profkit::load_summary(file);
  REQUIRE(loaded.timeline);
  REQUIRE_FALSE(loaded.timeline->kinds.empty());
  for (profkit::collective_kind const& each : loaded.timeline->kinds) {
    CHECK(each.size == 4);
    CHECK(each.rank == 2);
  }
}

TEST_CASE("communicators with one name and number are told apart by the numbers of their ranks", "[ranks]") {
  for (bool const is_block : {true, false}) {
    CAPTURE(is_block);
    profkit::detail::own_vector<profkit::job_rank> ranks = two_pairs(std::chrono::microseconds{300});
    // Pairs {0, 1} and {2, 3}, or {0, 2} and {1, 3}.
    if (!is_block) {
      std::swap(ranks[1], ranks[2]);
      for (std::uint32_t i = 0; i < 4; ++i) ranks[i].rank = i;
    }
    for (profkit::job_rank& each : ranks) {
      profkit::collective_kind& kind = each.timeline.kinds[0];
      kind.communicator = 0, kind.group = "tp", kind.is_host = true, kind.size = 2;
      kind.rank = is_block ? each.rank % 2 : each.rank / 2;
    }
    profkit::job_summary const job = profkit::summarize_job(ranks);
    CHECK(job.matched == 120);
    CHECK(job.ambiguous == 0);
    CHECK_FALSE(job.straggler);
    REQUIRE(job.collectives.size() == 1);
    CHECK(job.collectives[0].ranks == 2);
    for (profkit::job_rank_summary const& each : job.ranks) CHECK(each.imposed < milliseconds{0.05});
  }
}

TEST_CASE("collectives of communicators that cannot be told apart are not compared", "[ranks]") {
  profkit::detail::own_vector<profkit::job_rank> ranks = two_pairs(std::chrono::microseconds{300});
  for (profkit::job_rank& each : ranks) {
    profkit::collective_kind& kind = each.timeline.kinds[0];
    kind.communicator = 0, kind.group = "tp", kind.is_host = true, kind.size = 2;
  }
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK(job.matched == 0);
  CHECK(job.ambiguous == 60);
  CHECK(job.incomplete == 60);
  CHECK(job.contradictory == 0);
  CHECK(job.missing_members == 0);
  CHECK_THAT(quality_of(job), ContainsSubstring("60 collectives are not compared: several communicators have one name and number."));
  // Without the number of the rank, a communicator of all ranks is complete.
  for (profkit::job_rank& each : ranks) each.timeline.kinds[0].size = 4;
  CHECK(profkit::summarize_job(ranks).matched == 60);
}

TEST_CASE("NCCL's id identifies a communicator, whatever its name; a declared number needs the name", "[ranks]") {
  made_job made;
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  for (profkit::job_rank& each : ranks) each.timeline.kinds[0].group = "default_pg:" + std::to_string(each.rank);
  CHECK(profkit::summarize_job(ranks).matched == 60);
  for (profkit::job_rank& each : ranks) each.timeline.kinds[0].is_host = true;
  CHECK(profkit::summarize_job(ranks).matched == 0);
}

TEST_CASE("if ranks keep other shares of their steps, the steps that all keep are compared", "[ranks]") {
  made_job made;
  made.steps = 100;
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  constexpr std::uint64_t wide_stride = 600;
  auto const is_dropped = [](std::uint64_t step) { return profkit::detail::last_stride_of(step) < wide_stride; };
  profkit::rank_timeline& timeline = ranks[1].timeline;
  timeline.stride = wide_stride;
  auto& steps = timeline.steps;
  steps.erase(std::remove_if(steps.begin(), steps.end(), [&](auto const& each) { return is_dropped(each.index); }), steps.end());
  auto& all = timeline.collectives;
  all.erase(std::remove_if(all.begin(), all.end(), [&](auto const& each) { return is_dropped(each.step); }), all.end());
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK(steps.size() > 10);
  CHECK(job.matched == 3 * steps.size());
  CHECK(job.incomplete == 0);
}

TEST_CASE("without numbers, a lost record affects one step", "[ranks]") {
  made_job made;
  made.slow_rank = 1;
  made.delay = std::chrono::milliseconds{1};
  made.jitter = nanoseconds{5'000};
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  auto& of_two = ranks[2].timeline.collectives;
  of_two.erase(of_two.begin() + 10);  // in step 3
  for (profkit::job_rank& each : ranks) forget_numbers(each);
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK(job.matched == 57);
  CHECK(job.by_order == 60);
  CHECK(job.incomplete == 3);
  REQUIRE(job.straggler);
  CHECK(job.ranks[job.straggler->rank].rank == 1);
  CHECK(job.ranks[1].imposed.count() == Approx(1.0).epsilon(0.05));
  for (std::size_t const other : {0U, 2U, 3U}) {
    CHECK(job.ranks[other].imposed < milliseconds{0.02});
    CHECK(job.ranks[other].waiting.value().count() == Approx(1.0).epsilon(0.05));
  }
  CHECK_THAT(quality_of(job), ContainsSubstring("60 collectives have no number"));
  CHECK(profkit::summarize_job(made.make()).by_order == 0);
}

TEST_CASE("collectives without numbers do not correct the clocks of ranks of one host", "[ranks]") {
  profkit::detail::own_vector<profkit::job_rank> ranks = two_pairs(std::chrono::microseconds{800});
  for (profkit::job_rank& each : ranks) forget_numbers(each);
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK(job.clocks.is_by_machine);
  for (profkit::job_rank_summary const& each : job.ranks) CHECK(each.clock_offset.count() == 0.0);
  // The ends of the pairs are 0.8 ms apart: no shorter wait is known.
  CHECK(job.clocks.bound.count() == Approx(0.8).epsilon(0.05));
  CHECK_FALSE(job.straggler);
  CHECK_THAT(quality_of(job), ContainsSubstring("Clocks: not corrected, because collectives without numbers"));
  // Two hosts: one correction for each.
  for (profkit::job_rank& each : ranks) {
    each.environment.host = each.rank < 2 ? "a" : "b";
    if (each.rank >= 2) move_by(each, std::chrono::seconds{3});
    if (each.rank == 3) move_by(each, std::chrono::microseconds{40});
  }
  profkit::job_summary const hosts = profkit::summarize_job(ranks);
  CHECK(hosts.clocks.has_many_hosts);
  CHECK(hosts.clocks.is_by_machine);
  CHECK(hosts.ranks[2].clock_offset.count() - hosts.ranks[0].clock_offset.count() == Approx(3000.8).margin(0.1));
  CHECK(hosts.ranks[3].clock_offset.count() == Approx(hosts.ranks[2].clock_offset.count()).margin(1e-3));
}

TEST_CASE("files of another run are named and left out", "[ranks]") {
  made_job made;
  made.slow_rank = 3;
  made.delay = std::chrono::milliseconds{2};
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  declare(ranks);
  CHECK(profkit::summarize_job(ranks).problems.empty());

  SECTION("another restart") {
    for (profkit::job_rank& each : ranks) each.environment.rank->restart = each.rank == 1 ? 0 : 1;
    profkit::job_summary const job = profkit::summarize_job(ranks);
    CHECK_THAT(lines_of(job.problems), ContainsSubstring("rank 1 (rank1): it is of restart 0, the job is of restart 1, so its file may"));
    CHECK(job.ranks.size() == 3);
    CHECK(job.missing_members == 1);
  }
  SECTION("no communicator with the others") {
    ranks[2].timeline.kinds[0].communicator = 99;
    profkit::job_summary const job = profkit::summarize_job(ranks);
    CHECK_THAT(lines_of(job.problems), ContainsSubstring("rank 2 (rank2): it shares no communicator with the other ranks"));
    CHECK(job.ranks.size() == 3);
    CHECK(job.missing_members == 1);
  }
  SECTION("several ranks without a communicator of the others, of unknown sizes") {
    for (profkit::job_rank& each : ranks) each.timeline.kinds[0].size = 0;
    ranks[2].timeline.kinds[0].communicator = 99;
    CHECK(profkit::summarize_job(ranks).ranks.size() == 3);
    ranks[3].timeline.kinds[0].communicator = 99;  // may be two groups of a job
    CHECK(profkit::summarize_job(ranks).ranks.size() == 4);
  }
  SECTION("another time on one host") {
    for (profkit::job_rank& each : ranks) each.timeline.kinds[0].is_host = true;  // the number is the same in each run
    for (std::size_t const old : {0U, 2U}) move_by(ranks[old], -std::chrono::minutes{10});
    profkit::job_summary job = profkit::summarize_job(ranks);
    CHECK_THAT(lines_of(job.problems), ContainsSubstring("rank 0 (rank0): it ran at another time than the other ranks of its host") &&
                                           ContainsSubstring("rank 2 (rank2): it ran"));
    REQUIRE(job.ranks.size() == 2);
    CHECK(job.ranks[0].rank == 1);
    // The clocks of several hosts may differ.
    for (profkit::job_rank& each : ranks) each.environment.host = "node" + std::to_string(each.rank);
    CHECK(profkit::summarize_job(ranks).ranks.size() == 4);
  }
  SECTION("a clock that was set") {
    move_by(ranks[2], -std::chrono::minutes{10});
    CHECK(profkit::summarize_job(ranks).problems.empty());  // NCCL's id is of this run
  }
}

TEST_CASE("ranks of a job without a communicator of all ranks are not taken for those of another run", "[ranks]") {
  profkit::detail::own_vector<profkit::job_rank> ranks = two_pairs({});
  for (profkit::job_rank& each : ranks) {
    profkit::collective_kind& kind = each.timeline.kinds[0];
    kind.communicator = 10 + each.rank / 2, kind.size = 2, kind.rank = each.rank % 2;
  }
  CHECK(profkit::summarize_job(ranks).problems.empty());
  ranks.pop_back();
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK(job.problems == std::vector<std::string>{"rank 3 has no file"});
  CHECK(job.ranks.size() == 3);
  CHECK(job.missing_members == 1);
}

TEST_CASE("values that differ between ranks are counted if not all are named", "[ranks]") {
  made_job made;
  made.ranks = 6;
  auto const problem = [&](std::vector<std::uint64_t> const& steps) {
    profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
    for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i].measured_steps = steps[i];
    return lines_of(profkit::summarize_job(ranks).problems);
  };
  CHECK(problem({10, 11, 12, 13, 14, 15}) == "measured steps: 11 on rank 1, 12 on rank 2, 13 on rank 3, 10 on rank 0 and 2 more values\n");
  CHECK(problem({10, 11, 12, 18, 18, 18}) == "measured steps: 10 on rank 0, 11 on rank 1, 12 on rank 2, 18 on the others\n");
  CHECK(problem({10, 11, 12, 13, 18, 18}) ==
        "measured steps: 10 on rank 0, 11 on rank 1, 12 on rank 2, 18 on ranks 4, 5 and 1 more value\n");
  made.ranks = 10;
  CHECK(problem({10, 11, 12, 13, 18, 18, 18, 18, 18, 18}) ==
        "measured steps: 10 on rank 0, 11 on rank 1, 12 on rank 2, 18 on most and 1 more value\n");
}

TEST_CASE("clocks of 0 and values that are not numbers name no rank", "[ranks]") {
  made_job made;
  made.ranks = 3;
  auto const differences = [&](std::vector<double> const& mhz) {
    profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      ranks[i].clocks.resize(1);
      ranks[i].clocks[0].mean_mhz = mhz[i];
    }
    return lines_of(profkit::summarize_job(ranks).differences);
  };
  CHECK(differences({0.0, 0.0, 0.0}).empty());
  CHECK(differences({0.0, 0.0, 1500.0}).empty());
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(differences({nan, nan, nan}).empty());
  CHECK(differences({1500.0, nan, std::numeric_limits<double>::infinity()}).empty());
  CHECK(differences({1500.0, 1500.0, 1000.0}) == "SM clock: 1000 MHz on rank 2, 1500 MHz is the median\n");
}
