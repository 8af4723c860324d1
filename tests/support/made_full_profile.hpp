// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "made_profile.hpp"

/// With an adopted scope and an operation of a graph.
inline profkit::profile profile_with_adopted_scope() {
  profkit::profile result = made_profile();
  result.paths.push_back({0, "forward/layer_0 (backward)", {}, "engine.cpp", 70, 2, "backward"});
  result.gpu_names = {{"gemm", {}}};
  result.gpu_operations.emplace_back().graph_node = 0x1'0000'0002U;
  result.graph_nodes = {{0x1'0000'0002U, static_cast<std::uint32_t>(result.paths.size() - 1)},
                        {0x1'0000'0003U, profkit::path_record::no_parent}};
  return result;
}

/// Also with memory, work, device clocks, measured roofs, a rank, collectives and samples.
inline profkit::profile profile_with_everything() {
  profkit::profile result = profile_with_adopted_scope();
  result.environment.host_use =
      profkit::host_use_record{std::chrono::seconds{2}, std::chrono::seconds{3}, std::chrono::seconds{1}, 5, 6, 7, 8, 4};
  result.environment.host_speed = profkit::host_speed_record{std::chrono::nanoseconds{104'000}, std::chrono::nanoseconds{105'500}, 0.125};
  result.precision = profkit::precision::bf16;
  result.steps[1].model_flops = 1.5e12;
  result.steps.push_back({{at_ms(330), at_ms(390)}, 3, false, 60, 0.0, true, true});
  result.allocators = {{"libtorch", 4096, false}, {"host", 1U << 20U, true}};
  result.allocations = {{at_ms(201), 0x7f00'0000'1000U, 512, 0, 0, profkit::allocation_kind::allocated},
                        {at_ms(202), 0, 2U << 20U, 1, 1, profkit::allocation_kind::usage},
                        {at_ms(203), 0x7f00'0000'1000U, 0, 1, 0, profkit::allocation_kind::released}};
  result.work = {{at_ms(201), 2, {1.0 / 3.0, 7e9, profkit::precision::fp8, 2.0F}}, {at_ms(301), 1, {0.0, 1.0}}};
  result.stop = profkit::stop_record{0.01, 0.0075, true, 500};
  result.device_clocks = {{at_ms(210), 1, 3, 1980, 1980, 0, 350'000, 61}, {at_ms(320), 2, 3, 1200, 1980, 0x20, {}, {}}};
  result.device_utilization = {{{at_ms(205), at_ms(215)}, 1, 3, {}}, {{at_ms(215), at_ms(320)}, 2, 3, {}}};
  result.device_utilization[0].values = {99'000U, 90'500U, 40'000U, 61'000U};
  result.device_utilization[1].values = {100'000U, 80'250U, {}, {}, {}, {}, {}, {}, {}, {}, {}, 23'125U, {}, 1U, 4'000'000'000U};
  result.environment.rank = profkit::rank_record{3, 8, 1, 2, "torchrun"};
  result.environment.boot_id = "0123abcd-0000-0000-0000-0123456789ab";
  result.environment.clock_offset_ns = 1'789'000'000'000'000'000;
  result.communicators = {{0xfeed'0000'0001U, "data parallel", 3, 8}, {0xfeed'0000'0002U, "", 0, 0}};
  result.collective_words = {"", "AllReduce", "ncclFloat32", "RING", "LL128"};
  result.collectives = {{{at_ms(205), at_ms(205)}, 17, 25U << 20U, 77, 0, 1, 2, 3, 4, 1, 0, false},
                        {{at_ms(206), at_ms(208)}, 18, 64, 0, 1, 1, 0, 0, 0, profkit::path_record::no_parent, 1, true}};
  result.functions = {{"layer::exp_loop", "program", "", "src/layer.cpp", 40}, {"", "libc.so.6", "load_batch"}};
  result.samples = {{at_ms(201), 1, 0, 0, 1'000'000}, {at_ms(202), profkit::path_record::no_parent, 1, 1, 900'000}};
  result.sampling = profkit::sampling_record{"perf_event_open, task clock", std::chrono::milliseconds{1}, 3, 2, 1, "EPERM"};
  result.launch_shapes = {{0, 132, 64, 256, 32, 1024, 2048, 16, 2, 8, profkit::launch_limit::warps}, {1, 0, 0, 128}};
  result.gpu_operations.back().shape = 1;
  result.gpu_operations.back().grid = {300, 2, 1};
  result.page_events = {{{at_ms(205), at_ms(206)}, 65'536, profkit::path_record::no_parent, 0, profkit::page_event_kind::to_device},
                        {{at_ms(207), at_ms(207)}, 1, 0, -1, profkit::page_event_kind::cpu_fault}};
  result.replayed_scopes = {{0, 1, 2}};
  result.energy_meters = {{"GPU 0", 0}, {"package-0", -1}};
  result.energy = {{at_ms(210), ns_of_ms(10), 1, 1, 60, 4'250'000, std::chrono::milliseconds{1}, 0},
                   {at_ms(320), ns_of_ms(20), 2, 0, 0, 1'200'000, std::chrono::milliseconds{2}, 1, 1},
                   {at_ms(320), ns_of_ms(30), 2, 2, 120, 1'500'000, std::chrono::milliseconds{2}, 1}};
  result.measured_roofs = {{profkit::precision::tf32, 4.1e14, 4.2e12, "matrix product 8192 x 8192 x 8192"}};
  return result;
}
