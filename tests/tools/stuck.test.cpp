// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/profile/journal_encoder.hpp>
#include <profkit/profile.hpp>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "program_run.hpp"
#include "stuck/rank_standing.hpp"
#include "stuck/stuck_words.hpp"

// Where ranks stand, by their journals alone. tests/programs/stuck.py has real processes.

namespace {

using profkit_program::rank_standing;

/// The journal of a rank with 20 steps of 10 ms, each with an all_reduce in "backward", and a 21st step that does not end.
struct hanging_rank {
  static constexpr std::uint32_t step = 0, data = 1, backward = 2, sum = 3;
  profkit::profile recorded;
  profkit::detail::journal_open open;
  profkit::timestamp hang{std::chrono::seconds{1'700'000'000}};

  /// @param ahead of the clock of the other machines.
  hanging_rank(std::uint32_t rank, std::uint32_t size, std::string const& machine, std::chrono::nanoseconds ahead = {}) {
    hang += ahead;
    auto& environment = recorded.environment;
    environment.host = environment.boot_id = machine;
    environment.process_id = 100 + rank;
    environment.command = {"train"};
    environment.clock_offset_ns = 0;
    environment.rank = profkit::rank_record{rank, size, rank, {}, "a launcher"};
    for (auto const& [parent, name] : {std::pair{profkit::path_record::no_parent, "step"}, {0U, "data"}, {0U, "backward"}, {2U, "sum"}})
      recorded.paths.push_back({parent, name, {}, "a.cpp", 1, profkit::path_record::no_parent, {}, recorded.paths.empty()});
    recorded.threads.push_back({100 + rank, "main"});
    recorded.communicators.push_back({7, "world", rank, size});
    recorded.collective_words = {"", "all_reduce", "AllReduce"};
    recorded.time = {hang - std::chrono::seconds{1}, hang};
    for (std::uint64_t i = 0; i < 20; ++i) {
      profkit::timestamp const end = hang - (20 - i) * std::chrono::milliseconds{10} + std::chrono::milliseconds{9};
      recorded.collectives.push_back(all_reduce(i, end - std::chrono::milliseconds{1}, end));
      recorded.steps.push_back({{end - std::chrono::milliseconds{9}, end + std::chrono::milliseconds{1}}, i});
    }
    is_open(step);
  }

  [[nodiscard]] static profkit::collective_record all_reduce(std::uint64_t number, profkit::timestamp begin, profkit::timestamp end) {
    profkit::collective_record result;
    result.time = {begin, end};
    result.posted = begin;
    result.sequence = number;
    result.function = 1;
    result.path = sum;
    return result;
  }

  void is_open(std::uint32_t path, std::string call = {}) { open.ranges.insert(open.ranges.begin(), {hang, path, 0, std::move(call)}); }
  void waits_in_all_reduce() {
    is_open(backward), is_open(sum);
    open.collectives.push_back(all_reduce(20, hang, hang));
  }

  /// Writes the journal. @param lived for how long after the hang began. @param later records that came after the last frame.
  [[nodiscard]] rank_standing write(fs::path const& file, std::chrono::nanoseconds lived, profkit::profile const* later = nullptr) {
    open.time = hang + lived;
    profkit::detail::journal_encoder encoder;
    profkit::detail::own_string bytes = encoder.beginning();
    encoder.append(recorded, false, bytes);
    encoder.append(open, bytes);
    if (later != nullptr) encoder.append(*later, false, bytes);
    std::ofstream{file, std::ios::binary} << std::string{bytes};
    rank_standing result{file, profkit_program::read_standing(file), {}};
    result.process = profkit_program::look_at_process(result.at.environment, result.at.time.begin);
    return result;
  }
};

std::string sentence_of(std::vector<rank_standing> ranks) {
  profkit_program::job_clock::set_now(ranks);
  return profkit_program::job_sentence(ranks);
}

}  // namespace

TEST_CASE("ranks of machines with different clocks are on one clock", "[stuck]") {
  program_folder const folder;
  hanging_rank first{0, 3, "a"};
  hanging_rank second{1, 3, "b", std::chrono::hours{1}};
  hanging_rank late{2, 3, "c", -std::chrono::hours{5}};
  first.waits_in_all_reduce();
  second.waits_in_all_reduce();
  late.is_open(hanging_rank::data);
  std::vector<rank_standing> ranks{first.write(folder.path / "0", std::chrono::seconds{94}),
                                   second.write(folder.path / "1", std::chrono::seconds{30}),
                                   late.write(folder.path / "2", std::chrono::seconds{60})};
  CHECK(sentence_of(ranks) == "ranks 0 and 1 wait in all_reduce 20/backward since 94 s; rank 2 is in data");
  profkit_program::job_clock::set_now(ranks);
  for (rank_standing const& each : ranks) CHECK(*each.step_age() == std::chrono::seconds{94});
  auto const waits = profkit_program::find_waits(ranks);
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].waiting == std::vector<std::uint32_t>{0, 1});
  CHECK(waits[0].missing == std::vector<std::uint32_t>{2});
  ranks.pop_back();
  CHECK(sentence_of(ranks) == "ranks 0 and 1 wait in all_reduce 20/backward since 94 s; 1 of the 3 ranks of world has no journal here");
}

