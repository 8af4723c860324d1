// SPDX-License-Identifier: Apache-2.0
//
// The time that kernel collection adds to a launch and to a node of a CUDA graph, compared with CUPTI alone. Also the time to start it, and
// to switch between steps with and without kernels (`kernels=every:N`). Each process measures one figure, because CUPTI cannot be
// removed from a process.
//
// usage: launch_cost [ROUNDS]       a table of medians, in ns per launch
//        launch_cost --list         the names of the figures
//        launch_cost run NAME       one figure, in ns
//        launch_cost turns NAME     the same figure once per line on stdin, as {"ns": FIGURE}
#include <profkit/cupti.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bare_cupti.hpp"
#include "launch_loop.hpp"

namespace {

using bench::check;
using bench::median;
using bench::nanoseconds;
using bench::ns_per_launch;
using bench::plain;
using bench::time_source;

void scoped() {
  PROF_SCOPE("launch");
  plain();
}

/// From the first launch of the graph until the device has run all nodes, because collection may slow down both.
double ns_per_node() {
  constexpr int nodes = 1000;
  constexpr int replays = 20;
  constexpr int repetitions = 15;
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t runnable = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < nodes; ++i) launch_nothing(stream);
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&runnable, graph, 0));
  std::vector<double> ns;
  for (int repetition = -2; repetition < repetitions; ++repetition) {
    check(cudaStreamSynchronize(stream));
    auto const begin = time_source::now();
    for (int i = 0; i < replays; ++i) check(cudaGraphLaunch(runnable, stream));
    check(cudaStreamSynchronize(stream));
    if (repetition >= 0) ns.push_back(nanoseconds{time_source::now() - begin}.count() / (replays * nodes));
  }
  check(cudaGraphExecDestroy(runnable));
  check(cudaGraphDestroy(graph));
  check(cudaStreamDestroy(stream));
  return median(ns);
}

double launches() { return ns_per_launch(plain); }

double with_cupti(bool has_calls, double (*measure)()) {
  std::vector<CUpti_ActivityKind> kinds{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};
  if (has_calls) kinds.push_back(CUPTI_ACTIVITY_KIND_RUNTIME);
  bench::bare_cupti const cupti{kinds};
  return measure();
}

double with_cupti_switched_off() {
  bench::bare_cupti cupti{{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET}};
  plain();
  check(cudaDeviceSynchronize());
  cupti.switch_off();
  return launches();
}

/// @param every as `kernels=every:N`, without warm-up.
profkit::options plain_options(std::uint64_t every = 1) {
  profkit::options result;
  result.kernels_every = every;
  result.warmup_steps = 0;
  result.measured_steps = 1000;
  return result;
}

void collect_kernels(profkit::session& session, bool all_api_calls = false) {
  auto const& kernels = session.collect(profkit::cupti_kernels({all_api_calls}));
  if (kernels.status().works) return;
  std::fprintf(stderr, "%s\n", kernels.status().reason.c_str());
  std::exit(2);
}

double with_profkit(bool has_kernels, bool has_all_api_calls, double (*measure)()) {
  profkit::session session{plain_options()};
  if (has_kernels) collect_kernels(session, has_all_api_calls);
  return measure();
}

double scoped_launches() { return ns_per_launch(scoped); }

/// In the second step of the session; neither step is collected.
double launches_in_a_step_without_kernels() {
  profkit::session session{plain_options(1000)};
  collect_kernels(session);
  for (int i = 0; i < 2; ++i) {
    profkit::step const step{session};
    plain();
  }
  profkit::step const step{session};
  return ns_per_launch(plain);
}

/// The time to begin steps if every third is collected: switching to the collected step, or back.
double switching(bool is_on) {
  constexpr int launches_a_step = 200;
  constexpr std::uint64_t cycles = 30;
  profkit::session session{plain_options(3)};
  collect_kernels(session);
  std::vector<double> ns;
  double back = 0.0;
  for (std::uint64_t i = 0; i < 3 * cycles; ++i) {
    check(cudaDeviceSynchronize());
    auto const begin = time_source::now();
    profkit::step const step{session};
    double const taken = nanoseconds{time_source::now() - begin}.count();
    if (i % 3 == 2 && is_on) ns.push_back(taken);
    if (i % 3 == 0) back = taken;
    if (i % 3 == 1 && !is_on && i > 1) ns.push_back(back + taken);
    for (int launch = 0; launch < launches_a_step; ++launch) plain();
  }
  return median(ns);
}

