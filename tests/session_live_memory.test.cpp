// SPDX-License-Identifier: Apache-2.0
#include <profkit/error.hpp>
#include <profkit/impl/analyze/windows/live_memory.hpp>

#include <catch2/catch_test_macros.hpp>

#include "support/made_profile.hpp"
#include "support/state_bytes.hpp"

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