TEST_CASE("the driver call of a thread is where it waits", "[stuck]") {
  program_folder const folder;
  hanging_rank rank{0, 2, "a"};
  rank.is_open(hanging_rank::backward);
  rank.is_open(hanging_rank::backward, "cuStreamSynchronize");
  CHECK(sentence_of({rank.write(folder.path / "0", std::chrono::seconds{12})}) ==
        "rank 0 waits in cuStreamSynchronize, called in backward since 12 s");
  auto const [code, out, err] = folder.run("stuck" + quoted(folder.path / "0"));
  CHECK(code == 1);
  CHECK_THAT(out, Catch::Matchers::ContainsSubstring("cuStreamSynchronize") && Catch::Matchers::ContainsSubstring("not visible here"));
  profkit::profile later = rank.recorded;
  later.api_names = {"cuStreamSynchronize"};
  later.api_calls.push_back({{rank.hang, rank.hang + std::chrono::seconds{13}}, 1, 0, 0});
  CHECK(sentence_of({rank.write(folder.path / "0", std::chrono::seconds{12}, &later)}) == "rank 0 is in backward since 12 s");
  later.scopes.push_back({{rank.hang, rank.hang + std::chrono::seconds{13}}, hanging_rank::backward, 0});
  later.scopes.push_back({{rank.hang, rank.hang + std::chrono::seconds{13}}, hanging_rank::step, 0});
  CHECK(sentence_of({rank.write(folder.path / "0", std::chrono::seconds{12}, &later)}).rfind("rank 0 is between steps", 0) == 0);
}

TEST_CASE("a call of MPI is where a thread waits", "[stuck]") {
  program_folder const folder;
  hanging_rank rank{0, 2, "a"};
  rank.recorded.paths[hanging_rank::sum].name = "MPI_Waitall";
  rank.is_open(hanging_rank::backward), rank.is_open(hanging_rank::sum);
  CHECK(sentence_of({rank.write(folder.path / "0", std::chrono::seconds{12})}) ==
        "rank 0 waits in MPI_Waitall, called in backward since 12 s");
}

