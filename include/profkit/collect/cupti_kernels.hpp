// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../profile/profile.hpp"
#include "../record/path_finder.hpp"
#include "../record/record_room.hpp"
#include "collector.hpp"
#include "cuda_environment.hpp"
#include "cupti_placement.hpp"
#include "cupti_tracing.hpp"

namespace profkit {

/// What `cupti_kernels` records beside kernels, copies and memsets.
struct kernel_options {
  /// Every call of the CUDA runtime and driver, not only those that launch operations: for `cuda_api_sum.csv`. A training step makes
  /// about 12 calls for each kernel, so this takes much more time and memory.
  bool all_api_calls = false;
};

/// Collects every kernel, copy and memset of every device, the calls of the driver that launched them or waited for a device, the
/// scopes in which the nodes of CUDA graphs were captured, and the memory that the program asks the driver for, with NVIDIA's CUPTI.
///
/// libcupti is opened when the session takes the collector: the copy that the process has loaded, else the one that the system finds,
/// else the file that `PROFKIT_CUPTI_PATH` names. CUPTI serves one tool at a time. Under Nsight Systems or beside the profiler of PyTorch
/// the collector says so in its status, and leaves the other tool's result whole: it initialises CUDA before it touches CUPTI.
///
/// Costs about a microsecond for each launch on the launching thread. Never synchronises a device while the session records; when the
/// session ends, it waits until the devices have done their work. Sessions in sequence may each collect.
/// With `PROFKIT=kernels=every:N` it costs that in one step of N. It then waits for the devices before and after such a step, never in one.
/// Source of times: CUPTI activity records, which are nanoseconds of CLOCK_REALTIME, moved to the session's clock.
class cupti_kernels final : public collector {
 public:
  /// Opens nothing yet: `start` does, when a session takes it.
  explicit cupti_kernels(kernel_options options = {}) noexcept : options_{options} {}

  [[nodiscard]] std::string_view name() const noexcept override { return "kernels"; }
  [[nodiscard]] collector_kind kind() const noexcept override { return collector_kind::kernels; }

  void use_clock(detail::calendar_clock& clock) override {
    clock_ = &clock;
    placement_.emplace(clock);
  }

  /// @throws profkit::error that says why kernels cannot be collected: no driver, no libcupti, one that is too old, another tool, ...
  void start(profile& into) override {
    if (tracing_) return;
    auto tracing = std::make_unique<detail::cupti_tracing>(options_.all_api_calls);
    if (into.environment.gpu.empty()) static_cast<void>(detail::describe_cuda(into.environment));
    into.has_all_api_calls = options_.all_api_calls;
    into.allocators.push_back({detail::cupti_allocations::name, detail::used_device_memory(), false});
    tracing_ = std::move(tracing);
  }

  void prepare_step(step_record const& step) override {
    if (tracing_) tracing_->record(step.has_kernels);
  }

  void drain(profile& into, bool last) override {
    if (!tracing_) return;
    if (last) tracing_->finish();
    take_batch(into);
    if (!last) return;
    into.quality.dropped_operations += tracing_->dropped();
    take_graph_nodes(into);
  }

  void drain_in_step(profile& into) override {
    if (!tracing_) return;
    take_batch(into);
    take_graph_nodes(into);
  }

  [[nodiscard]] bool drains_in_step() const noexcept override { return true; }

  /// Asks CUPTI for the buffers whose records are complete, which it would keep until they are full. Its reader has them by the next time.
  void flush() override {
    if (tracing_) tracing_->flush();
  }

  void stop() override { tracing_.reset(); }

