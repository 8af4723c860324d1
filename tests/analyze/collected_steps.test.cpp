// SPDX-License-Identifier: Apache-2.0
//
// Kernels collected only in some of the measured steps (`kernels=every:N`).
#include <profkit/analyze.hpp>
#include <profkit/csv_printer.hpp>
#include <profkit/impl/report/budget_section.hpp>
#include <profkit/impl/report/kernels_section.hpp>
#include <profkit/impl/report/scopes_section.hpp>
#include <profkit/kernels_of_scope.hpp>
#include <profkit/report.hpp>

#include "../support/made_gpu_profile.hpp"
#include "../support/made_work_profile.hpp"
#include "../support/profile_of.hpp"
#include "../support/report_text.hpp"
#include "../support/testing.hpp"
#include "nsys/nsys_summary.hpp"

namespace {

/// Removes from a profile what a session does not record in steps without kernels.
void forget_kernels_of(profkit::profile& profile, std::size_t step) {
  profile.steps[step].has_kernels = false;
  profkit::interval const time = profile.steps[step].time;
  auto const is_inside = [&](auto const& each) { return time.begin <= each.time.begin && each.time.begin < time.end; };
  profile.gpu_operations.erase(std::remove_if(profile.gpu_operations.begin(), profile.gpu_operations.end(), is_inside),
                               profile.gpu_operations.end());
  profile.api_calls.erase(std::remove_if(profile.api_calls.begin(), profile.api_calls.end(), is_inside), profile.api_calls.end());
}

/// The same steps, but only those with collected kernels are measured.
profkit::profile only_collected(profkit::profile profile) {
  for (profkit::step_record& step : profile.steps) step.warmup = step.warmup || !step.has_kernels;
  return profile;
}

/// The made profile, whose second measured step has no kernels.
profkit::profile half_collected() {
  profkit::profile result = made_gpu_profile(true);
  forget_kernels_of(result, 2);
  return result;
}

}  // namespace

TEST_CASE("GPU figures cover only the steps with collected kernels", "[collected_steps]") {
  profkit::summary const some = profkit::analyze(half_collected());
  profkit::summary const those = profkit::analyze(only_collected(half_collected()));
  CHECK(some.steps.host.count == 2);
  CHECK(some.gpu->steps == 1);
  CHECK(those.gpu->steps == 1);
  CHECK(profkit::detail::csv_of(profkit::detail::kernel_table(*some.gpu)) ==
        profkit::detail::csv_of(profkit::detail::kernel_table(*those.gpu)));
  CHECK(profkit::detail::csv_of(profkit::detail::copy_table(*some.gpu)) ==
        profkit::detail::csv_of(profkit::detail::copy_table(*those.gpu)));
  CHECK(profkit::detail::csv_of(profkit::detail::api_table(*some.gpu)) == profkit::detail::csv_of(profkit::detail::api_table(*those.gpu)));
  CHECK(profkit::detail::csv_of(profkit::detail::gpu_scope_table(some)) ==
        profkit::detail::csv_of(profkit::detail::gpu_scope_table(those)));
  CHECK(some.gpu->all.busy == those.gpu->all.busy);
  CHECK(some.gpu->idle->inclusive == those.gpu->idle->inclusive);
  CHECK(some.gpu->unknown_launches == 0);
  REQUIRE(some.gpu->kernels.size() == those.gpu->kernels.size());
  for (std::size_t i = 0; i < some.gpu->kernels.size(); ++i) {
    CHECK(some.gpu->kernels[i].per_step->steps == 1);
    CHECK(some.gpu->kernels[i].per_step->gpu.mean == those.gpu->kernels[i].per_step->gpu.mean);
  }
}

TEST_CASE("the step budget covers the steps with collected kernels, per step", "[collected_steps]") {
  profkit::summary const some = profkit::analyze(half_collected());
  profkit::summary const those = profkit::analyze(only_collected(half_collected()));
  CHECK(some.budget->steps == 1);
  CHECK(some.budget->wall == profkit::milliseconds{10.0});
  auto const csv = [](profkit::summary summary, char const* name) {
    for (profkit::step_kind_summary& kind : summary.kinds) kind.times.between = {};  // a single step has none
    return profkit::detail::csv_of(table_of(profkit::detail::budget_section(profkit::detail::report_view{summary}).value(), name));
  };
  CHECK(csv(some, "budget") == csv(those, "budget"));
  CHECK(csv(some, "starving") == csv(those, "starving"));
  CHECK(profkit::detail::overlap_text(*some.budget) == profkit::detail::overlap_text(*those.budget));
}