TEST_CASE("a collective of NCCL is open until its kernel has ended", "[stuck]") {
  program_folder const folder;
  hanging_rank rank{0, 2, "a"};
  rank.is_open(hanging_rank::backward);
  rank.recorded.collectives.clear();
  rank.recorded.gpu_names.push_back({"kernel", {}, {}});
  auto const enqueue = [&](std::uint64_t number, std::uint64_t correlation) {
    profkit::collective_record& last = rank.recorded.collectives.emplace_back(hanging_rank::all_reduce(number, rank.hang, rank.hang));
    last.posted = {};
    last.function = 2;
    last.path = hanging_rank::backward;
    last.correlation = correlation;
  };
  auto const run = [&](std::uint64_t correlation) {
    profkit::gpu_operation_record done;
    done.time = {rank.hang, rank.hang};
    done.correlation = correlation;
    rank.recorded.gpu_operations.push_back(done);
  };
  enqueue(8, 41), run(41), enqueue(9, 42);
  CHECK(sentence_of({rank.write(folder.path / "0", std::chrono::seconds{12})}) ==
        "rank 0 waits in AllReduce 9/backward since 12 s; 1 of the 2 ranks of world has no journal here");
  run(42);
  CHECK(sentence_of({rank.write(folder.path / "0", std::chrono::seconds{12})}) == "rank 0 is in backward since 12 s");
}

TEST_CASE("steps and collectives of the file before are known", "[stuck]") {
  program_folder const folder;
  hanging_rank rank{1, 2, "a"};
  rank.waits_in_all_reduce();
  rank.open.time = rank.hang + std::chrono::seconds{20};
  profkit::detail::journal_encoder encoder;
  profkit::detail::own_string before = encoder.beginning();
  encoder.append(rank.recorded, false, before);
  profkit::detail::journal_head head;
  head.number = 1;
  head.waiting = rank.recorded;
  head.waiting.steps.clear(), head.waiting.collectives.clear();
  profkit::detail::own_string after = encoder.beginning();
  encoder.append(head, after);
  encoder.append(rank.open, after);
  std::ofstream{folder.path / "run.1", std::ios::binary} << std::string{before};
  std::ofstream{folder.path / "run", std::ios::binary} << std::string{after};
  profkit_program::standing const at = profkit_program::read_standing(folder.path / "run");
  REQUIRE(at.last_step);
  CHECK(at.last_step->index == 19);
  CHECK(at.usual == std::chrono::milliseconds{10});
  REQUIRE(at.collectives.size() == 1);
  CHECK((at.collectives[0].sequence == 20 && at.collectives[0].is_open));
  fs::remove(folder.path / "run.1");
  CHECK_FALSE(profkit_program::read_standing(folder.path / "run").last_step);
}

TEST_CASE("a step is stuck after ten times its usual time and ten seconds", "[stuck]") {
  program_folder const folder;
  for (auto const& [usual, lived, is_stuck] :
       {std::tuple{10, 9'900, false}, std::tuple{10, 10'100, true}, std::tuple{2'000, 19'000, false}, std::tuple{2'000, 20'100, true}}) {
    hanging_rank rank{0, 1, "a"};
    for (profkit::step_record& each : rank.recorded.steps) each.time.begin = each.time.end - std::chrono::milliseconds{usual};
    CAPTURE(usual, lived);
    static_cast<void>(rank.write(folder.path / "0", std::chrono::milliseconds{lived}));
    CHECK(folder.run("stuck" + quoted(folder.path / "0")).code == (is_stuck ? 1 : 0));
  }
}

TEST_CASE("lists of ranks, and ages, are short", "[stuck]") {
  using profkit_program::age_words;
  using profkit_program::ranks_words;
  CHECK(ranks_words({7}) == "rank 7");
  CHECK(ranks_words({4, 3}) == "ranks 3 and 4");
  CHECK(ranks_words({0, 1, 2, 3, 4, 5, 6}) == "ranks 0 to 6");
  CHECK(ranks_words({0, 2, 5, 6, 7}) == "ranks 0, 2 and 5 to 7");
  CHECK(age_words(std::chrono::milliseconds{9'440}) == "9.4 s");
  CHECK(age_words(std::chrono::seconds{94}) == "94 s");
  CHECK(age_words(std::chrono::minutes{12}) == "12 min");
  CHECK(age_words(std::chrono::hours{60}) == "2.5 days");
}
