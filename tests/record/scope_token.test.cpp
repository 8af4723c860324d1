// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/record/slow_path.hpp>
#include <profkit/scope.hpp>

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "../support/profile_of.hpp"

using profkit::scope_token;
using texts = std::vector<std::string>;

static_assert(std::is_trivially_copyable_v<scope_token>);
static_assert(sizeof(scope_token) == sizeof(void*));
static_assert(std::is_nothrow_default_constructible_v<scope_token>);
static_assert(noexcept(scope_token::current()));
static_assert(!std::is_copy_constructible_v<profkit::adopting_scope>);
static_assert(!std::is_move_constructible_v<profkit::adopting_scope>);
static_assert(std::is_nothrow_constructible_v<profkit::adopting_scope, profkit::site&, scope_token>);
static_assert(std::is_nothrow_destructible_v<profkit::adopting_scope>);

namespace {

profkit::site backward{"backward", __FILE__, __LINE__};

template <class Work>
profkit::profile record_tokens(Work&& work) {
  profkit::session session{plain_options()};
  work();
  return session.report().profile();
}

template <class Work>
void on_another_thread(Work&& work) {
  std::thread{std::forward<Work>(work)}.join();
}

/// A token of forward/layer_3/attention.
scope_token token_of_attention() {
  PROF_SCOPE("forward");
  PROF_SCOPE_INDEXED("layer", 3);
  PROF_SCOPE("attention");
  return scope_token::current();
}

std::uint32_t position_of(profkit::profile const& profile, std::string const& path) {
  for (std::uint32_t i = 0; i < profile.paths.size(); ++i) {
    if (path_name(profile, i) == path) return i;
  }
  FAIL("there is no path " << path);
  return 0;
}

/// Calls `work` inside `depth` scopes named level_1, level_2, ...
template <class Work>
void at_depth(int depth, Work const& work, int level = 1) {
  if (level > depth) {
    work();
    return;
  }
  PROF_SCOPE_INDEXED("level", level);
  at_depth(depth, work, level + 1);
}

std::string path_of_levels(int depth) {
  std::string result = "level_1";
  for (int level = 2; level <= depth; ++level) result += "/level_" + std::to_string(level);
  return result;
}

}  // namespace

TEST_CASE("an adopting scope is shown as the path of the scope that it works for, with its role", "[token]") {
  profkit::profile const profile = record_tokens([] {
    scope_token const token = token_of_attention();
    on_another_thread([token] { PROF_ADOPT_SCOPE("backward", token); });
  });
  CHECK(profile.scopes.size() == 4);
  // One path, at the root, not three.
  profkit::path_record const& path = profile.paths.at(position_of(profile, "forward/layer_3/attention (backward)"));
  CHECK(path.parent == profkit::path_record::no_parent);
  CHECK(path.name == "forward/layer_3/attention (backward)");
  CHECK(path.role == "backward");
  CHECK(path.adopted_from == position_of(profile, "forward/layer_3/attention"));
  CHECK_FALSE(path.index.has_value());
  CHECK(path.file.find("scope_token.test.cpp") != std::string::npos);
  for (char const* const plain : {"forward", "forward/layer_3", "forward/layer_3/attention"}) {
    CHECK(profile.paths.at(position_of(profile, plain)).adopted_from == profkit::path_record::no_parent);
    CHECK(profile.paths.at(position_of(profile, plain)).role.empty());
  }
}

TEST_CASE("an adopting scope is inside the open scope of its thread, even if another parent is given", "[token]") {
  profkit::profile const profile = record_tokens([] {
    scope_token const token = token_of_attention();
    scope_token under;
    {
      PROF_SCOPE("waiting");
      under = scope_token::current();
    }
    on_another_thread([token, under] {
      PROF_SCOPE("worker");
      profkit::adopting_scope const adopted{backward, token, under};
      PROF_SCOPE("inside");
    });
  });
  CHECK(count_scopes(profile, "worker/forward/layer_3/attention (backward)") == 1);
  CHECK(count_scopes(profile, "worker/forward/layer_3/attention (backward)/inside") == 1);
  CHECK(count_scopes(profile, "waiting") == 1);
  CHECK(profile.scopes.size() == 7);
}

TEST_CASE("without an open scope on its thread it is under the given parent", "[token]") {
  profkit::profile const profile = record_tokens([] {
    scope_token const token = token_of_attention();
    PROF_SCOPE("waiting");
    on_another_thread([token, under = scope_token::current()] {
      profkit::adopting_scope const adopted{backward, token, under};
      PROF_SCOPE("inside");
    });
  });
  CHECK(count_scopes(profile, "waiting/forward/layer_3/attention (backward)") == 1);
  CHECK(count_scopes(profile, "waiting/forward/layer_3/attention (backward)/inside") == 1);
}

