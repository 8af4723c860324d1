// SPDX-License-Identifier: Apache-2.0
//
// A separate program, because it fills the table of nodes, which the whole process shares.
#include <profkit/scope.hpp>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <iterator>
#include <thread>

#include "../support/profile_of.hpp"

using profkit::scope_token;

namespace {

profkit::site backward{"backward", __FILE__, __LINE__};

bool is_table_full() {
  auto const& nodes = profkit::detail::scope_nodes.nodes;
  return std::all_of(std::begin(nodes), std::end(nodes), [](auto const& each) { return each.state == profkit::detail::node_made; });
}

/// Fills the table like tokens of this many indexed scopes.
void fill_table() {
  static profkit::site many{"many", __FILE__, __LINE__};
  std::uint64_t const what = profkit::detail::tagged(many, profkit::detail::event_kind::enter_indexed);
  for (std::uint64_t i = 0; i % 1024 != 0 || !is_table_full(); ++i) {
    if (i > 10'000'000) FAIL("the table does not fill");
    static_cast<void>(profkit::detail::scope_nodes.find(nullptr, what, i));
  }
}

scope_token token_of_known() {
  PROF_SCOPE("known");
  return scope_token::current();
}

}  // namespace

TEST_CASE("when the table of nodes is full, tokens are empty and adopting scopes become plain scopes in place", "[token]") {
  profkit::session session{plain_options()};
  scope_token const known = token_of_known();
  CHECK(known);
  std::thread{[known] { profkit::adopting_scope const adopted{backward, known, known}; }}.join();
  fill_table();

  // Existing nodes stay.
  CHECK(token_of_known().node() == known.node());
  std::thread{[known] { profkit::adopting_scope const adopted{backward, known, known}; }}.join();
  // Further scopes do not get the node of another scope.
  std::thread{[known] {
    { PROF_ADOPT_SCOPE("no room", known); }
    PROF_SCOPE("new");
    CHECK_FALSE(scope_token::current());
    profkit::adopting_scope const adopted{backward, known, known};
    CHECK_FALSE(scope_token::current());
    PROF_SCOPE("inside");
    CHECK_FALSE(scope_token::current());
    PROF_ADOPT_SCOPE("of none", scope_token::current());
  }}.join();

  profkit::profile const profile = session.report().profile();
  CHECK(profile.quality.dropped_events == 0);
  CHECK(count_scopes(profile, "known/known (backward)") == 2);
  CHECK(count_scopes(profile, "no room") == 1);
  for (char const* const path : {"new", "new/backward", "new/backward/inside", "new/backward/inside/of none"}) {
    CHECK(count_scopes(profile, path) == 1);
  }
}
