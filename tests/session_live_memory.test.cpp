// SPDX-License-Identifier: Apache-2.0
#include <profkit/error.hpp>
#include <profkit/impl/analyze/windows/live_memory.hpp>

#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "support/cut_windows.hpp"
#include "support/made_profile.hpp"
#include "support/random_cut.hpp"
#include "support/random_memory_profile.hpp"
#include "support/state_bytes.hpp"

TEST_CASE("the allocations of a window continue after they are written and read", "[live_memory]") {
  std::size_t pieces = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    profkit::profile const whole = make_random_memory_profile(seed);
    std::mt19937_64 random{seed};
    profkit::detail::live_memory kept;
    for (profkit::window const& each : cut_windows(whole, random_borders(whole, random))) {
      profkit::detail::live_memory read;
      read_state_of(state_of(kept), read);
      read.check(whole);
      CHECK((state_of(read) == state_of(kept)));
      profkit::detail::memory_before const expected = kept.before(each.records, each.frame.own);
      profkit::detail::memory_before const before = read.before(each.records, each.frame.own);
      CHECK(before.bytes == expected.bytes);
      REQUIRE(before.live.size() == expected.live.size());
      for (std::size_t i = 0; i < before.live.size(); ++i) {
        CHECK(before.live[i].record.address == expected.live[i].record.address);
        CHECK(before.live[i].path == expected.live[i].path);
        CHECK(before.live[i].scope == expected.live[i].scope);
      }
      pieces += before.live.size();
      kept.pass(each.records, each.frame.own, expected);
    }
  }
  CHECK(pieces > 0);
}

TEST_CASE("memory of allocators and paths that a session lacks is refused", "[live_memory]") {
  profkit::profile whole;
  whole.paths = {{profkit::path_record::no_parent, "work", {}, "train.cpp", 1}};
  whole.threads = {{100, "train"}};
  whole.allocators = {{"pool", 1000, false}};
  whole.scopes = {{{at_ms(0), at_ms(10)}, 0, 0}};
  whole.allocations = {{at_ms(1), 0x10, 100, 0, 0, profkit::allocation_kind::allocated}};
  profkit::detail::live_memory memory;
  memory.pass(whole, {profkit::timestamp::min(), at_ms(20)}, {});
  profkit::detail::live_memory read;
  read_state_of(state_of(memory), read);
  read.check(whole);
  profkit::profile tables = whole;
  tables.allocators.clear();
  CHECK_THROWS_AS(read.check(tables), profkit::error);
  tables = whole;
  tables.paths.clear();
  CHECK_THROWS_AS(read.check(tables), profkit::error);
}
