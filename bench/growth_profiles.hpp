// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <profkit/impl/analyze/windows/window_stream.hpp>
#include <profkit/impl/profile/profile_follower.hpp>
#include <profkit/profile_builder.hpp>
#include <profkit/profkit.hpp>
#include <profkit/save_load.hpp>
#include <string>
#include <utility>
#include <vector>

#include "growth_costs.hpp"
#include "growth_sessions.hpp"

// Profiles with many of something that only exists with devices.
namespace bench::growth {

/// Numbers of the things in a made profile.
struct numbers {
  std::size_t steps = 20;
  std::size_t kernels = 2'000;  ///< in all steps, each with a call and a scope
  std::size_t scope_names = 10;
  std::size_t other_names = 0;  ///< of the scopes of step 5, which is of another kind; 0: as in the other steps
  std::size_t kernel_names = 10;
  std::size_t call_names = 2;
  std::size_t streams = 4;
  std::size_t devices = 1;
  std::size_t graph_nodes = 0;  ///< each kernel belongs to one of them
  std::size_t functions = 10;   ///< of host samples
  std::size_t samples = 0;
  std::size_t device_readings = 0;  ///< of clocks and utilization, in all steps
  std::size_t collectives = 0;      ///< each with a kernel
  std::size_t communicators = 1;
  std::size_t threads = 2;
  std::size_t gpu_scopes = 0;
  std::size_t work = 0;  ///< declared work of scopes
};

/// Steps of a loop with kernels on some streams, one after another.
class profile_maker {
 public:
  explicit profile_maker(numbers const& wanted) : wanted_{wanted} {
    make_tables();
    for (std::size_t step = 0; step < wanted.steps; ++step) make_step(step);
    made_.time = {made_.steps.front().time.begin, now_};
  }

  [[nodiscard]] profkit::profile take() { return std::move(made_); }

 private:
  static std::string numbered(char const* name, std::size_t number) { return name + std::to_string(number); }

  void make_tables() {
    made_.paths.push_back({profkit::path_record::no_parent, "step", {}, "made.cpp", 1});
    made_.paths.back().is_step = true;
    for (std::size_t i = 0; i < wanted_.scope_names + wanted_.other_names; ++i)
      made_.paths.push_back({0, numbered("scope", i), {}, "made.cpp", 2});
    for (std::size_t i = 0; i < wanted_.threads; ++i) made_.threads.push_back({100 + i, numbered("thread", i)});
    for (std::size_t i = 0; i < wanted_.kernel_names; ++i) made_.gpu_names.push_back({numbered("void kernel", i) + "<float, 4>(int)", {}});
    for (std::size_t i = 0; i < wanted_.call_names; ++i) made_.api_names.push_back(numbered("cuLaunchKernel_v", i));
    for (std::size_t i = 0; i < wanted_.graph_nodes; ++i)
      made_.graph_nodes.push_back({i + 1, static_cast<std::uint32_t>(1 + i % wanted_.scope_names)});
    for (std::size_t i = 0; i < wanted_.functions; ++i) made_.functions.push_back({numbered("function", i), "program", {}, {}, 0});
    for (std::size_t i = 0; i < wanted_.communicators; ++i) made_.communicators.push_back({i + 1, numbered("group", i), 0, 8});
    made_.collective_words = {"", "AllReduce"};
    made_.collectors = {{"kernels", "collected", {}, profkit::collector_kind::kernels}};
    if (wanted_.samples > 0) made_.sampling = profkit::sampling_record{"made", std::chrono::milliseconds{1}, 0, wanted_.threads, 0, {}};
  }

