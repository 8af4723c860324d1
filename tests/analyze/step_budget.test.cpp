// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/impl/analyze/gpu/counted_operations.hpp>
#include <profkit/impl/analyze/gpu/gpu_idle.hpp>
#include <profkit/impl/analyze/gpu/gpu_step_periods.hpp>
#include <profkit/impl/analyze/time/measured_time.hpp>
#include <profkit/impl/analyze/time/thread_timeline.hpp>

#include "../support/made_path.hpp"
#include "../support/made_profile.hpp"
#include "../support/random_step_profile.hpp"
#include "../support/repetitions.hpp"
#include "../support/testing.hpp"

using profkit::idle_cause;
using std::chrono::nanoseconds;

namespace {

constexpr std::uint32_t no_scope = profkit::attribution::none;

double idle_of(profkit::budget_row const& row, idle_cause cause) { return row.idle[static_cast<std::size_t>(cause)].count(); }

profkit::budget_row const& part(profkit::budget_summary const& budget, std::string const& name) {
  auto const row = std::find_if(budget.rows.begin(), budget.rows.end(), [&](auto const& each) { return each.part == name; });
  INFO(name);
  REQUIRE(row != budget.rows.end());
  return *row;
}

profkit::budget_summary budget_of(profkit::profile const& profile) {
  auto const summary = profkit::analyze(profile);
  REQUIRE(summary.budget);
  return *summary.budget;
}

/// A step [0, 10] ms with `forward` [1, 4] and `wait` [5, 9], and a second thread. Calls and operations are added by the tests.
class made_step {
 public:
  made_step() {
    profile.paths = {step_path(), {0, "forward", {}, "train.cpp", 10}, {0, "wait", {}, "train.cpp", 20}};
    profile.threads = {{100, "train"}, {101, "engine"}};
    profile.gpu_names = {
        {"gemm", {}}, {"ncclDevKernel_AllReduce", {}}, {"[CUDA memcpy Host-to-Device]", {}, profkit::copy_direction::host_to_device}};
    profile.api_names = {"cuLaunchKernel", "cuStreamSynchronize", "cuMemcpyHtoDAsync_v2"};
    profile.collectors = {{"kernels", "collected", {}, profkit::collector_kind::kernels}};
    profile.scopes = {{{at_ms(1), at_ms(4)}, 1, 0}, {{at_ms(5), at_ms(9)}, 2, 0}, {{at_ms(0), at_ms(10)}, 0, 0}};
    profile.steps = {{{at_ms(0), at_ms(10)}, 0, false, 1}};
  }

  made_step& call(std::uint32_t name, std::uint32_t thread, double from, double to) {
    profile.api_calls.push_back({{at_ms(from), at_ms(to)}, profile.api_calls.size() + 1, name, thread});
    return *this;
  }

  /// @param is_of_last_call otherwise its launch was not recorded.
  made_step& operation(std::uint32_t name, double from, double to, bool is_of_last_call = true) {
    profkit::gpu_operation_record each;
    each.time = {at_ms(from), at_ms(to)};
    each.correlation = is_of_last_call ? profile.api_calls.size() : 0;
    each.name = name;
    each.kind = name == 2 ? profkit::gpu_operation_kind::copy : profkit::gpu_operation_kind::kernel;
    profile.gpu_operations.push_back(each);
    return *this;
  }

  profkit::profile profile;
};

constexpr nanoseconds model_tick{profkit::detail::max_launch_pause / 20};

/// A random profile with its times in ticks instead of nanoseconds, so that pauses between launches are both shorter and longer than the
/// bound.
profkit::profile random_profile_in_ticks(std::uint64_t seed) {
  profkit::profile result = make_random_step_profile(seed);
  profkit::timestamp const origin = result.time.begin;
  auto const stretch = [&](profkit::interval& time) {
    for (profkit::timestamp* const each : {&time.begin, &time.end}) *each = origin + (*each - origin) * model_tick.count();
  };
  stretch(result.time);
  for (auto& each : result.scopes) stretch(each.time);
  for (auto& each : result.steps) stretch(each.time);
  for (auto& each : result.api_calls) stretch(each.time);
  for (auto& each : result.gpu_operations) stretch(each.time);
  return result;
}

/// Computes the same budget by checking every model_tick of the wall time.
class plain_budget_model {
 public:
  using causes = std::array<nanoseconds, profkit::idle_causes>;

