// SPDX-License-Identifier: Apache-2.0
//
// The time and memory that `profkit report` takes to merge the summaries of many ranks. The summaries are synthetic: each has a timeline of
// maximum size, with 128 steps of 16 collectives, and rank 1 computes longer. Exits with 1 if the report does not name that rank, or if a
// limit is exceeded.
//
// usage: profkit_ranks_merge PROFKIT [--growth G] [--mebibytes M] [--parts N] [RANKS...]     default: 256 512 1024 ranks
//   --growth: limit of the processor time per rank, as a multiple of that of the first number of ranks
//   --mebibytes: limit of the memory for the last number of ranks
//   --parts: scopes and intervals of a collective; 24 is the maximum (default 8)
#include <profkit/summary.hpp>
#include <profkit/summary_file.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

namespace fs = std::filesystem;
using std::chrono::nanoseconds;

constexpr std::uint32_t steps = 128;
constexpr std::uint32_t collectives = 16;
constexpr nanoseconds compute{1'000'000};
constexpr nanoseconds transfer{300'000};
constexpr nanoseconds delay{200'000};  ///< of rank 1 before each collective

/// Splits a time into equal parts.
std::vector<profkit::path_time> parts_of(nanoseconds whole, std::uint32_t count) {
  std::vector<profkit::path_time> result;
  for (std::uint32_t i = 0; i < count; ++i) result.push_back({i + 1, whole / count});
  return result;
}

profkit::summary made_summary(std::uint32_t rank, std::uint32_t ranks, std::uint32_t parts, std::mt19937_64& random) {
  profkit::summary result;
  result.environment.host = "node" + std::to_string(rank / 8);
  result.environment.command = {"train"};
  result.environment.gpu = "NVIDIA H200";
  result.environment.rank = profkit::rank_record{rank, ranks};
  result.steps.host.count = steps;
  profkit::rank_timeline timeline;
  timeline.paths.emplace_back("step");
  for (std::uint32_t i = 0; i < 24; ++i) timeline.paths.push_back("step/forward/layer_" + std::to_string(i));
  timeline.kinds.push_back({7, "world", "AllReduce", "f32", "RING", "LL", false});
  timeline.all_steps = steps;
  timeline.all_collectives = std::uint64_t{steps} * collectives;
  profkit::timestamp now{std::chrono::seconds{1'700'000'000} + nanoseconds{static_cast<std::int64_t>(random() % 1'000'000'000)}};
  for (std::uint32_t index = 0; index < steps; ++index) {
    profkit::timeline_step step;
    step.index = index;
    step.begin = now;
    for (std::uint32_t i = 0; i < collectives; ++i) {
      nanoseconds const late = rank == 1 ? delay : nanoseconds{static_cast<std::int64_t>(random() % 20'000)};
      profkit::timeline_collective each;
      each.step = index;
      each.sequence = std::uint64_t{index} * collectives + i;
      each.bytes = std::uint64_t{64} << 20U;
      each.path = 1;
      each.time = {now + compute + late, now + compute + delay + transfer};
      each.busy = parts_of(compute + late, parts);
      each.idle = parts_of(nanoseconds{1'000}, parts);
      nanoseconds const part = each.time.duration() / parts;
      for (std::uint32_t k = 0; k < parts; ++k) each.exposed.push_back({each.time.begin + k * part, each.time.begin + k * part + part / 2});
      step.communication += each.time.duration();
      step.exposed += part / 2 * parts;
      step.compute += compute + late;
      step.computing.push_back({now, each.time.begin});
      now = each.time.end;
      timeline.collectives.push_back(std::move(each));
    }
    step.host = {step.begin, now};
    step.end = now;
    step.next_begin = now;
    step.stages = parts_of(now - step.begin, 5);
    step.gpu = parts_of(step.compute, 24);
    timeline.steps.push_back(std::move(step));
  }
  result.timeline = std::move(timeline);
  return result;
}

struct cost {
  double seconds = 0.0;    ///< of the processor
  double elapsed = 0.0;    ///< seconds
  double mebibytes = 0.0;  ///< largest resident size
  std::string printed;
};

cost report(std::string const& program, fs::path const& folder) {
  fs::path const out = folder / "report.txt";
  auto const begin = std::chrono::steady_clock::now();
  pid_t const child = ::fork();
  if (child == 0) {
    int const file = ::open(out.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || ::dup2(file, STDOUT_FILENO) < 0) ::_exit(126);
    ::execl(program.c_str(), program.c_str(), "report", folder.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  rusage used{};
  if (child < 0 || ::wait4(child, &status, 0, &used) != child || status != 0)
    throw std::system_error{errno, std::generic_category(), program + " report"};
  cost result;
  result.elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  auto const seconds = [](timeval const& time) { return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec); };
  result.seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
  result.mebibytes = static_cast<double>(used.ru_maxrss) / 1024.0;
  std::ifstream file{out};
  result.printed.assign(std::istreambuf_iterator<char>{file}, {});
  return result;
}

/// @return whether the slow rank is named.
bool measure(std::string const& program, std::uint32_t ranks, std::uint32_t parts, cost& taken) {
  fs::path const folder = fs::temp_directory_path() / ("profkit-ranks-" + std::to_string(::getpid()));
  std::mt19937_64 random{1};
  std::uintmax_t bytes = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    fs::path const file = folder / ("rank" + std::to_string(rank)) / "summary.profkit";
    fs::create_directories(file.parent_path());
    profkit::save_summary(made_summary(rank, ranks, parts, random), file);
    bytes += fs::file_size(file);
  }
  taken = report(program, folder);
  fs::remove_all(folder);
  bool const is_named = taken.printed.find("Rank 1 (node0) holds the others up") != std::string::npos;
  std::printf("%5u ranks, summaries of %.0f KB: %6.2f s (processor %.2f s, %.2f ms a rank); at most %5.0f MiB, %.2f a rank%s\n", ranks,
              static_cast<double>(bytes) * 1e-3 / ranks, taken.elapsed, taken.seconds, 1e3 * taken.seconds / ranks, taken.mebibytes,
              taken.mebibytes / ranks, is_named ? "" : "; THE SLOW RANK IS NOT NAMED");
  std::fflush(stdout);
  return is_named;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: profkit_ranks_merge PROFKIT [--growth G] [--mebibytes M] [--parts N] [RANKS...]\n");
    return 2;
  }
  double max_growth = 1e9;
  double max_mebibytes = 1e9;
  std::uint32_t parts = 8;
  std::vector<std::uint32_t> sizes;
  for (int i = 2; i < argc; ++i) {
    std::string_view const word = argv[i];
    auto const value = [&] { return i + 1 < argc ? std::atof(argv[++i]) : 0.0; };
    if (word == "--growth") {
      max_growth = value();
    } else if (word == "--mebibytes") {
      max_mebibytes = value();
    } else if (word == "--parts") {
      parts = std::clamp(static_cast<std::uint32_t>(value()), 1U, 24U);
    } else {
      sizes.push_back(static_cast<std::uint32_t>(std::max(2, std::atoi(argv[i]))));
    }
  }
  if (sizes.empty()) sizes = {256, 512, 1024};
  try {
    bool is_right = true;
    cost taken;
    double first = 0.0;
    double last = 0.0;
    for (std::uint32_t const ranks : sizes) {
      is_right = measure(argv[1], ranks, parts, taken) && is_right;
      last = taken.seconds / ranks;
      if (first <= 0.0) first = last;
    }
    if (sizes.size() > 1) std::printf("processor time per rank: %.2f times that of the first\n", last / first);
    return is_right && last <= max_growth * first && taken.mebibytes <= max_mebibytes ? 0 : 1;
  } catch (std::exception const& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
