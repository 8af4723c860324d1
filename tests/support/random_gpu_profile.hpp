// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/profile.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

/// A profile of randomly nested scopes on several threads, with launches inside and outside them, and their known attribution.
struct random_gpu_profile {
  profkit::profile profile;
  std::vector<std::uint32_t> scope_of;   ///< by operation, as in `attribution`
  std::vector<std::uint32_t> parent_of;  ///< by scope
};

namespace made {

class random_walk {
 public:
  random_walk(random_gpu_profile& into, std::mt19937_64& random) : into_{into}, random_{random} {}

  void operator()(std::uint32_t thread, int events) {
    now_ = profkit::timestamp{std::chrono::seconds{1'790'000'000}};
    for (int i = 0; i < events; ++i) {
      std::uint64_t const choice = random_() % 8;
      if (choice < 3 && open_.size() < 7) {
        bool const is_root = open_.empty() || random_() % 20 == 0;  // a step is the root of a new tree
        open_.push_back({path_in(is_root ? profkit::path_record::no_parent : open_.back().path), tick(), {}, {}, is_root});
      } else if (choice < 6 && !open_.empty()) {
        close(thread);
      } else {
        launch(thread);
      }
    }
    while (!open_.empty()) close(thread);
  }

 private:
  struct open_scope {
    std::uint32_t path;
    profkit::timestamp begin;
    std::vector<std::uint32_t> operations;
    std::vector<std::uint32_t> children;
    bool is_root;
  };

  profkit::timestamp tick() { return now_ += std::chrono::nanoseconds{1 + random_() % 50}; }

  std::uint32_t path_in(std::uint32_t parent) {
    profkit::detail::own_vector<profkit::path_record>& paths = into_.profile.paths;
    std::string const name(1, static_cast<char>('a' + random_() % 3));
    auto const known =
        std::find_if(paths.begin(), paths.end(), [&](auto const& each) { return each.parent == parent && each.name == name; });
    auto const position = static_cast<std::uint32_t>(known - paths.begin());
    if (known == paths.end()) paths.push_back({parent, name, {}, "made.cpp", 1});
    return position;
  }

  void close(std::uint32_t thread) {
    auto const scope = static_cast<std::uint32_t>(into_.profile.scopes.size());
    into_.profile.scopes.push_back({{open_.back().begin, tick()}, open_.back().path, thread});
    into_.parent_of.push_back(profkit::attribution::none);
    for (std::uint32_t const operation : open_.back().operations) into_.scope_of[operation] = scope;
    for (std::uint32_t const child : open_.back().children) into_.parent_of[child] = scope;
    bool const is_root = open_.back().is_root;
    open_.pop_back();
    if (!is_root) open_.back().children.push_back(scope);
  }

  void launch(std::uint32_t thread) {
    profkit::interval call{tick(), {}};
    call.end = tick();
    into_.profile.api_calls.push_back({call, ++correlation_, 0, thread});
    for (std::uint64_t operations = random_() % 10 == 0 ? 3 : 1; operations > 0; --operations) {  // three for a graph
      profkit::gpu_operation_record operation;
      operation.time.begin = call.begin + std::chrono::nanoseconds{random_() % 3000};
      operation.time.end = operation.time.begin + std::chrono::nanoseconds{random_() % 400};
      operation.correlation = correlation_;
      operation.name = static_cast<std::uint32_t>(random_() % 5);
      operation.kind = operation.name == 4 ? profkit::gpu_operation_kind::copy : profkit::gpu_operation_kind::kernel;
      if (!open_.empty()) open_.back().operations.push_back(static_cast<std::uint32_t>(into_.profile.gpu_operations.size()));
      into_.profile.gpu_operations.push_back(operation);
      into_.scope_of.push_back(profkit::attribution::none);
    }
  }

  random_gpu_profile& into_;
  std::mt19937_64& random_;
  profkit::timestamp now_;
  std::vector<open_scope> open_;
  std::uint64_t correlation_ = 0;
};

}  // namespace made

/// @param seed equal seeds create equal profiles.
/// @param events number of events of each of three threads.
inline random_gpu_profile make_random_gpu_profile(std::uint64_t seed, int events) {
  random_gpu_profile result;
  result.profile.threads = {{100, "a"}, {101, "b"}, {102, "c"}};
  result.profile.gpu_names = {{"gemm", {}},
                              {"softmax", {}},
                              {"reduce_kernel", {}},
                              {"unknown", {}},
                              {"[CUDA memcpy Device-to-Host]", {}, profkit::copy_direction::device_to_host}};
  result.profile.api_names = {"cudaLaunchKernel_v7000"};
  result.profile.collectors = {{"kernels", "collected", {}, profkit::collector_kind::kernels}};
  std::mt19937_64 random{seed};
  made::random_walk walk{result, random};
  for (std::uint32_t thread = 0; thread < 3; ++thread) walk(thread, events);
  return result;
}
