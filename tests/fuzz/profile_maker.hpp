// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fuzzer/FuzzedDataProvider.h>
#include <profkit/profile.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

/// Creates a profile from the input: names and numbers are arbitrary, positions are inside their lists, and nothing ends before it begins.
class profile_maker {
 public:
  explicit profile_maker(FuzzedDataProvider& from) : from_{from} {}

  profkit::profile make() {
    profkit::profile made;
    made.environment = {text(), text(), text(), text(), list<std::string>([&] { return text(); }), number(), {}};
    if (from_.ConsumeBool()) made.environment.host_speed = profkit::host_speed_record{duration(), duration(), maybe(share())};
    if (from_.ConsumeBool()) {
      auto const rank = from_.ConsumeIntegralInRange<std::uint32_t>(0, 8);
      made.environment.rank = profkit::rank_record{rank, rank + 1, maybe(rank), from_.ConsumeIntegral<std::uint32_t>(), text()};
      made.environment.boot_id = text();
      made.environment.clock_offset_ns = ns();
    }
    made.item_name = text();
    made.time = time();
    made.has_all_api_calls = from_.ConsumeBool();
    made.precision = arithmetic();
    put_names(made);
    put_scopes(made);
    put_gpu(made);
    put_memory(made);
    put_collectives(made);
    put_samples(made);
    made.collectors = list<profkit::collector_record>([&] {
      return profkit::collector_record{collector_name(), status(), text(), one_of<profkit::collector_kind>(3)};
    });
    made.quality = {number(), number(),   number(),
                    number(), number(),   number(),
                    number(), number(),   number(),
                    number(), duration(), duration(),
                    text(),   duration(), number(),
                    number(), number(),   number(),
                    number(), number(),   list<profkit::wrong_end_record>([&] { return profkit::wrong_end_record{text(), number()}; }),
                    number(), text(),     std::nullopt};
    if (from_.ConsumeBool()) {
      made.quality.snapshot = profkit::snapshot_record{from_.ConsumeBool(), from_.ConsumeBool(), number(), number()};
    }
    if (from_.ConsumeBool()) made.stop = profkit::stop_record{real(), maybe(real()), from_.ConsumeBool(), number()};
    return made;
  }

 private:
  static constexpr std::size_t most = 12;  // index into a list
  static constexpr std::size_t max_text = 24;

  template <class T, class Make>
  std::vector<T> list(Make make) {
    std::vector<T> made;
    for (std::size_t left = from_.ConsumeIntegralInRange<std::size_t>(0, most); left > 0; --left) made.push_back(make());
    return made;
  }

  template <class T>
  std::optional<T> maybe(T value) {
    return from_.ConsumeBool() ? std::optional<T>{value} : std::nullopt;
  }

  std::string text() { return from_.ConsumeRandomLengthString(max_text); }
  /// @param last the largest value of the enum.
  template <class Enum>
  Enum one_of(std::uint8_t last) {
    return static_cast<Enum>(from_.ConsumeIntegralInRange<std::uint8_t>(0, last));
  }
  std::string status() { return from_.ConsumeBool() ? "collected" : text(); }
  std::string collector_name() { return from_.ConsumeBool() ? "kernels" : text(); }
  double real() { return from_.ConsumeBool() ? from_.ConsumeFloatingPoint<double>() : odd_real(); }
  double odd_real() {
    using limits = std::numeric_limits<double>;
    return from_.PickValueInArray({limits::quiet_NaN(), limits::infinity(), -limits::infinity(), -0.0, limits::denorm_min()});
  }
  double share() { return from_.ConsumeFloatingPointInRange(0.0, 1.0); }
  double amount() { return from_.ConsumeFloatingPointInRange(0.0, std::numeric_limits<double>::max()); }

  /// Mostly small numbers, so that equal ones occur.
  std::uint64_t number() { return from_.ConsumeBool() ? from_.ConsumeIntegral<std::uint8_t>() : from_.ConsumeIntegral<std::uint64_t>(); }
  std::int32_t device() { return from_.ConsumeBool() ? from_.ConsumeIntegralInRange(0, 1) : from_.ConsumeIntegral<std::int32_t>(); }
  profkit::precision arithmetic() { return static_cast<profkit::precision>(from_.ConsumeIntegralInRange(0, 6)); }

