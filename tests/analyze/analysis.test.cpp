// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/error.hpp>
#include <profkit/impl/analyze/analysis.hpp>
#include <profkit/impl/analyze/gpu/gpu_step_periods.hpp>
#include <profkit/impl/analyze/window.hpp>
#include <profkit/impl/analyze/windows/window_stream.hpp>
#include <profkit/save_load.hpp>

#include "../support/made_full_profile.hpp"
#include "../support/made_profile.hpp"
#include "../support/repetitions.hpp"
#include "../support/state_bytes.hpp"
#include "../support/summary_bytes.hpp"
#include "../support/testing.hpp"
#include "../support/with_more.hpp"

namespace {

profkit::summary sum_of(std::vector<profkit::window> const& windows) {
  profkit::analysis result;
  for (profkit::window const& each : windows) result.add(each);
  return result.finish();
}

profkit::analysis written_and_read(profkit::analysis const& from) {
  std::string const state = state_of(from);
  profkit::analysis result;
  read_state_of(state, result);
  CHECK((state_of(result) == state));
  return result;
}

/// The records of a small profile with all kinds of records, and more after them.
profkit::window window_with_everything() {
  std::mt19937_64 random{7};
  profkit::window result{with_more(profile_with_everything(), random), {{profkit::timestamp::min(), at_ms(395)}, true, 0, {}, {}, {}}};
  profkit::attribution const launched = profkit::attribute(result.records);
  result.frame.gpu_steps = profkit::detail::gpu_step_period_finder{result.records, launched}.find();
  result.frame.gpu_wall = profkit::detail::parts_in(result.frame.gpu_steps.measured, result.frame.own);
  return result;
}

profkit::analysis of_window(profkit::window const& only) {
  profkit::analysis result;
  result.add(only);
  return result;
}

/// Reads an analysis and, if it is valid, continues and finishes it.
/// @return whether it is valid.
bool use(std::string const& state, profkit::window const& later) {
  profkit::analysis read;
  try {
    read_state_of(state, read);
    static_cast<void>(read.finish());
    static_cast<void>(written_and_read(read));
    read.add(later);
  } catch (profkit::error const&) {
    return false;  // or `later` begins before the damaged end of the last window
  }
  static_cast<void>(read.finish());
  return true;
}

}  // namespace

TEST_CASE("releases of unknown blocks before the first step count", "[analysis]") {
  profkit::profile whole;
  whole.paths = {step_path()};
  whole.threads = {{100, "train"}};
  whole.allocators = {{"pool", 1000, false}};
  whole.steps = {{{at_ms(10), at_ms(20)}, 0, false, 1}};
  whole.scopes = {{whole.steps[0].time, 0, 0}};
  whole.allocations = {{at_ms(1), 0x10, 0, 0, 0, profkit::allocation_kind::released},
                       {at_ms(2), 0x20, 100, 0, 0, profkit::allocation_kind::allocated},
                       {at_ms(3), 0x20, 100, 0, 0, profkit::allocation_kind::allocated},
                       {at_ms(12), 0x30, 0, 0, 0, profkit::allocation_kind::released}};
  profkit::summary const expected = profkit::analyze(whole);
  REQUIRE(expected.allocators.size() == 1);
  CHECK(expected.allocators[0].unknown_releases == 2);
  CHECK(expected.allocators[0].reused_addresses == 1);
  profkit::window before_steps{whole, {{profkit::timestamp::min(), at_ms(5)}, false, {}, {}, {}, {}}};
  before_steps.records.steps.clear();
  before_steps.records.scopes.clear();
  before_steps.records.allocations.resize(3);
  profkit::window with_steps{whole, {{at_ms(5), profkit::timestamp::max()}, true, 0, {}, {}, {{1100}, {}}}};
  with_steps.records.allocations = {whole.allocations.back()};
  profkit::summary const figures = sum_of({before_steps, with_steps});
  REQUIRE(figures.allocators.size() == 1);
  CHECK(figures.allocators[0].unknown_releases == 2);
  CHECK(figures.allocators[0].reused_addresses == 1);
  CHECK(figures.allocators[0].last_bytes == expected.allocators[0].last_bytes);
}

