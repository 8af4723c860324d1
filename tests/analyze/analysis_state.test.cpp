// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/error.hpp>
#include <profkit/impl/analyze/analysis.hpp>
#include <profkit/impl/analyze/kinds/kind_table.hpp>
#include <profkit/save_load.hpp>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../support/cut_windows.hpp"
#include "../support/made_full_profile.hpp"
#include "../support/made_profile.hpp"
#include "../support/random_cut.hpp"
#include "../support/random_profiles.hpp"
#include "../support/repetitions.hpp"
#include "../support/state_bytes.hpp"
#include "../support/summary_bytes.hpp"

namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

/// Adds windows, half of them after writing and reading.
void check_state(profkit::profile const& whole, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  profkit::profile const complete = with_more(whole, random);
  std::string const expected = bytes_of(profkit::analyze(complete));
  std::vector<profkit::window> const windows = cut_windows(complete, random_borders(complete, random));
  profkit::analysis written;
  std::size_t const half = windows.size() / 2;
  for (std::size_t i = 0; i < half; ++i) written.add(windows[i]);
  std::string const state = state_of(written);
  profkit::analysis read;
  read_state_of(state, read);
  CHECK((state_of(read) == state));
  CHECK((bytes_of(read.finish()) == bytes_of(written.finish())));
  for (std::size_t i = half; i < windows.size(); ++i) read.add(windows[i]);
  CHECK((bytes_of(read.finish()) == expected));
  profkit::analysis at_end;
  read_state_of(state_of(read), at_end);
  CHECK((bytes_of(at_end.finish()) == expected));
}

/// Three windows of a small profile with all kinds of records.
std::vector<profkit::window> small_windows() {
  std::mt19937_64 random{7};
  profkit::profile const whole = with_more(profile_with_everything(), random);
  return cut_windows(whole, {whole.steps[0].time.end, whole.steps[1].time.end});
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
  } catch (profkit::error const&) {
    return false;
  }
  static_cast<void>(read.finish());
  profkit::analysis again;
  read_state_of(state_of(read), again);
  CHECK((state_of(again) == state_of(read)));
  try {
    read.add(later);
  } catch (profkit::error const&) {
    return false;  // it begins before the damaged end of the last window
  }
  static_cast<void>(read.finish());
  return true;
}

}  // namespace

TEST_CASE("an analysis continues unchanged after it is written and read", "[analysis_state]") { for_each_made_profile(20, check_state); }

TEST_CASE("the analyses of recorded profiles can be written and read", "[analysis_state]") {
  for (char const* const name : {"small-128-train-fp32", "small-128-train-fp32-graph", "small-128-train-fp32-without-bridge",
                                 "small-512-fwd-fp32", "tiny-128-train-bf16"}) {
    INFO(name);
    check_state(profkit::load(std::string{TEST_DATA "/"} + name + ".profile"), 5);
  }
}

TEST_CASE("the state of a long run has its steps in groups", "[analysis_state]") {
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
  std::string const state = state_of(written);
  CHECK(state.size() < 2'000'000);
  profkit::analysis read;
  read_state_of(state, read);
  CHECK((state_of(read) == state));
  written.add(parts[1]);
  read.add(parts[1]);
  CHECK((state_of(read) == state_of(written)));
}

TEST_CASE("the options of an analysis are not in its state", "[analysis_state]") {
  profkit::profile const whole = profkit::load(TEST_DATA "/small-512-fwd-fp32.profile");
  std::vector<profkit::window> const windows = cut_windows(whole, {});
  profkit::analyze_options own;
  own.kernel_classes.insert(own.kernel_classes.begin(), {"own class", {"gemm"}});
  profkit::analysis written;
  written.add(windows[0]);
  profkit::analysis read{own};
  read_state_of(state_of(written), read);
  CHECK((bytes_of(read.finish()) == bytes_of(profkit::analyze(whole, own))));
  CHECK((bytes_of(read.finish()) != bytes_of(written.finish())));
}

TEST_CASE("the state of another version is refused", "[analysis_state]") {
  std::string state = state_of(profkit::analysis{});
  state[0] = static_cast<char>(state[0] ^ 1);
  profkit::analysis read;
  CHECK_THROWS_MATCHES(read_state_of(state, read), profkit::error,
                       MessageMatches(ContainsSubstring("the figures were written by another version of profkit")));
}

