// SPDX-License-Identifier: Apache-2.0
//
// Compares profiles of the trainer, recorded on an H200, with the counts of Nsight Systems in another run with the same arguments.
#include <profkit/analyze.hpp>
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/impl/analyze/gpu/counted_operations.hpp>
#include <profkit/impl/analyze/time/measured_time.hpp>
#include <profkit/impl/profile/record_types.hpp>
#include <profkit/impl/report/trace_json.hpp>
#include <profkit/report.hpp>
#include <profkit/save_load.hpp>
#include <profkit/statistics.hpp>

#include "../support/made_job.hpp"
#include "../support/parsed_report.hpp"
#include "../support/profile_of.hpp"
#include "../support/report_page.hpp"
#include "../support/testing.hpp"
#include "nsys/nsys_csv.hpp"
#include "ranks/make_job.hpp"
#include "ranks/ranks_json.hpp"

namespace {

struct recorded_run {
  explicit recorded_run(std::string const& name) : profile{profkit::load(TEST_DATA "/" + name + ".profile")} {
    std::ifstream{TEST_DATA "/" + name + ".nsys.json"} >> nsys;
    for (profkit::gpu_name_record const& each : profile.gpu_names) {
      names[each.mangled.empty() ? each.name : each.mangled] = profkit::nsys_kernel_name(each);
    }
  }

  profkit::profile profile;
  json nsys;
  std::map<std::string, std::string> names;  ///< names as Nsight Systems prints them, by mangled name
};

std::string any_run() { return GENERATE("small-512-fwd-fp32", "small-128-train-fp32"); }

}  // namespace

TEST_CASE("a recorded run has the kernels that Nsight Systems counted, and their time", "[recorded]") {
  recorded_run const run{any_run()};
  profkit::summary const summary = profkit::analyze(run.profile);
  REQUIRE(summary.gpu);
  CHECK(summary.steps.host.count == 2);
  CHECK(summary.quality.dropped_operations == 0);
  CHECK(summary.quality.invalid_operations == 0);
  CHECK(summary.gpu->unknown_launches == 0);
  CHECK(summary.gpu->kernels.size() == run.nsys.at("kernels").size());
  double ours = 0.0;
  double theirs = 0.0;
  for (profkit::kernel_summary const& kernel : summary.gpu->kernels) {
    json const& seen = run.nsys.at("kernels").at(kernel.mangled.empty() ? kernel.name : kernel.mangled);
    INFO(kernel.name);
    CHECK(kernel.time.count == seen.at("count"));
    ours += kernel.time.total.count();
    theirs += seen.at("total_ms").get<double>();
  }
  CHECK(ours == Approx(theirs).epsilon(0.01));
}

TEST_CASE("in the summary of kernels of a recorded run each name is spelled as NVIDIA's demangler spells it", "[recorded]") {
  recorded_run const run{any_run()};
  std::map<std::string, std::string> spelled;
  std::ifstream table{TEST_DATA "/kernel_names.tsv"};
  for (std::string mangled, name; std::getline(table, mangled, '\t') && std::getline(table, name);) spelled[mangled] = name;
  std::map<std::string, std::uint64_t> expected;
  for (auto const& [mangled, kernel] : run.nsys.at("kernels").items()) {
    expected[mangled.compare(0, 2, "_Z") == 0 ? spelled.at(mangled) : mangled] += kernel.at("count").get<std::uint64_t>();
  }
  std::map<std::string, std::uint64_t> found;
  for (profkit::nsys_row const& row : profkit::summarize_like_nsys(run.profile).kernels) found[row.name] = row.samples.count;
  CHECK(found == expected);
}

