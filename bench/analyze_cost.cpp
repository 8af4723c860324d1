// SPDX-License-Identifier: Apache-2.0
//
// What attribute() and analyze() take for N kernels launched in N scopes on 4 threads, up to 6 scopes deep. Prints processor time and
// memory for each kernel at N/8, N/4, N/2 and N, and how the time grows from one to the next: 2 is linear.
//
// usage: profkit_analyze_cost [N]        10 million without it
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <map>
#include <profkit/analyze/analyze.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::uint32_t thread_count = 4;
constexpr std::size_t deepest = 6;
constexpr std::size_t events_per_step = 2000;  // scopes of one thread, and as many kernels
constexpr std::uint32_t name_count = 200;

/// Walks that open, close and launch at random, step by step. Records come as they ended, as from CUPTI: not in the order in which they
/// began.
class maker {
 public:
  explicit maker(std::size_t size) {
    made_.scopes.reserve(size);
    made_.gpu_operations.reserve(size);
    made_.api_calls.reserve(size);
    for (std::uint32_t i = 0; i < name_count; ++i) made_.gpu_names.push_back({fmt::format("kernel_{}<float, 4>(float*, int)", i), {}});
    made_.api_names = {"cudaLaunchKernel_v7000"};
    made_.collectors = {{"kernels", "collected", {}}};
    for (std::uint32_t thread = 0; thread < thread_count; ++thread) made_.threads.push_back({100 + thread, "thread"});
    while (made_.scopes.size() < size) {
      make_step(std::min(events_per_step, (size - made_.scopes.size() + thread_count - 1) / thread_count));
    }
  }

  [[nodiscard]] profkit::profile const& made() const { return made_; }

 private:
  struct open_scope {
    std::uint32_t path;
    profkit::timestamp begin;
  };

  void make_step(std::size_t events) {
    profkit::timestamp const begin = now_;
    std::size_t const first_call = made_.api_calls.size();
    std::size_t const first_operation = made_.gpu_operations.size();
    profkit::timestamp end = begin;
    for (std::uint32_t thread = 0; thread < thread_count; ++thread) {
      now_ = begin;
      walk(thread, events);
      end = std::max(end, now_);
    }
    now_ = end + std::chrono::microseconds{50};
    auto const ended_before = [](auto const& a, auto const& b) { return a.time.end < b.time.end; };
    std::sort(made_.api_calls.begin() + static_cast<std::ptrdiff_t>(first_call), made_.api_calls.end(), ended_before);
    std::sort(made_.gpu_operations.begin() + static_cast<std::ptrdiff_t>(first_operation), made_.gpu_operations.end(), ended_before);
    made_.steps.push_back({{begin, end}, made_.steps.size(), made_.steps.empty(), 1});
  }

  void walk(std::uint32_t thread, std::size_t events) {
    std::vector<open_scope> open;
    std::size_t scopes = 0;
    std::size_t kernels = 0;
    while (scopes < events || kernels < events || !open.empty()) {
      now_ += std::chrono::nanoseconds{200 + random_() % 1000};
      bool const may_open = scopes < events && open.size() < deepest;
      bool const may_launch = kernels < events && !open.empty();
      bool const has_to_close = !may_open && !may_launch;
      std::uint64_t const choice = random_() % 3;
      if (may_open && (choice == 0 || open.empty())) {
        open.push_back({path_in(open.empty() ? profkit::path_record::no_parent : open.back().path), now_});
        ++scopes;
      } else if (may_launch && choice == 1) {
        launch(thread);
        ++kernels;
      } else if (has_to_close || (choice == 2 && !open.empty() && (open.size() > 1 || scopes < events))) {
        made_.scopes.push_back({{open.back().begin, now_}, open.back().path, thread});
        open.pop_back();
      }
    }
  }

  std::uint32_t path_in(std::uint32_t parent) {
    std::uint64_t const which = random_() % 3;
    auto const [known, is_new] = paths_.try_emplace({parent, which}, static_cast<std::uint32_t>(made_.paths.size()));
    if (is_new) made_.paths.push_back({parent, fmt::format("scope_{}", which), {}, "made.cpp", 1});
    return known->second;
  }

  void launch(std::uint32_t thread) {
    profkit::interval const call{now_, now_ + std::chrono::nanoseconds{2000 + random_() % 1000}};
    now_ = call.end;
    std::uint64_t const correlation = ++correlation_;
    made_.api_calls.push_back({call, correlation, 0, thread});
    std::uint32_t const stream = 2 * thread + static_cast<std::uint32_t>(random_() % 2);
    profkit::timestamp const begin = std::max(call.end + std::chrono::nanoseconds{1500 + random_() % 3000}, free_at_[stream]);
    free_at_[stream] = begin + std::chrono::nanoseconds{1000 + random_() % 4000};
    auto const name = static_cast<std::uint32_t>(random_() % name_count);
    made_.gpu_operations.push_back(
        {{begin, free_at_[stream]}, correlation, 0, name, 0, stream, {1, 1, 1}, {32, 1, 1}, profkit::gpu_operation_kind::kernel});
  }

  profkit::profile made_;
  profkit::timestamp now_{std::chrono::seconds{1'790'000'000}};
  std::mt19937_64 random_{1};
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> paths_;
  std::array<profkit::timestamp, 2 * thread_count> free_at_{};
  std::uint64_t correlation_ = 0;
};

double peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

/// Of the processor, so that other programs beside this one change it little.
template <class Function>
double seconds_of(Function const& function) {
  std::clock_t const begin = std::clock();
  function();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t const largest = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
  fmt::print("{:>10}  {:>10}  {:>8}  {:>6}  {:>9}  {:>8}  {:>6}  {:>14}  {:>13}\n", "kernels", "attribute", "ns each", "growth", "analyze",
             "ns each", "growth", "profile, bytes", "peak, bytes");
  double attribute_before = 0.0;
  double analyze_before = 0.0;
  for (std::size_t const part : {8U, 4U, 2U, 1U}) {
    maker const maker{largest / part};
    profkit::profile const& profile = maker.made();
    auto const kernels = static_cast<double>(profile.gpu_operations.size());
    if (kernels == 0.0) continue;
    double const before = peak_bytes();
    double const attribute_s = seconds_of([&] {
      profkit::attribution const found = profkit::attribute(profile);
      if (found.scope_of.size() != profile.gpu_operations.size()) std::abort();
    });
    double const analyze_s = seconds_of([&] {
      profkit::summary const found = profkit::analyze(profile);
      if (found.gpu->all.kernels == 0) std::abort();
    });
    auto const growth = [](double now, double last) { return last > 0.0 ? fmt::format("{:.2f}", now / last) : std::string{"-"}; };
    fmt::print("{:10.0f}  {:8.3f} s  {:8.1f}  {:>6}  {:7.3f} s  {:8.1f}  {:>6}  {:14.0f}  {:13.0f}\n", kernels, attribute_s,
               1e9 * attribute_s / kernels, growth(attribute_s, attribute_before), analyze_s, 1e9 * analyze_s / kernels,
               growth(analyze_s, analyze_before), before / kernels, peak_bytes() / kernels);
    attribute_before = attribute_s;
    analyze_before = analyze_s;
  }
  return 0;
}
