// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "../../collector.hpp"
#include "../../cupti.hpp"
#include "../../profile_builder.hpp"
#include "../../time.hpp"
#include "../profile/own_containers.hpp"
#include "../profile/own_memory.hpp"
#include "../record/calendar_clock.hpp"
#include "cuda_driver.hpp"
#include "cupti_tracing.hpp"
#include "scope_node_paths.hpp"

namespace profkit::detail {

/// Converts times of CUPTI records (CLOCK_REALTIME) to the clock of the session. If CLOCK_REALTIME was set back, one value can mean several
/// moments, and the earliest possible one is chosen. An operation cannot begin before its launch, and a call cannot end before the previous
/// call of its thread.
class cupti_placement {
 public:
  explicit cupti_placement(calendar_clock const& clock) noexcept : clock_{clock} {}

  /// To be called before operations are recorded.
  void begin() noexcept { began_ = clock_.now(); }

  /// To be called after records were read and before their times are checked.
  void look() noexcept { now_ = clock_.now(); }

  /// @param call calls of one thread must be passed in the order of their ends.
  void place(api_call_record& call) {
    if (clock_.changes() == 0) return place_all(call.time);
    timestamp& latest = latest_ends_[call.thread];
    timestamp const end = first_from(latest, clock_.may_be(call.time.end));
    call.time = {last_until(end, clock_.may_be(call.time.begin)), end};
    latest = end;
  }

  /// @param known contains the launch of the operation, if it was recorded.
  void place(gpu_operation_record& operation, profile_builder& known) {
    if (clock_.changes() == 0) return place_all(operation.time);
    own_vector<timestamp> const begins = clock_.may_be(operation.time.begin);
    std::optional<timestamp> const launch = known.launch_time(operation.correlation);
    if (begins.size() > 1 && !launch) known.count(&quality_record::uncertain_operations);
    timestamp const begin = first_from(launch.value_or(timestamp{}) - clock_error, begins);
    operation.time = {begin, first_from(begin, clock_.may_be(operation.time.end))};
  }

  /// Whether a placed call can have this time.
  [[nodiscard]] bool is_possible(api_call_record const& call) const noexcept { return is_possible(call.time); }

  /// Whether a placed operation can have this time. CUPTI has reported operations that began before their launches, at the beginning of the
  /// epoch, and in other centuries.
  [[nodiscard]] bool is_possible(gpu_operation_record const& operation, profile_builder const& known) const noexcept {
    std::optional<timestamp> const launch = known.launch_time(operation.correlation);
    return is_possible(operation.time) && (!launch || operation.time.begin >= *launch - clock_error);
  }

 private:
  [[nodiscard]] bool is_possible(interval const& time) const noexcept {
    return time.begin <= time.end && time.begin >= began_ - clock_error && time.end <= now_ + clock_error;
  }

  /// An operation may appear to begin this much before its launch, because CUPTI interpolates times.
  static constexpr std::chrono::nanoseconds clock_error{calendar_clock::min_change_ns};

  void place_all(interval& time) const noexcept { time = {clock_.at_calendar(time.begin), clock_.at_calendar(time.end)}; }

  static timestamp first_from(timestamp earliest, own_vector<timestamp> const& moments) {
    for (timestamp const each : moments) {
      if (each >= earliest) return each;
    }
    return moments.back();
  }

  static timestamp last_until(timestamp latest, own_vector<timestamp> const& moments) {
    for (auto each = moments.rbegin(); each != moments.rend(); ++each) {
      if (*each <= latest) return *each;
    }
    return moments.front();
  }

  calendar_clock const& clock_;
  timestamp began_ = timestamp::min() + clock_error;
  timestamp now_ = timestamp::max() - clock_error;
  own_hash_map<std::uint32_t, timestamp> latest_ends_;  ///< the end of the latest call of each thread
};

/// The implementation of `cupti_kernels`.
class cupti_collection final : public collector {
 public:
  explicit cupti_collection(kernel_options const& options) noexcept : options_{options} {}

  [[nodiscard]] std::string_view name() const noexcept override { return "kernels"; }
  [[nodiscard]] collector_kind kind() const noexcept override { return collector_kind::kernels; }

  void use_clock(calendar_clock& clock) override {
    clock_ = &clock;
    placement_.emplace(clock);
  }

