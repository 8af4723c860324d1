// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/collect/built_in_collectors.hpp>

#include "../support/made_work_profile.hpp"
#include "../support/profile_of.hpp"
#include "../support/testing.hpp"

using profkit::precision;
using profkit::work_bound;

namespace {

using made_work = made_work_profile;

profkit::work_summary const& work_at(profkit::summary const& summary, std::string const& path) {
  profkit::scope_summary const* const row = find_row(summary, path);
  if (row == nullptr || !row->work) FAIL(path << " has no work");
  return *row->work;
}

bool has_work_at(profkit::summary const& summary, std::string const& path) {
  profkit::scope_summary const* const row = find_row(summary, path);
  if (row == nullptr) FAIL("there is no row " << path);
  return row->work.has_value();
}

profkit::work_summary const& work_named(profkit::summary const& summary, std::string const& name) {
  auto const row = std::find_if(summary.names.begin(), summary.names.end(), [&](auto const& each) { return each.name == name; });
  if (row == summary.names.end() || !row->work) FAIL(name << " has no work");
  return *row->work;
}

profkit::adopted_summary const& backward_of(profkit::summary const& summary, std::string const& path) {
  auto const row = std::find_if(summary.adopted.begin(), summary.adopted.end(),
                                [&](auto const& each) { return each.path == path && each.role == "backward"; });
  if (row == summary.adopted.end()) FAIL("nothing was done for " << path);
  return *row;
}

double share_of(std::optional<profkit::roof_share> const& roof) { return roof.value().share; }

}  // namespace

TEST_CASE("the share of the roof is the minimum time for the work divided by the time taken, with its limit", "[work]") {
  profkit::summary const summary = profkit::analyze(made_work{}.profile);
  // 1.979 of 989.5 TFLOP/s are 2 ms of 4; 1 GB at 4.8 TB/s takes less.
  CHECK(share_of(work_at(summary, "step/forward/scores").roof) == Approx(0.5));
  CHECK(work_at(summary, "step/forward/scores").roof->bound == work_bound::compute);
  // 2.4 GB at 4.8 TB/s are 0.5 ms of 2; 1 GFLOP at 67 TFLOP/s takes less.
  CHECK(share_of(work_at(summary, "step/forward/norm").roof) == Approx(0.25));
  CHECK(work_at(summary, "step/forward/norm").roof->bound == work_bound::memory);
  CHECK(work_at(summary, "step/forward/norm").precision == "fp32");
}

TEST_CASE("with one precision the share is the rate divided by the lower of the peak and intensity times bandwidth", "[work]") {
  std::mt19937_64 random{7};
  std::uniform_real_distribution<double> exponent{8.0, 13.0};
  for (int i = 0; i < 200; ++i) {
    made_work made;
    made.profile.work.clear();
    double const flops = std::pow(10.0, exponent(random));
    double const bytes = std::pow(10.0, exponent(random) - 2.0);
    made.say(made_work::scores, 1, {flops, bytes, precision::tf32, 0.0F});
    profkit::work_summary const work = work_at(profkit::analyze(made.profile), "step/forward/scores");
    double const roof = std::min(494.5e12, *work.intensity * 4.8e12);
    CHECK(share_of(work.roof) == Approx(*work.flops_per_second / roof));
    CHECK((work.roof->bound == work_bound::compute) == (roof == 494.5e12));
  }
}

TEST_CASE("a scope includes the declared work of inner scopes, each precision at its own rate", "[work]") {
  profkit::summary const summary = profkit::analyze(made_work{}.profile);
  profkit::work_summary const& forward = work_at(summary, "step/forward");
  CHECK(forward.flops == Approx(2 * (1.979e12 + 1e9)));
  CHECK(forward.bytes == Approx(2 * 3.4e9));
  CHECK(forward.self_flops == 0.0);
  CHECK(forward.self_bytes == 0.0);
  CHECK(forward.precision == "fp32 + bf16");
  CHECK(forward.time.count() == Approx(14.0));
  CHECK(share_of(forward.roof) == Approx((1.979 / 989.5 + 0.001 / 67) * 1e3 / 7.0));
  CHECK(forward.share_of_time_said.value() == Approx(6.0 / 7.0));
  CHECK(work_at(summary, "step").flops == forward.flops);
  CHECK(work_at(summary, "step").time.count() == Approx(32.0));
  CHECK(work_at(summary, "step").share_of_time_said.value() == Approx(6.0 / 16.0));
  CHECK_FALSE(has_work_at(summary, "step/forward/other"));
  CHECK_FALSE(has_work_at(summary, "step/backward"));
}