TEST_CASE("without a scope to adopt it is a plain scope with the name of the role", "[token]") {
  profkit::profile const profile = record_tokens([] {
    PROF_ADOPT_SCOPE("alone", scope_token{});
    PROF_SCOPE("waiting");
    on_another_thread([under = scope_token::current()] {
      profkit::adopting_scope const adopted{backward, {}, under};
      PROF_SCOPE("inside");
    });
  });
  for (char const* const path : {"alone", "alone/waiting", "alone/waiting/backward", "alone/waiting/backward/inside"}) {
    CHECK(count_scopes(profile, path) == 1);
  }
  for (profkit::path_record const& path : profile.paths) CHECK(path.adopted_from == profkit::path_record::no_parent);
}

TEST_CASE("a token refers to its scope even after the scope, its thread and its session have ended", "[token]") {
  scope_token token;
  profkit::profile const first = record_tokens([&token] { on_another_thread([&token] { token = token_of_attention(); }); });
  REQUIRE(token);
  CHECK(first.scopes.size() == 3);
  // In the second session the adopted path has no scope of its own.
  profkit::profile const second = record_tokens([token] { PROF_ADOPT_SCOPE("backward", token); });
  CHECK(scope_names(second) == texts{"forward/layer_3/attention (backward)"});
  CHECK(path_name(second, second.paths.at(second.scopes[0].path).adopted_from) == "forward/layer_3/attention");
}

TEST_CASE("a token taken outside any scope, on a new thread or without a session, is empty", "[token]") {
  {
    PROF_SCOPE("without session");
    CHECK_FALSE(scope_token::current());
    PROF_ADOPT_SCOPE("backward", scope_token::current());
  }
  record_tokens([] {
    CHECK_FALSE(scope_token::current());
    on_another_thread([] { CHECK_FALSE(scope_token::current()); });
    { PROF_SCOPE("ended"); }
    CHECK_FALSE(scope_token::current());
    PROF_SCOPE("open");
    CHECK(scope_token::current());
  });
}

TEST_CASE("a path omits the step that it is in, and a step starts a separate tree", "[token]") {
  profkit::session session{plain_options(0, 2)};
  scope_token of_step;
  {
    PROF_SCOPE("around the loop");
    for (profkit::step step : session) {
      of_step = scope_token::current();
      scope_token const token = token_of_attention();
      PROF_SCOPE("call");
      on_another_thread([token, under = scope_token::current()] { profkit::adopting_scope const adopted{backward, token, under}; });
    }
  }
  PROF_ADOPT_SCOPE("after", of_step);
  { PROF_SCOPE("inside"); }
  profkit::profile const profile = session.report().profile();
  CHECK(count_scopes(profile, "step/call/forward/layer_3/attention (backward)") == 2);
  CHECK(path_name(profile, profile.paths.at(position_of(profile, "step/call/forward/layer_3/attention (backward)")).adopted_from) ==
        "step/forward/layer_3/attention");
  CHECK(count_scopes(profile, "step (after)/inside") == 1);
}

TEST_CASE("sites with one name are one path, and so are the scopes that adopt them", "[token]") {
  profkit::profile const profile = record_tokens([] {
    scope_token one;
    scope_token other;
    {
      PROF_SCOPE("same");
      one = scope_token::current();
    }
    {
      PROF_SCOPE("same");
      other = scope_token::current();
    }
    CHECK(one.node() != other.node());
    { PROF_ADOPT_SCOPE("role", one); }
    { PROF_ADOPT_SCOPE("role", other); }
    { PROF_ADOPT_SCOPE("other role", other); }
  });
  CHECK(scope_names(profile) == texts{"same", "same", "same (role)", "same (role)", "same (other role)"});
  CHECK(profile.paths.size() == 3);
}

TEST_CASE("a scope opened in an adopting scope can be adopted in turn", "[token]") {
  profkit::profile const profile = record_tokens([] {
    scope_token token = token_of_attention();
    scope_token itself;
    on_another_thread([&token, &itself] {
      PROF_ADOPT_SCOPE("backward", token);
      itself = scope_token::current();
      PROF_SCOPE("inside");
      token = scope_token::current();
    });
    { PROF_ADOPT_SCOPE("again", itself); }
    { PROF_ADOPT_SCOPE("again", token); }
  });
  CHECK(profile.scopes.size() == 7);
  for (std::string const path : {"forward/layer_3/attention (backward)", "forward/layer_3/attention (backward)/inside"}) {
    CHECK(count_scopes(profile, path + " (again)") == 1);
    CHECK(profile.paths.at(position_of(profile, path + " (again)")).adopted_from == position_of(profile, path));
  }
}

TEST_CASE("tasks that pass their token on forever create paths of bounded length and number", "[token]") {
  constexpr std::uint64_t tasks = 5000;
  // Each way of passing tokens on doubles or lengthens the previous path.
  for (int const way : {0, 1, 2}) {
    profkit::profile const profile = record_tokens([way] {
      scope_token token = token_of_attention();
      for (std::uint64_t i = 0; i < tasks; ++i) {
        scope_token const adopted_token = way == 1 ? scope_token{} : token;
        scope_token const under = way == 0 ? scope_token{} : token;
        profkit::adopting_scope const adopted{backward, adopted_token, under};
        PROF_SCOPE("task");
        token = scope_token::current();
        CHECK(token);
      }
    });
    CHECK(profile.scopes.size() == 3 + 2 * tasks);
    CHECK(profile.paths.size() < 1000);
    std::size_t longest = 0;
    for (std::uint32_t i = 0; i < profile.paths.size(); ++i) longest = std::max(longest, path_name(profile, i).size());
    CHECK(longest > 1000);
    CHECK(longest < 10000);
  }
}