  /// @param wall the wall time of the budget.
  plain_budget_model(profkit::profile const& profile, std::vector<profkit::interval> const& wall) : profile_{profile} {
    for (std::size_t i = 0; i < profile.gpu_operations.size(); ++i) {
      profkit::api_call_record const* const launch = launch_of(profile.gpu_operations[i]);
      scope_of_.push_back(launch == nullptr ? no_scope : innermost(thread_of(*launch), middle(launch->time)));
    }
    for (profkit::interval const& each : wall) {
      for (profkit::timestamp at = each.begin; at < each.end; at += model_tick) look(at);
    }
  }

  nanoseconds length{};
  nanoseconds exposed_copies{};
  nanoseconds copies{};
  nanoseconds exposed_communication{};
  nanoseconds communication{};
  nanoseconds sum{};                          ///< sum of the durations of the operations
  std::map<std::uint32_t, nanoseconds> busy;  ///< by path
  std::map<std::uint32_t, causes> idle;       ///< by path

 private:
  static profkit::timestamp middle(profkit::interval const& interval) { return interval.begin + interval.duration() / 2; }
  static bool is_in(profkit::interval const& time, profkit::timestamp at) { return time.begin <= at && at < time.end; }

  [[nodiscard]] std::uint64_t thread_of(profkit::api_call_record const& call) const { return profile_.threads[call.thread].system_id; }

  [[nodiscard]] profkit::api_call_record const* launch_of(profkit::gpu_operation_record const& operation) const {
    return operation.correlation == 0 ? nullptr : &profile_.api_calls[operation.correlation - 1];
  }

  [[nodiscard]] std::uint32_t innermost(std::uint64_t thread, profkit::timestamp at) const {
    std::uint32_t result = no_scope;
    for (std::uint32_t i = 0; i < profile_.scopes.size(); ++i) {
      profkit::scope_record const& scope = profile_.scopes[i];
      if (profile_.threads[scope.thread].system_id != thread || !is_in(scope.time, at)) continue;
      if (result == no_scope || scope.time.duration() < profile_.scopes[result].time.duration()) result = i;
    }
    return result;
  }

  [[nodiscard]] std::optional<idle_cause> holding_call(std::uint64_t thread, profkit::timestamp at) const {
    for (profkit::api_call_record const& call : profile_.api_calls) {
      if (thread_of(call) != thread || !is_in(call.time, at) || call.name == 0) continue;
      return call.name == 1 ? idle_cause::synchronisation : idle_cause::copy;
    }
    return std::nullopt;
  }

  /// Inside a launching call, or between two close ones. All calls except waiting ones launch something.
  [[nodiscard]] bool is_launching(std::uint64_t thread, profkit::timestamp at) const {
    std::optional<profkit::timestamp> last;
    std::optional<profkit::timestamp> next;
    for (profkit::api_call_record const& call : profile_.api_calls) {
      if (thread_of(call) != thread || call.name == 1) continue;
      if (is_in(call.time, at)) return true;
      if (call.time.end <= at && (!last || call.time.end > *last)) last = call.time.end;
      if (call.time.begin > at && (!next || call.time.begin < *next)) next = call.time.begin;
    }
    return last && next && *next - *last <= profkit::detail::max_launch_pause;
  }

  [[nodiscard]] bool lies_in(std::uint32_t path, std::uint32_t in) const {
    return path == in || (profile_.paths[path].parent != profkit::path_record::no_parent && lies_in(profile_.paths[path].parent, in));
  }

