// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "../profile/own_memory.hpp"
#include "../profile/profile_builder.hpp"
#include "collector.hpp"
#include "cuda_environment.hpp"
#include "cupti_code.hpp"
#include "cupti_options.hpp"
#include "cupti_placement.hpp"
#include "cupti_tracing.hpp"
#include "scope_node_paths.hpp"

namespace profkit::detail {

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

template <class Unused>
std::unique_ptr<collector> cupti_code<Unused>::collect_kernels(kernel_options const& wanted) {
  return std::make_unique<cupti_collection>(wanted);
}

}  // namespace profkit::detail