 private:
  void take_batch(profile& into) {
    detail::cupti_batch batch = tracing_->take();
    detail::record_room room{into};
    append(into.gpu_names, batch.new_gpu_names);
    append(into.api_names, batch.new_api_names);
    room.append(into.gpu_operations, batch.operations);
    clock_->look();
    for (api_call_record& call : batch.calls) {
      call.thread = thread_of(call.thread, into);
      placement_->place(call);
    }
    into.quality.invalid_operations += batch.invalid + drop_invalid(batch.calls, 0);
    room.append(into.api_calls, batch.calls);
    std::size_t const first_new = unwrapped_operations_;
    for (; unwrapped_operations_ < into.gpu_operations.size(); ++unwrapped_operations_) unwrap(into.gpu_operations[unwrapped_operations_]);
    for (; unwrapped_calls_ < into.api_calls.size(); ++unwrapped_calls_) unwrap(into.api_calls[unwrapped_calls_]);
    for (std::size_t i = first_new; i < into.gpu_operations.size(); ++i) placement_->place(into.gpu_operations[i], into.api_calls);
    into.quality.invalid_operations += drop_invalid(into.gpu_operations, first_new);
    unwrapped_operations_ = into.gpu_operations.size();
    into.quality.uncertain_operations = placement_->uncertain();
  }

  /// From a position on, drops what ends before it begins. @return how many.
  template <class Record>
  static std::uint64_t drop_invalid(std::vector<Record>& records, std::size_t first) {
    auto const end = std::remove_if(records.begin() + static_cast<std::ptrdiff_t>(first), records.end(),
                                    [](Record const& each) { return each.time.end < each.time.begin; });
    auto const dropped = static_cast<std::uint64_t>(records.end() - end);
    records.erase(end, records.end());
    return dropped;
  }

  template <class T>
  static void append(std::vector<T>& to, std::vector<T>& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  }

  void take_graph_nodes(profile& into) {
    auto const nodes = tracing_->graph_nodes_if_changed(seen_graph_nodes_);
    if (!nodes) return;
    into.graph_nodes.clear();
    for (auto const& [node, scope] : *nodes) {
      into.graph_nodes.push_back({node, scope ? paths_.path_of(*scope.node(), into) : path_record::no_parent});
    }
  }

  /// CUPTI counts launches with 32 bits. Records of one kind that follow each other are less than 2^31 launches apart.
  template <class Record>
  void unwrap(Record& record) {
    auto const correlation = static_cast<std::uint32_t>(record.correlation);
    if (newest_correlation_ == 0) newest_correlation_ = (std::uint64_t{1} << 32U) | correlation;
    auto const distance = static_cast<std::int32_t>(correlation - static_cast<std::uint32_t>(newest_correlation_));
    record.correlation = static_cast<std::uint64_t>(static_cast<std::int64_t>(newest_correlation_) + distance);
    newest_correlation_ = std::max(newest_correlation_, record.correlation);
  }

  /// A thread that launches need not have scopes.
  std::uint32_t thread_of(std::uint32_t system_id, profile& into) {
    auto const [known, is_new] = threads_.try_emplace(system_id, 0);
    if (!is_new) return known->second;
    std::uint32_t& thread = known->second;
    while (thread < into.threads.size() && into.threads[thread].system_id != system_id) ++thread;
    if (thread == into.threads.size()) into.threads.push_back({system_id, name_of_thread(system_id)});
    return thread;
  }

  /// Empty if it has ended.
  static std::string name_of_thread(std::uint32_t system_id) {
    std::ifstream file{"/proc/self/task/" + std::to_string(system_id) + "/comm"};
    std::string name;
    std::getline(file, name);
    return name;
  }

  kernel_options options_;
  detail::calendar_clock* clock_ = nullptr;
  std::optional<detail::cupti_placement> placement_;
  std::unique_ptr<detail::cupti_tracing> tracing_;
  detail::path_finder paths_;
  std::uint64_t seen_graph_nodes_ = 0;  ///< changes to them
  std::uint64_t newest_correlation_ = 0;
  std::size_t unwrapped_operations_ = 0;  ///< of the profile's; the rest has come since
  std::size_t unwrapped_calls_ = 0;
  std::unordered_map<std::uint32_t, std::uint32_t> threads_;  ///< system's number -> position in `profile::threads`
};

}  // namespace profkit