  void look(profkit::timestamp at) {
    length += model_tick;
    std::size_t running = 0;
    std::size_t running_copies = 0;
    std::size_t running_communication = 0;
    std::size_t first = profile_.gpu_operations.size();
    std::size_t next = profile_.gpu_operations.size();
    for (std::size_t i = 0; i < profile_.gpu_operations.size(); ++i) {
      profkit::gpu_operation_record const& each = profile_.gpu_operations[i];
      auto const begins_before = [&](std::size_t other) {
        return other == profile_.gpu_operations.size() || each.time.begin < profile_.gpu_operations[other].time.begin;
      };
      if (each.time.begin > at && begins_before(next)) next = i;
      if (!is_in(each.time, at)) continue;
      if (begins_before(first)) first = i;
      ++running;
      if (each.kind != profkit::gpu_operation_kind::kernel) ++running_copies;
      if (each.kind == profkit::gpu_operation_kind::kernel && each.name == 1) ++running_communication;
    }
    sum += model_tick * running;
    if (running_copies > 0) copies += model_tick;
    if (running_communication > 0) communication += model_tick;
    if (running > 0 && running_copies == running) exposed_copies += model_tick;
    if (running > 0 && running_communication == running) exposed_communication += model_tick;
    if (running > 0) {
      busy[scope_of_[first] == no_scope ? no_scope : profile_.scopes[scope_of_[first]].path] += model_tick;
    } else {
      look_idle(at, next == profile_.gpu_operations.size() ? nullptr : launch_of(profile_.gpu_operations[next]));
    }
  }

  void look_idle(profkit::timestamp at, profkit::api_call_record const* launch) {
    std::uint32_t const steps_scope = innermost(100, at);
    bool const is_other = launch != nullptr && thread_of(*launch) != 100;
    std::uint32_t const other_scope = is_other ? innermost(thread_of(*launch), at) : no_scope;
    auto const other_call = is_other ? holding_call(thread_of(*launch), at) : std::nullopt;
    idle_cause cause = is_launching(100, at) ? idle_cause::launching : idle_cause::host;
    if (launch != nullptr && launch->time.end <= at) {
      cause = idle_cause::queued;
    } else if (other_call) {
      cause = *other_call;
    } else if (is_other && is_launching(thread_of(*launch), at)) {
      cause = idle_cause::launching;
    } else if (other_scope != no_scope) {
      cause = idle_cause::host;
    } else if (auto const call = holding_call(100, at)) {
      cause = *call;
    }
    std::uint32_t charged = steps_scope == no_scope ? no_scope : profile_.scopes[steps_scope].path;
    if (charged != no_scope && other_scope != no_scope && lies_in(profile_.scopes[other_scope].path, charged))
      charged = profile_.scopes[other_scope].path;
    idle[charged][static_cast<std::size_t>(cause)] += model_tick;
  }

  profkit::profile const& profile_;
  std::vector<std::uint32_t> scope_of_;
};

/// The wall time of the budget: the measured steps on the host, or their GPU periods.
std::vector<profkit::interval> wall_of(profkit::profile const& profile, profkit::attribution const& launched, bool is_of_gpu) {
  std::vector<profkit::interval> result;
  if (is_of_gpu) {
    for (auto const& each : profkit::detail::gpu_step_period_finder{profile, launched}.find().measured) {
      if (each.time.begin < each.time.end) result.push_back(each.time);
    }
  } else {
    for (profkit::step_record const& step : profile.steps) {
      if (step.is_measured()) result.push_back(step.time);
    }
  }
  return result;
}

/// "forward" for the path step/forward/layer.
std::string part_of(profkit::profile const& profile, std::uint32_t path) {
  if (path == no_scope) return "outside any scope";
  profkit::path_record const& record = profile.paths[path];
  bool const is_root = record.parent == profkit::path_record::no_parent;
  if (is_root) return record.name == "step" ? "step itself" : record.name + " (not in a step)";
  profkit::path_record const& parent = profile.paths[record.parent];
  bool const is_in_step = parent.parent == profkit::path_record::no_parent && parent.name == "step";
  return is_in_step ? record.name : part_of(profile, record.parent);
}

}  // namespace

TEST_CASE("the parts of a step add up to its wall time, and each moment counts once", "[step_budget]") {
  made_step made;
  made.call(0, 0, 1.1, 1.2).operation(0, 1.5, 5.5).call(0, 0, 2.0, 2.1).operation(0, 4.5, 6.0);  // overlap for 1 ms
  made.call(0, 0, 6.5, 6.6).operation(0, 7.0, 8.0);
  profkit::budget_summary const budget = budget_of(made.profile);
  CHECK(budget.wall.count() == Approx(10.0));
  CHECK(budget.busy.count() == Approx(5.5));
  CHECK(budget.overlap.count() == Approx(1.0));
  CHECK(part(budget, "forward").busy.count() == Approx(4.5));
  CHECK(part(budget, "wait").busy.count() == Approx(1.0));
  double total = 0.0;
  for (profkit::budget_row const& row : budget.rows) total += row.total.count();
  CHECK(total == Approx(10.0));
}