  std::int64_t ns() {
    return from_.ConsumeBool() ? from_.ConsumeIntegral<std::uint16_t>()
                               : from_.ConsumeIntegralInRange<std::int64_t>(0, std::numeric_limits<std::int64_t>::max());
  }
  std::chrono::nanoseconds duration() { return std::chrono::nanoseconds{ns()}; }
  profkit::timestamp moment() { return profkit::timestamp{duration()}; }
  profkit::interval time() {
    std::int64_t const begin = ns();
    std::int64_t const length = ns();
    std::int64_t const longest = std::numeric_limits<std::int64_t>::max() - begin;
    return {profkit::timestamp{std::chrono::nanoseconds{begin}},
            profkit::timestamp{std::chrono::nanoseconds{begin + (length < longest ? length : longest)}}};
  }

  template <class List>
  std::uint32_t position_in(List const& list) {
    return static_cast<std::uint32_t>(from_.ConsumeIntegralInRange<std::size_t>(0, list.size() - 1));
  }
  /// Index of one of the first `count` elements, or none.
  std::uint32_t path_before(std::size_t count) {
    auto const path = static_cast<std::uint32_t>(from_.ConsumeIntegralInRange<std::size_t>(0, count));
    return path == count ? profkit::path_record::no_parent : path;
  }

  /// Each list has at least one element.
  void put_names(profkit::profile& made) {
    do {
      std::size_t const before = made.paths.size();
      made.paths.push_back({path_before(before), from_.ConsumeBool() ? "step" : text(), maybe(from_.ConsumeIntegral<std::int64_t>()),
                            text(), from_.ConsumeIntegral<std::uint32_t>(), path_before(before),
                            from_.ConsumeBool() ? "backward" : text()});
    } while (made.paths.size() < most && from_.ConsumeBool());
    if (from_.ConsumeBool()) made.paths.front().is_step = true;  // a root, because there is no earlier path
    do {
      made.threads.push_back({number(), text(), path_before(made.paths.size())});
    } while (made.threads.size() < 3 && from_.ConsumeBool());
    do {
      made.gpu_names.push_back({text(), text(), one_of<profkit::copy_direction>(10)});
      made.api_names.push_back(text());
      made.counter_names.push_back(text());
    } while (made.gpu_names.size() < 4 && from_.ConsumeBool());
  }

  void put_scopes(profkit::profile& made) {
    made.scopes = list<profkit::scope_record>([&] {
      return profkit::scope_record{time(), position_in(made.paths), position_in(made.threads)};
    });
    made.steps = list<profkit::step_record>([&] {
      return profkit::step_record{time(), number(), from_.ConsumeBool(), number(), amount(), from_.ConsumeBool(), from_.ConsumeBool()};
    });
    made.counters = list<profkit::counter_record>([&] {
      return profkit::counter_record{moment(), real(), position_in(made.counter_names), position_in(made.threads)};
    });
    made.work = list<profkit::work_record>([&] {
      return profkit::work_record{
          moment(), position_in(made.paths), {amount(), amount(), arithmetic(), from_.ConsumeFloatingPointInRange(0.0F, 8.0F)}};
    });
  }

