// SPDX-License-Identifier: Apache-2.0
#include <profkit/summary.hpp>

#include <algorithm>
#include <random>
#include <vector>

#include "../support/testing.hpp"
#include "ranks/make_job.hpp"
#include "ranks/ranks_findings.hpp"
#include "ranks/ranks_trace.hpp"

namespace {

using profkit::message_side;
using profkit::timestamp;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

timestamp const beginning{std::chrono::seconds{1'700'000'000}};

/// The paths of all ranks.
enum path : std::uint32_t { work, extra, wait };

/// Ranks with messages in one communicator, and all-reduces.
class message_job {
 public:
  explicit message_job(std::uint32_t size) : ranks(size), now(size, beginning), ready(size), counts(size, 0) {
    for (std::uint32_t i = 0; i < size; ++i) {
      ranks[i].rank = i;
      ranks[i].environment.boot_id = "one";
      ranks[i].timeline.paths = {"step/work", "step/extra", "step/MPI_Waitall"};
      ranks[i].timeline.kinds = {{7, "world", "message", "", "", "", true, size, i},
                                 {7, "world", "MPI_Allreduce", "", "", "", true, size, i}};
    }
  }

  void begin_step() {
    for (std::uint32_t i = 0; i < ranks.size(); ++i) {
      if (!ranks[i].timeline.steps.empty()) ranks[i].timeline.steps.back().next_begin = now[i];
      profkit::timeline_step step;
      step.index = steps;
      step.begin = step.host.begin = now[i];
      ranks[i].timeline.steps.push_back(step);
    }
    ++steps;
  }

  void end_step() {
    for (std::uint32_t i = 0; i < ranks.size(); ++i) {
      profkit::timeline_step& step = ranks[i].timeline.steps.back();
      step.end = step.host.end = now[i];
      step.compute = step.host.duration() - step.communication;
    }
  }

  void compute(std::uint32_t rank, path where, nanoseconds time) {
    ready[rank].push_back({where, time});
    now[rank] += time;
  }

  /// A rank waits for its end of a message. Ends of one wait have equal times.
  void complete(std::uint32_t rank, message_side side, std::uint32_t partner, std::uint64_t number, timestamp posted, timestamp begin,
                timestamp end) {
    profkit::timeline_collective one = made(rank, 0, begin, end);
    one.side = side;
    one.partner = partner;
    one.sequence = number;
    one.posted = posted;
    add(rank, std::move(one));
  }

  void all_reduce() {
    timestamp const latest = *std::max_element(now.begin(), now.end());
    for (std::uint32_t i = 0; i < ranks.size(); ++i) {
      profkit::timeline_collective one = made(i, 1, now[i], latest + microseconds{10});
      one.sequence = steps;
      add(i, std::move(one));
    }
  }

  /// All ranks exchange with both neighbours of a ring, without blocking, and wait for all requests.
  void exchange() {
    auto const size = static_cast<std::uint32_t>(ranks.size());
    std::vector<timestamp> const start = now;
    for (std::uint32_t i = 0; i < size; ++i) {
      std::uint32_t const left = (i + size - 1) % size, right = (i + 1) % size;
      timestamp const end = std::max({start[i], start[left], start[right]}) + microseconds{5};
      for (std::uint32_t const partner : {left, right}) {
        complete(i, message_side::receive, partner, steps, start[i], start[i], end);
        complete(i, message_side::send, partner, steps, start[i] + microseconds{1}, start[i], end);
      }
    }
  }

  [[nodiscard]] profkit::job_summary summary() {
    for (profkit::job_rank& each : ranks) each.measured_steps = steps;
    return profkit::summarize_job(ranks);
  }

  profkit::detail::own_vector<profkit::job_rank> ranks;
  std::vector<timestamp> now;
  std::uint64_t steps = 0;

 private:
  profkit::timeline_collective made(std::uint32_t rank, std::uint32_t kind, timestamp begin, timestamp end) {
    profkit::timeline_collective result;
    result.step = steps - 1;
    result.kind = kind;
    result.path = wait;
    result.time = {begin, end};
    result.posted = begin;
    result.exposed = {result.time};
    result.idle = std::exchange(ready[rank], {});
    return result;
  }

  void add(std::uint32_t rank, profkit::timeline_collective one) {
    if (one.time.end > now[rank]) ranks[rank].timeline.steps.back().communication += one.time.end - std::max(now[rank], one.time.begin);
    now[rank] = std::max(now[rank], one.time.end);
    ranks[rank].timeline.collectives.push_back(std::move(one));
  }

  std::vector<profkit::detail::own_vector<profkit::path_time>> ready;
  std::vector<std::uint64_t> counts;
};

enum class place { nowhere, before_exchange, after_exchange, after_all_reduce };

/// @param every the slow rank is slow in every n-th step.
message_job halo_job(std::uint32_t size, place where, nanoseconds delay, bool has_all_reduce, std::uint64_t every = 1, unsigned seed = 1) {
  message_job job{size};
  std::mt19937 random{seed};
  for (std::uint64_t step = 0; step < 61; ++step) {
    job.begin_step();
    auto const visit = [&](place here) {
      if (here == where && step % every == 0) job.compute(1, extra, delay);
    };
    visit(place::before_exchange);
    for (std::uint32_t i = 0; i < size; ++i) job.compute(i, work, microseconds{2000 + random() % 100});
    job.exchange();
    visit(place::after_exchange);
    if (has_all_reduce) job.all_reduce();
    visit(place::after_all_reduce);
    job.end_step();
  }
  return job;
}

}  // namespace

TEST_CASE("a rank that is slow before or after a halo exchange is named with its scope and its delay", "[messages]") {
  for (std::uint32_t const size : {4U, 8U}) {
    for (bool const has_all_reduce : {true, false}) {
      for (place const where : {place::before_exchange, place::after_exchange, place::after_all_reduce}) {
        CAPTURE(size, has_all_reduce, static_cast<int>(where));
        profkit::job_summary const job = halo_job(size, where, std::chrono::milliseconds{8}, has_all_reduce).summary();
        REQUIRE(job.straggler);
        CHECK(job.straggler->rank == 1);
        CHECK(job.straggler->also.empty());
        CHECK(job.straggler->path == "step/extra");
        CHECK(job.straggler->excess.count() == Approx(8.0).margin(0.1));
        CHECK(job.straggler->delay.count() == Approx(8.0).margin(0.8));
        REQUIRE_FALSE(job.messages.empty());
        CHECK(job.unmatched_messages == 0);
        if (where == place::after_exchange && has_all_reduce) continue;  // the others wait in the all-reduce
        CHECK(job.messages.front().partner == 1);
        CHECK(job.messages.front().is_late_sender);
        CHECK((job.messages.front().rank == 0 || job.messages.front().rank == 2));
        CHECK(job.messages.front().waiting.count() == Approx(8.0).margin(0.8));
        CHECK(profkit::detail::messages_finding(job).headline == "Late sender:");
        CHECK_THAT(profkit::detail::messages_finding(job).text, ContainsSubstring("in MPI_Waitall until rank 1 sends messages."));
      }
    }
  }
}

TEST_CASE("a rank that is slow in every tenth step is named, beside short disturbances of all ranks", "[messages]") {
  message_job disturbed = halo_job(4, place::after_all_reduce, std::chrono::milliseconds{20}, true, 10);
  std::mt19937 random{5};
  for (profkit::job_rank& each : disturbed.ranks) {
    for (profkit::timeline_collective& one : each.timeline.collectives) {
      if (!one.idle.empty() && random() % 8 == 0) one.idle.push_back({work, microseconds{random() % 500}});
    }
  }
  profkit::job_summary const job = disturbed.summary();
  REQUIRE(job.straggler);
  CHECK(job.straggler->rank == 1);
  CHECK(job.straggler->path == "step/extra");
  CHECK(job.straggler->steps == 6);
}

TEST_CASE("even halo exchanges name nobody, and what is not declared is not called computing", "[messages]") {
  int named = 0;
  for (unsigned seed = 0; seed < 50; ++seed) {
    profkit::job_summary const job = halo_job(8, place::nowhere, {}, seed % 2 == 0, 1, seed).summary();
    named += job.straggler ? 1 : 0;
    CHECK(job.budget.front().name == "outside communication");
  }
  CHECK(named <= 1);
}

TEST_CASE("a sender without a buffer waits for a late receiver, a buffered one does not", "[messages]") {
  for (bool const is_buffered : {false, true}) {
    message_job made{2};
    for (std::uint64_t step = 0; step < 21; ++step) {
      made.begin_step();
      timestamp const sent = made.now[0];
      made.compute(1, extra, std::chrono::milliseconds{3});
      timestamp const received = made.now[1];
      made.complete(1, message_side::receive, 0, step, received, received, received + microseconds{20});
      made.complete(0, message_side::send, 1, step, sent, sent, is_buffered ? sent + microseconds{2} : received + microseconds{20});
      made.all_reduce();
      made.end_step();
    }
    profkit::job_summary const job = made.summary();
    CHECK(job.matched_messages == 21);
    CHECK(job.messages.empty() == is_buffered);
    if (is_buffered) continue;
    CHECK_FALSE(job.messages.front().is_late_sender);
    CHECK(job.messages.front().rank == 0);
    CHECK(job.messages.front().waiting.count() == Approx(3.0).margin(0.01));
    CHECK(profkit::detail::messages_finding(job).headline == "Late receiver:");
    REQUIRE(job.straggler);
    CHECK(job.straggler->rank == 1);
  }
}

TEST_CASE("waits for messages are charged to the rank whose work caused them", "[messages]") {
  // A pipeline: rank 0 is slow, rank 1 passes the delay on to rank 2, and rank 2 to rank 3.
  message_job made{4};
  for (std::uint64_t step = 0; step < 21; ++step) {
    made.begin_step();
    made.compute(0, extra, std::chrono::milliseconds{4});
    for (std::uint32_t i = 0; i < 4; ++i) {
      if (i > 0) {
        timestamp const end = std::max(made.now[i], made.now[i - 1]) + microseconds{1};
        made.complete(i, message_side::receive, i - 1, step, made.now[i], made.now[i], end);
      }
      made.compute(i, work, std::chrono::milliseconds{1});
      if (i < 3) made.complete(i, message_side::send, i + 1, step, made.now[i], made.now[i], made.now[i] + microseconds{1});
    }
    made.end_step();
  }
  profkit::job_summary const job = made.summary();
  REQUIRE(job.straggler);
  CHECK(job.straggler->rank == 0);
  CHECK(job.ranks[0].imposed > 10.0 * job.ranks[1].imposed);
}

TEST_CASE("a rank that a collective held long is not charged with the delay", "[messages]") {
  // Rank 1 leaves each all-reduce 2 ms after the others, and sends at once.
  message_job made{2};
  for (std::uint64_t step = 0; step < 21; ++step) {
    made.begin_step();
    for (std::uint32_t i = 0; i < 2; ++i) made.compute(i, work, std::chrono::milliseconds{1});
    made.all_reduce();
    made.ranks[1].timeline.collectives.back().time.end += std::chrono::milliseconds{2};
    made.now[1] += std::chrono::milliseconds{2};
    timestamp const sent = made.now[1];
    made.complete(0, message_side::receive, 1, step, made.now[0], made.now[0], sent + microseconds{1});
    made.complete(1, message_side::send, 0, step, sent, sent, sent + microseconds{1});
    made.end_step();
  }
  profkit::job_summary const job = made.summary();
  CHECK_FALSE(job.straggler);
  CHECK(job.ranks[1].imposed.count() < 0.1);
  CHECK(job.ranks[0].waiting->count() == Approx(2.0).margin(0.01));
}

TEST_CASE("a rank whose work takes longer is named with this time, although the others are often late to wait", "[messages]") {
  message_job made = halo_job(8, place::after_exchange, std::chrono::milliseconds{8}, true);
  std::mt19937 random{3};
  for (profkit::job_rank& each : made.ranks) {
    for (profkit::timeline_collective& one : each.timeline.collectives) {
      bool const is_reduced = one.kind == 1 && each.rank != 1;  // the host gave the processor to another process
      if (is_reduced) one.time.begin = one.posted = std::min(one.time.end, one.time.begin + microseconds{random() % 6000});
    }
  }
  profkit::job_summary const job = made.summary();
  REQUIRE(job.straggler);
  CHECK(job.straggler->rank == 1);
  CHECK(job.straggler->imposed.count() < 6.0);
  CHECK(job.straggler->delay.count() == Approx(8.0).margin(0.2));
}

TEST_CASE("messages that one rank lacks are counted and not compared", "[messages]") {
  message_job made = halo_job(4, place::nowhere, {}, true);
  auto& all = made.ranks[2].timeline.collectives;
  all.erase(std::find_if(all.begin(), all.end(), [](auto const& each) { return each.side == message_side::send; }));
  made.ranks[3].timeline.collectives.front().sequence = ~std::uint64_t{0};  // it could not be counted
  profkit::job_summary const job = made.summary();
  CHECK(job.unmatched_messages == 3);
  CHECK(job.matched_messages == 61 * 8 - 2);
  CHECK(job.incomplete == 0);
  CHECK_THAT(profkit::ranks_trace(made.ranks), ContainsSubstring("receive from 1"));
}
