// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
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
#include "../profile/path_table.hpp"
#include "../record/clock.hpp"
#include "cuda_driver.hpp"
#include "cupti_tracing.hpp"
#include "function_names.hpp"
#include "scope_node_paths.hpp"

namespace PROFKIT_NAMESPACE::detail {

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

  void place(page_event_record& event) const noexcept { place_all(event.time); }

  [[nodiscard]] bool is_possible(page_event_record const& event) const noexcept { return is_possible(event.time); }

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

/// Creates the paths of scopes of captures outside steps, inside the scopes that replay the graphs: "step/replay/forward (captured)".
class replayed_scopes {
 public:
  /// @param path path of the scope in which the node was captured, or `path_record::no_parent`.
  void add_node(std::uint64_t node, std::uint32_t path, profile const& so_far) {
    if (path == path_record::no_parent || so_far.paths[root_of(so_far.paths, path)].is_step) {
      captured_in_.erase(node);
    } else {
      captured_in_[node] = path;
    }
  }

  void add_operation(gpu_operation_record const& operation) {
    if (operation.graph_node == 0 || captured_in_.empty()) return;
    auto const node = captured_in_.find(operation.graph_node);
    if (node == captured_in_.end()) return;
    std::pair const replay{operation.correlation, node->second};
    if (waiting_.empty() || (waiting_.back() != replay && waiting_.size() < max_waiting)) waiting_.push_back(replay);
  }

  /// Adds the paths of new replays. The logs may contain the launch only in the next round.
  void add_paths(bool last, profile_builder& into) {
    own_vector<std::pair<std::uint64_t, std::uint32_t>> replays;
    replays.swap(waiting_);
    bool const has_room = replays.size() < max_waiting;
    auto const& paths = into.so_far().paths;
    if (!replays.empty() && !has_steps_)
      has_steps_ = std::any_of(paths.begin(), paths.end(), [](auto const& each) { return each.is_step; });
    for (auto const& [correlation, captured_in] : replays) {
      std::optional<std::uint32_t> const launched_in = into.path_of_graph_launch(correlation);
      if (!launched_in && !last && has_room) waiting_.emplace_back(correlation, captured_in);
      if (!has_steps_ || launched_in.value_or(path_record::no_parent) == path_record::no_parent) continue;
      if (root_of(paths, *launched_in) != root_of(paths, captured_in)) add_path(*launched_in, captured_in, into);
    }
  }

 private:
  static constexpr std::size_t max_waiting = 65'536;

  /// Adds the paths of a scope and of all scopes to which it refers, outer and adopted ones first.
  void add_path(std::uint32_t launched_in, std::uint32_t captured_in, profile_builder& into) {
    auto& known = inside_[launched_in];
    if (known.count(captured_in) != 0) return;
    auto const& paths = into.so_far().paths;
    own_vector<std::uint32_t> missing{captured_in};
    while (!missing.empty()) {
      path_record path = paths[missing.back()];
      std::size_t const before = missing.size();
      for (std::uint32_t const other : {path.parent, path.adopted_from}) {
        bool const is_needed = other != path_record::no_parent && !paths[root_of(paths, other)].is_step;
        if (is_needed && known.count(other) == 0) missing.push_back(other);
      }
      if (missing.size() > before) continue;
      std::uint32_t const captured = missing.back();
      missing.pop_back();
      if (known.count(captured) != 0) continue;
      if (path.parent == path_record::no_parent) {
        path.name += (path.index ? "_" + std::to_string(*path.index) : "") + " (captured)";
        path.index.reset();
        path.parent = launched_in;
      } else {
        path.parent = known.at(path.parent);
      }
      if (auto const adopted = known.find(path.adopted_from); adopted != known.end()) path.adopted_from = adopted->second;
      std::uint32_t const around = path.parent;
      known[captured] = into.position_if_room(std::move(path)).value_or(around);
      into.add(replayed_scope_record{launched_in, captured, known[captured]});
    }
  }

  own_hash_map<std::uint64_t, std::uint32_t> captured_in_;                          ///< by node: a path outside steps
  own_vector<std::pair<std::uint64_t, std::uint32_t>> waiting_;                     ///< correlation and path of the capture
  own_hash_map<std::uint32_t, own_hash_map<std::uint32_t, std::uint32_t>> inside_;  ///< by launch and capture: the path of the replay
  bool has_steps_ = false;
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
    batch_.clear();  // a new tracing numbers its names from 0 (`kernels=capture`)
    gpu_names_.clear();
    api_names_.clear();
    if (into.environment().gpu.empty()) static_cast<void>(describe_cuda(into.environment()));
    into.set(&profile::has_all_api_calls, options_.all_api_calls);
    into.position_of(allocator_record{cupti_allocations::name, used_device_memory(), false});
    tracing_ = std::move(tracing);
    running() = this;
  }

  /// Starts or stops collecting for this step (`kernels=every:N`).
  void prepare_step(step_record const& step) override {
    if (tracing_) tracing_->record(step.has_kernels);
  }

  /// Adds complete records to the profile. The last call synchronises the devices.
  void drain(profile_builder& into, bool last) override {
    if (!tracing_) return;
    if (last) tracing_->finish();
    take_batch(into, last);
    if (last) into.count(&quality_record::dropped_operations, tracing_->dropped());
  }

