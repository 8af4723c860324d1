// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/error.hpp>
#include <profkit/impl/analyze/ranks/timeline_part.hpp>

#include "../support/made_job.hpp"
#include "../support/state_bytes.hpp"
#include "../support/testing.hpp"
#include "ranks/collective_waits.hpp"
#include "ranks/make_job.hpp"
#include "ranks/rank_clocks.hpp"
#include "ranks/ranks_trace.hpp"

using profkit::timestamp;
using std::chrono::nanoseconds;

namespace {

/// The steps [from, to) of a rank.
struct made_timeline {
  std::uint64_t collectives = 3;  ///< of a step
  std::uint64_t warmup = 5;       ///< number of warm-up steps
  std::uint64_t excluded = 0;     ///< each step whose index is a multiple is excluded; 0: none

  [[nodiscard]] profkit::detail::timeline_part make(std::uint64_t from, std::uint64_t to) const {
    profkit::rank_timeline result;
    result.kinds = {{7, "", "AllReduce", "f32", "RING", "LL", false}};
    for (std::uint64_t index = from; index < to; ++index) {
      profkit::timeline_step step;
      step.index = index;
      step.is_measured = index >= warmup && (excluded == 0 || index % excluded != 0);
      step.begin = timestamp{std::chrono::milliseconds{static_cast<std::int64_t>(index)}};
      step.end = step.begin + std::chrono::milliseconds{1};
      step.host = {step.begin, step.end};
      for (std::uint64_t i = 0; i < collectives; ++i) {
        profkit::timeline_collective each;
        each.step = index;
        each.sequence = index * collectives + i;
        each.time = {step.begin + nanoseconds{i}, step.end};
        result.collectives.push_back(std::move(each));
      }
      result.steps.push_back(std::move(step));
    }
    return profkit::detail::timeline_part{std::move(result)};
  }
};

profkit::rank_timeline finished(profkit::detail::timeline_part part) {
  return std::move(part).finish([](std::uint32_t /*path*/) { return std::string{"path"}; });
}

std::size_t measured_in(profkit::rank_timeline const& timeline) {
  return static_cast<std::size_t>(
      std::count_if(timeline.steps.begin(), timeline.steps.end(), [](profkit::timeline_step const& each) { return each.is_measured; }));
}

/// Whether each kept step still has all its collectives.
bool are_whole(profkit::rank_timeline const& timeline, std::uint64_t collectives) {
  std::map<std::uint64_t, std::uint64_t> counts;
  for (profkit::timeline_collective const& each : timeline.collectives) ++counts[each.step];
  return counts.size() == timeline.steps.size() &&
         std::all_of(counts.begin(), counts.end(), [&](auto const& each) { return each.second == collectives; });
}

/// A job whose timelines were bounded. Rank 1 takes 2 ms longer in each step.
/// @param period the ranks communicate in one of so many steps.
/// @param more number of further collectives of rank 0 in each step, in a communicator of its own.
profkit::detail::own_vector<profkit::job_rank> bounded_job(std::uint32_t steps, std::uint64_t period, std::uint32_t more) {
  made_job made;
  made.ranks = 3;
  made.steps = steps;
  made.slow_rank = 1;
  made.delay = std::chrono::milliseconds{2};
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  for (profkit::job_rank& rank : ranks) {
    profkit::rank_timeline& timeline = rank.timeline;
    std::vector<std::string> const paths = std::exchange(timeline.paths, {});
    auto const is_silent = [&](std::uint64_t step) { return step % period != period - 1; };
    auto const is_gone = [&](auto const& each) { return is_silent(each.index); };
    timeline.steps.erase(std::remove_if(timeline.steps.begin(), timeline.steps.end(), is_gone), timeline.steps.end());
    for (profkit::timeline_collective& each : std::exchange(timeline.collectives, {})) {
      if (is_silent(each.step)) continue;
      std::uint64_t const count = rank.rank == 0 && each.sequence % made.collectives == 0 ? more : 0;
      for (std::uint64_t i = 0; i < count; ++i) {
        timeline.collectives.push_back(each);
        timeline.collectives.back().kind = 1;
        timeline.collectives.back().sequence = each.sequence * more + i;
        timeline.collectives.back().time.end = each.time.begin;
        timeline.collectives.back().exposed.clear();
      }
      timeline.collectives.push_back(std::move(each));
    }
    timeline.kinds.push_back({8, "", "AllReduce", "f32", "RING", "LL", false});
    std::map<std::uint64_t, timestamp> next_begins;
    for (profkit::timeline_step const& each : timeline.steps) next_begins[each.index] = *each.next_begin;
    profkit::detail::timeline_part part{std::move(timeline)};
    timeline = std::move(part).finish([&](std::uint32_t path) { return paths[path]; });
    for (profkit::timeline_step& each : timeline.steps) each.next_begin = next_begins[each.index];
  }
  return ranks;
}

/// A profile without a GPU, of steps of 10 ms.
/// @param add adds scopes and collectives to a step that begins at a moment.
template <class Add>
profkit::profile made_host_profile(std::uint32_t rank, Add const& add) {
  profkit::profile result;
  result.paths.push_back({profkit::path_record::no_parent, "step", {}, "a.cpp", 1});
  result.paths.back().is_step = true;
  for (char const* const name : {"forward", "data", "backward"}) result.paths.push_back({0, name, {}, "a.cpp", 2});
  result.threads = {{1, "main"}, {2, "communication"}};
  result.communicators.push_back({5, "world", rank, 2});
  result.collective_words = {"all_reduce", ""};
  timestamp begin{std::chrono::seconds{1'700'000'000}};
  for (std::uint64_t index = 0; index < 20; ++index) {
    profkit::step_record step;
    step.time = {begin, begin + std::chrono::milliseconds{10}};
    step.index = index;
    step.warmup = index < 2;
    add(result, index, begin);
    result.scopes.push_back({step.time, 0, 0});
    result.steps.push_back(step);
    begin = step.time.end;
  }
  return result;
}

void add_collective(profkit::profile& to, std::uint64_t sequence, profkit::interval time) {
  profkit::collective_record each;
  each.time = time;
  each.sequence = sequence;
  each.bytes = 4;
  each.datatype = each.algorithm = each.protocol = 1;
  each.path = 1;
  to.collectives.push_back(each);
}

}  // namespace

TEST_CASE("a program that communicates in some of its steps keeps as many of them as another", "[ranks]") {
  for (std::uint64_t const period : {1U, 2U, 3U, 4U, 8U, 16U}) {
    INFO(period);
    profkit::detail::own_vector<profkit::job_rank> const ranks = bounded_job(static_cast<std::uint32_t>(200 * period), period, 0);
    CHECK(ranks[0].timeline.steps.size() == profkit::detail::timeline_part::max_steps);
    CHECK(are_whole(ranks[0].timeline, 3));
    // The kept steps are from the whole run.
    std::size_t first_half = 0;
    for (profkit::timeline_step const& each : ranks[0].timeline.steps) first_half += each.index < 100 * period ? 1 : 0;
    CHECK(first_half > 40);
    CHECK(first_half < 88);
    profkit::job_summary const job = profkit::summarize_job(ranks);
    CHECK(job.steps > 100);
    CHECK(job.incomplete == 0);
    REQUIRE(job.straggler);
    CHECK(job.straggler->rank == 1);
  }
}

TEST_CASE("ranks with different numbers of collectives are compared in the steps that all of them kept", "[ranks]") {
  profkit::detail::own_vector<profkit::job_rank> const ranks = bounded_job(300, 1, 60);
  CHECK(ranks[0].timeline.steps.size() < 40);
  CHECK(ranks[1].timeline.steps.size() == 128);
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK(job.steps > 25);
  CHECK(job.matched == 3 * ranks[0].timeline.steps.size());
  REQUIRE(job.straggler);
  CHECK(job.straggler->rank == 1);
}

TEST_CASE("with any number of collectives in a step, eight measured steps are kept", "[ranks]") {
  using part = profkit::detail::timeline_part;
  for (std::uint64_t const collectives : {300U, 1'100U, 2'500U, 20'000U}) {
    INFO(collectives);
    std::uint64_t const steps = collectives > 10'000 ? 16 : 40;
    profkit::rank_timeline const kept = finished(made_timeline{collectives}.make(0, steps));
    CHECK(measured_in(kept) == part::min_measured);
    CHECK(kept.steps.front().index == 0);
    CHECK(are_whole(kept, collectives));
    CHECK(kept.all_collectives == steps * collectives);
  }
  // The number of collectives is bounded nevertheless.
  profkit::rank_timeline const most = finished(made_timeline{50'000}.make(0, 8));
  CHECK(most.collectives.size() <= part::max_needed_collectives);
  CHECK(most.steps.size() == 5);
}

TEST_CASE("a long warm-up and excluded steps do not displace measured steps", "[ranks]") {
  using part = profkit::detail::timeline_part;
  profkit::rank_timeline const after_warmup = finished(made_timeline{3, 1'000}.make(0, 1'020));
  CHECK(measured_in(after_warmup) == 20);
  CHECK(after_warmup.steps.size() == 20 + part::max_unmeasured);
  profkit::rank_timeline const warmup = finished(made_timeline{3, 100'000}.make(0, 1'000));
  CHECK(warmup.steps.size() == part::max_unmeasured);
  profkit::rank_timeline const excluded = finished(made_timeline{3, 0, 2}.make(0, 200));
  CHECK(measured_in(excluded) == 100);
  CHECK(finished(made_timeline{3, 100}.make(0, 120)).steps.size() == 120);
}

TEST_CASE("a timeline keeps the same steps for any cut, with any bound that applies", "[ranks]") {
  for (made_timeline const& made :
       {made_timeline{3, 5, 3}, made_timeline{100, 40, 7}, made_timeline{600, 2, 0}, made_timeline{600, 90, 0}, made_timeline{0, 5, 3}}) {
    INFO(made.collectives);
    profkit::detail::timeline_part const whole = made.make(0, 150);
    for (std::uint64_t const size : {1U, 7U, 64U, 149U}) {
      profkit::detail::timeline_part joined;
      for (std::uint64_t from = 0; from < 150; from += size) joined.append(made.make(from, std::min<std::uint64_t>(from + size, 150)));
      CHECK((state_of(joined) == state_of(whole)));
    }
  }
}

TEST_CASE("a collective on the host that ends after its step counts up to the end of the step", "[ranks]") {
  profkit::detail::own_vector<profkit::job_rank> ranks;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    profkit::profile const recorded = made_host_profile(rank, [](profkit::profile& to, std::uint64_t step, timestamp begin) {
      std::chrono::milliseconds const ms{1};
      to.scopes.push_back({{begin, begin + 10 * ms}, 1, 0});
      add_collective(to, 2 * step, {begin + ms, begin + 13 * ms});
      add_collective(to, 2 * step + 1, {begin + 9 * ms, begin + 14 * ms});
    });
    ranks.push_back(profkit::job_rank_of(profkit::analyze(recorded), rank, ""));
    for (profkit::timeline_step const& each : ranks.back().timeline.steps) {
      CHECK(each.compute == std::chrono::milliseconds{1});
      CHECK(each.communication == std::chrono::milliseconds{9});
      CHECK(each.exposed == std::chrono::milliseconds{9});
    }
  }
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK(job.step.count() == Approx(10.0));
  double sum = 0.0;
  for (profkit::job_part const& each : job.budget) {
    CHECK(each.time.count() >= 0.0);
    sum += each.time.count();
  }
  CHECK(sum == Approx(10.0));
  CHECK(job.budget[0].time.count() == Approx(1.0));
}

TEST_CASE("work after the collective of a step, and between steps, delays the collective of the next step", "[ranks]") {
  for (bool const is_in_step : {true, false}) {
    CAPTURE(is_in_step);
    profkit::detail::own_vector<profkit::job_rank> ranks;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      profkit::profile recorded = made_host_profile(rank, [](profkit::profile&, std::uint64_t, timestamp) {});
      recorded.paths.push_back({profkit::path_record::no_parent, "late", {}, "a.cpp", 3});
      std::chrono::milliseconds const ms{1};
      for (std::size_t i = 0; i < recorded.steps.size(); ++i) {
        timestamp const begin = recorded.steps[i].time.begin;
        timestamp const late = begin + (rank == 1 ? 7 : 9) * ms;
        // Each second step has no collective.
        if (i % 2 == 0) add_collective(recorded, i / 2, {begin + (rank == 1 ? 4 : 0) * ms, begin + 5 * ms});
        if (!is_in_step) recorded.steps[i].time.end = recorded.scopes[i].time.end = late;
        recorded.scopes.push_back({{late, begin + 10 * ms}, is_in_step ? 3U : 4U, 0});
      }
      ranks.push_back(profkit::job_rank_of(profkit::analyze(recorded), rank, ""));
    }
    profkit::job_summary const job = profkit::summarize_job(ranks);
    REQUIRE(job.straggler);
    CHECK(job.straggler->rank == 1);
    CHECK(job.straggler->path == (is_in_step ? "step/backward" : "late"));
    CHECK(job.straggler->own.count() == Approx(6.0).margin(0.01));
    CHECK(job.straggler->delay.count() == Approx(4.0).margin(0.01));
  }
}

TEST_CASE("a receiver waits for a late sender of a declared message, and a sender of a small message for nobody", "[ranks]") {
  for (bool const is_sender_late : {true, false}) {
    CAPTURE(is_sender_late);
    profkit::detail::own_vector<profkit::job_rank> ranks;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {  // rank 0 sends
      profkit::profile recorded = made_host_profile(rank, [&](profkit::profile& to, std::uint64_t step, timestamp begin) {
        std::chrono::milliseconds const ms{1};
        bool const is_late = (rank == 0) == is_sender_late;
        timestamp const start = begin + (is_late ? 6 : 2) * ms;
        to.scopes.push_back({{begin, start}, 2, 0});
        add_collective(to, step, {start, rank == 1 ? begin + 7 * ms : start + nanoseconds{1000}});
      });
      recorded.collective_words.front() = "message";
      ranks.push_back(profkit::job_rank_of(profkit::analyze(recorded), rank, ""));
    }
    profkit::job_summary const job = profkit::summarize_job(ranks);
    CHECK(job.straggler.has_value() == is_sender_late);
    if (!job.straggler) continue;
    CHECK(job.straggler->rank == 0);
    CHECK(job.straggler->path == "step/data");
    CHECK(job.straggler->delay.count() == Approx(4.0).margin(0.01));
  }
}

TEST_CASE("messages that are timed on the host are matched by their partners", "[ranks]") {
  profkit::detail::own_vector<profkit::job_rank> ranks;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    profkit::profile recorded = made_host_profile(rank, [&](profkit::profile& to, std::uint64_t step, timestamp begin) {
      add_collective(to, step, {begin + std::chrono::milliseconds{2}, begin + std::chrono::milliseconds{3}});
    });
    for (profkit::collective_record& each : recorded.collectives) {
      each.side = rank == 0 ? profkit::message_side::send : profkit::message_side::receive;
      each.partner = 1 - rank;
    }
    ranks.push_back(profkit::job_rank_of(profkit::analyze(recorded), rank, ""));
  }
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK(job.matched_messages > 0);
  CHECK(job.unmatched_messages == 0);
}

TEST_CASE("the stages of the longest step are in the order of their beginnings", "[ranks]") {
  profkit::detail::own_vector<profkit::job_rank> ranks;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    // The first step has no "data", so the path of "data" comes after that of "forward".
    profkit::profile const recorded = made_host_profile(rank, [&](profkit::profile& to, std::uint64_t step, timestamp begin) {
      std::chrono::milliseconds const ms{1};
      if (step > 0) to.scopes.push_back({{begin, begin + 2 * ms}, 2, 0});
      to.scopes.push_back({{begin + 2 * ms, begin + 5 * ms}, 1, 0});
      to.scopes.push_back({{begin + 5 * ms, begin + 10 * ms}, 3, 0});
      add_collective(to, step, {begin + 8 * ms, begin + 10 * ms});
    });
    ranks.push_back(profkit::job_rank_of(profkit::analyze(recorded), rank, ""));
  }
  profkit::job_summary const job = profkit::summarize_job(ranks);
  REQUIRE(job.frontier.size() == 4);
  char const* const names[] = {"step/data", "step/forward", "step/backward", ""};
  double const times[] = {2.0, 3.0, 5.0, 0.0};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(job.frontier[i].name == names[i]);
    CHECK(job.frontier[i].time.count() == Approx(times[i]).margin(1e-9));
  }
}

