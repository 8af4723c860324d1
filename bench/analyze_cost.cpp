// SPDX-License-Identifier: Apache-2.0
//
// The cost of draining, analysing, saving and loading N kernels launched in N scopes on 4 threads, up to 6 scopes deep. Prints processor
// time on one core, peak resident memory per kernel (including the profile), and the growth of analyze() with N: a factor of 2 from line to
// line is linear. Then prints the cost of draining the logs of as many scopes and launches, with and without keeping their records. The
// last line has the figures of the largest N as JSON.
//
// usage: profkit_analyze_cost [N] [FOLDER]        N: 10 million by default, at least 20 thousand; FOLDER: for the saved profile, by default
//                                                 the folder of temporary files
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <profkit/analyze.hpp>
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/impl/drain/log_drain.hpp>
#include <profkit/impl/record/slow_path.hpp>
#include <profkit/impl/record/thread_registry.hpp>
#include <profkit/profkit.hpp>
#include <profkit/save_load.hpp>
#include <string>

#include "made_profile.hpp"

namespace {

double peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

/// Processor time of the process in user and kernel mode, which other programs hardly influence.
template <class Function>
double seconds_of(Function const& function) {
  std::clock_t const begin = std::clock();
  function();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

struct saved_profile {
  std::filesystem::path path;
  ~saved_profile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

struct costs {
  double kernels = 0.0;
  double attribute_s = 0.0;
  double analyze_s = 0.0;
  double profile_bytes = 0.0;
  double peak_bytes = 0.0;
  double records = 0.0;
  double save_s = 0.0;
  double load_s = 0.0;
};

costs measure(std::size_t size, std::filesystem::path const& folder) {
  bench::made_profile const made{size};
  profkit::profile const& profile = made();
  costs result;
  result.kernels = static_cast<double>(profile.gpu_operations.size());
  result.records = static_cast<double>(profile.gpu_operations.size() + profile.api_calls.size() + profile.scopes.size());
  result.profile_bytes = peak_bytes();
  result.analyze_s = seconds_of([&] {
    profkit::summary const found = profkit::analyze(profile);
    if (!found.gpu || found.gpu->all.kernels == 0 || !found.budget || found.scopes.empty()) std::abort();
  });
  result.peak_bytes = peak_bytes();
  result.attribute_s = seconds_of([&] {
    profkit::attribution const found = profkit::attribute(profile);
    if (found.scope_of.size() != profile.gpu_operations.size()) std::abort();
  });
  saved_profile const file{folder / fmt::format("profkit-analyze-cost-{}.profile", ::getpid())};
  result.save_s = seconds_of([&] { profkit::save(profile, file.path); });
  result.load_s = seconds_of([&] {
    if (profkit::load(file.path).gpu_operations.size() != profile.gpu_operations.size()) std::abort();
  });
  return result;
}

struct drain_costs {
  double scopes = 0.0;
  double seconds = 0.0;
  std::uint64_t dropped = 0;
};

/// Processor time of the calling thread.
double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The cost of converting logs of scopes, each with a launch, to records, like the session's thread.
/// @param max_records number of records to keep. Their memory comes from the system; 0 shows the cost of draining itself.
drain_costs measure_drain(std::size_t size, std::uint64_t max_records) {
  constexpr std::size_t scopes_per_round = 100'000;
  profkit::profile_builder builder;
  builder.bound_records(max_records);
  std::uint32_t const clock_flag = profkit::detail::start_recording(profkit::options{}.log_slots_per_thread, builder);
  profkit::detail::log_drain logs{builder, clock_flag};
  __atomic_fetch_or(&profkit::detail::recorder.flags, profkit::detail::recording | clock_flag, __ATOMIC_RELEASE);
  static profkit::site launch{"cuLaunchKernel", "", 0};
  std::uint64_t correlation = 0;
  drain_costs result;
  auto const drain = [&](bool last) {
    double const begin = thread_seconds();
    logs.drain(
        last, [] { return true; }, [] {});
    result.seconds += thread_seconds() - begin;
  };
  for (std::size_t done = 0; done < size; done += scopes_per_round) {
    for (std::size_t i = 0; i < scopes_per_round / 2; ++i) {
      PROF_SCOPE("outer");
      profkit::detail::end_api_call(profkit::detail::begin_api_call(launch, ++correlation));
      PROF_SCOPE("inner");
      profkit::detail::end_api_call(profkit::detail::begin_api_call(launch, ++correlation));
    }
    drain(false);
  }
  __atomic_fetch_and(&profkit::detail::recorder.flags, ~(profkit::detail::recording | clock_flag), __ATOMIC_RELEASE);
  drain(true);
  profkit::profile const& profile = builder.so_far();
  result.scopes = static_cast<double>(correlation);
  result.dropped = profile.quality.dropped_events;
  if (profile.api_calls.size() + profile.scopes.size() + profile.quality.discarded_records + result.dropped != 2 * correlation)
    std::abort();
  return result;
}

constexpr std::size_t min_kernels = 20'000;  // enough for some measured steps

void run(std::size_t largest, std::filesystem::path const& folder) {
  fmt::print("{:>10}  {:>10}  {:>8}  {:>9}  {:>8}  {:>6}  {:>14}  {:>11}  {:>12}  {:>12}\n", "kernels", "attribute", "ns each", "analyze",
             "ns each", "growth", "profile, bytes", "peak, bytes", "saved, M/s", "loaded, M/s");
  costs last;
  for (std::size_t const part : {8U, 4U, 2U, 1U}) {
    if (largest / part < min_kernels) continue;
    costs const now = measure(largest / part, folder);
    std::string const growth = last.analyze_s > 0.0 ? fmt::format("{:.2f}", now.analyze_s / last.analyze_s) : "-";
    fmt::print("{:10.0f}  {:8.3f} s  {:8.1f}  {:7.3f} s  {:8.1f}  {:>6}  {:14.0f}  {:11.0f}  {:12.1f}  {:12.1f}\n", now.kernels,
               now.attribute_s, 1e9 * now.attribute_s / now.kernels, now.analyze_s, 1e9 * now.analyze_s / now.kernels, growth,
               now.profile_bytes / now.kernels, now.peak_bytes / now.kernels, 1e-6 * now.records / now.save_s,
               1e-6 * now.records / now.load_s);
    last = now;
  }
  constexpr std::uint64_t no_bound = ~std::uint64_t{0};
  drain_costs const discarded = measure_drain(largest, 1);
  drain_costs const drained = measure_drain(largest, no_bound);
  double const drain_s = drained.seconds / drained.scopes * last.kernels;
  double const drain_discarded_s = discarded.seconds / discarded.scopes * last.kernels;
  fmt::print(
      "draining: {:.1f} ns for a scope with a launch, {:.1f} if they are not kept, {} dropped; as many as kernels: {:.3f} s, with "
      "analyze() {:.3f} s\n",
      1e9 * drained.seconds / drained.scopes, 1e9 * discarded.seconds / discarded.scopes, drained.dropped + discarded.dropped, drain_s,
      drain_s + last.analyze_s);
  fmt::print(R"({{"kernels": {:.0f}, "analyze_s": {:.4f}, "attribute_s": {:.4f}, "drain_s": {:.4f}, "drain_discarded_s": {:.4f}, )"
             R"("peak_bytes_per_kernel": {:.1f}, )"
             R"("saved_records_per_s": {:.0f}, "loaded_records_per_s": {:.0f}}})"
             "\n",
             last.kernels, last.analyze_s, last.attribute_s, drain_s, drain_discarded_s, last.peak_bytes / last.kernels,
             last.records / last.save_s, last.records / last.load_s);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::size_t const largest = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
    run(std::max(largest, min_kernels), argc > 2 ? std::filesystem::path{argv[2]} : std::filesystem::temp_directory_path());
  } catch (std::exception const& failure) {
    fmt::print(stderr, "{}\n", failure.what());
    return 1;
  }
  return 0;
}
