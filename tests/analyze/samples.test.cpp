// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze/analyze.hpp>
#include <profkit/analyze/samples/sample_rows.hpp>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdint>

#include "../support/made_path.hpp"
#include "../support/profile_of.hpp"

using Catch::Approx;

namespace {

profkit::timestamp moment_at(std::int64_t ms) {
  return profkit::timestamp{std::chrono::seconds{1'790'000'000} + std::chrono::milliseconds{ms}};
}

/// A warm-up step and a measured one of 100 ms; in the second, "softmax" has 60 ms and inside it "inner" 20 ms, and "wait" has 20 ms.
profkit::profile profile_with_samples() {
  profkit::profile result;
  result.time = {moment_at(0), moment_at(200)};
  result.threads = {{1, "main"}};
  std::uint32_t const step = made_path(result, profkit::path_record::no_parent, "step");
  result.paths[step].is_step = true;
  std::uint32_t const softmax = made_path(result, step, "softmax");
  std::uint32_t const inner = made_path(result, softmax, "inner");
  std::uint32_t const wait = made_path(result, step, "wait");
  result.steps = {{{moment_at(0), moment_at(100)}, 0, true, 0}, {{moment_at(100), moment_at(200)}, 1, false, 0}};
  result.scopes = {{{moment_at(0), moment_at(100)}, step, 0},
                   {{moment_at(120), moment_at(140)}, inner, 0},
                   {{moment_at(110), moment_at(170)}, softmax, 0},
                   {{moment_at(175), moment_at(195)}, wait, 0},
                   {{moment_at(100), moment_at(200)}, step, 0}};
  result.functions = {{"exp_loop", "program", ""}, {"", "libc.so.6", "load"}, {"exp_loop", "program", "unused"}};
  result.sampling = profkit::sampling_record{"made", std::chrono::milliseconds{1}, 5, 1, 0, ""};
  auto const sample = [&](std::int64_t ms, std::uint32_t path, std::uint32_t function) {
    result.samples.push_back({moment_at(ms), path, function, 0, 1'000'000});
  };
  sample(50, softmax, 0);  // in warm-up
  for (std::int64_t ms = 140; ms < 160; ++ms) sample(ms, softmax, 0);
  for (std::int64_t ms = 160; ms < 168; ++ms) sample(ms, softmax, 1);
  for (std::int64_t ms = 120; ms < 140; ++ms) sample(ms, inner, 0);
  sample(199, profkit::path_record::no_parent, 1);
  return result;
}

}  // namespace

TEST_CASE("the self time of a scope is split into the functions of its samples, and the rest", "[samples]") {
  profkit::summary const summary = profkit::analyze(profile_with_samples());
  REQUIRE(summary.host_samples);
  profkit::host_samples_summary const& all = *summary.host_samples;
  CHECK(all.samples == 49);
  CHECK(all.sampled.count() == Approx(49.0));
  CHECK(all.lost == 5);
  CHECK(all.mechanism == "made");
  REQUIRE(all.scopes.size() == 5);
  profkit::sampled_scope_summary const& softmax = all.scopes[0];
  CHECK(softmax.path == "step/softmax");
  REQUIRE(softmax.scope);
  CHECK(summary.scopes[*softmax.scope].path == "step/softmax");
  CHECK(softmax.self->count() == Approx(40.0));
  CHECK(softmax.samples == 28);
  REQUIRE(softmax.functions.size() == 2);
  CHECK(softmax.functions[0].name == "exp_loop");
  CHECK(softmax.functions[0].of.share == Approx(0.5));
  CHECK(softmax.functions[1].caller == "load");
  CHECK(softmax.functions[1].of.share == Approx(0.2));
  CHECK(softmax.waiting->share == Approx(0.3));
  // Wilson's interval for 20 of 40.
  CHECK(softmax.functions[0].of.ci95_low == Approx(0.3520).margin(1e-4));
  CHECK(softmax.functions[0].of.ci95_high == Approx(0.6480).margin(1e-4));
}

TEST_CASE("scopes that only waited have a row, and code outside any scope has one", "[samples]") {
  profkit::host_samples_summary const all = *profkit::analyze(profile_with_samples()).host_samples;
  CHECK(all.scopes[1].path == "step");  // 20 ms of its own, without samples
  CHECK(all.scopes[1].waiting->share == 1.0);
  CHECK(all.scopes[1].waiting->ci95_low < 0.9);
  CHECK(all.scopes[2].path == "step/softmax/inner");
  CHECK(all.scopes[2].waiting->share == 0.0);
  CHECK(all.scopes[3].path == "step/wait");
  CHECK(all.scopes[3].samples == 0);
  profkit::sampled_scope_summary const& outside = all.scopes[4];
  CHECK(outside.path.empty());
  CHECK_FALSE(outside.scope);
  CHECK_FALSE(outside.self);
  CHECK_FALSE(outside.waiting);
  CHECK(outside.samples == 1);
  CHECK(outside.functions.at(0).of.share == 1.0);
  REQUIRE(all.functions.size() == 2);
  CHECK(all.functions[0].samples == 40);
}

TEST_CASE("without host samples there are none, and threads that were not sampled do not count as waiting", "[samples]") {
  profkit::profile profile = profile_with_samples();
  profile.sampling->threads_without = 1;
  profkit::summary const summary = profkit::analyze(profile);
  REQUIRE(summary.host_samples);
  for (profkit::sampled_scope_summary const& each : summary.host_samples->scopes) CHECK(each.samples > 0);
  profile.sampling.reset();
  CHECK_FALSE(profkit::analyze(profile).host_samples);
}

TEST_CASE("shares lie in their intervals, also without samples", "[samples]") {
  for (double const share : {0.0, 0.01, 0.5, 0.99, 1.0}) {
    for (double const trials : {0.0, 1.0, 10.0, 1e6}) {
      profkit::sampled_share const of = profkit::detail::share_of_samples(share, trials);
      CHECK(0.0 <= of.ci95_low);
      CHECK(of.ci95_low <= share + 1e-12);
      CHECK(share - 1e-12 <= of.ci95_high);
      CHECK(of.ci95_high <= 1.0);
    }
  }
}
