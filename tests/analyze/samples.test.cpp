// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/analyze/samples/sample_rows.hpp>

#include "../support/profile_with_samples.hpp"
#include "../support/testing.hpp"

TEST_CASE("the self time of a scope is divided among the functions of its samples and the rest", "[samples]") {
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
  CHECK(softmax.functions[0].file == "src/layer.cpp");
  CHECK(softmax.functions[0].line == 40);
  CHECK(softmax.functions[1].file.empty());
  CHECK(softmax.functions[0].share_of_scope.share == Approx(0.5));
  CHECK(softmax.functions[1].caller == "load");
  CHECK(softmax.functions[1].share_of_scope.share == Approx(0.2));
  CHECK(softmax.waiting->share == Approx(0.3));
  // Wilson's interval for 20 of 40.
  CHECK(softmax.functions[0].share_of_scope.ci95_low == Approx(0.3520).margin(1e-4));
  CHECK(softmax.functions[0].share_of_scope.ci95_high == Approx(0.6480).margin(1e-4));
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
  CHECK(outside.functions.at(0).share_of_scope.share == 1.0);
  REQUIRE(all.functions.size() == 2);
  CHECK(all.functions[0].samples == 40);
}

TEST_CASE("the processor time of the process that samples saw is known, except in older profiles", "[samples]") {
  using std::chrono::milliseconds;
  profkit::profile profile = profile_with_samples();
  CHECK_FALSE(profkit::analyze(profile).host_samples->share_of_process);
  profile.sampling->time = {milliseconds{500}, milliseconds{900}, milliseconds{100}};
  profkit::host_samples_summary const samples = *profkit::analyze(profile).host_samples;
  CHECK(samples.share_of_process == 0.5);
  CHECK(samples.kernel_share == 0.1);
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

namespace {

/// With kernels, so that API calls count. On the step thread, runtime calls, with a driver call inside the first one.
profkit::profile profile_with_waits() {
  profkit::profile result = profile_with_samples();
  result.collectors = {{"kernels", "collected", {}, profkit::collector_kind::kernels}};
  for (profkit::step_record& each : result.steps) each.has_kernels = true;
  result.api_names = {"cudaStreamSynchronize_v3020", "cuStreamSynchronize", "cudaMemcpyAsync_v3020", "cudaMemcpy_v3020",
                      "cudaMalloc_v3020"};
  auto const call = [&](std::int64_t begin, std::int64_t end, std::uint32_t name) {
    result.api_calls.push_back({{moment_at(begin), moment_at(end)}, result.api_calls.size() + 1, name, 0});
  };
  call(50, 60, 0);                                                                                                   // in warm-up
  call(176, 184, 0), call(177, 183, 1), call(184, 186, 0), call(186, 190, 2), call(190, 191, 3), call(191, 193, 4);  // in "wait"
  call(142, 146, 0);  // in "softmax", while it polls the device
  call(196, 199, 0);  // in the step itself
  return result;
}

profkit::sampled_scope_summary row_of(profkit::host_samples_summary const& all, std::string const& path) {
  for (profkit::sampled_scope_summary const& each : all.scopes) {
    if (each.path == path) return each;
  }
  FAIL("no row " << path);
  return {};
}

}  // namespace

TEST_CASE("waiting in calls that wait for a device has the names of the calls, and the parts add up", "[samples]") {
  profkit::host_samples_summary const all = *profkit::analyze(profile_with_waits()).host_samples;
  profkit::sampled_scope_summary const wait = row_of(all, "step/wait");
  REQUIRE(wait.waits.size() == 2);
  CHECK(wait.waits[0].name == "cudaStreamSynchronize");
  CHECK(wait.waits[0].calls == 2);
  CHECK(wait.waits[0].time.count() == Approx(10.0));
  CHECK(wait.waits[0].share == Approx(0.5));
  CHECK(wait.waits[1].name == "cudaMemcpy");
  CHECK(wait.waits[1].share == Approx(0.05));
  CHECK(wait.waiting->share == 1.0);
  CHECK(row_of(all, "step").waits.at(0).time.count() == Approx(3.0));
  CHECK(row_of(all, "step/softmax/inner").waits.empty());
}

TEST_CASE("samples in a call that polls the device count as waiting in it", "[samples]") {
  profkit::sampled_scope_summary const softmax = row_of(*profkit::analyze(profile_with_waits()).host_samples, "step/softmax");
  CHECK(softmax.samples == 24);  // of 28 samples
  CHECK(softmax.functions[0].share_of_scope.share == Approx(0.4));
  CHECK(softmax.functions[1].share_of_scope.share == Approx(0.2));
  CHECK(softmax.waiting->share == Approx(0.4));
  REQUIRE(softmax.waits.size() == 1);
  CHECK(softmax.waits[0].time.count() == Approx(4.0));
  CHECK(softmax.waits[0].share == Approx(0.1));
}

TEST_CASE("calls longer than the unsampled time are cut, and without kernels no wait has a name", "[samples]") {
  profkit::profile profile = profile_with_waits();
  profile.api_calls[1].time.end = moment_at(250);  // beyond its scope
  profkit::sampled_scope_summary const wait = row_of(*profkit::analyze(profile).host_samples, "step/wait");
  double named = 0.0;
  for (profkit::sampled_wait_summary const& each : wait.waits) named += each.share;
  CHECK(named <= wait.waiting->share + 1e-12);
  profile.collectors.clear();
  profile.api_calls.clear();
  profkit::summary const without_kernels = profkit::analyze(profile);
  for (profkit::sampled_scope_summary const& each : without_kernels.host_samples->scopes) CHECK(each.waits.empty());
}

TEST_CASE("shares are inside their intervals, also without samples", "[samples]") {
  for (double const share : {0.0, 0.01, 0.5, 0.99, 1.0}) {
    for (double const trials : {0.0, 1.0, 10.0, 1e6}) {
      profkit::sampled_share const sampled = profkit::detail::share_of_samples(share, trials);
      CHECK(0.0 <= sampled.ci95_low);
      CHECK(sampled.ci95_low <= share + 1e-12);
      CHECK(share - 1e-12 <= sampled.ci95_high);
      CHECK(sampled.ci95_high <= 1.0);
    }
  }
}
