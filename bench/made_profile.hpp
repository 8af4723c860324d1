// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <profkit/profile.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// A profile with as many kernels as scopes: several threads open and close scopes and launch kernels at random, step by step. Records have
/// the order of a session: scopes and launches by thread, in the order of their ends. Kernels are in the order of their ends on any stream,
/// which differs from the order of their beginnings.
class made_profile {
 public:
  explicit made_profile(std::size_t size) {
    made_.scopes.reserve(size);
    made_.gpu_operations.reserve(size);
    made_.api_calls.reserve(size);
    for (std::uint32_t i = 0; i < name_count; ++i) made_.gpu_names.push_back({fmt::format("kernel_{}<float, 4>(float*, int)", i), {}});
    made_.api_names = {"cuLaunchKernel"};
    made_.collectors = {{"kernels", "collected", {}, profkit::collector_kind::kernels}};
    for (std::uint32_t thread = 0; thread < thread_count; ++thread) made_.threads.push_back({100 + thread, "thread"});
    while (made_.scopes.size() < size) {
      make_step(std::min(events_per_step, (size - made_.scopes.size() + thread_count - 1) / thread_count));
    }
    made_.time = {made_.steps.front().time.begin, made_.steps.back().time.end};
  }

  [[nodiscard]] profkit::profile const& operator()() const noexcept { return made_; }

 private:
  static constexpr std::uint32_t thread_count = 4;
  static constexpr std::size_t deepest = 6;
  static constexpr std::size_t events_per_step = 2000;  ///< scopes of one thread, with as many kernels
  static constexpr std::uint32_t name_count = 200;

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
      // The scope of the step itself ends with it.
      if (thread == 0) open_.push_back({path_of(profkit::path_record::no_parent, "step"), begin});
      walk(thread, events);
      if (thread == 0) close(thread);
      end = std::max(end, now_);
      if (thread == 0) made_.steps.push_back({{begin, now_}, made_.steps.size(), made_.steps.empty(), 1});
    }
    now_ = end + std::chrono::microseconds{50};
    number_launches(first_call, first_operation);
    std::sort(made_.gpu_operations.begin() + static_cast<std::ptrdiff_t>(first_operation), made_.gpu_operations.end(),
              [](auto const& a, auto const& b) { return a.time.end < b.time.end; });
  }

  void walk(std::uint32_t thread, std::size_t events) {
    std::size_t const outside = open_.size();
    std::size_t scopes = outside;
    std::size_t kernels = 0;
    while (scopes < events || kernels < events || open_.size() > outside) {
      now_ += std::chrono::nanoseconds{200 + random_() % 1000};
      bool const may_open = scopes < events && open_.size() < deepest;
      bool const may_launch = kernels < events && !open_.empty();
      bool const has_to_close = !may_open && !may_launch;
      std::uint64_t const choice = random_() % 3;
      if (may_open && (choice == 0 || open_.empty())) {
        std::uint32_t const parent = open_.empty() ? profkit::path_record::no_parent : open_.back().path;
        open_.push_back({path_of(parent, fmt::format("scope_{}", random_() % 3)), now_});
        ++scopes;
      } else if (may_launch && choice == 1) {
        launch(thread);
        ++kernels;
      } else if (has_to_close || (choice == 2 && open_.size() > outside && (open_.size() > 1 || scopes < events))) {
        if (open_.size() > outside) close(thread);
      }
    }
  }

  void close(std::uint32_t thread) {
    made_.scopes.push_back({{open_.back().begin, now_}, open_.back().path, thread});
    open_.pop_back();
  }

  std::uint32_t path_of(std::uint32_t parent, std::string const& name) {
    auto const [known, is_new] = paths_.try_emplace({parent, name}, static_cast<std::uint32_t>(made_.paths.size()));
    if (is_new) {
      made_.paths.push_back({parent, name, {}, "made.cpp", 1});
      made_.paths.back().is_step = name == "step";
    }
    return known->second;
  }

  /// The correlation is the position of the call in its step until all calls of the step are known.
  void launch(std::uint32_t thread) {
    profkit::interval const call{now_, now_ + std::chrono::nanoseconds{2000 + random_() % 1000}};
    now_ = call.end;
    std::uint64_t const correlation = made_.api_calls.size();
    made_.api_calls.push_back({call, correlation, 0, thread});
    std::uint32_t const stream = 2 * thread + static_cast<std::uint32_t>(random_() % 2);
    profkit::timestamp const begin = std::max(call.end + std::chrono::nanoseconds{1500 + random_() % 3000}, free_at_[stream]);
    free_at_[stream] = begin + std::chrono::nanoseconds{1000 + random_() % 4000};
    auto const name = static_cast<std::uint32_t>(random_() % name_count);
    made_.gpu_operations.push_back(
        {{begin, free_at_[stream]}, correlation, 0, name, 0, stream, {1, 1, 1}, {32, 1, 1}, profkit::gpu_operation_kind::kernel});
  }

  /// In the order of their beginnings on any thread, as CUPTI assigns them.
  void number_launches(std::size_t first_call, std::size_t first_operation) {
    std::vector<std::size_t> by_begin;
    for (std::size_t call = first_call; call < made_.api_calls.size(); ++call) by_begin.push_back(call);
    std::sort(by_begin.begin(), by_begin.end(),
              [&](std::size_t a, std::size_t b) { return made_.api_calls[a].time.begin < made_.api_calls[b].time.begin; });
    for (std::size_t const call : by_begin) made_.api_calls[call].correlation = ++correlation_;
    for (std::size_t each = first_operation; each < made_.gpu_operations.size(); ++each) {
      profkit::gpu_operation_record& operation = made_.gpu_operations[each];
      operation.correlation = made_.api_calls[static_cast<std::size_t>(operation.correlation)].correlation;
    }
  }

  profkit::profile made_;
  profkit::timestamp now_{std::chrono::seconds{1'790'000'000}};
  std::mt19937_64 random_{1};
  std::vector<open_scope> open_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> paths_;
  std::array<profkit::timestamp, 2 * thread_count> free_at_{};
  std::uint64_t correlation_ = 0;
};

}  // namespace bench
