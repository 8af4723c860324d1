// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/analyze/gpu/attribution.hpp>

#include "../support/made_launches.hpp"
#include "../support/profile_of.hpp"
#include "../support/random_gpu_profile.hpp"
#include "../support/repetitions.hpp"
#include "../support/testing.hpp"

namespace {

constexpr std::uint32_t no_parent = profkit::path_record::no_parent;

profkit::adopted_summary const& row_of(profkit::summary const& summary, std::string const& path, std::string const& role = "backward") {
  auto const row = std::find_if(summary.adopted.begin(), summary.adopted.end(),
                                [&](auto const& each) { return each.path == path && each.role == role; });
  if (row == summary.adopted.end()) FAIL("there is no row " << path << ", " << role);
  return *row;
}

std::vector<std::string> rows_of(profkit::summary const& summary) {
  std::vector<std::string> result;
  for (profkit::adopted_summary const& row : summary.adopted) result.push_back(row.path + ": " + row.role);
  return result;
}

double kernel_ms(profkit::adopted_summary const& adopted) { return adopted.kernel_time.value().count(); }
double own_kernel_ms(profkit::adopted_summary const& adopted) { return adopted.own_kernel_time.value().count(); }

/// In a step: forward [0, 10] contains layer [1, 9], which contains attention [2, 6]; then backward [20, 30]. On another thread, under
/// backward, an adopting scope of layer [21, 24] and one of attention [24, 29].
///
///     launched in             kernel
///     layer                   [1, 2]
///     attention               [2, 5]
///     backward                [20, 21]
///     layer (backward)        [21, 23]
///     attention (backward)    [24, 28], and at the same time [25, 27]
struct forward_and_backward : made_launches {
  std::uint32_t step_path = path(no_parent, "step");
  std::uint32_t forward = path(step_path, "forward");
  std::uint32_t layer = path(forward, "layer");
  std::uint32_t attention = path(layer, "attention");
  std::uint32_t backward = path(step_path, "backward");
  std::uint32_t of_layer = adopting(backward, layer, "backward");
  std::uint32_t of_attention = adopting(backward, attention, "backward");

  forward_and_backward() {
    step(0, 40);
    scope(attention, 0, 2, 6);
    scope(layer, 0, 1, 9);
    scope(forward, 0, 0, 10);
    scope(backward, 0, 20, 30);
    scope(step_path, 0, 0, 40);
    scope(of_layer, 1, 21, 24);
    scope(of_attention, 1, 24, 29);
    kernel(0, 1.1, 1, 2);
    kernel(0, 2.1, 2, 5);
    kernel(0, 20.1, 20, 21);
    kernel(1, 21.1, 21, 23);
    kernel(1, 24.1, 24, 28);
    kernel(1, 24.2, 25, 27);
  }
};

}  // namespace

TEST_CASE("each adopted scope has a row with the work for it and for the scopes inside it", "[adopted]") {
  profkit::summary const summary = profkit::analyze(forward_and_backward{}.profile);
  CHECK(rows_of(summary) == std::vector<std::string>{"step: backward", "step/forward: backward", "step/forward/layer: backward",
                                                     "step/forward/layer/attention: backward"});
  profkit::adopted_summary const& attention = row_of(summary, "step/forward/layer/attention");
  CHECK(attention.name == "attention");
  CHECK(attention.depth == 3);
  CHECK(attention.count == 1);
  CHECK(attention.host_total.count() == Approx(5.0));
  CHECK(attention.operations == 2);
  CHECK(kernel_ms(attention) == Approx(6.0));
  CHECK(attention.busy->count() == Approx(4.0));
  CHECK(attention.own_host_total->count() == Approx(4.0));
  CHECK(own_kernel_ms(attention) == Approx(3.0));
  CHECK(attention.kernel_ratio == Approx(2.0));
  for (char const* const path : {"step/forward/layer", "step/forward"}) {
    profkit::adopted_summary const& around = row_of(summary, path);
    CHECK(around.count == 2);
    CHECK(around.host_total.count() == Approx(8.0));
    CHECK(around.operations == 3);
    CHECK(kernel_ms(around) == Approx(8.0));
    CHECK(around.busy->count() == Approx(6.0));
    CHECK(own_kernel_ms(around) == Approx(4.0));
    CHECK(around.kernel_ratio == Approx(2.0));
  }
  CHECK(row_of(summary, "step/forward").own_host_total->count() == Approx(10.0));
}

TEST_CASE("a scope contains the adopting scopes that run in it, and not those that its thread ran before for another thread", "[adopted]") {
  made_launches make;
  std::uint32_t const one = make.path(no_parent, "one");
  std::uint32_t const part = make.adopting(one, one, "part");
  make.scope(part, 1, 1, 3);
  make.scope(part, 1, 4, 5);
  make.scope(one, 0, 0, 10);
  make.scope(part, 1, 21, 22);
  make.scope(part, 1, 24, 26);
  make.scope(one, 1, 20, 30);
  profkit::summary const summary = profkit::analyze(make.profile);
  profkit::scope_summary const& row = summary.scopes.at(0);
  CHECK(row.path == "one");
  CHECK(row.host.total.count() == Approx(20.0));
  CHECK(row.host_self.count() == Approx(17.0));
}