/// Once per session.
double starting() {
  profkit::session session{plain_options()};
  auto const begin = time_source::now();
  collect_kernels(session);
  return nanoseconds{time_source::now() - begin}.count();
}

struct variant {
  std::string name;
  std::function<double()> measure;
};

std::vector<variant> const& launch_variants() {
  static std::vector<variant> const all{
      {"nothing", launches},
      {"CUPTI kernel records", [] { return with_cupti(false, launches); }},
      {"CUPTI records, switched off again", with_cupti_switched_off},
      {"CUPTI kernel and runtime records", [] { return with_cupti(true, launches); }},
      {"profkit kernels", [] { return with_profkit(true, false, launches); }},
      {"profkit kernels, in a step without them", launches_in_a_step_without_kernels},
      {"profkit scopes", [] { return with_profkit(false, false, scoped_launches); }},
      {"profkit scopes and kernels", [] { return with_profkit(true, false, scoped_launches); }},
      {"profkit scopes, kernels and all API calls", [] { return with_profkit(true, true, scoped_launches); }},
  };
  return all;
}

std::vector<variant> const& other_variants() {
  static std::vector<variant> const all{
      {"graph: nothing", ns_per_node},
      {"graph: CUPTI kernel records", [] { return with_cupti(false, ns_per_node); }},
      {"graph: profkit kernels", [] { return with_profkit(true, false, ns_per_node); }},
      {"switch to a step with kernels", [] { return switching(true); }},
      {"switch back", [] { return switching(false); }},
      {"start of the collection", starting},
  };
  return all;
}

variant const* find(std::string const& name) {
  for (std::vector<variant> const* const list : {&launch_variants(), &other_variants()}) {
    for (variant const& each : *list) {
      if (each.name == name) return &each;
    }
  }
  return nullptr;
}

int run(bool has_turns, std::string const& name) {
  variant const* const found = find(name);
  if (found == nullptr) {
    std::fprintf(stderr, "there is no figure \"%s\"; see --list\n", name.c_str());
    return 2;
  }
  bench::warm_up();
  if (!has_turns) {
    std::printf("%.2f\n", found->measure());
    return 0;
  }
  bench::take_turns([found] { return "{\"ns\": " + std::to_string(found->measure()) + "}"; });
  return 0;
}

std::optional<double> measured_in_a_process(std::string const& program, std::string const& what) {
  std::string const command = "'" + program + "' run '" + what + "'";
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  double value = 0.0;
  bool const has_value = pipe != nullptr && std::fscanf(pipe, "%lf", &value) == 1;
  if (pipe != nullptr && ::pclose(pipe) == 0 && has_value) return value;
  std::fprintf(stderr, "%s failed\n", command.c_str());
  return std::nullopt;
}

int print_table(std::string const& program, int rounds) {
  std::vector<variant> const& variants = launch_variants();
  std::vector<std::vector<double>> ns(variants.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < variants.size(); ++i) {
      std::optional<double> const value = measured_in_a_process(program, variants[i].name);
      if (!value) return 2;
      ns[i].push_back(*value);
    }
  }
  double const base = median(ns[0]);
  double const bare = median(ns[1]) - base;
  std::printf("| what watches | ns per launch | added ns | times CUPTI kernel records |\n|---|---:|---:|---:|\n");
  for (std::size_t i = 0; i < variants.size(); ++i) {
    double const added = median(ns[i]) - base;
    std::printf("| %s | %.0f | %.0f | %.2f |\n", variants[i].name.c_str(), median(ns[i]), added, added / bare);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string const first = argc > 1 ? argv[1] : "";
  if ((first == "run" || first == "turns") && argc > 2) return run(first == "turns", argv[2]);
  if (first == "--list") {
    for (variant const& each : launch_variants()) std::printf("%s\n", each.name.c_str());
    for (variant const& each : other_variants()) std::printf("%s\n", each.name.c_str());
    return 0;
  }
  return print_table(argv[0], first.empty() ? 5 : std::atoi(first.c_str()));
}