TEST_CASE("computing before a launch in the same scope is host-bound, and only the launching call is launch-bound", "[step_budget]") {
  made_step made;
  made.call(0, 0, 3.0, 3.5).operation(0, 3.75, 9.5);
  profkit::budget_summary const budget = budget_of(made.profile);
  CHECK(idle_of(part(budget, "step itself"), idle_cause::host) == Approx(1.5));
  CHECK(idle_of(part(budget, "forward"), idle_cause::host) == Approx(2.0));
  CHECK(idle_of(part(budget, "forward"), idle_cause::launching) == Approx(0.5));
  CHECK(idle_of(part(budget, "forward"), idle_cause::queued) == Approx(0.25));
}

TEST_CASE("short launches in quick succession are launch-bound, also between the calls", "[step_budget]") {
  made_step made;
  for (int i = 0; i < 100; ++i) made.call(0, 0, 1.0 + 0.025 * i, 1.005 + 0.025 * i).operation(0, 1.005 + 0.025 * i, 1.007 + 0.025 * i);
  profkit::budget_row const forward = part(budget_of(made.profile), "forward");
  CHECK(forward.busy.count() == Approx(0.2));
  CHECK(idle_of(forward, idle_cause::launching) == Approx(99 * 0.025 + 0.005 - 99 * 0.002));
  CHECK(idle_of(forward, idle_cause::host) == Approx(3.0 - (99 * 0.025 + 0.007)));
}

TEST_CASE("a pause between launches is launch-bound up to the bound", "[step_budget]") {
  auto const launching = [](nanoseconds pause) {
    made_step made;
    made.call(0, 0, 2.0, 2.01).operation(0, 2.0, 2.01).call(0, 0, 3.0, 3.0).operation(0, 9.0, 9.5);
    profkit::interval& second = made.profile.api_calls.back().time;
    second.begin = made.profile.api_calls.front().time.end + pause;
    second.end = second.begin + std::chrono::microseconds{10};
    return idle_of(part(budget_of(made.profile), "forward"), idle_cause::launching);
  };
  CHECK(launching(profkit::detail::max_launch_pause) == Approx(0.06));
  CHECK(launching(profkit::detail::max_launch_pause + nanoseconds{1}) == Approx(0.01));
}

TEST_CASE("nested runtime and driver calls count as one launch", "[step_budget]") {
  made_step made;
  made.profile.has_all_api_calls = true;
  made.profile.api_names.push_back("cudaLaunchKernel_v7000");
  made.call(0, 0, 2.01, 2.02).operation(0, 2.1, 9.0);
  made.profile.api_calls.push_back({{at_ms(2.0), at_ms(2.03)}, 1, 3, 0});
  profkit::budget_row const forward = part(budget_of(made.profile), "forward");
  CHECK(idle_of(forward, idle_cause::launching) == Approx(0.02));  // until the driver's call, which is the launch that was found, ended
  CHECK(idle_of(forward, idle_cause::host) == Approx(1.0));
}

TEST_CASE("without a recorded launch the budget has no launch-bound time", "[step_budget]") {
  made_step made;
  made.operation(0, 2.0, 9.0, false);
  CHECK_FALSE(budget_of(made.profile).has_launches);
  made.call(0, 0, 1.0, 1.5);
  CHECK(budget_of(made.profile).has_launches);
  CHECK(budget_of(made_step{}.profile).has_launches);  // nothing was launched
}

TEST_CASE("API calls are classified by function, independent of suffixes in their names", "[step_budget]") {
  using profkit::detail::api_call_kind;
  using profkit::detail::kind_of_api_call;
  for (char const* const name : {"cuLaunchKernel", "cuLaunchKernelEx_ptsz", "cudaLaunchKernel_v7000", "cuGraphLaunch"})
    CHECK(kind_of_api_call(name) == api_call_kind::launch);
  for (char const* const name : {"cuMemcpyHtoDAsync_v2", "cudaMemcpy_v3020", "cuMemsetD8Async", "cudaMemset2DAsync_v3020"})
    CHECK(kind_of_api_call(name) == api_call_kind::copy);
  for (char const* const name : {"cuStreamSynchronize", "cudaDeviceSynchronize_v3020", "cuEventSynchronize", "cuCtxSynchronize"})
    CHECK(kind_of_api_call(name) == api_call_kind::synchronisation);
  for (char const* const name :
       {"cudaGraphAddMemcpyNode_v10000", "cuGraphExecMemsetNodeSetParams", "cudaMalloc_v3020", "cudaGetDevice", "Memcpy", "", "cu"})
    CHECK(kind_of_api_call(name) == api_call_kind::other);
}

