// SPDX-License-Identifier: Apache-2.0
#include <profkit/scope.hpp>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../support/profile_of.hpp"

namespace {

/// Opens scopes up to a depth, with a collective in the innermost one.
void reduce_at_depth(profkit::communicator& group, int depth) {
  if (depth == 0) {
    PROF_SCOPE("sum", profkit::collective{"all_reduce", group, 4096});
    return;
  }
  PROF_SCOPE("nested");
  reduce_at_depth(group, depth - 1);
}

}  // namespace

TEST_CASE("a scope that is a collective has its operation, its group, its bytes and its number", "[collectives]") {
  int rank = 2;  // as MPI has it
  int ranks = 4;
  static profkit::communicator world{"world", 1, rank, ranks, 0};
  static profkit::communicator row{"row", 9, 0, 2, 0};
  PROF_SCOPE("before the session", profkit::collective{"all_reduce", world, 1});
  profkit::session session{plain_options()};
  {
    PROF_SCOPE("backward");
    {
      PROF_SCOPE("sum", profkit::collective{"all_reduce", world, 4096});
      PROF_SCOPE("gather", profkit::collective{"all_gather", row});
    }
    PROF_SCOPE("sum", profkit::collective{"all_reduce", world, 512});
  }
  profkit::profile const profile = session.report().profile();
  REQUIRE(profile.collectives.size() == 3);
  std::map<std::uint64_t, profkit::collective_record> of_world;
  for (profkit::collective_record const& each : profile.collectives) {
    profkit::communicator_record const& group = profile.communicators[each.communicator];
    if (group.name == "world") of_world[each.sequence] = each;
    CHECK(each.correlation == 0);
    CHECK_FALSE(each.is_captured);
    CHECK(profile.collective_words[each.algorithm].empty());
  }
  REQUIRE(of_world.size() == 2);
  profkit::collective_record const& first = of_world.at(1);  // 0 was before the session
  CHECK(profile.collective_words[first.function] == "all_reduce");
  CHECK(first.bytes == 4096);
  CHECK(of_world.at(2).bytes == 512);
  profkit::communicator_record const& group = profile.communicators[first.communicator];
  CHECK(group.id == 1);
  CHECK(group.rank == 2);
  CHECK(group.size == 4);
  CHECK(profile.paths[first.path].name == "sum");
  bool is_scope = false;
  for (profkit::scope_record const& each : profile.scopes) {
    is_scope = is_scope || (each.path == first.path && each.time.begin == first.time.begin && each.time.end == first.time.end);
  }
  CHECK(is_scope);
}

TEST_CASE("collectives of many threads and depths are all recorded, once", "[collectives]") {
  static profkit::communicator group{"group", 5, 0, 2, 0};
  constexpr std::uint64_t threads = 3;
  constexpr std::uint64_t rounds = 3000;  // some chunks of a log
  constexpr int deepest = 70;             // deeper than a log tracks
  profkit::session session{plain_options()};
  std::vector<std::thread> running;
  for (std::uint64_t i = 0; i < threads; ++i) {
    running.emplace_back([] {
      for (std::uint64_t round = 0; round < rounds; ++round) reduce_at_depth(group, static_cast<int>(round % deepest));
    });
  }
  for (std::thread& each : running) each.join();
  profkit::profile const profile = session.report().profile();
  CHECK(profile.quality.dropped_events == 0);
  std::set<std::uint64_t> numbers;
  std::set<std::pair<std::uint32_t, std::int64_t>> begins;
  for (profkit::scope_record const& each : profile.scopes) begins.insert({each.path, each.time.begin.time_since_epoch().count()});
  std::size_t scopes = 0;
  for (profkit::collective_record const& each : profile.collectives) {
    numbers.insert(each.sequence);
    scopes += begins.count({each.path, each.time.begin.time_since_epoch().count()});
    CHECK((each.time.begin <= each.time.end));
  }
  CHECK(profile.collectives.size() == threads * rounds);
  CHECK(numbers.size() == threads * rounds);
  CHECK(scopes == threads * rounds);
}