TEST_CASE("a window that begins before the end of the previous one is refused", "[analysis]") {
  profkit::window first;
  first.frame.own = {at_ms(0), at_ms(100)};
  profkit::window second;
  second.frame.own = {at_ms(99), at_ms(200)};
  profkit::analysis both;
  CHECK(both.until() == profkit::timestamp::min());
  both.add(first);
  CHECK(both.until() == at_ms(100));
  CHECK_THROWS_MATCHES(both.add(second), profkit::error, MessageMatches(ContainsSubstring("time order")));
  second.frame.own.begin = at_ms(100);
  both.add(second);
  CHECK(both.until() == at_ms(200));
}

TEST_CASE("operations of a window without scopes count together with those of later windows", "[analysis]") {
  profkit::window first;
  first.frame.own = {profkit::timestamp::min(), at_ms(100)};
  first.records.collectors = {{"kernels", "collected", {}, profkit::collector_kind::kernels}};
  first.records.gpu_names = {{"gemm", {}}};
  first.records.gpu_operations.resize(1);
  first.records.gpu_operations[0].time = {at_ms(10), at_ms(20)};
  profkit::window second = first;
  second.frame.own = {at_ms(100), profkit::timestamp::max()};
  second.records.paths = {{profkit::path_record::no_parent, "work", {}, "train.cpp", 1}};
  second.records.threads = {{100, "train"}};
  second.records.scopes = {{{at_ms(110), at_ms(120)}, 0, 0}};
  second.records.gpu_operations[0].time = {at_ms(112), at_ms(115)};
  profkit::analysis both;
  both.add(first);
  both.add(second);
  REQUIRE(both.finish().gpu);
  CHECK(both.finish().gpu->all.operations == 2);
  CHECK(both.finish().gpu->all.busy.count() == 13.0);
  CHECK(both.finish().scopes_recorded == 1);
}

TEST_CASE("scopes of a window without kernels have no kernel time if an earlier window has kernels", "[analysis]") {
  profkit::window with;
  with.frame.own = {profkit::timestamp::min(), at_ms(100)};
  with.records.collectors = {{"kernels", "collected", {}, profkit::collector_kind::kernels}};
  profkit::window without;
  without.frame.own = {at_ms(100), profkit::timestamp::max()};
  without.records.threads = {{100, "train"}};
  for (char const* const name : {"a", "b", "c"}) {
    auto const path = static_cast<std::uint32_t>(without.records.paths.size());
    without.records.paths.push_back({profkit::path_record::no_parent, name, {}, "train.cpp", 1});
    without.records.scopes.push_back({{at_ms(100 + path * 10.0), at_ms(100 + path * 10.0 + 5.0)}, path, 0});
  }
  profkit::summary const figures = sum_of({with, without});
  REQUIRE(figures.names.size() == 3);
  for (profkit::scope_name_summary const& each : figures.names) {
    REQUIRE(each.gpu);
    CHECK(each.gpu->kernel_self.count() == 0.0);
  }
}

TEST_CASE("the state of a long run has its steps in groups", "[analysis]") {
  profkit::window parts[2];
  constexpr std::uint64_t count = profkit::detail::step_series::max_groups + 1000;
  for (std::uint64_t i = 0; i < count; ++i) {
    double const begin = static_cast<double>(i) * 2.0;
    double const end = begin + 1.0 + static_cast<double>(i % 7) / 10.0;
    parts[i < count - 10 ? 0 : 1].records.steps.push_back({{at_ms(begin), at_ms(end)}, i, i < 7, 1, 0.0, false, false});
  }
  profkit::timestamp const border = parts[0].records.steps.back().time.end;
  parts[0].frame.own = {profkit::timestamp::min(), border};
  parts[1].frame.own = {border, profkit::timestamp::max()};
  for (profkit::window& each : parts) each.frame.has_steps = true;
  profkit::analysis written = of_window(parts[0]);
  CHECK(state_of(written).size() < 2'000'000);
  profkit::analysis read = written_and_read(written);
  written.add(parts[1]);
  read.add(parts[1]);
  CHECK((state_of(read) == state_of(written)));
}