  /// Opens CUPTI and starts collecting.
  /// @throws profkit::error that says why kernels cannot be collected: no driver, no libcupti, a libcupti that is too old, another tool,
  /// ...
  void start(profile_builder& into) override {
    if (tracing_) return;
    placement_->begin();
    auto tracing = std::make_unique<cupti_tracing>(options_.all_api_calls);
    if (into.environment().gpu.empty()) static_cast<void>(describe_cuda(into.environment()));
    into.set(&profile::has_all_api_calls, options_.all_api_calls);
    into.position_of(allocator_record{cupti_allocations::name, used_device_memory(), false});
    tracing_ = std::move(tracing);
  }

  /// Starts or stops collecting for this step (`kernels=every:N`).
  void prepare_step(step_record const& step) override {
    if (tracing_) tracing_->record(step.has_kernels);
  }

  /// Adds complete records to the profile. The last call synchronises the devices.
  void drain(profile_builder& into, bool last) override {
    if (!tracing_) return;
    if (last) tracing_->finish();
    take_batch(into);
    take_graph_nodes(into, last);
    if (last) into.count(&quality_record::dropped_operations, tracing_->dropped());
  }

  /// Requests buffers with complete records, which CUPTI would keep until they are full. They are read before the next `drain`.
  void flush() override {
    if (tracing_) tracing_->flush();
  }

  /// Releases CUPTI.
  void stop() override { tracing_.reset(); }

 private:
  void take_batch(profile_builder& into) {
    tracing_->take(batch_);
    for (gpu_name_record& name : batch_.new_gpu_names) gpu_names_.push_back(into.position_of(std::move(name)));
    for (std::string const& name : batch_.new_api_names) api_names_.push_back(into.position_of_api_name(name));
    clock_->look();
    placement_->look();
    std::uint64_t invalid = batch_.invalid;
    for (api_call_record& call : batch_.calls) {  // before the operations, because their times depend on their launches
      call.correlation = into.extended_correlation(static_cast<std::uint32_t>(call.correlation));
      call.name = api_names_[call.name];
      call.thread = thread_of(call.thread, into);
      placement_->place(call);
      invalid += add_if(placement_->is_possible(call), call, into);
    }
    for (gpu_operation_record& operation : batch_.operations) {
      operation.correlation = into.extended_correlation(static_cast<std::uint32_t>(operation.correlation));
      operation.name = gpu_names_[operation.name];
      placement_->place(operation, into);
      invalid += add_if(placement_->is_possible(operation, into), operation, into);
    }
    into.count(&quality_record::invalid_operations, invalid);
  }

  /// @return 1 if the record is not valid.
  template <class Record>
  static std::uint64_t add_if(bool is_valid, Record const& record, profile_builder& into) {
    if (is_valid) into.add(record);
    return is_valid ? 0 : 1;
  }

  void take_graph_nodes(profile_builder& into, bool last) {
    for (auto const& [node, scope] : tracing_->take_graph_nodes(last))
      into.add(graph_node_record{node, scope ? paths_.path_of(*scope.node(), into) : path_record::no_parent});
  }

  /// The position of a thread; adds the thread if it has no scopes.
  static std::uint32_t thread_of(std::uint32_t system_id, profile_builder& into) {
    auto const known = into.find_thread(system_id);
    return known ? *known : into.add(thread_record{system_id, name_of_thread(system_id)});
  }

  /// The name of a thread; empty if it has ended.
  static std::string name_of_thread(std::uint32_t system_id) {
    std::ifstream file{"/proc/self/task/" + std::to_string(system_id) + "/comm"};
    std::string name;
    std::getline(file, name);
    return name;
  }

  kernel_options options_;
  calendar_clock* clock_ = nullptr;
  std::optional<cupti_placement> placement_;
  std::unique_ptr<cupti_tracing> tracing_;
  cupti_batch batch_;  ///< a member, so that its memory is reused
  scope_node_paths paths_;
  own_vector<std::uint32_t> gpu_names_;  ///< positions in `profile::gpu_names`, by the reader's numbers
  own_vector<std::uint32_t> api_names_;
};

[[gnu::used]] inline std::unique_ptr<collector> collect_kernels(kernel_options const& wanted) {
  return std::make_unique<cupti_collection>(wanted);
}

}  // namespace profkit::detail