TEST_CASE("in a recorded run each kernel is charged to the ranges that enclose its launch in Nsight Systems", "[recorded]") {
  recorded_run const run{any_run()};
  std::map<std::pair<std::string, std::string>, std::uint64_t> expected;
  for (auto const& [range, kernels] : run.nsys.at("launched_in_range").items()) {
    for (auto const& [mangled, count] : kernels.items()) {
      if (mangled != "copies and memsets") expected[{"profkit:" + range, run.names.at(mangled)}] += count.get<std::uint64_t>();
    }
  }
  std::map<std::pair<std::string, std::string>, std::uint64_t> found;
  for (profkit::nsys_range_kernel_row const& row : profkit::summarize_like_nsys(run.profile).range_kernels) {
    if (row.range) found[{*row.range, row.kernel}] += row.kernels;
  }
  CHECK(found.size() > 100);
  CHECK(found == expected);
}

TEST_CASE("a recorded run has the ranges that Nsight Systems counted", "[recorded]") {
  recorded_run const run{any_run()};
  std::map<std::string, std::uint64_t> expected;
  for (auto const& [range, count] : run.nsys.at("range_instances").items()) expected["profkit:" + range] = count.get<std::uint64_t>();
  std::map<std::string, std::uint64_t> found;
  for (profkit::nsys_row const& row : profkit::summarize_like_nsys(run.profile).ranges) found[row.name] = row.samples.count;
  CHECK(found == expected);
}

TEST_CASE("in a recorded run every kernel has a class, and the classes sum to the total", "[recorded]") {
  recorded_run const run{any_run()};
  profkit::summary const summary = profkit::analyze(run.profile);
  double kernels = 0.0;
  for (profkit::kernel_summary const& kernel : summary.gpu->kernels) kernels += kernel.time.total.count();
  double classes = 0.0;
  for (profkit::kernel_class_summary const& each : summary.gpu->classes) {
    CHECK(each.name != "other");
    classes += each.total.count();
  }
  CHECK(classes == Approx(kernels));
  CHECK(summary.gpu->classes.front().name == "matmul");
}

TEST_CASE("in a recorded run the GPU work of scopes adds up", "[recorded]") {
  recorded_run const run{any_run()};
  profkit::summary const summary = profkit::analyze(run.profile);
  double self = 0.0;
  for (profkit::scope_summary const& row : summary.scopes) {
    REQUIRE(row.gpu);
    INFO(row.path);
    self += row.gpu->kernel_self.count();
    CHECK(row.gpu->busy <= row.gpu->kernel_time * (1.0 + 1e-9));
    CHECK(row.gpu->busy <= row.gpu->span.total * (1.0 + 1e-9));
  }
  CHECK(self + summary.gpu->unattributed_time.count() == Approx(summary.gpu->all.kernel_time.count()));
  CHECK(find_row(summary, "step/forward/layer_0/attention_sublayer")->gpu->kernels > 0);
  CHECK(find_row(summary, "step/forward")->gpu->latency_mean->count() > 0.0);
}

TEST_CASE("in a recorded run the GPU idle time is charged to the scopes of the step, and adds up", "[recorded]") {
  recorded_run const run{any_run()};
  profkit::summary const summary = profkit::analyze(run.profile);
  REQUIRE(summary.gpu->idle);
  double const idle = summary.gpu->idle->inclusive.count();
  CHECK(idle > 0.0);
  CHECK(idle < summary.budget->wall.count());
  // The host runs ahead, so part of the work is after the last host step.
  CHECK(summary.gpu->idle->self.count() > 0.0);
  CHECK(summary.gpu->idle->self.count() < 0.03 * summary.budget->wall.count());
  REQUIRE(find_row(summary, "step")->gpu_idle);
  CHECK(find_row(summary, "step")->gpu_idle->inclusive.count() + summary.gpu->idle->self.count() == Approx(idle));
  double self = summary.gpu->idle->self.count();
  for (profkit::scope_summary const& row : summary.scopes) {
    INFO(row.path);
    if (!row.gpu_idle) continue;
    self += row.gpu_idle->self.count();
    CHECK(row.gpu_idle->inclusive <= row.host.total * (1.0 + 1e-9));
  }
  CHECK(self == Approx(idle));
}

