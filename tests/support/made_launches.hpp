// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/analyze.hpp>

#include <cstdint>
#include <string>

#include "made_profile.hpp"

/// Records with times in ms.
struct made_launches {
  profkit::profile profile;

  made_launches() {
    profile.threads = {{100, "main"}, {101, "engine"}};
    profile.gpu_names = {{"gemm", {}}};
    profile.api_names = {"cudaLaunchKernel_v7000"};
    profile.collectors = {{"kernels", "collected", {}, profkit::collector_kind::kernels}};
  }

  std::uint32_t path(std::uint32_t parent, char const* name) {
    profile.paths.push_back({parent, name, {}, "made.cpp", 1});
    profile.paths.back().is_step = parent == profkit::path_record::no_parent && profile.paths.back().name == "step";
    return static_cast<std::uint32_t>(profile.paths.size() - 1);
  }
  std::uint32_t adopting(std::uint32_t parent, std::uint32_t from, char const* role) {
    profile.paths.push_back({parent, "of " + std::to_string(from) + " (" + role + ")", {}, "made.cpp", 2, from, role});
    return static_cast<std::uint32_t>(profile.paths.size() - 1);
  }
  void step(double from, double to, bool is_warmup = false) {
    profile.steps.push_back({{at_ms(from), at_ms(to)}, profile.steps.size(), is_warmup, 1});
  }
  void scope(std::uint32_t path, std::uint32_t thread, double from, double to) {
    profile.scopes.push_back({{at_ms(from), at_ms(to)}, path, thread});
  }
  void call(std::uint64_t correlation, std::uint32_t thread, double from, double to) {
    profile.api_calls.push_back({{at_ms(from), at_ms(to)}, correlation, 0, thread});
  }
  void operation(std::uint64_t correlation, double from, double to) {
    profkit::gpu_operation_record& each = profile.gpu_operations.emplace_back();
    each.time = {at_ms(from), at_ms(to)};
    each.correlation = correlation;
  }
  /// A kernel that runs from `from` to `to`, launched at `at`.
  void kernel(std::uint32_t thread, double at, double from, double to) {
    call(profile.api_calls.size() + 1, thread, at, at + 0.01);
    operation(profile.api_calls.size(), from, to);
  }
};