  void make_step(std::size_t step) {
    profkit::timestamp const begin = now_;
    for (std::size_t i = 0; i < share(wanted_.kernels, step); ++i) make_kernel(i);
    for (std::size_t i = 0; i < share(wanted_.samples, step); ++i) {
      std::size_t const number = samples_++;
      made_.samples.push_back({tick(), static_cast<std::uint32_t>(1 + number % wanted_.scope_names),
                               static_cast<std::uint32_t>(number % wanted_.functions), thread_of(number), 1'000'000});
    }
    made_.scopes.push_back({{begin, tick()}, 0, 0});
    made_.steps.push_back({{begin, now_}, step, false, 1});
    for (std::size_t i = 0; i < share(wanted_.device_readings, step); ++i) {
      auto const device = static_cast<std::int32_t>(i % wanted_.devices);
      made_.device_clocks.push_back({tick(), step, device, 1980, 1980, 0, 350'000, 61});
      made_.device_utilization.push_back({{begin, now_}, step, device, {}});
      made_.device_utilization.back().values = {99'000U, 90'500U, 40'000U, 61'000U};
      made_.gpu_steps.push_back({step, device, std::chrono::milliseconds{1}});
    }
    now_ += std::chrono::microseconds{50};
  }

  void make_kernel(std::size_t in_step) {
    std::size_t const number = kernels_++;
    bool const is_other = made_.steps.size() == 5 && wanted_.other_names > 0;
    auto const path =
        static_cast<std::uint32_t>(is_other ? 1 + wanted_.scope_names + number % wanted_.other_names : 1 + number % wanted_.scope_names);
    std::uint32_t const thread = thread_of(in_step);
    profkit::timestamp const begin = tick();
    profkit::interval const call{tick(), tick()};
    profkit::interval const time{tick(), tick()};
    made_.api_calls.push_back({call, number + 1, static_cast<std::uint32_t>(number % wanted_.call_names), thread});
    profkit::gpu_operation_record kernel;
    kernel.time = time;
    kernel.correlation = number + 1;
    kernel.name = static_cast<std::uint32_t>(number % wanted_.kernel_names);
    kernel.device = static_cast<std::int32_t>(number % wanted_.devices);
    kernel.stream = static_cast<std::uint32_t>(7 + number % wanted_.streams);
    kernel.graph_node = wanted_.graph_nodes == 0 ? 0 : 1 + number % wanted_.graph_nodes;
    made_.gpu_operations.push_back(kernel);
    profkit::timestamp const end = tick();
    if (made_.collectives.size() < wanted_.collectives) {
      profkit::collective_record one;
      one.time = {begin, begin};
      one.sequence = made_.collectives.size() / wanted_.communicators;
      one.communicator = static_cast<std::uint32_t>(made_.collectives.size() % wanted_.communicators);
      one.correlation = number + 1;
      one.function = 1;
      one.path = path;
      one.thread = thread;
      made_.collectives.push_back(one);
    }
    if (made_.gpu_scopes.size() < wanted_.gpu_scopes) made_.gpu_scopes.push_back({path, begin, kernel.device, time.duration()});
    if (made_.work.size() < wanted_.work) made_.work.push_back({begin, path, {1e9, 1e6}});
    made_.scopes.push_back({{begin, end}, path, thread});
  }

  [[nodiscard]] std::size_t share(std::size_t all, std::size_t step) const {
    return all * (step + 1) / wanted_.steps - all * step / wanted_.steps;
  }
  [[nodiscard]] std::uint32_t thread_of(std::size_t number) const { return static_cast<std::uint32_t>(number % wanted_.threads); }
  profkit::timestamp tick() { return now_ += std::chrono::microseconds{1}; }

  numbers wanted_;
  profkit::profile made_;
  profkit::timestamp now_{std::chrono::seconds{1'790'000'000}};
  std::size_t kernels_ = 0;
  std::size_t samples_ = 0;
};

/// Hands the records of a profile to a builder, in the order of time, as a session's thread does.
class replay {
 public:
  replay(profkit::profile const& from, profkit::profile_builder& to) : from_{from}, to_{to} {
    for (auto const& each : from.paths) to.position_of(each);
    for (auto const& each : from.threads) to.add(each);
    for (auto const& each : from.gpu_names) to.position_of(each);
    for (auto const& each : from.api_names) to.position_of_api_name(each);
    for (auto const& each : from.functions) to.position_of(each);
    for (auto const& each : from.communicators) to.position_of(each);
    for (auto const& each : from.collective_words) to.position_of_collective_word(each);
    to.set(&profkit::profile::collectors, from.collectors);
    to.set(&profkit::profile::sampling, from.sampling);
    to.set(&profkit::profile::time, from.time);
  }

  /// Adds the records up to the end of a step.
  void add_until(profkit::timestamp end) {
    add(from_.api_calls, [&](auto const& each) { return each.time.end <= end; });
    add(from_.gpu_operations, [&](auto const& each) { return each.time.end <= end; });
    std::size_t const launched = next_[&from_.gpu_operations];
    add(from_.graph_nodes, [&](auto const& each) { return each.node <= launched; });  // a program that captures all the time
    add(from_.gpu_scopes, [&](auto const& each) { return each.begin <= end; });
    add(from_.work, [&](auto const& each) { return each.begin <= end; });
    add(from_.samples, [&](auto const& each) { return each.time <= end; });
    add(from_.collectives, [&](auto const& each) { return each.time.end <= end; });
    add(from_.scopes, [&](auto const& each) { return each.time.end <= end; });
    add(from_.steps, [&](auto const& each) { return each.time.end <= end; });
    add(from_.device_clocks, [&](auto const& each) { return from_.steps[each.step].time.end <= end; });
    add(from_.device_utilization, [&](auto const& each) { return from_.steps[each.step].time.end <= end; });
    add(from_.gpu_steps, [&](auto const& each) { return from_.steps[each.step].time.end <= end; });
  }

 private:
  template <class Record, class IsNow>
  void add(profkit::detail::own_vector<Record> const& list, IsNow const& is_now) {
    std::size_t& next = next_[static_cast<void const*>(&list)];
    for (; next < list.size() && is_now(list[next]); ++next) to_.add(list[next]);
  }

  profkit::profile const& from_;
  profkit::profile_builder& to_;
  std::map<void const*, std::size_t> next_;
};

inline costs costs_of_profile(profkit::profile made, std::string const& folder) {
  costs result;
  profkit::profile_builder builder;
  builder.bound_records(0);
  builder.collect_rest(0);
  profkit::detail::window_stream stream;
  std::optional<replay> records;
  result.measure(phase::recording, [&] { records.emplace(made, builder); });
  for (profkit::step_record const& step : made.steps) {
    result.measure(phase::recording, [&] { records->add_until(step.time.end); });
    result.measure(phase::draining, [&] {
      if (!stream.is_due(builder)) return;
      stream.take(builder);
      profkit::detail::arrival until;
      until.logs_until = step.time.end;
      until.has_steps = true;
      stream.add_complete(until);
    });
  }
  result.measure(phase::draining, [&] {
    stream.take(builder);
    stream.add_rest(true);
    if (stream.sums().finish().steps.host.count == 0) std::abort();
  });
  std::optional<profkit::report> whole;
  auto const content = std::make_shared<profkit::profile const>(std::move(made));
  result.measure(phase::report, [&] { whole.emplace(content); });
  write_report(*whole, folder, result);
  return result;
}

inline costs costs_of(numbers const& wanted, std::string const& folder) { return costs_of_profile(profile_maker{wanted}.take(), folder); }

inline costs many_kernels(std::size_t n, std::string const& folder) {
  numbers wanted;
  wanted.kernels = n;
  return costs_of(wanted, folder);
}

inline costs many_kernel_names(std::size_t n, std::string const& folder) {
  numbers wanted;
  wanted.kernels = 2 * n;
  wanted.kernel_names = n;
  return costs_of(wanted, folder);
}

/// Each scope launches kernels of its own name.
inline costs many_launching_scopes(std::size_t n, std::string const& folder) {
  numbers wanted;
  wanted.kernels = 2 * n;
  wanted.kernel_names = n;
  wanted.scope_names = n;
  wanted.gpu_scopes = 2 * n;
  wanted.work = 2 * n;
  return costs_of(wanted, folder);
}

/// Two kinds of steps with many launching parts each.
inline costs many_launching_parts(std::size_t n, std::string const& folder) {
  numbers wanted;
  wanted.kernels = 60 * n;
  wanted.scope_names = n;
  wanted.other_names = n;
  wanted.kernel_names = n;
  wanted.threads = 1;
  return costs_of(wanted, folder);
}

inline costs many_call_names(std::size_t n, std::string const& folder) {
  numbers wanted;
  wanted.kernels = 2 * n;
  wanted.call_names = n;
  return costs_of(wanted, folder);
}

inline costs many_streams(std::size_t n, std::string const& folder) {
  numbers wanted;
  wanted.kernels = 2 * n;
  wanted.streams = n;
  return costs_of(wanted, folder);
}

inline costs many_devices(std::size_t n, std::string const& folder) {
  numbers wanted;
  wanted.kernels = 2 * n;
  wanted.devices = n;
  wanted.device_readings = 20 * n;
  return costs_of(wanted, folder);
}

inline costs many_device_readings(std::size_t n, std::string const& folder) {
  numbers wanted;
  wanted.steps = n / 4;
  wanted.kernels = n;
  wanted.device_readings = n;
  wanted.devices = 4;
  return costs_of(wanted, folder);
}

inline costs many_graph_nodes(std::size_t n, std::string const& folder) {
  numbers wanted;
  wanted.kernels = 2 * n;
  wanted.graph_nodes = n;
  return costs_of(wanted, folder);
}

inline costs many_sampled_functions(std::size_t n, std::string const& folder) {
  numbers wanted;
  wanted.samples = 2 * n;
  wanted.functions = n;
  return costs_of(wanted, folder);
}

inline costs many_host_samples(std::size_t n, std::string const& folder) {
  numbers wanted;
  wanted.samples = n;
  return costs_of(wanted, folder);
}

inline costs many_nccl_collectives(std::size_t n, std::string const& folder) {
  numbers wanted;
  wanted.kernels = n;
  wanted.collectives = n;
  return costs_of(wanted, folder);
}

inline costs many_nccl_communicators(std::size_t n, std::string const& folder) {
  numbers wanted;
  wanted.kernels = 2 * n;
  wanted.collectives = 2 * n;
  wanted.communicators = n;
  return costs_of(wanted, folder);
}

inline costs many_launching_threads(std::size_t n, std::string const& folder) {
  numbers wanted;
  wanted.kernels = 20 * n;
  wanted.threads = n;
  wanted.samples = n;
  return costs_of(wanted, folder);
}

inline costs many_gpu_steps(std::size_t n, std::string const& folder) {
  numbers wanted;
  wanted.steps = n;
  wanted.kernels = 2 * n;
  return costs_of(wanted, folder);
}

}  // namespace bench::growth