TEST_CASE("own kernels of a scope and kernels of adopted work are disjoint", "[adopted]") {
  // `backward` and the adopting scopes inside it also lie in the step.
  profkit::summary const summary = profkit::analyze(forward_and_backward{}.profile);
  profkit::adopted_summary const& step = row_of(summary, "step");
  CHECK(own_kernel_ms(step) == Approx(5.0));
  CHECK(kernel_ms(step) == Approx(8.0));
  CHECK(own_kernel_ms(step) + kernel_ms(step) == Approx(summary.gpu->all.kernel_time.count()));
}

TEST_CASE("an adopting scope inside another has its time and its kernels to itself", "[adopted]") {
  made_launches make;
  std::uint32_t const one = make.path(no_parent, "one");
  std::uint32_t const other = make.path(no_parent, "other");
  std::uint32_t const of_one = make.adopting(no_parent, one, "backward");
  std::uint32_t const between = make.path(of_one, "between");
  std::uint32_t const of_other = make.adopting(between, other, "backward");
  std::uint32_t const elsewhere = make.adopting(of_one, other, "elsewhere");
  make.scope(of_other, 0, 2, 5);
  make.scope(between, 0, 1, 6);
  make.scope(of_one, 0, 0, 10);
  make.scope(elsewhere, 1, 3, 4);  // inside `of_one`, but on another thread: does not count as its time
  make.kernel(0, 0.5, 0, 1);
  make.kernel(0, 1.5, 1, 3);
  make.kernel(0, 2.5, 3, 7);
  make.kernel(1, 3.5, 7, 15);
  profkit::summary const summary = profkit::analyze(make.profile);
  CHECK(summary.adopted.size() == 3);
  CHECK(row_of(summary, "one").host_total.count() == Approx(7.0));
  CHECK(kernel_ms(row_of(summary, "one")) == Approx(3.0));
  CHECK(row_of(summary, "other").host_total.count() == Approx(3.0));
  CHECK(kernel_ms(row_of(summary, "other")) == Approx(4.0));
  CHECK(row_of(summary, "other", "elsewhere").host_total.count() == Approx(1.0));
  CHECK(kernel_ms(row_of(summary, "other", "elsewhere")) == Approx(8.0));
}

TEST_CASE("work for adopted work is shown next to it, never inside it", "[adopted]") {
  forward_and_backward make;
  // The second derivative: its scopes adopt the adopting scope. The recomputed forward of a checkpoint: scopes inside it are adopted.
  std::uint32_t const twice = make.path(make.step_path, "twice");
  std::uint32_t const of_backward = make.adopting(twice, make.of_attention, "backward");
  std::uint32_t const recomputed = make.path(make.of_layer, "recomputed");
  std::uint32_t const of_recomputed = make.adopting(make.of_layer, recomputed, "backward");
  std::uint32_t const third = make.adopting(twice, of_backward, "backward");
  make.scope(twice, 0, 30, 39);
  make.scope(of_backward, 1, 31, 33);
  make.kernel(1, 31.1, 31, 33);
  make.scope(recomputed, 1, 21.5, 22);
  make.scope(of_recomputed, 1, 22, 22.5);
  make.kernel(1, 22.1, 28, 29);
  make.scope(third, 1, 34, 35);
  make.kernel(1, 34.1, 34, 34.5);
  profkit::summary const summary = profkit::analyze(make.profile);
  std::string const second = "backward of work in backward";
  CHECK(rows_of(summary) == std::vector<std::string>{"step: backward", "step: " + second, "step/forward: backward",
                                                     "step/forward: " + second, "step/forward/layer: backward",
                                                     "step/forward/layer: " + second, "step/forward/layer/attention: backward",
                                                     "step/forward/layer/attention: " + second});
  CHECK(kernel_ms(row_of(summary, "step/forward/layer/attention")) == Approx(6.0));
  CHECK(kernel_ms(row_of(summary, "step/forward/layer/attention", second)) == Approx(2.5));
  CHECK(row_of(summary, "step/forward/layer/attention", second).count == 2);
  CHECK(kernel_ms(row_of(summary, "step/forward/layer")) == Approx(8.0));
  CHECK(kernel_ms(row_of(summary, "step/forward/layer", second)) == Approx(3.5));
  CHECK(row_of(summary, "step/forward/layer").host_total.count() == Approx(7.5));
  CHECK(row_of(summary, "step/forward/layer", second).host_total.count() == Approx(3.5));
}

