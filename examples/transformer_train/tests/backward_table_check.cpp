// SPDX-License-Identifier: Apache-2.0
//
// T14 of a hand-made profile: two layers whose backward runs on another thread, work without a forward scope, and work inside work.
//
//     table_checks backward_table [FOLDER_OF_THE_PROFILES]

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <profkit/profile.hpp>
#include <string>
#include <utility>

#include "named_check.hpp"
#include "table_check.hpp"

namespace backward_table_check {

namespace {

using checks::cells;
using checks::check;
using checks::check_contains;
using checks::check_equal;

constexpr std::uint32_t none = profkit::path_record::no_parent;

/// One step of 10 ms, with consecutive scopes and kernels.
class made_run {
 public:
  made_run() {
    result_.threads = {{1, "main"}, {2, "autograd"}};
    result_.gpu_names = {{"kernel", ""}};
    result_.api_names = {"launch"};
    result_.collectors = {{"kernels", "collected", "", profkit::collector_kind::kernels}};
    result_.time = {at_us(0), at_us(10'000)};
    result_.steps.push_back({{at_us(0), at_us(10'000)}, 0, false, 0});
    step = path(none, "step");
    result_.paths[step].is_step = true;
    result_.scopes.push_back({{at_us(0), at_us(10'000)}, step, 0});
  }

  std::uint32_t path(std::uint32_t parent, std::string name, std::optional<std::int64_t> index = {}) {
    result_.paths.push_back({parent, std::move(name), index, "model.cpp", 1, none, {}});
    return static_cast<std::uint32_t>(result_.paths.size() - 1);
  }

  std::uint32_t adopted(std::uint32_t parent, std::uint32_t from, std::string const& name, std::string const& role = "backward") {
    result_.paths.push_back({parent, name + " (" + role + ")", std::nullopt, "bridge.hpp", 1, from, role});
    return static_cast<std::uint32_t>(result_.paths.size() - 1);
  }

  /// A scope that is open for the duration of its single kernel.
  void work(std::uint32_t path, int us, std::uint32_t thread = 0) {
    if (path != none) result_.scopes.push_back({{at_us(now_us_), at_us(now_us_ + us)}, path, thread});
    std::uint64_t const correlation = ++correlation_;
    result_.api_calls.push_back({{at_us(now_us_), at_us(now_us_ + 1)}, correlation, 0, thread});
    profkit::gpu_operation_record kernel;
    kernel.time = {at_us(now_us_), at_us(now_us_ + us)};
    kernel.correlation = correlation;
    result_.gpu_operations.push_back(kernel);
    now_us_ += us + 10;
  }

  [[nodiscard]] profkit::profile const& profile() const { return result_; }

  std::uint32_t step;

 private:
  static profkit::timestamp at_us(int us) { return profkit::timestamp{std::chrono::microseconds{us}}; }

  profkit::profile result_;
  int now_us_ = 100;
  std::uint64_t correlation_ = 0;
};

made_run two_layers() {
  made_run run;
  std::uint32_t const forward = run.path(run.step, "forward");
  std::uint32_t const backward = run.path(run.step, "backward");
  std::uint32_t const accumulation = run.path(backward, "gradient accumulation");
  std::uint32_t const unknown = run.path(backward, "backward of unknown forward");
  std::uint32_t const inside_unknown = run.path(unknown, "body");
  for (int i = 0; i < 2; ++i) {
    std::string const name = fmt::format("forward/layer_{}/product", i);
    std::uint32_t const layer = run.path(forward, "layer", i);
    std::uint32_t const product = run.path(layer, "product");
    std::uint32_t const of_product = run.adopted(backward, product, name);
    // A checkpoint repeats its forward pass in a separate scope.
    std::uint32_t const again = run.path(of_product, "body");
    std::uint32_t const of_again = run.adopted(of_product, again, "backward/" + name, "double backward or recomputed");
    run.work(product, 100);
    run.work(of_product, 200 + 100 * i, 1);
    run.work(again, 5, 1);
    run.work(of_again, 7, 1);
    // A manual backward scope of work that is itself the backward of another scope.
    run.work(run.adopted(backward, of_product, "backward/" + name), 3, 1);
  }
  run.work(forward, 20);
  run.work(run.adopted(backward, forward, "forward"), 30, 1);
  run.work(accumulation, 40, 1);
  run.work(unknown, 50, 1);
  run.work(inside_unknown, 6, 1);
  run.work(backward, 8);
  // A forward scope inside the backward pass: autograd's work there for other scopes does not count as its own.
  std::uint32_t const scale = run.path(backward, "scale loss");
  run.work(scale, 4);
  run.work(run.adopted(backward, scale, "backward/scale loss"), 2, 1);
  run.work(none, 9, 1);
  run.work(run.path(run.step, "optimizer"), 500);
  // Work passed to another thread, but not as a backward.
  run.work(run.adopted(run.step, forward, "forward", "prefetch"), 700, 1);
  return run;
}

void check_division() {
  made_run const run = two_layers();
  auto const tables = trainer::backward_tables_of(run.profile(), checks::summary_of(run.profile()));
  check(tables.has_value(), "there is no T14");
  if (!tables) return;
  cells const scopes{tables->by_scope.content};
  std::string found;
  for (std::string const& name : scopes.names()) found += name + ",";
  check(found.starts_with("forward,layer_0,product,layer_1,product,"), "the rows are " + found);
  check_equal(scopes.at("forward", "forward_ms/step"), "0.220", "forward of forward");
  check_equal(scopes.at("forward", "backward_ms/step"), "0.540", "backward of forward, with its layers'");
  check_equal(scopes.at("layer_1", "forward_ms/step"), "0.100", "forward of layer_1");
  check_equal(scopes.at("layer_1", "backward_ms/step"), "0.305", "backward of layer_1");
  check_equal(scopes.at("layer_1", "backward:forward"), "3.05", "layer_1");
  check_equal(scopes.at("layer_0", "backward:forward"), "2.05", "layer_0");
  check_equal(scopes.at("gradient accumulation", "backward_ms/step"), "0.040", "gradient accumulation");
  check_equal(scopes.at("gradient accumulation", "forward_ms/step"), "n/a", "gradient accumulation has no forward");
  check_equal(scopes.at("backward of unknown forward", "backward_ms/step"), "0.056", "unknown, and what is in it");
  check_equal(scopes.at("double backward or recomputed", "backward_ms/step"), "0.020", "of higher order, by role or by what was adopted");
  check_equal(scopes.at("backward", "forward_ms/step"), "0.012", "forward of backward");
  check_equal(scopes.at("backward", "backward_ms/step"), "0.002", "backward of backward");
  check_equal(scopes.at("scale loss", "backward:forward"), "0.50", "scale loss");
  check_equal(scopes.at("backward itself", "backward_ms/step"), "0.012", "backward itself, with its scopes");
  check_equal(scopes.at("outside any scope", "backward_ms/step"), "0.009", "outside any scope");
  check_contains(tables->by_scope.notes.front(),
                 "Of 0.679 ms a step of backward GPU work: charged to a forward scope 79.82 %, named 18.85 %, not charged 1.33 %.", "T14");

  cells const names{tables->by_name.content};
  check_equal(names.at("layer_*", "scopes"), "2", "scopes of layer_*");
  check_equal(names.at("layer_*", "forward_ms/step"), "0.200", "forward of both layers");
  check_equal(names.at("product", "backward_ms/step"), "0.510", "backward of both products");
  check_equal(names.at("product", "backward:forward"), "2.55", "both products");
  check_equal(names.at("product", "min"), "2.05", "the product with the minimum of backward");
  check_equal(names.at("product", "max"), "3.05", "the product with the maximum of backward");
  check_equal(names.at("forward", "share"), "79.53 %", "share of forward");
}

/// Scopes last as long as their kernels, so host time gives the same figures.
void check_without_kernels() {
  made_run const run = two_layers();
  profkit::profile profile = run.profile();
  profile.gpu_operations.clear();
  profile.api_calls.clear();
  profile.collectors = {{"kernels", "not collected", "no GPU", profkit::collector_kind::kernels}};
  auto const tables = trainer::backward_tables_of(profile, checks::summary_of(profile));
  check(tables.has_value(), "there is no T14 without kernels");
  if (!tables) return;
  cells const scopes{tables->by_scope.content};
  check_equal(scopes.at("product", "backward:forward"), "2.05", "the product of layer_0 by the host's clock");
  check_equal(scopes.at("gradient accumulation", "backward_ms/step"), "0.040", "gradient accumulation by the host's clock");
  check_contains(tables->by_scope.notes.front(), "of backward host time", "T14 without kernels");
  check_equal(tables->by_scope.notes.back(), "GPU kernels: not collected (no GPU).", "T14 without kernels");
}

void check_without_bridge() {
  made_run run;
  run.work(run.path(run.step, "backward"), 100);
  check(!trainer::backward_tables_of(run.profile(), checks::summary_of(run.profile())), "there is a T14 and no scope that adopted another");
}

int run(int count, char** arguments) {
  check_division();
  check_without_kernels();
  check_without_bridge();
  if (count > 1) {
    checks::recorded_run const run = checks::training_run(arguments[1]);
    check(!trainer::backward_tables_of(run.profile, run.summary), "there is a T14 of a run without a bridge");
  }
  return checks::failures == 0 ? 0 : 1;
}

checks::named_check const registered{"backward_table", run};

}  // namespace

}  // namespace backward_table_check