TEST_CASE("the trace of a recorded run has every kernel of its steps, with an arrow from its launch", "[recorded]") {
  recorded_run const run{any_run()};
  json const trace = json::parse(profkit::trace_json(run.profile, 2));
  std::map<std::string, std::size_t> events;
  for (json const& event : trace.at("traceEvents")) {
    ++events[event.at("ph").get<std::string>() + event.value("cat", "")];
  }
  std::size_t launches = 0;
  for (auto const& [name, seen] : run.nsys.at("kernels").items()) launches += seen.at("count").get<std::size_t>();
  CHECK(events["Xkernel"] == launches);
}

TEST_CASE("the parts of a recorded step add up to its wall time, and the GPU is as busy as its operations", "[recorded]") {
  recorded_run const run{any_run()};
  profkit::summary const summary = profkit::analyze(run.profile);
  REQUIRE(summary.budget);
  double total = 0.0;
  for (profkit::budget_row const& row : summary.budget->rows) total += row.total.count();
  CHECK(total == Approx(summary.budget->wall.count()).epsilon(1e-9));
  CHECK(summary.budget->is_of_gpu);  // the loop does not wait for the GPU
  CHECK(summary.budget->wall.count() == Approx(summary.steps.gpu_period->time.total.count()));
  CHECK(summary.budget->busy.count() == Approx(summary.gpu->all.busy.count()));
  double starving = 0.0;
  for (profkit::starving_scope const& each : summary.budget->starving) starving += each.total.count();
  CHECK(starving == Approx(summary.gpu->idle->inclusive.count() - summary.gpu->idle->self.count()));
}

TEST_CASE("the GPU's period of a recorded step is the time between the CUDA events around it", "[recorded]") {
  // Both were recorded in the same run. Events have a jitter of some microseconds.
  for (char const* const run : {"small-512-fwd-fp32", "small-128-train-fp32", "small-128-train-fp32-without-bridge",
                                "small-128-train-fp32-graph", "tiny-128-train-bf16"}) {
    INFO(run);
    profkit::step_summary const steps = profkit::analyze(profkit::load(std::string{TEST_DATA "/"} + run + ".profile")).steps;
    REQUIRE(steps.gpu);
    REQUIRE(steps.gpu_period);
    CHECK(steps.gpu_period->time.count == steps.gpu->count);
    CHECK(steps.gpu_period->time.mean->count() == Approx(steps.gpu->mean->count()).epsilon(0.005));
    CHECK(steps.step_time->basis == "GPU step time");
  }
}

TEST_CASE("a recorded launch-limited step is mostly launch-bound, and idle time far from any launch is host-bound", "[recorded]") {
  struct {
    char const* run;
    double launching_ms;
    double host_ms;
  } const expected[] = {{"small-128-train-fp32", 3.835, 1.451}, {"tiny-128-train-bf16", 5.302, 0.864}};
  for (auto const& [run, launching_ms, host_ms] : expected) {
    INFO(run);
    profkit::budget_summary const budget = *profkit::analyze(profkit::load(std::string{TEST_DATA "/"} + run + ".profile")).budget;
    std::array<double, profkit::idle_causes> idle{};
    for (profkit::budget_row const& row : budget.rows) {
      for (std::size_t cause = 0; cause < idle.size(); ++cause) idle[cause] += row.idle[cause].count();
    }
    auto const steps = static_cast<double>(budget.steps);
    CHECK(idle[static_cast<std::size_t>(profkit::idle_cause::launching)] / steps == Approx(launching_ms).epsilon(1e-3));
    CHECK(idle[static_cast<std::size_t>(profkit::idle_cause::host)] / steps == Approx(host_ms).epsilon(1e-3));
  }
}