TEST_CASE("a scope that launched nothing has no ratio", "[adopted]") {
  forward_and_backward make;
  std::uint32_t const quiet = make.path(make.forward, "quiet");
  std::uint32_t const of_quiet = make.adopting(make.backward, quiet, "backward");
  make.scope(quiet, 0, 9.1, 9.2);
  make.scope(of_quiet, 1, 29.1, 29.2);
  profkit::adopted_summary const row = row_of(profkit::analyze(make.profile), "step/forward/quiet");
  CHECK(own_kernel_ms(row) == 0.0);
  CHECK(kernel_ms(row) == 0.0);
  CHECK_FALSE(row.kernel_ratio);
}

TEST_CASE("warm-up does not count, and scopes without work in the measured time have no row", "[adopted]") {
  forward_and_backward make;
  make.profile.steps[0].warmup = true;
  make.step(50, 60);
  make.scope(make.attention, 0, 51, 53);
  make.scope(make.of_attention, 1, 54, 55);
  make.kernel(1, 54.1, 54, 56);
  profkit::summary const summary = profkit::analyze(make.profile);
  CHECK(row_of(summary, "step/forward/layer/attention").count == 1);
  CHECK(kernel_ms(row_of(summary, "step/forward/layer/attention")) == Approx(2.0));
  CHECK(row_of(summary, "step/forward/layer/attention").own_host_total->count() == Approx(2.0));
  CHECK_FALSE(row_of(summary, "step/forward/layer").own_host_total);  // no scope of the layer is in the measured step

  make.profile.steps[1].warmup = true;
  CHECK(profkit::analyze(make.profile).adopted.empty());
}

TEST_CASE("operations of a graph count in the scopes of their capture", "[adopted]") {
  forward_and_backward make;
  make.step(50, 60);
  make.kernel(0, 51, 52, 57);
  make.profile.gpu_operations.back().graph_node = 7;
  make.profile.graph_nodes = {{7, make.of_attention}};
  profkit::adopted_summary const row = row_of(profkit::analyze(make.profile), "step/forward/layer/attention");
  CHECK(kernel_ms(row) == Approx(11.0));
  CHECK(row.count == 1);
}

TEST_CASE("in random nests, own work and work for scopes count each kernel once", "[adopted]") {
  for (std::uint64_t seed = 1; seed <= repetitions(20); ++seed) {
    random_gpu_profile made = make_random_gpu_profile(seed, 400);
    profkit::profile& profile = made.profile;
    // Every third possible path adopts an earlier path.
    for (std::uint32_t path = 1; path < profile.paths.size(); ++path) {
      if (path % 3 != 0) continue;
      profile.paths[path].adopted_from = static_cast<std::uint32_t>((path * seed) % path * 7 % path);
      profile.paths[path].role = path % 2 == 0 ? "backward" : "prefetch";
    }
    profkit::attribution const found = profkit::attribute(profile);
    profkit::summary const summary = profkit::analyze(profile);

    // Computes the result path by path from the definitions.
    auto const adopts = [&](std::uint32_t path) { return profile.paths[path].adopted_from != no_parent; };
    auto const around = [&](std::uint32_t path) {
      while (path != no_parent && !adopts(path)) path = profile.paths[path].parent;
      return path;
    };
    auto const is_inside = [&](std::uint32_t path, std::uint32_t ancestor) {
      while (path != no_parent && path != ancestor) path = profile.paths[path].parent;
      return path == ancestor;
    };
    auto const end_of_chain = [&](std::uint32_t adopting) {
      std::uint32_t path = adopting;
      while (around(profile.paths[path].adopted_from) != no_parent) path = around(profile.paths[path].adopted_from);
      return path;
    };
    std::uint64_t operations_with_row = 0;
    for (profkit::adopted_summary const& row : summary.adopted) {
      double kernels = 0.0;
      std::uint64_t operations = 0;
      for (std::size_t i = 0; i < profile.gpu_operations.size(); ++i) {
        std::uint32_t const path = found.path_of[i];
        if (path == no_parent || around(path) == no_parent) continue;
        std::uint32_t const adopting = around(path);
        std::uint32_t const first = end_of_chain(adopting);
        std::string const role =
            first == adopting ? profile.paths[adopting].role : profile.paths[adopting].role + " of work in " + profile.paths[first].role;
        bool counts = false;
        for (std::uint32_t outer = 0; outer < profile.paths.size(); ++outer) {
          counts = counts || (path_name(profile, outer) == row.path && is_inside(profile.paths[first].adopted_from, outer));
        }
        if (!counts || role != row.role) continue;
        ++operations;
        kernels += std::chrono::duration<double, std::milli>{profile.gpu_operations[i].time.duration()}.count();
      }
      CHECK(row.operations == operations);
      CHECK(kernel_ms(row) == Approx(kernels));
      if (row.depth == 0) operations_with_row += operations;
    }
    std::uint64_t expected = 0;
    for (std::uint32_t const path : found.path_of) expected += path != no_parent && around(path) != no_parent ? 1U : 0U;
    CHECK(expected > 0);
    CHECK(operations_with_row == expected);
  }
}