TEST_CASE("a scope with declared work adds the declared work of inner scopes", "[work]") {
  made_work work;
  work.say(made_work::forward, 0, {3e9, 0.0, precision::unknown, 0.0F});
  profkit::summary const summary = profkit::analyze(work.profile);
  CHECK(work_at(summary, "step/forward").self_flops == Approx(3e9));
  CHECK(work_at(summary, "step/forward").flops == Approx(2 * (1.979e12 + 1e9) + 3e9));
  CHECK(work_at(summary, "step/forward").share_of_time_said.value() == 1.0);
  CHECK(work_at(summary, "step").share_of_time_said.value() == Approx(7.0 / 16.0));
}

TEST_CASE("if only bytes or only FLOPs were declared, the share uses that limit", "[work]") {
  made_work work;
  work.profile.work.clear();
  work.say(made_work::scores, 1, {0.0, 4.8e9, precision::unknown, 0.0F});
  work.say(made_work::norm, 6, {67e9, 0.0, precision::fp32, 0.0F});
  profkit::summary const summary = profkit::analyze(work.profile);
  profkit::work_summary const& moved = work_at(summary, "step/forward/scores");  // 1 ms of 8
  CHECK(share_of(moved.roof) == Approx(0.125));
  CHECK(moved.roof->bound == work_bound::memory);
  CHECK_FALSE(moved.flops_per_second);
  CHECK_FALSE(moved.intensity);
  CHECK(moved.precision.empty());
  profkit::work_summary const& computed = work_at(summary, "step/forward/norm");  // 1 ms of 4
  CHECK(share_of(computed.roof) == Approx(0.25));
  CHECK(computed.roof->bound == work_bound::compute);
  CHECK_FALSE(computed.bytes_per_second);
}

TEST_CASE("rates measured by the program are a second roof", "[work]") {
  made_work work;
  work.profile.measured_roofs = {
      {precision::bf16, 600e12, 0.0, "small"}, {precision::bf16, 700e12, 0.0, "large"}, {precision::unknown, 0.0, 4e12, "copy"}};
  profkit::summary const summary = profkit::analyze(work.profile);
  profkit::work_summary const& scores = work_at(summary, "step/forward/scores");
  CHECK(share_of(scores.measured_roof) == Approx(1.979e12 / 700e12 / 4e-3));
  CHECK(share_of(scores.roof) == Approx(0.5));
  // Nothing was measured in fp32, which a part of the work needs.
  CHECK_FALSE(work_at(summary, "step/forward/norm").measured_roof);
  CHECK_FALSE(work_at(summary, "step/forward").measured_roof);
  CHECK_FALSE(work_at(profkit::analyze(made_work{}.profile), "step/forward/scores").measured_roof);
}

TEST_CASE("an unknown device has rates but no share", "[work]") {
  for (char const* const device : {"NVIDIA H2000", "NVIDIA H200 MIG 1g.18gb", ""}) {
    made_work work;
    work.profile.environment.gpu = device;
    profkit::summary const summary = profkit::analyze(work.profile);
    profkit::work_summary const& scores = work_at(summary, "step/forward/scores");
    CHECK(scores.flops_per_second.value() == Approx(1.979e12 / 4e-3));
    CHECK_FALSE(scores.roof);
    CHECK_FALSE(summary.limits.why_no_peaks.empty());
    CHECK(summary.limits.source.empty());
    CHECK_FALSE(summary.model.value().utilization);
  }
}