TEST_CASE("in a recorded training step the backward pass is charged to the scopes of the forward pass", "[recorded]") {
  profkit::summary const summary = profkit::analyze(recorded_run{"small-128-train-fp32"}.profile);
  CHECK(summary.gpu->unattributed_operations == 0);
  double adopted = 0.0;
  double named = 0.0;
  for (profkit::scope_summary const& row : summary.scopes) {
    if (row.path.rfind("step/backward/", 0) != 0) continue;
    (row.name == "gradient accumulation" ? named : adopted) += row.gpu->kernel_self.count();
    CHECK((row.name == "gradient accumulation" || row.name.find(" (backward)") != std::string::npos));
  }
  double const whole = find_row(summary, "step/backward")->gpu->kernel_time.count();
  CHECK((adopted + named) / whole > 0.999);
  CHECK(adopted / whole > 0.97);
  std::size_t layers = 0;
  for (profkit::adopted_summary const& row : summary.adopted) {
    INFO(row.path);
    bool const is_product = row.path.find("projection") != std::string::npos;
    if (is_product) CHECK((row.kernel_ratio.value() > 1.7 && row.kernel_ratio.value() < 2.3));
    layers += is_product ? 1 : 0;
  }
  CHECK(layers == 4 * 12);
}

TEST_CASE("operations of a recorded graph replay are charged to the scopes of its capture, as without a graph", "[recorded]") {
  profkit::summary const eager = profkit::analyze(recorded_run{"small-128-train-fp32"}.profile);
  profkit::summary const graph = profkit::analyze(profkit::load(TEST_DATA "/small-128-train-fp32-graph.profile"));
  CHECK(graph.gpu->operations_of_graphs > 2000);
  CHECK(graph.gpu->operations_of_unknown_graphs == 0);
  CHECK(graph.gpu->unattributed_operations == 0);
  CHECK(graph.gpu->all.kernels == eager.gpu->all.kernels);
  CHECK(find_row(graph, "step/replay")->gpu->operations == 0);
  std::size_t compared = 0;
  for (profkit::scope_summary const& row : eager.scopes) {
    double const time = row.gpu->kernel_time.count();
    if (row.path == "step/data" || time < 0.002 * eager.gpu->all.kernel_time.count()) continue;
    INFO(row.path);
    profkit::scope_summary const* const other = find_row(graph, row.path);
    REQUIRE(other != nullptr);
    CHECK(other->gpu->kernels == row.gpu->kernels);
    CHECK(other->gpu->kernel_time.count() == Approx(time).epsilon(0.05));
    ++compared;
  }
  CHECK(compared > 100);
  CHECK(find_row(graph, "step/forward")->host.count == 0);
}

TEST_CASE("in a recorded run the memory of scopes equals LibTorch's own figures, to the byte", "[recorded]") {
  profkit::profile const profile = profkit::load(TEST_DATA "/tiny-128-train-bf16.profile");
  profkit::summary const summary = profkit::analyze(profile);
  REQUIRE(summary.scopes.at(0).name == "step");
  auto const is_of_libtorch = [](auto const& each) { return each.source == "libtorch"; };
  auto const& all = *std::find_if(summary.allocators.begin(), summary.allocators.end(), is_of_libtorch);
  auto const& step = *std::find_if(summary.scopes[0].memory.begin(), summary.scopes[0].memory.end(), is_of_libtorch);
  auto const& theirs = *std::find_if(summary.memory.begin(), summary.memory.end(),
                                     [&](auto const& each) { return is_of_libtorch(each) && each.quantity == "requested"; });
  CHECK(step.wide_peak_bytes == theirs.peak_bytes);
  CHECK(all.max_bytes == theirs.peak_bytes);
  CHECK(all.last_bytes == static_cast<std::int64_t>(theirs.last_bytes));
  CHECK(all.unknown_releases == 0);
  CHECK(all.reused_addresses == 0);
  std::int64_t changes = all.outside_change_bytes + all.between_steps_change_bytes;
  std::uint64_t allocations = 0;
  for (profkit::scope_summary const& scope : summary.scopes) {
    if (scope.memory.empty()) continue;
    auto const& memory = *std::find_if(scope.memory.begin(), scope.memory.end(), is_of_libtorch);
    changes += memory.own_change_bytes;
    allocations += *memory.allocations;
    CHECK(memory.own_peak_bytes <= memory.peak_bytes);
    CHECK(memory.peak_bytes <= memory.wide_peak_bytes);
    CHECK(memory.retained_bytes >= 0);
  }
  CHECK(changes == all.last_bytes - all.first_bytes);
  CHECK(allocations > 100);
}

