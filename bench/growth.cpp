// SPDX-License-Identifier: Apache-2.0
//
// How the cost of a session grows with the number of things that a program can have many of. For each of them, makes n and 10 n, and prints
// the processor time of each phase for 10 n, the ratio of both times, and the ratio of memory. Draining and `session::report` have one
// ratio, because `report` adds the windows that are not added yet. Exits with 1 if a ratio of times is above 15, which linear and n log n
// costs do not reach. Each measurement runs in a process of its own.
//
// usage: profkit_growth PROFKIT [--small] [--repeat N] [THING...]        PROFKIT: the program profkit; default: all things
//   --small: smaller numbers, for ctest
//   --repeat: take the minimum of N measurements (default 2; more are made before a ratio is called too large)
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "growth_costs.hpp"
#include "growth_profiles.hpp"
#include "growth_ranks.hpp"
#include "growth_sessions.hpp"

namespace {

namespace fs = std::filesystem;
using namespace bench::growth;

constexpr double max_ratio = 15.0;
/// Shorter times are not judged: the clock of processor time, caches and page faults of a process count too much.
constexpr double min_judged_ns = 5e6;

struct thing {
  char const* name;
  std::size_t small;  ///< n with `--small`; 0: left out
  std::size_t large;  ///< n otherwise
  costs (*run)(std::size_t n, std::string const& folder);
};

constexpr thing things[] = {
    {"steps", 20'000, 100'000, many_steps},
    {"kept steps", 1'000, 10'000, many_kept_steps},
    {"excluded steps", 5'000, 50'000, many_excluded_steps},
    {"kinds of steps", 300, 3'000, many_step_kinds},
    {"parts of two kinds", 200, 2'000, many_parts_of_kinds},
    {"scopes", 30'000, 300'000, many_scopes},
    {"scopes, no steps", 30'000, 300'000, many_scopes_without_steps},
    {"scope names", 800, 6'000, many_names},
    {"scope names, journal", 200, 4'000, many_names_in_journal},
    {"indices", 300, 6'000, many_indices},
    {"indices beyond max", 0, 20'000, many_indices},
    {"depth", 80, 800, many_levels},
    {"open scopes", 200, 2'000, many_open_scopes},
    {"threads", 100, 300, many_threads},
    {"short threads", 300, 2'000, many_short_threads},
    {"tokens", 200, 3'000, many_tokens},
    {"default scopes", 300, 1'500, many_default_scopes},
    {"counters", 1'000, 10'000, many_counters},
    {"counter samples", 30'000, 300'000, many_samples_of_a_counter},
    {"memory quantities", 400, 2'000, many_memory_quantities},
    {"collectors", 100, 300, many_collectors},
    {"allocators", 300, 10'000, many_allocators},
    {"live allocations", 10'000, 100'000, many_live_allocations},
    {"released allocs", 5'000, 100'000, many_released_allocations},
    {"collectives", 3'000, 50'000, many_collectives},
    {"communicators", 500, 5'000, many_communicators},
    {"sessions", 5, 50, many_sessions},
    {"kernels", 3'000, 50'000, many_kernels},
    {"kernel names", 500, 10'000, many_kernel_names},
    {"launching scopes", 150, 5'000, many_launching_scopes},
    {"launching parts", 60, 500, many_launching_parts},
    {"API calls' names", 500, 10'000, many_call_names},
    {"streams", 500, 10'000, many_streams},
    {"devices", 50, 500, many_devices},
    {"device readings", 1'000, 20'000, many_device_readings},
    {"graph nodes", 1'000, 20'000, many_graph_nodes},
    {"sampled functions", 500, 10'000, many_sampled_functions},
    {"host samples", 5'000, 100'000, many_host_samples},
    {"NCCL collectives", 1'000, 20'000, many_nccl_collectives},
    {"NCCL communicators", 500, 5'000, many_nccl_communicators},
    {"launching threads", 100, 1'000, many_launching_threads},
    {"GPU steps", 500, 10'000, many_gpu_steps},
    {"ranks", 12, 100, many_ranks},
    {"steps of ranks", 100, 1'000, many_steps_of_ranks},
    {"collectives of ranks", 50, 500, many_collectives_of_ranks},
    {"communicators, ranks", 20, 200, many_communicators_of_ranks},
};

struct measurement {
  costs time;
  double peak_bytes = 0.0;
  bool is_killed = false;  ///< it took longer than allowed
};

double seconds_of(timeval const& time) { return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec); }

/// Processor time of a process in nanoseconds.
double ns_of_process(pid_t process) {
  clockid_t clock{};
  return ::clock_getcpuclockid(process, &clock) == 0 ? bench::now_ns(clock) : 0.0;
}

/// Runs a function in a child process, and kills the process if it takes more than `max_seconds` of processor time. RLIMIT_CPU would do
/// that too, but then the clock of the process advances only at ticks of the scheduler, which are up to 10 ms apart.
/// @return the resources that the child used, and whether it ended well.
template <class Function>
bool run_in_child(double max_seconds, rusage& used, Function const& function) {
  pid_t const child = ::fork();
  if (child == 0) {
    int status = 1;
    try {
      status = function();
    } catch (std::exception const& failure) {
      std::fprintf(stderr, "%s\n", failure.what());
    }
    ::_exit(status);
  }
  int status = 0;
  pid_t ended = child < 0 ? -1 : 0;
  bool is_killed = false;
  while (ended == 0) {
    ended = ::wait4(child, &status, WNOHANG, &used);
    if (ended != 0) break;
    if (!is_killed && ns_of_process(child) > 1e9 * max_seconds) is_killed = ::kill(child, SIGKILL) == 0;
    ::usleep(2'000);
  }
  if (ended != child) throw std::system_error{errno, std::generic_category(), "cannot run a child"};
  if (is_killed) return false;
  if (status != 0) throw std::runtime_error{"a measurement failed, status " + std::to_string(status)};
  return true;
}

class meter {
 public:
  explicit meter(std::string program) : program_{std::move(program)} {}
  meter(meter const&) = delete;
  meter& operator=(meter const&) = delete;
  ~meter() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  [[nodiscard]] measurement measure(thing const& what, std::size_t n, double max_seconds) const {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    measurement result;
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw std::system_error{errno, std::generic_category(), "pipe"};
    rusage used{};
    result.is_killed = !run_in_child(max_seconds, used, [&] {
      costs const found = what.run(n, folder_.string());
      return ::write(pipe[1], &found, sizeof found) == sizeof found ? 0 : 1;
    });
    ::close(pipe[1]);
    bool const is_known = ::read(pipe[0], &result.time, sizeof result.time) == sizeof result.time;
    ::close(pipe[0]);
    result.peak_bytes = 1024.0 * static_cast<double>(used.ru_maxrss);
    if (result.is_killed || !is_known) {
      result.is_killed = true;
      return result;
    }
    // Without any of these files, the folder has ranks.
    std::vector<std::string> paths;
    for (char const* const name : {"summary.profkit", "made.profile", "made.journal"}) {
      if (fs::exists(folder_ / name)) paths.push_back(folder_ / name);
    }
    if (paths.empty()) paths.push_back(folder_);
    for (std::string const& path : paths) result.is_killed = !read(path, max_seconds, result) || result.is_killed;
    return result;
  }

 private:
  /// @return false if it took too long.
  bool read(std::string const& path, double max_seconds, measurement& to) const {
    rusage used{};
    bool const is_in_time = run_in_child(max_seconds, used, [&] {
      int const nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
      if (nothing < 0 || ::dup2(nothing, STDOUT_FILENO) < 0) return 126;
      std::string const page = (folder_ / "page.html").string();
      ::execl(program_.c_str(), program_.c_str(), "report", path.c_str(), "--full", "--html", page.c_str(), nullptr);
      return 127;
    });
    to.time.set(phase::reading, to.time[phase::reading] + 1e9 * (seconds_of(used.ru_utime) + seconds_of(used.ru_stime)));
    return is_in_time;
  }

  std::string program_;
  fs::path folder_ = fs::temp_directory_path() / ("profkit-growth-" + std::to_string(::getpid()));
};

void keep_minimum(measurement& to, measurement const& other) {
  if (other.is_killed) return;
  for (std::size_t i = 0; i < phase_names.size(); ++i) {
    auto const which = static_cast<phase>(i);
    to.time.set(which, std::min(to.time[which], other.time[which]));
  }
  to.peak_bytes = std::min(to.peak_bytes, other.peak_bytes);
}

/// The measurements of n and 10 n.
struct growth {
  measurement few;
  measurement many;

  /// The ratio of phases that are judged together. A lower limit if the time of n is short.
  [[nodiscard]] double ratio(std::array<phase, 2> const& judged) const {
    return many.time.sum(judged) / std::max(few.time.sum(judged), min_judged_ns);
  }

  /// The largest ratio.
  [[nodiscard]] double ratio() const {
    double result = 0.0;
    for (std::array<phase, 2> const& judged : judged_phases) result = std::max(result, ratio(judged));
    return result;
  }

  [[nodiscard]] bool is_right() const { return !many.is_killed && ratio() <= max_ratio; }
};

growth measure(meter const& by, thing const& what, std::size_t n, int repeats) {
  constexpr double some_seconds = 60.0;
  growth result;
  result.few = by.measure(what, n, some_seconds);
  if (result.few.is_killed) throw std::runtime_error{std::string{what.name} + ": " + std::to_string(n) + " of them take over a minute"};
  double all_ns = 0.0;
  for (std::size_t i = 0; i < phase_names.size(); ++i) all_ns += result.few.time[static_cast<phase>(i)];
  double const max_seconds = 2.0 + 30e-9 * all_ns;
  result.many = by.measure(what, 10 * n, max_seconds);
  if (result.many.is_killed) return result;
  // Other programs make a measurement longer, never shorter.
  constexpr int max_more = 4;
  for (int i = 1; i < repeats || (!result.is_right() && i < repeats + max_more); ++i) {
    keep_minimum(result.few, by.measure(what, n, some_seconds));
    keep_minimum(result.many, by.measure(what, 10 * n, max_seconds));
  }
  return result;
}

void print_head() {
  std::printf("%-22s %9s", "10 n of", "10 n");
  for (std::array<phase, 2> const& judged : judged_phases) {
    for (phase const which : judged) {
      std::printf("  %14s", phase_names[static_cast<std::size_t>(which)].data());
      if (judged[0] == judged[1]) break;
    }
    std::printf("  ratio");
  }
  std::printf("  %18s\n", "memory");
}

void print(thing const& what, std::size_t n, growth const& found) {
  std::printf("%-22s %9zu", what.name, 10 * n);
  for (std::array<phase, 2> const& judged : judged_phases) {
    if (judged[0] != judged[1]) std::printf("  %11.1f ms", 1e-6 * found.many.time[judged[0]]);
    std::printf("  %11.1f ms", 1e-6 * found.many.time[judged[1]]);
    if (found.many.time.sum(judged) < min_judged_ns) {
      std::printf("      -");
    } else {
      std::printf(" %s%5.1f", found.few.time.sum(judged) < min_judged_ns ? ">" : " ", found.ratio(judged));
    }
  }
  std::printf("  %8.1f MiB %5.1f", found.many.peak_bytes / (1 << 20), found.many.peak_bytes / found.few.peak_bytes);
  if (found.many.is_killed) {
    std::printf("  STOPPED: over 30 times the time\n");
  } else if (found.is_right()) {
    std::printf("\n");
  } else {
    std::printf("  %.1f IS TOO LARGE\n", found.ratio());
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: profkit_growth PROFKIT [--small] [--repeat N] [THING...]\n");
    return 2;
  }
  bool is_small = false;
  int repeats = 2;
  std::vector<std::string_view> wanted;
  for (int i = 2; i < argc; ++i) {
    std::string_view const word = argv[i];
    if (word == "--small") {
      is_small = true;
    } else if (word == "--repeat") {
      repeats = i + 1 < argc ? std::atoi(argv[++i]) : repeats;
    } else {
      wanted.push_back(word);
    }
  }
  bool is_right = true;
  try {
    meter const by{argv[1]};
    print_head();
    for (thing const& each : things) {
      if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), each.name) == wanted.end()) continue;
      std::size_t const n = is_small ? each.small : each.large;
      if (n == 0) continue;
      growth const found = measure(by, each, n, repeats);
      print(each, n, found);
      is_right = found.is_right() && is_right;
    }
  } catch (std::exception const& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
  return is_right ? 0 : 1;
}