TEST_CASE("calls that wait or copy are separate causes", "[step_budget]") {
  made_step made;
  made.call(0, 0, 1.0, 1.5).operation(0, 1.5, 4.5);
  made.call(1, 0, 5.5, 6.5).call(2, 0, 7.0, 7.5).operation(2, 7.5, 10.0);
  profkit::budget_summary const budget = budget_of(made.profile);
  CHECK(idle_of(part(budget, "wait"), idle_cause::synchronisation) == Approx(1.0));
  CHECK(idle_of(part(budget, "wait"), idle_cause::copy) == Approx(0.5));
  CHECK(idle_of(part(budget, "wait"), idle_cause::host) == Approx(1.0));
  CHECK(budget.copies.busy.count() == Approx(2.5));
  CHECK(budget.copies.exposed.count() == Approx(2.5));
}

TEST_CASE("idle time is charged to the scope on another thread that works for a waiting scope", "[step_budget]") {
  made_step made;
  made.profile.paths.push_back({2, "forward/attention (backward)", {}, "bridge.hpp", 1, 1, "backward"});
  made.profile.scopes.push_back({{at_ms(6), at_ms(8)}, 3, 1});
  made.call(0, 1, 7.0, 7.5).operation(0, 7.5, 10.0);
  profkit::summary const summary = profkit::analyze(made.profile);
  REQUIRE(summary.budget);
  CHECK(idle_of(part(*summary.budget, "wait"), idle_cause::launching) == Approx(0.5));
  CHECK(idle_of(part(*summary.budget, "wait"), idle_cause::host) == Approx(2.0));
  auto const& starving = summary.budget->starving;
  auto const row = std::find_if(starving.begin(), starving.end(), [](auto const& each) { return each.name == "forward (backward)"; });
  REQUIRE(row != starving.end());
  CHECK(row->total.count() == Approx(1.5));
}

TEST_CASE("a program's scope named step is a separate part, and does not determine the step thread", "[step_budget]") {
  made_step made;
  made.profile.paths.push_back({profkit::path_record::no_parent, "step", {}, "train.cpp", 30});
  made.profile.paths.push_back({3, "forward", {}, "train.cpp", 31});
  made.profile.scopes.insert(made.profile.scopes.begin(), {{at_ms(0.5), at_ms(9.5)}, 4, 1});
  made.profile.scopes.insert(made.profile.scopes.begin() + 1, {{at_ms(0), at_ms(10)}, 3, 1});  // as long as the step
  made.call(0, 1, 2.0, 2.1).operation(0, 3.0, 5.0);
  profkit::budget_summary const budget = budget_of(made.profile);
  CHECK(part(budget, "step (scope) (not in a step)").busy.count() == Approx(2.0));
  CHECK(part(budget, "wait").total.count() == Approx(4.0));
  CHECK(part(budget, "step itself").busy.count() == 0.0);
  for (profkit::starving_scope const& each : budget.starving) CHECK(each.name != "step (scope)");
}

TEST_CASE("there is no budget without kernels or without steps", "[step_budget]") {
  made_step made;
  made.profile.collectors.clear();
  CHECK_FALSE(profkit::analyze(made.profile).budget);
  made_step without_steps;
  without_steps.profile.steps.clear();
  CHECK_FALSE(profkit::analyze(without_steps.profile).budget);
}