TEST_CASE("in a recorded run no scope exceeds the published or measured roof, and the MFU follows from its parts", "[recorded]") {
  profkit::summary const summary = profkit::analyze(profkit::load(TEST_DATA "/tiny-128-train-bf16.profile"));
  std::size_t with_roof = 0;
  for (profkit::scope_summary const& scope : summary.scopes) {
    if (!scope.work || !scope.work->roof) continue;
    ++with_roof;
    INFO(scope.path);
    CHECK(scope.work->roof->share > 0.0);
    CHECK(scope.work->roof->share < 1.0);
    REQUIRE(scope.work->measured_roof);
    CHECK(scope.work->measured_roof->share >= scope.work->roof->share);
  }
  CHECK(with_roof > 10);
  REQUIRE(summary.model);
  CHECK(summary.model->precision == profkit::precision::bf16);
  REQUIRE(summary.model->peak_flops_per_second);
  CHECK(*summary.model->peak_flops_per_second == Approx(989.5e12));
  double const step_ms = std::max((*summary.steps.host.mean + *summary.steps.between.mean).count(), summary.steps.gpu->mean->count());
  CHECK(*summary.model->utilization == Approx(summary.model->flops_per_step / (1e-3 * step_ms) / 989.5e12));
}

TEST_CASE("in a recorded run the quantiles of scopes and kernels are within 1 % of the exact ones", "[recorded]") {
  profkit::profile const profile = profkit::load(TEST_DATA "/small-128-train-fp32.profile");
  profkit::summary const summary = profkit::analyze(profile);
  profkit::detail::measured_time const when{profile};
  std::map<std::string, std::vector<double>> host;  // by path, ms
  for (profkit::scope_record const& each : profile.scopes) {
    if (when.contains(each.time.begin)) host[path_name(profile, each.path)].push_back(profkit::milliseconds{each.time.duration()}.count());
  }
  profkit::attribution const launched = profkit::attribute(profile);
  std::map<std::string, std::vector<double>> kernels;  // by name, ms
  for (std::size_t i = 0; i < profile.gpu_operations.size(); ++i) {
    profkit::gpu_operation_record const& each = profile.gpu_operations[i];
    if (each.kind != profkit::gpu_operation_kind::kernel || !when.contains(profkit::detail::launch_moment(profile, launched, i))) continue;
    kernels[profile.gpu_names[each.name].name].push_back(profkit::milliseconds{each.time.duration()}.count());
  }
  auto const check = [](profkit::duration_summary const& found, std::vector<double>& samples) {
    std::sort(samples.begin(), samples.end());
    CHECK(found.count == samples.size());
    CHECK(found.median->count() == Approx(*profkit::quantile(samples, 0.5)).epsilon(0.01));
    CHECK(found.p95->count() == Approx(*profkit::quantile(samples, 0.95)).epsilon(0.01));
    CHECK(found.p99->count() == Approx(*profkit::quantile(samples, 0.99)).epsilon(0.01));
  };
  CHECK(host.size() > 100);
  for (profkit::scope_summary const& row : summary.scopes) {
    INFO(row.path);
    if (row.host.count > 0) check(row.host, host.at(row.path));
  }
  CHECK(summary.gpu->kernels.size() > 20);
  for (profkit::kernel_summary const& row : summary.gpu->kernels) {
    INFO(row.name);
    check(row.time, kernels.at(row.name));
  }
}