TEST_CASE("a timeline from a file has no negative time and none beyond 2^62 ns", "[ranks]") {
  profkit::rank_timeline const right = made_job{}.make().front().timeline;
  CHECK_NOTHROW(profkit::detail::check_timeline(right, true));
  nanoseconds const beyond{(std::int64_t{1} << 62U) + 1};
  for (auto const member : {&profkit::timeline_step::compute, &profkit::timeline_step::communication, &profkit::timeline_step::exposed}) {
    for (nanoseconds const wrong : {nanoseconds{-1}, nanoseconds::min(), beyond, nanoseconds::max()}) {
      profkit::rank_timeline damaged = right;
      damaged.steps[1].*member = wrong;
      CHECK_THROWS_AS(profkit::detail::check_timeline(damaged, true), profkit::error);
    }
  }
}

TEST_CASE("the largest times of a file do not overflow", "[ranks]") {
  timestamp const largest{nanoseconds{std::int64_t{1} << 62U}};
  made_job made;
  made.ranks = 5;
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  for (profkit::job_rank& rank : ranks) {
    rank.timeline.kinds[0].is_host = true;
    for (profkit::timeline_collective& each : rank.timeline.collectives) {
      each.time = {rank.rank == 3 ? largest : timestamp{}, largest};
      each.exposed = {each.time};
    }
    profkit::detail::check_timeline(rank.timeline, true);
  }
  std::vector<profkit::detail::matched_collective> all = profkit::detail::collective_matcher{ranks}.take();
  profkit::detail::collective_waits const waits{ranks, all.front(), profkit::detail::rank_clocks{ranks, all}};
  CHECK(waits.last == 3);
  CHECK(waits.imposed == largest.time_since_epoch());
  CHECK(profkit::summarize_job(ranks).held.values[3][0] == Approx(static_cast<double>(largest.time_since_epoch().count()) * 1e-6));

  // Clocks of several machines, with a slope that no clock has.
  for (profkit::job_rank& rank : ranks) {
    rank.environment.host = "node" + std::to_string(rank.rank);
    std::int64_t number = 0;
    for (profkit::timeline_collective& each : rank.timeline.collectives) {
      ++number;
      each.time.begin = timestamp{};
      each.time.end = timestamp{nanoseconds{rank.rank == 0 ? number : (largest.time_since_epoch().count() / 60) * number}};
      each.exposed = {each.time};
    }
    profkit::detail::check_timeline(rank.timeline, true);
  }
  all = profkit::detail::collective_matcher{ranks}.take();
  profkit::detail::rank_clocks const clocks{ranks, all};
  for (std::uint32_t rank = 0; rank < made.ranks; ++rank) {
    for (timestamp const moment : {timestamp{}, largest}) {
      CHECK(clocks.shift_at(rank, moment) <= nanoseconds{std::int64_t{1} << 61U});
      CHECK(clocks.shift_at(rank, moment) >= -nanoseconds{std::int64_t{1} << 61U});
    }
  }
  CHECK(profkit::summarize_job(ranks).ranks.size() == made.ranks);
  for (profkit::job_rank& rank : ranks) rank.timeline.steps.clear();
  CHECK_FALSE(profkit::ranks_trace(ranks).empty());
}