TEST_CASE("deeper than the entries that a thread keeps, a token refers to an enclosing scope", "[token]") {
  constexpr int known = static_cast<int>(profkit::detail::thread_log::known_depth) - 1;
  for (int const depth : {known - 1, known, known + 1, known + 2, 200}) {
    profkit::profile const profile = record_tokens([depth] {
      scope_token token;
      at_depth(depth, [&token] { token = scope_token::current(); });
      PROF_ADOPT_SCOPE("backward", token);
    });
    INFO(depth);
    CHECK(path_name(profile, profile.scopes.back().path) == path_of_levels(std::min(depth, known)) + " (backward)");
  }
}

TEST_CASE("nesting deeper than that leaves no wrong entry behind", "[token]") {
  constexpr int known = static_cast<int>(profkit::detail::thread_log::known_depth) - 1;
  profkit::profile const profile = record_tokens([] {
    scope_token token;
    at_depth(known + 1, [&token] {
      at_depth(10, [] {});
      token = scope_token::current();
    });
    PROF_ADOPT_SCOPE("backward", token);
  });
  CHECK(path_name(profile, profile.scopes.back().path) == path_of_levels(known) + " (backward)");
}

TEST_CASE("an API call on the stack is no scope", "[token]") {
  static profkit::site launch{"cudaLaunchKernel", __FILE__, __LINE__};
  profkit::profile const profile = record_tokens([] {
    scope_token token;
    {
      PROF_SCOPE("outer");
      auto const call = profkit::detail::begin_api_call(launch, 1);
      REQUIRE(call != 0);
      token = scope_token::current();
      profkit::detail::end_api_call(call);
    }
    on_another_thread([token] {
      auto const call = profkit::detail::begin_api_call(launch, 2);
      REQUIRE(call != 0);
      CHECK_FALSE(scope_token::current());
      {
        profkit::adopting_scope const adopted{backward, token, token};
        PROF_SCOPE("inside");
      }
      profkit::detail::end_api_call(call);
    });
  });
  CHECK(count_scopes(profile, "outer/outer (backward)/inside") == 1);
  CHECK(count_scopes(profile, "outer/outer (backward)") == 1);
  CHECK(profile.api_calls.size() == 2);
}

TEST_CASE("a token of a scope opened in an earlier session is valid", "[token]") {
  profkit::session first{plain_options()};
  PROF_SCOPE("across");
  static_cast<void>(first.report());
  profkit::session second{plain_options()};
  on_another_thread([token = scope_token::current()] { PROF_ADOPT_SCOPE("backward", token); });
  CHECK(scope_names(second.report().profile()) == texts{"across (backward)"});
}

TEST_CASE("threads that take and adopt tokens concurrently, while the session drains, lose and mix nothing", "[token]") {
  constexpr int threads = 8;
  constexpr int rounds = 4000;
  constexpr int layers = 12;
  profkit::session session{plain_options(0, 1000)};
  std::atomic<scope_token> last_of[layers] = {};
  std::atomic<int> running{threads};
  std::atomic<int> adopted{0};
  std::vector<std::thread> workers;
  for (int thread = 0; thread < threads; ++thread) {
    workers.emplace_back([&, thread] {
      for (int i = 0; i < rounds; ++i) {
        {
          PROF_SCOPE("forward");
          PROF_SCOPE_INDEXED("layer", i % layers);
          last_of[i % layers] = scope_token::current();
        }
        // The latest token of this layer, taken by any thread.
        scope_token const token = last_of[(i + thread) % layers];
        if (!token) continue;
        PROF_ADOPT_SCOPE("backward", token);
        PROF_SCOPE_INDEXED("of", (i + thread) % layers);
        ++adopted;
      }
      --running;
    });
  }
  do {
    profkit::step const step{session};
    std::this_thread::sleep_for(std::chrono::milliseconds{11});
  } while (running > 0);
  for (std::thread& worker : workers) worker.join();
  profkit::profile const profile = session.report().profile();
  CHECK(profile.quality.dropped_events == 0);
  CHECK(profile.quality.open_scopes == 0);
  std::size_t total = 0;
  for (int layer = 0; layer < layers; ++layer) {
    std::string const name = "forward/layer_" + std::to_string(layer);
    CHECK(count_scopes(profile, name) == static_cast<std::size_t>(threads * (rounds / layers + (layer < rounds % layers ? 1 : 0))));
    std::size_t const works = count_scopes(profile, name + " (backward)");
    CHECK(count_scopes(profile, name + " (backward)/of_" + std::to_string(layer)) == works);
    total += works;
  }
  CHECK(total == static_cast<std::size_t>(adopted));
  CHECK(profile.paths.size() == 1 + 1 + 3 * layers);
}