TEST_CASE("every field of report.json is in docs/report.md, and no other", "[recorded]") {
  std::set<std::string> in_reports;
  for (char const* const name : {"small-128-train-fp32", "tiny-128-train-bf16"}) {
    profkit::profile profile = profkit::load(std::string{TEST_DATA "/"} + name + ".profile");
    profile.has_all_api_calls = true;
    profile.counter_names = {"loss"};
    profile.counters.push_back({profile.steps.back().time.begin, 1.0, 0, 0});
    profile.functions = {{"exp_loop", "program", ""}};
    profile.samples = {{profile.steps.back().time.begin, 0, 0, 0, 1'000'000}};
    profile.sampling = profkit::sampling_record{"perf_event_open, task clock", std::chrono::milliseconds{1}, 0, 1, 0, ""};
    profile.stop = profkit::stop_record{0.01, 0.005, false, 1000};
    profile.quality.wrong_ends = {{"load (a.cpp:40) ended on another thread than it began", 5}};
    profile.quality.snapshot = profkit::snapshot_record{};
    profile.environment.rank = profkit::rank_record{1, 4, 1, 2, "torchrun"};
    profile.environment.host_speed = profkit::host_speed_record{std::chrono::microseconds{100}, std::chrono::microseconds{101}, 0.5};
    profile.environment.host_use = profkit::host_use_record{std::chrono::seconds{1}, {}, {}, 0, 0, 0, 0, 2};
    profkit::interval const step = profile.steps.back().time;
    profile.device_utilization = {{{step.begin - std::chrono::seconds{1}, step.begin}, profile.steps.back().index, 0, {}}};
    profile.launch_shapes = {{0, 132, 64, 128, 255, 0, 0, 0, 1, 2, profkit::launch_limit::registers}};
    for (profkit::gpu_operation_record& each : profile.gpu_operations) each.shape = 1;
    profile.collectors.push_back({"unified memory", "collected", "", profkit::collector_kind::unified_memory});
    profile.page_events = {{step, 1, profkit::path_record::no_parent, 0, profkit::page_event_kind::to_device}};
    profile.energy_meters = {{"GPU 0", 0}};
    profile.energy = {{step.end, step.duration(), profile.steps.back().index, 1, 1, 1'000'000, std::chrono::milliseconds{20}, 0},
                      {step.end, step.duration(), profile.steps.back().index, 0, 0, 1'000'000, std::chrono::milliseconds{20}, 0, 0}};
    profkit::summary summary = profkit::analyze(profile);
    summary.trend.change = profkit::level_change_summary{};
    REQUIRE(summary.host_samples);
    summary.host_samples->scopes.at(0).waits = {{"cudaStreamSynchronize", 1, profkit::milliseconds{1.0}, 0.5}};
    add_fields(json_of(summary), "", in_reports);
  }
  made_job job;  // figures of several ranks; those of `job` are not in the page
  job.slow_rank = 1;
  job.delay = std::chrono::milliseconds{1};
  json of_ranks = json::parse(profkit::ranks_json(profkit::summarize_job(job.make())));
  of_ranks.erase("job");
  REQUIRE(of_ranks.at("straggler").is_object());
  add_fields(of_ranks, "", in_reports);
  CHECK(in_reports.size() > 200);
  std::ifstream page{PROJECT_DOCS "/report.md"};
  REQUIRE(page);
  std::set<std::string> const in_page = fields_of_page(page);
  INFO("in a report and not in the page:\n" << lines_without(in_reports, in_page));
  INFO("in the page and in no report:\n" << lines_without(in_page, in_reports));
  CHECK(in_page == in_reports);
}