TEST_CASE("an unknown precision has no share of FLOPs, but one of bytes", "[work]") {
  made_work work;
  work.profile.precision = precision::unknown;
  profkit::summary const summary = profkit::analyze(work.profile);
  CHECK(work_at(summary, "step/forward/scores").precision.empty());
  CHECK_FALSE(work_at(summary, "step/forward/scores").roof);
  CHECK(work_at(summary, "step/forward").precision == "unknown + fp32");
  CHECK_FALSE(work_at(summary, "step/forward").roof);
  CHECK(share_of(work_at(summary, "step/forward/norm").roof) == Approx(0.25));
  CHECK_FALSE(summary.model.value().utilization);
  CHECK(summary.model->flops_per_second > 0.0);
}

TEST_CASE("with two devices there is no share of one device", "[work]") {
  made_work work;
  work.profile.measured_roofs = {{precision::bf16, 700e12, 4e12, "both"}};
  work.profile.gpu_operations.back().device = 1;
  profkit::summary const summary = profkit::analyze(work.profile);
  CHECK_FALSE(work_at(summary, "step/forward/scores").roof);
  CHECK_FALSE(work_at(summary, "step/forward/scores").measured_roof);
  CHECK_FALSE(summary.model.value().utilization);
  CHECK(summary.limits.why_no_peaks == "the program used 2 devices");
}

TEST_CASE("without kernels the time is that between CUDA events, or else host time", "[work]") {
  made_work work;
  work.forget_kernels();
  for (double const begin : {101.0, 201.0}) work.profile.gpu_scopes.push_back({made_work::scores, at_ms(begin), 0, ns_of_ms(5.0)});
  work.profile.gpu_scopes.push_back({made_work::norm, at_ms(106.0), 0, ns_of_ms(5.0)});  // one of its two scopes was not timed
  profkit::summary const summary = profkit::analyze(work.profile);
  CHECK(work_at(summary, "step/forward/scores").basis == "GPU time between CUDA events");
  CHECK(work_at(summary, "step/forward/scores").time.count() == Approx(10.0));
  CHECK(share_of(work_at(summary, "step/forward/scores").roof) == Approx(0.4));
  CHECK(work_at(summary, "step/forward/norm").basis == "host time");
  CHECK(work_at(summary, "step/forward/norm").time.count() == Approx(6.0));
  CHECK(work_at(summary, "step/forward").share_of_time_said.value() == Approx(7.0 / 10.0));
  CHECK(backward_of(summary, "step/forward/scores").work->basis == "host time");
  CHECK(backward_of(summary, "step/forward/scores").work->time.count() == Approx(16.0));
}

TEST_CASE("a scope that launched nothing has work and no rate", "[work]") {
  made_work work;
  work.profile.gpu_operations.erase(std::remove_if(work.profile.gpu_operations.begin(), work.profile.gpu_operations.end(),
                                                   [](auto const& each) { return each.time.duration() == std::chrono::milliseconds{4}; }),
                                    work.profile.gpu_operations.end());
  profkit::work_summary const scores = work_at(profkit::analyze(work.profile), "step/forward/scores");
  CHECK(scores.flops == Approx(2 * 1.979e12));
  CHECK(scores.intensity.value() == Approx(1979.0));
  CHECK_FALSE(scores.flops_per_second);
  CHECK_FALSE(scores.bytes_per_second);
  CHECK_FALSE(scores.roof);
  CHECK_FALSE(scores.share_of_time_said);
}