TEST_CASE("host times cover all measured steps, GPU times are per collected step", "[collected_steps]") {
  profkit::summary const all = profkit::analyze(made_gpu_profile());
  profkit::summary const some = profkit::analyze(half_collected());
  profkit::scope_summary const& before = *find_row(all, "step/forward");
  profkit::scope_summary const& forward = *find_row(some, "step/forward");
  CHECK(forward.host.count == 2);
  CHECK(forward.per_step->steps == 2);
  CHECK(forward.per_step->host.mean == before.per_step->host.mean);
  CHECK(forward.per_step->gpu_steps == 1);
  CHECK(before.per_step->gpu_steps == 2);
  CHECK(forward.gpu->kernel_time.count() == Approx(before.gpu->kernel_time.count() / 2.0));
  CHECK(forward.per_step->gpu->mean.count() == Approx(before.per_step->gpu->mean.count()));
}

TEST_CASE("rates are over the time of the steps in which kernels were collected", "[collected_steps]") {
  profkit::profile profile = made_work_profile{}.profile;
  profkit::summary const all = profkit::analyze(profile);
  forget_kernels_of(profile, 1);
  profkit::summary const some = profkit::analyze(profile);
  profkit::work_summary const& before = *find_row(all, "step/forward/scores")->work;
  profkit::work_summary const& scores = *find_row(some, "step/forward/scores")->work;
  CHECK(scores.flops == Approx(before.flops / 2.0));
  CHECK(scores.flops_per_second.value() == Approx(before.flops_per_second.value()));
  CHECK(some.model->flops_per_step == Approx(all.model->flops_per_step));
}

TEST_CASE("the nsys summaries cover the collected steps, and their ranges all steps", "[collected_steps]") {
  profkit::nsys_summary const all = profkit::summarize_like_nsys(made_gpu_profile(true));
  profkit::nsys_summary const some = profkit::summarize_like_nsys(half_collected());
  profkit::nsys_summary const those = profkit::summarize_like_nsys(only_collected(half_collected()));
  auto const total = [](std::vector<profkit::nsys_row> const& rows) {
    std::int64_t sum = 0;
    for (profkit::nsys_row const& row : rows) sum += row.samples.total;
    return sum;
  };
  CHECK(total(some.ranges) == total(all.ranges));
  CHECK(total(some.kernels) == total(those.kernels));
  CHECK(total(some.api.value()) == total(those.api.value()));
  REQUIRE(some.projections.size() == those.projections.size());
  for (std::size_t i = 0; i < some.projections.size(); ++i) CHECK(some.projections[i].range_time == those.projections[i].range_time);
}

TEST_CASE("the kernels of a scope are those of the collected steps", "[collected_steps]") {
  profkit::profile profile = made_gpu_profile();
  profile.steps[2].has_kernels = false;  // its operations stay, as if launched between two steps
  std::vector<profkit::kernel_summary> const rows = profkit::kernels_of_scope(profile, "forward");
  std::vector<profkit::kernel_summary> const all = profkit::kernels_of_scope(made_gpu_profile(), "forward");
  REQUIRE(rows.size() == all.size());
  for (std::size_t i = 0; i < rows.size(); ++i) CHECK(2 * rows[i].time.count == all[i].time.count);
}

TEST_CASE("without a collected step there are no figures of kernels, and nothing is divided by 0", "[collected_steps]") {
  profkit::profile profile = made_gpu_profile();
  forget_kernels_of(profile, 1);
  forget_kernels_of(profile, 2);
  profkit::summary const without = profkit::analyze(profile);
  CHECK(without.gpu->steps == 0);
  CHECK(without.gpu->kernels.empty());
  CHECK_FALSE(find_row(without, "step/forward")->per_step->gpu);
  CHECK(without.budget->rows.empty());
  profkit::report const report{std::make_shared<profkit::profile const>(std::move(profile))};
  CHECK_THAT(report.full_text(), ContainsSubstring("in 0 of 2 measured steps") && !ContainsSubstring("nan") && !ContainsSubstring("inf "));
}

TEST_CASE("the report says in how many steps kernels were collected, unless it was in all", "[collected_steps]") {
  profkit::report const some{std::make_shared<profkit::profile const>(half_collected())};
  CHECK_THAT(squeezed(some.full_text()),
             ContainsSubstring("kernels were collected in 1 of 2 measured steps: figures of operations, GPU and idle cover these steps") &&
                 ContainsSubstring("\nkernels collected in 1 of 2 measured steps\n") &&
                 ContainsSubstring("of the collected steps' 10.000 ms"));
  profkit::report const all{std::make_shared<profkit::profile const>(made_gpu_profile())};
  CHECK_THAT(squeezed(all.full_text()), !ContainsSubstring("of 2 measured steps") && ContainsSubstring("\nkernels collected\n"));
}