TEST_CASE("the layout number changes if members have different types or another order", "[analysis_state]") {
  using profkit::detail::state_layout;
  std::vector<std::uint32_t> layouts = {state_layout<std::pair<int, double>>(),
                                        state_layout<std::pair<double, int>>(),
                                        state_layout<std::pair<int, float>>(),
                                        state_layout<std::pair<unsigned, double>>(),
                                        state_layout<std::pair<int, profkit::detail::own_vector<double>>>(),
                                        state_layout<profkit::detail::own_vector<std::pair<int, double>>>(),
                                        state_layout<profkit::detail::exact_sums>(),
                                        state_layout<profkit::quantile_sketch>(),
                                        state_layout<profkit::detail::duration_statistics>(),
                                        state_layout<profkit::analysis>()};
  std::size_t const count = layouts.size();
  std::sort(layouts.begin(), layouts.end());
  layouts.erase(std::unique(layouts.begin(), layouts.end()), layouts.end());
  CHECK(layouts.size() == count);
}

TEST_CASE("a state that is cut off anywhere is refused", "[analysis_state]") {
  std::string const state = state_of(of_window(small_windows()[0]));
  for (std::size_t length = 0; length < state.size(); length += stride) {
    profkit::analysis read;
    REQUIRE_THROWS_AS(read_state_of(state.substr(0, length), read), profkit::error);
  }
}

TEST_CASE("a damaged byte of a state causes at most an error", "[analysis_state]") {
  std::vector<profkit::window> const windows = small_windows();
  std::string const state = state_of(of_window(windows[1]));
  REQUIRE(use(state, windows[2]));
  std::size_t refused = 0;
  for (std::size_t position = sizeof(std::uint32_t); position < state.size(); position += 7 * stride) {
    std::string damaged = state;
    damaged[position] = static_cast<char>(damaged[position] ^ (position % 2 == 0 ? 0x80 : 0x01));
    if (!use(damaged, windows[2])) ++refused;
  }
  CHECK(refused > state.size() / (28 * stride));
}

TEST_CASE("figures whose sum overflows nanoseconds are refused", "[analysis_state]") {
  auto const century = std::chrono::nanoseconds{std::chrono::hours{24 * 36525}};
  profkit::profile whole;
  whole.paths = {step_path(), {0, "a", {}, "a.cpp", 1}};
  whole.threads = {{100, "train"}};
  whole.scopes = {{{at_ms(0), at_ms(0) + century}, 0, 0}};
  profkit::analysis one;
  one.add(whole, {{profkit::timestamp::min(), profkit::timestamp::max()}, false, {}, {}, {}, {}});
  profkit::analysis read;
  read_state_of(state_of(one), read);
  whole.scopes.push_back({{at_ms(0), at_ms(0) + century}, 1, 0});
  profkit::analysis two;
  two.add(whole, {{profkit::timestamp::min(), profkit::timestamp::max()}, false, {}, {}, {}, {}});
  CHECK_THROWS_MATCHES(read_state_of(state_of(two), read), profkit::error,
                       MessageMatches(ContainsSubstring("the file is damaged: its figures add up to more than 146 years")));
}

TEST_CASE("kernels outside any scope that have a path are refused", "[analysis_state]") {
  profkit::detail::launched_kernels kernels;
  kernels.add(0, profkit::attribution::none, std::chrono::nanoseconds{5});
  std::string state = state_of(kernels);
  profkit::detail::launched_kernels read;
  read_state_of(state, read);
  std::size_t const path = state.rfind("\xff\xff\xff\xff");
  REQUIRE(path != std::string::npos);
  state[path] = 0;
  CHECK_THROWS_MATCHES(read_state_of(state, read), profkit::error, MessageMatches(ContainsSubstring("kernels with a wrong name or path")));
}

TEST_CASE("overlapping GPU periods are refused", "[analysis_state]") {
  profkit::detail::own_vector<profkit::detail::gpu_step_period> periods = {{0, {at_ms(1), at_ms(2)}, std::nullopt},
                                                                           {1, {at_ms(2), at_ms(4)}, 3}};
  profkit::detail::own_vector<profkit::detail::gpu_step_period> read;
  read_state_of(state_of(periods), read);
  profkit::detail::check_periods(read);
  REQUIRE(read.size() == 2);
  CHECK(read[1].step == 1);
  CHECK(read[1].time.end == at_ms(4));
  CHECK(read[1].steps_ahead == 3);
  periods[1].time.begin = at_ms(1.5);
  read_state_of(state_of(periods), read);
  CHECK_THROWS_MATCHES(profkit::detail::check_periods(read), profkit::error,
                       MessageMatches(ContainsSubstring("steps overlap on the devices")));
  periods[1].time.end = at_ms(1.4);
  CHECK_THROWS_MATCHES(read_state_of(state_of(periods), read), profkit::error,
                       MessageMatches(ContainsSubstring("a step ends on the devices before it begins")));
}