TEST_CASE("a collective without a session is counted and not recorded", "[collectives]") {
  static profkit::communicator group{"alone", 6, 0, 2, 0};
  { PROF_SCOPE("sum", profkit::collective{"all_reduce", group, 4096}); }
  CHECK(group.collectives == 1);
  profkit::session session{plain_options()};
  CHECK(session.report().profile().collectives.empty());
}

TEST_CASE("kept steps keep their collectives, and those of other steps are dropped", "[collectives]") {
  static profkit::communicator group{"kept", 8, 0, 2, 0};
  profkit::options options = plain_options();
  options.warmup_steps = 0;
  options.measured_steps = 6;
  options.keep = {profkit::kept_steps::last, 2};
  profkit::session session{options};
  for ([[maybe_unused]] profkit::step step : session) {
    PROF_SCOPE("sum", profkit::collective{"all_reduce", group, 4096});
  }
  profkit::profile const profile = session.report().profile();
  std::set<std::uint64_t> numbers;
  for (profkit::collective_record const& each : profile.collectives) numbers.insert(each.sequence);
  CHECK(profile.steps.size() == 2);
  CHECK(numbers == std::set<std::uint64_t>{4, 5});
}

TEST_CASE("a message has its partner, its tag, its number and the time at which it was started", "[collectives]") {
  using profkit::collective;
  static profkit::communicator group{"messages", 7, 1, 4, 0};
  static_cast<void>(collective::send(group, 2, 5));  // before the session
  profkit::session session{plain_options()};
  collective const sent = collective::send(group, 2, 5, 800);
  collective const received = collective::receive(group, 3, -1, 16);
  std::this_thread::sleep_for(std::chrono::milliseconds{2});
  {
    PROF_SCOPE("wait", sent);
    profkit::add_collective(received);
  }
  { PROF_SCOPE("receive", collective::receive(group, 2, 5)); }
  profkit::add_collective(sent);  // outside scopes
  profkit::profile const profile = session.report().profile();
  REQUIRE(profile.collectives.size() == 3);
  bool const is_first = profile.collectives[0].side == profkit::message_side::send;
  profkit::collective_record const& first = profile.collectives[is_first ? 0 : 1];
  profkit::collective_record const& second = profile.collectives[is_first ? 1 : 0];
  CHECK(profile.collective_words[first.function] == "message");
  CHECK(first.side == profkit::message_side::send);
  CHECK(first.partner == 2);
  CHECK(first.tag == 5);
  CHECK(first.bytes == 800);
  CHECK(first.sequence == 1);
  CHECK(second.side == profkit::message_side::receive);
  CHECK(second.partner == 3);
  CHECK(second.tag == -1);
  CHECK(second.sequence == 0);
  CHECK(profile.paths[second.path].name == "wait");
  CHECK((first.time.begin == second.time.begin && first.time.end == second.time.end));
  CHECK((first.time.begin - first.posted >= std::chrono::milliseconds{2}));
  CHECK(profile.collectives[2].sequence == 0);  // sends and receives are counted apart
  CHECK((profile.collectives[2].posted <= profile.collectives[2].time.begin));
}

TEST_CASE("messages of many partners and tags are counted, up to a limit", "[collectives]") {
  static profkit::communicator group{"many", 11, 0, 100'000, 0};
  for (std::uint64_t round = 0; round < 2; ++round) {
    std::uint64_t wrong = 0;
    for (std::uint32_t partner = 0; partner < 3000; ++partner) {
      wrong += profkit::collective::send(group, partner, static_cast<int>(partner % 7)).sequence != round ? 1 : 0;
    }
    CHECK(wrong == 0);
  }
  std::uint64_t unknown = 0;
  for (std::uint32_t partner = 0; partner < 40'000; ++partner) {
    unknown += profkit::collective::receive(group, partner).sequence == profkit::detail::message_counts::unknown ? 1 : 0;
  }
  CHECK(unknown == 40'000 - 32'768);
  CHECK(profkit::collective::receive(group, 5).sequence == 1);
  std::vector<std::thread> running;
  for (int i = 0; i < 2; ++i) {
    running.emplace_back([] {
      for (int k = 0; k < 5000; ++k) static_cast<void>(profkit::collective::send(group, 77, 1000));
    });
  }
  for (std::thread& each : running) each.join();
  CHECK(profkit::collective::send(group, 77, 1000).sequence == 10'000);
}