  void put_gpu(profkit::profile& made) {
    made.gpu_scopes = list<profkit::gpu_scope_record>([&] {
      return profkit::gpu_scope_record{position_in(made.paths), moment(), device(), duration()};
    });
    made.gpu_steps = list<profkit::gpu_step_record>([&] { return profkit::gpu_step_record{number(), device(), duration()}; });
    made.launch_shapes = list<profkit::launch_shape_record>([&] {
      auto const any = [&] { return from_.ConsumeIntegral<std::uint32_t>(); };
      return profkit::launch_shape_record{
          device(), any(), any(), any(), any(), any(), any(), any(), any(), any(), from_.ConsumeIntegral<std::uint8_t>()};
    });
    made.gpu_operations = list<profkit::gpu_operation_record>([&] {
      return profkit::gpu_operation_record{
          time(),
          number(),
          number(),
          position_in(made.gpu_names),
          device(),
          from_.ConsumeIntegral<std::uint32_t>(),
          {1, 2, from_.ConsumeIntegral<std::uint32_t>()},
          {3, 4, from_.ConsumeIntegral<std::uint32_t>()},
          static_cast<profkit::gpu_operation_kind>(from_.ConsumeIntegralInRange(0, 2)),
          from_.ConsumeIntegralInRange<std::uint16_t>(0, static_cast<std::uint16_t>(made.launch_shapes.size())),
          number()};
    });
    made.graph_nodes = list<profkit::graph_node_record>([&] {
      return profkit::graph_node_record{number(), path_before(made.paths.size())};
    });
    if (!made.paths.empty()) {
      made.replayed_scopes = list<profkit::replayed_scope_record>([&] {
        return profkit::replayed_scope_record{position_in(made.paths), position_in(made.paths), position_in(made.paths)};
      });
    }
    made.api_calls = list<profkit::api_call_record>([&] {
      return profkit::api_call_record{time(), number(), position_in(made.api_names), position_in(made.threads)};
    });
    made.device_clocks = list<profkit::device_clock_record>([&] {
      auto const any = [&] { return from_.ConsumeIntegral<std::uint32_t>(); };
      return profkit::device_clock_record{moment(), number(), device(), any(), any(), number(), maybe(any()), maybe(any())};
    });
    made.device_utilization = list<profkit::device_utilization_record>([&] {
      profkit::device_utilization_record result{time(), number(), device(), {}};
      for (auto& value : result.values) value = maybe(from_.ConsumeIntegral<std::uint32_t>());
      return result;
    });
    made.energy_meters = list<profkit::energy_meter_record>([&] { return profkit::energy_meter_record{text(), device()}; });
    if (!made.energy_meters.empty()) {
      made.energy = list<profkit::energy_record>([&] {
        return profkit::energy_record{moment(),
                                      duration(),
                                      number(),
                                      number(),
                                      number(),
                                      number(),
                                      duration(),
                                      position_in(made.energy_meters),
                                      path_before(made.paths.size())};
      });
    }
    made.measured_roofs = list<profkit::measured_roof_record>([&] {
      return profkit::measured_roof_record{arithmetic(), real(), real(), text()};
    });
  }

  void put_collectives(profkit::profile& made) {
    made.communicators = list<profkit::communicator_record>([&] {
      auto const rank = from_.ConsumeIntegralInRange<std::uint32_t>(0, 8);
      return profkit::communicator_record{number(), text(), rank, from_.ConsumeBool() ? 0 : rank + 1};
    });
    made.collective_words = list<std::string>([&] { return text(); });
    if (made.communicators.empty() || made.collective_words.empty()) return;
    auto const word = [&] { return position_in(made.collective_words); };
    made.collectives = list<profkit::collective_record>([&] {
      return profkit::collective_record{time(),
                                        number(),
                                        number(),
                                        number(),
                                        position_in(made.communicators),
                                        word(),
                                        word(),
                                        word(),
                                        word(),
                                        path_before(made.paths.size()),
                                        position_in(made.threads),
                                        from_.ConsumeBool(),
                                        one_of<profkit::message_side>(2),
                                        from_.ConsumeIntegral<std::uint8_t>(),
                                        device(),
                                        moment()};
    });
  }

  void put_samples(profkit::profile& made) {
    made.functions = list<profkit::function_record>([&] {
      return profkit::function_record{text(), text(), text(), text(), from_.ConsumeIntegral<std::uint32_t>()};
    });
    if (from_.ConsumeBool()) {
      auto const interval = std::chrono::nanoseconds{from_.ConsumeIntegralInRange<std::int64_t>(1, 1'000'000'000)};
      made.sampling = profkit::sampling_record{text(), interval, number(), number(), number(), text(), text()};
    }
    if (made.functions.empty()) return;
    made.page_events = list<profkit::page_event_record>([&] {
      return profkit::page_event_record{time(), number(), position_in(made.functions), device(), one_of<profkit::page_event_kind>(4)};
    });
    made.samples = list<profkit::sample_record>([&] {
      return profkit::sample_record{moment(), path_before(made.paths.size()), position_in(made.functions), position_in(made.threads),
                                    from_.ConsumeIntegral<std::uint32_t>()};
    });
  }

  void put_memory(profkit::profile& made) {
    made.memory = list<profkit::memory_record>(
        [&] { return profkit::memory_record{text(), text(), number(), number(), maybe(number()), text(), maybe(number())}; });
    made.allocators = list<profkit::allocator_record>([&] { return profkit::allocator_record{text(), number(), from_.ConsumeBool()}; });
    if (made.allocators.empty()) return;
    made.allocations = list<profkit::allocation_record>([&] {
      return profkit::allocation_record{moment(),
                                        number(),
                                        number(),
                                        position_in(made.threads),
                                        static_cast<std::uint16_t>(position_in(made.allocators)),
                                        static_cast<profkit::allocation_kind>(from_.ConsumeIntegralInRange(0, 2))};
    });
  }

  FuzzedDataProvider& from_;
};