TEST_CASE("an invalid count counts as 0", "[work]") {
  for (double const wrong : {-1e12, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    made_work work;
    work.say(made_work::scores, 1, {wrong, wrong, precision::bf16, 0.0F});
    work.say(made_work::other, 9.2, {wrong, wrong, precision::bf16, 0.0F});
    profkit::summary const summary = profkit::analyze(work.profile);
    CHECK(work_at(summary, "step/forward/scores").flops == Approx(2 * 1.979e12));
    CHECK(work_at(summary, "step/forward/scores").bytes == Approx(2e9));
    CHECK_FALSE(has_work_at(summary, "step/forward/other"));
  }
}

TEST_CASE("scopes with one name have the sum of their work, and count none twice", "[work]") {
  made_work work;
  work.profile.paths[made_work::other].name = "scores";    // next to the other
  work.profile.paths[made_work::forward].name = "scores";  // around both
  work.say(made_work::other, 9.2, {2e12, 0.0, precision::bf16, 0.0F});
  profkit::summary const summary = profkit::analyze(work.profile);
  profkit::work_summary const& scores = work_named(summary, "scores");
  CHECK(scores.flops == Approx(2 * (1.979e12 + 1e9) + 2e12));
  CHECK(scores.self_flops == Approx(2 * 1.979e12 + 2e12));
  CHECK(scores.time.count() == Approx(14.0));
  CHECK(scores.flops_per_second.value() == Approx(scores.flops / 14e-3));

  made_work beside;
  beside.profile.paths[made_work::other].name = "scores";
  beside.say(made_work::other, 9.2, {2e12, 0.0, precision::bf16, 0.0F});
  profkit::summary const of_two = profkit::analyze(beside.profile);
  CHECK(work_named(of_two, "scores").flops == Approx(2 * 1.979e12 + 2e12));
  CHECK(work_named(of_two, "scores").time.count() == Approx(10.0));
  CHECK(work_named(of_two, "norm").flops == Approx(2e9));
  CHECK(work_named(of_two, "norm").share_of_time_said.value() == 1.0);
}

TEST_CASE("the backward work of a scope is its work times its backward factor", "[work]") {
  profkit::summary const summary = profkit::analyze(made_work{}.profile);
  profkit::work_summary const scores = backward_of(summary, "step/forward/scores").work.value();
  CHECK(scores.flops == Approx(2 * 2 * 1.979e12));
  CHECK(scores.bytes == Approx(4e9));
  CHECK(scores.precision == "bf16");
  CHECK(scores.basis == "GPU busy time");
  CHECK(scores.time.count() == Approx(16.0));
  CHECK(share_of(scores.roof) == Approx(0.5));
  profkit::work_summary const norm = backward_of(summary, "step/forward/norm").work.value();
  CHECK(norm.bytes == Approx(2 * 3.6e9));
  CHECK(share_of(norm.roof) == Approx(0.75));
  CHECK(norm.roof->bound == work_bound::memory);
  profkit::work_summary const forward = backward_of(summary, "step/forward").work.value();
  CHECK(forward.flops == Approx(scores.flops + norm.flops));
  CHECK(forward.self_flops == 0.0);
  CHECK(forward.time.count() == Approx(18.0));
  CHECK(share_of(forward.roof) == Approx((4.0 + 1.5 / 67.0) / 9.0));
}

TEST_CASE("if a scope declares no backward work, that of all enclosing scopes is n/a", "[work]") {
  made_work work;
  work.say(made_work::norm, 6, {1.0, 0.0, precision::fp32, 0.0F});
  profkit::summary const summary = profkit::analyze(work.profile);
  CHECK_FALSE(backward_of(summary, "step/forward/norm").work);
  CHECK_FALSE(backward_of(summary, "step/forward").work);
  CHECK_FALSE(backward_of(summary, "step").work);
  CHECK(backward_of(summary, "step/forward/scores").work);
  CHECK(summary.model.value().flops_per_step == Approx(1.979e12 + 1e9 + 0.5));
  CHECK(summary.model->flops_source == "declared by the scopes, without backward work, which some scopes did not declare");
}

TEST_CASE("a scope without backward work shows none", "[work]") {
  made_work work;
  work.say(made_work::other, 9.2, {5e9, 0.0, precision::fp32, 0.0F});
  profkit::summary const summary = profkit::analyze(work.profile);
  CHECK(backward_of(summary, "step/forward").work.value().flops == Approx(2 * (2 * 1.979e12 + 1.5e9)));
}

TEST_CASE("the work of adopting scopes with roles other than backward is unknown", "[work]") {
  made_work work;
  work.profile.paths[made_work::scores_backward].role = "task";
  work.profile.paths[made_work::norm_backward].role = "task";
  profkit::summary const summary = profkit::analyze(work.profile);
  REQUIRE(summary.adopted.size() == 4);
  for (profkit::adopted_summary const& row : summary.adopted) CHECK_FALSE(row.work);
  CHECK(summary.model.value().flops_per_step == Approx(1.979e12 + 1e9));
  CHECK(summary.model->flops_source == "declared by the scopes");
}

TEST_CASE("declared model FLOPs of a step are used, over the same step time as items", "[work]") {
  made_work work;
  work.profile.measured_roofs = {{precision::bf16, 700e12, 0.0, "matrix product"}};
  work.profile.steps[0].model_flops = 1e15;
  work.profile.steps[1].model_flops = 8e12;
  work.profile.steps[2].model_flops = 12e12;
  profkit::model_summary const by_host = profkit::analyze(work.profile).model.value();
  CHECK(by_host.flops_per_step == Approx(10e12));
  CHECK(by_host.flops_source == "given by the program");
  CHECK(by_host.basis == "wall time of the loop");  // 40 ms a step, and 60 ms between steps
  CHECK(by_host.utilization.value() == Approx(10e12 / 100e-3 / 989.5e12));
  CHECK(by_host.share_of_measured.value() == Approx(10e12 / 100e-3 / 700e12));
  for (std::uint64_t step = 0; step < 3; ++step) work.profile.gpu_steps.push_back({step, 0, ns_of_ms(150.0)});
  profkit::summary const by_device = profkit::analyze(work.profile);
  CHECK(by_device.model->basis == "GPU step time");
  CHECK(by_device.model->basis == by_device.steps.items_per_second_basis);
  CHECK(by_device.model->flops_per_second == Approx(10e12 / 150e-3));
}

TEST_CASE("without steps or declared work there are no model figures", "[work]") {
  made_work silent;
  silent.profile.work.clear();
  profkit::summary const nothing_said = profkit::analyze(silent.profile);
  CHECK_FALSE(nothing_said.model);
  for (profkit::scope_summary const& row : nothing_said.scopes) CHECK_FALSE(row.work);
  made_work no_steps;
  no_steps.profile.steps.clear();
  profkit::summary const of_session = profkit::analyze(no_steps.profile);
  CHECK_FALSE(of_session.model);
  CHECK(work_at(of_session, "step/forward/scores").flops == Approx(12 * 1.979e12));
}

TEST_CASE("declared work and a measured roof of a session are in its summary", "[work]") {
  profkit::options options = plain_options(1, 2);
  options.precision = precision::fp32;
  profkit::session session{options};
  session.collect(profkit::measured_roof{{{precision::fp32, 5e12, 3e12, "made up"}}});
  session.collect(profkit::measured_roof{{}});
  for (profkit::step step : session) {
    PROF_SCOPE("multiply", profkit::work{2e6, 3e3});
    profkit::add_work({1e6, 0.0});
  }
  profkit::summary const summary = session.report().summary();
  CHECK(work_at(summary, "step/multiply").flops == Approx(6e6));
  CHECK(work_at(summary, "step/multiply").bytes == Approx(6e3));
  CHECK(work_at(summary, "step/multiply").precision == "fp32");
  CHECK(work_at(summary, "step/multiply").basis == "host time");
  CHECK(work_at(summary, "step").flops == Approx(6e6));
  CHECK(summary.model.value().flops_per_step == Approx(3e6));
  CHECK(summary.limits.measured_rates.flops_per_second[static_cast<std::size_t>(precision::fp32)] == 5e12);
  CHECK(summary.limits.measured_rates.bytes_per_second == 3e12);
  REQUIRE(summary.collectors.size() == 2);
  CHECK(summary.collectors[0].status == "collected");
  CHECK(summary.collectors[1].reason == "nothing was measured");
}