TEST_CASE("the options of an analysis are not in its state", "[analysis]") {
  profkit::profile const whole = profkit::load(TEST_DATA "/small-512-fwd-fp32.profile");
  profkit::detail::window_stream written;
  written.waiting() = whole;
  written.add_rest(true);
  profkit::analyze_options own;
  own.kernel_classes.insert(own.kernel_classes.begin(), {"own class", {"gemm"}});
  profkit::analysis read{own};
  read_state_of(state_of(written.sums()), read);
  CHECK((bytes_of(read.finish()) == bytes_of(profkit::analyze(whole, own))));
  CHECK((bytes_of(read.finish()) != bytes_of(written.sums().finish())));
}

TEST_CASE("the state of another version is refused", "[analysis]") {
  std::string state = state_of(profkit::analysis{});
  state[0] = static_cast<char>(state[0] ^ 1);
  profkit::analysis read;
  CHECK_THROWS_MATCHES(read_state_of(state, read), profkit::error,
                       MessageMatches(ContainsSubstring("the figures were written by another version of profkit")));
}

// If this fails because a member was added, removed or got another type: increase `figures_format`, and change the numbers.
TEST_CASE("the format of figures is new if their members are", "[analysis]") {
  profkit::window window = window_with_everything();
  window.records = profile_with_everything();
  CHECK(profkit::detail::figures_format == 4);
  CHECK(state_of(of_window(window)).size() == 10240);
  CHECK(bytes_of(of_window(window).finish()).size() == 8061);
}

TEST_CASE("a state that is cut off anywhere is refused", "[analysis]") {
  std::string const state = state_of(of_window(window_with_everything()));
  for (std::size_t length = 0; length < state.size(); length += stride) {
    profkit::analysis read;
    REQUIRE_THROWS_AS(read_state_of(state.substr(0, length), read), profkit::error);
  }
}

TEST_CASE("a damaged byte of a state causes at most an error", "[analysis]") {
  profkit::window const first = window_with_everything();
  profkit::window later;
  later.records.paths = first.records.paths;
  later.records.threads = first.records.threads;
  later.records.scopes = {{{at_ms(396), at_ms(399)}, 4, 1}};
  later.records.steps = {{{at_ms(397), at_ms(398)}, 4, false, 60}};
  later.frame = {{at_ms(395), profkit::timestamp::max()}, true, 0, {}, {}, {}};
  std::string const state = state_of(of_window(first));
  REQUIRE(use(state, later));
  std::size_t refused = 0;
  for (std::size_t position = sizeof(std::uint32_t); position < state.size(); position += 7 * stride) {
    std::string damaged = state;
    damaged[position] = static_cast<char>(damaged[position] ^ (position % 2 == 0 ? 0x80 : 0x01));
    if (!use(damaged, later)) ++refused;
  }
  CHECK(refused > state.size() / (28 * stride));
}

TEST_CASE("figures whose sum overflows nanoseconds are refused", "[analysis]") {
  auto const century = std::chrono::nanoseconds{std::chrono::hours{24 * 36525}};
  profkit::profile whole;
  whole.paths = {step_path(), {0, "a", {}, "a.cpp", 1}};
  whole.threads = {{100, "train"}};
  whole.scopes = {{{at_ms(0), at_ms(0) + century}, 0, 0}};
  profkit::analysis one;
  one.add(whole, {{profkit::timestamp::min(), profkit::timestamp::max()}, false, {}, {}, {}, {}});
  static_cast<void>(written_and_read(one));
  whole.scopes.push_back({{at_ms(0), at_ms(0) + century}, 1, 0});
  profkit::analysis two;
  two.add(whole, {{profkit::timestamp::min(), profkit::timestamp::max()}, false, {}, {}, {}, {}});
  profkit::analysis read;
  CHECK_THROWS_MATCHES(read_state_of(state_of(two), read), profkit::error,
                       MessageMatches(ContainsSubstring("the file is damaged: its figures add up to more than 146 years")));
}