  /// Requests buffers with complete records, which CUPTI would keep until they are full. They are read before the next `drain`.
  void flush() override {
    if (tracing_) tracing_->flush();
  }

  /// Releases CUPTI.
  void stop() override {
    if (running() == this) running() = nullptr;
    tracing_.reset();
  }

  [[nodiscard]] std::unique_ptr<collector> with_unified_memory() override { return collect_unified_memory(); }

  /// The collector of kernels that runs; null if there is none. For the threads of a session that own its collectors, one at a time.
  static cupti_collection*& running() noexcept {
    static cupti_collection* value = nullptr;
    return value;
  }

  /// @throws profkit::error with the failed call.
  void record_unified_memory() { tracing_->record_unified_memory(); }
  /// Whether pages of unified memory have migrated.
  [[nodiscard]] bool has_migrations() const noexcept { return has_migrations_; }

 private:
  void take_batch(profile_builder& into, bool last) {
    tracing_->take(batch_);
    take_graph_nodes(into, last);
    for (gpu_name_record& name : batch_.new_gpu_names) gpu_names_.push_back(into.position_of(std::move(name)));
    for (std::string const& name : batch_.new_api_names) api_names_.push_back(into.position_of_api_name(name));
    for (launch_shape_record const& shape : batch_.new_shapes) {
      into.add(shape);
      shapes_.push_back(static_cast<std::uint16_t>(into.so_far().launch_shapes.size()));
    }
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
      if (operation.shape != 0) operation.shape = shapes_[operation.shape - std::size_t{1}];
      placement_->place(operation, into);
      invalid += add_if(placement_->is_possible(operation, into), operation, into);
      replayed_.add_operation(operation);
    }
    replayed_.add_paths(last, into);
    if (!batch_.page_events.empty()) invalid += take_page_events(into);
    into.count(&quality_record::invalid_operations, invalid);
  }

  /// Adds the events of unified memory, with the functions and lines that fault on the host.
  /// @return the number of invalid events.
  std::uint64_t take_page_events(profile_builder& into) {
    if (functions_ == nullptr) functions_ = std::make_unique<function_names>(true);
    functions_->begin_round();
    own_vector<std::uint64_t> faulting;
    for (std::uint64_t const each : batch_.program_counters) {
      if (each != 0) faulting.push_back(each);
    }
    functions_->learn(std::move(faulting));
    std::uint64_t invalid = 0;
    for (std::size_t i = 0; i < batch_.page_events.size(); ++i) {
      page_event_record& event = batch_.page_events[i];
      if (batch_.program_counters[i] != 0) event.function = functions_->function_of(batch_.program_counters[i], {}, into);
      placement_->place(event);
      has_migrations_ = has_migrations_ || event.kind == page_event_kind::to_device || event.kind == page_event_kind::to_host;
      invalid += add_if(placement_->is_possible(event), event, into);
    }
    return invalid;
  }

  /// @return 1 if the record is not valid.
  template <class Record>
  static std::uint64_t add_if(bool is_valid, Record const& record, profile_builder& into) {
    if (is_valid) into.add(record);
    return is_valid ? 0 : 1;
  }

  void take_graph_nodes(profile_builder& into, bool last) {
    for (auto const& [node, scope] : tracing_->take_graph_nodes(last)) {
      std::uint32_t const path = scope ? paths_.path_of(*scope.node(), into) : path_record::no_parent;
      into.add(graph_node_record{node, path});
      replayed_.add_node(node, path, into.so_far());
    }
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
  replayed_scopes replayed_;
  own_vector<std::uint32_t> gpu_names_;  ///< positions in `profile::gpu_names`, by the reader's numbers
  own_vector<std::uint32_t> api_names_;
  std::unique_ptr<function_names> functions_;  ///< of faults on the host
  bool has_migrations_ = false;
  own_vector<std::uint16_t> shapes_;  ///< `gpu_operation_record::shape`, by the reader's numbers - 1
};

/// The implementation of `unified_memory`: adds counters to those of the kernel collector, which reads them.
class unified_memory_collection final : public collector {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "unified memory"; }
  [[nodiscard]] collector_kind kind() const noexcept override { return collector_kind::unified_memory; }

  /// @throws profkit::error if no kernels are collected, or with the failed call of CUPTI.
  void start(profile_builder&) override {
    if (cupti_collection::running() == nullptr) throw error{"unified memory needs cupti_kernels, collected before it"};
    cupti_collection::running()->record_unified_memory();
  }

  /// @throws profkit::error if there was no managed memory whose pages CUPTI can see.
  void drain(profile_builder& into, bool last) override {
    if (!last || cupti_collection::running() == nullptr || cupti_collection::running()->has_migrations()) return;
    auto const& allocators = into.so_far().allocators;
    auto const is_managed = [](allocator_record const& each) { return each.name == managed_allocator; };
    if (std::none_of(allocators.begin(), allocators.end(), is_managed))
      throw error{"no managed memory was allocated while this collector ran, and CUPTI does not show pages of earlier memory"};
  }
};

[[gnu::used]] inline std::unique_ptr<collector> collect_unified_memory() { return std::make_unique<unified_memory_collection>(); }

[[gnu::used]] inline std::unique_ptr<collector> collect_kernels(kernel_options const& wanted) {
  return std::make_unique<cupti_collection>(wanted);
}

}  // namespace PROFKIT_NAMESPACE::detail