TEST_CASE("the budget of random profiles equals that of a check at every moment", "[step_budget]") {
  std::array<nanoseconds, profkit::idle_causes> all{};
  nanoseconds on_other_thread{};
  std::size_t of_gpu = 0;
  std::size_t of_host = 0;
  std::uint64_t const seeds = repetitions(150);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    INFO("seed " << seed);
    profkit::profile const profile = random_profile_in_ticks(seed);
    profkit::summary const summary = profkit::analyze(profile);
    REQUIRE(summary.budget);
    profkit::budget_summary const& found = *summary.budget;
    profkit::attribution const launched = profkit::attribute(profile);
    std::vector<profkit::interval> const wall = wall_of(profile, launched, found.is_of_gpu);
    plain_budget_model const model{profile, wall};
    ++(found.is_of_gpu ? of_gpu : of_host);
    auto const ns = [](profkit::milliseconds time) { return time.count() * 1e6; };
    CHECK(ns(found.wall) == Approx(static_cast<double>(model.length.count())));
    CHECK(ns(found.copies.busy) == Approx(static_cast<double>(model.copies.count())));
    CHECK(ns(found.copies.exposed) == Approx(static_cast<double>(model.exposed_copies.count())));
    CHECK(ns(found.communication.busy) == Approx(static_cast<double>(model.communication.count())));
    CHECK(ns(found.communication.exposed) == Approx(static_cast<double>(model.exposed_communication.count())));
    CHECK(ns(found.overlap + found.busy) == Approx(static_cast<double>(model.sum.count())));
    std::map<std::string, double> busy;
    std::map<std::string, std::array<double, profkit::idle_causes>> idle;
    for (auto const& [path, time] : model.busy) busy[part_of(profile, path)] += static_cast<double>(time.count());
    for (auto const& [path, causes] : model.idle) {
      for (std::size_t cause = 0; cause < profkit::idle_causes; ++cause) {
        idle[part_of(profile, path)][cause] += static_cast<double>(causes[cause].count());
        all[cause] += causes[cause];
        if (path != no_scope && profile.paths[path].name >= "x") on_other_thread += causes[cause];
      }
    }
    profkit::detail::measured_time const when{profile};
    auto const by_path = profkit::detail::find_gpu_idle(profile, launched, profkit::detail::calls_by_lane(profile, launched),
                                                        profkit::detail::thread_of_steps(profile, when),
                                                        profkit::detail::counted_operations{profile, launched, when},
                                                        profkit::detail::measured_time::of_stretches(wall), {})
                             .front();
    std::vector<nanoseconds> inclusive(profile.paths.size() + 1);  // the last one: outside any scope
    nanoseconds idle_of_all{};
    for (auto const& [path, causes] : model.idle) {
      inclusive[std::min<std::size_t>(path, profile.paths.size())] = std::accumulate(causes.begin(), causes.end(), nanoseconds{});
      idle_of_all += inclusive[std::min<std::size_t>(path, profile.paths.size())];
    }
    CHECK(by_path.total == idle_of_all);
    CHECK(by_path.unattributed == inclusive.back());
    for (std::uint32_t path = static_cast<std::uint32_t>(profile.paths.size()); path-- > 0;) {
      auto const known = model.idle.find(path);
      CHECK((by_path.of_path[path] ? by_path.of_path[path]->self_by_cause : plain_budget_model::causes{}) ==
            (known == model.idle.end() ? plain_budget_model::causes{} : known->second));
      if (profile.paths[path].parent != profkit::path_record::no_parent) inclusive[profile.paths[path].parent] += inclusive[path];
      CHECK((by_path.of_path[path] ? by_path.of_path[path]->inclusive : nanoseconds{}) == inclusive[path]);
    }
    double total = 0.0;
    std::map<std::string, double> found_busy;  // several paths can have the same name
    std::map<std::string, std::array<double, profkit::idle_causes>> found_idle;
    for (profkit::budget_row const& row : found.rows) {
      total += ns(row.total);
      found_busy[row.part] += ns(row.busy);
      for (std::size_t cause = 0; cause < profkit::idle_causes; ++cause) found_idle[row.part][cause] += ns(row.idle[cause]);
    }
    CHECK(total == Approx(ns(found.wall)));
    for (auto const& [name, time] : busy) {
      INFO(name);
      CHECK(found_busy[name] == Approx(time));
    }
    for (auto const& [name, causes] : idle) {
      INFO(name);
      for (std::size_t cause = 0; cause < profkit::idle_causes; ++cause) {
        INFO(cause);
        CHECK(found_idle[name][cause] == Approx(causes[cause]));
      }
    }
  }
  for (nanoseconds const each : all) CHECK(each > seeds / 2 * model_tick);  // every cause occurs often
  CHECK(of_gpu > seeds / 20);
  CHECK(of_host > seeds / 20);
  CHECK(on_other_thread > seeds / 2 * model_tick);
}
