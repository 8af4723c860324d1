// SPDX-License-Identifier: Apache-2.0
//
// Charges the work of autograd in a backward pass to the scopes of the forward pass. Self-contained: copy this file into a program that
// uses LibTorch and profkit. Needs C++17 and no CUDA.
#pragma once

#include <ATen/SequenceNumber.h>
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <profkit/scope.hpp>
#include <queue>
#include <stdexcept>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

namespace profkit_torch {

/// During its lifetime, the work of autograd for a node is in a scope such as `forward/layer_3/attention (backward)`. That scope adopts the
/// innermost scope that was open on the forward thread when the node was created.
///
///     profkit_torch::libtorch_bridge const bridge;      // once, before the first forward pass
///     ...
///     profkit_torch::libtorch_bridge::backward_call const call{loss};
///     loss.backward();
///
/// LibTorch numbers the nodes that a thread creates. When a scope begins or ends, the bridge assigns all new numbers to the scope that was
/// open until then. So operations of the forward pass cost nothing. `backward_call` visits the nodes of the graph in the order in which the
/// engine will run them, the last created first, and adds a hook to each one whose scope differs from that of the node before. So most
/// nodes cost nothing either. The scope stays open until the next one begins, so it includes what the engine does after a node: it
/// converts gradients and sums them.
///
/// Work without a forward scope has its own name:
///
/// * `gradient accumulation`, on autograd threads: adding to the gradients of parameters, and the hooks of parameters. On the thread that
///   calls `backward`, where nodes on the CPU run, this work belongs to the scope that is open there.
/// * `backward of unknown forward`: the node was created outside any scope, before the bridge or the session, or too long ago (see the
///   bounds below).
/// * `... (double backward or recomputed)`: the node was created during a backward pass: for a gradient of a gradient, or by a checkpoint
///   that repeats its forward pass.
///
/// The order of nodes is not known in these cases:
///
/// * Several threads created them, or they run on several devices.
/// * Only the gradients of some inputs are computed.
/// * Another thread was in a `backward_call` when this one began.
/// * An operation uses a view after an in-place operation on its base. LibTorch then creates a new node for the view, after that of the
///   operation, so a node leads to a later one.
///
/// Then each node has its own scope, and the work between two nodes is `gradient accumulation`.
///
/// Limits on the autograd thread of a GPU:
///
/// * If two threads are in a `backward_call`, some nodes of the call that began first are charged to no forward scope.
/// * A backward pass without a `backward_call` that runs at the same time as one with a call is charged to the scopes of the latter.
/// * The scope of a node that throws stays open until the thread reaches the next hook of the bridge. It contains the work until then.
///
/// Bounds: a thread that creates nodes takes 384 KiB, for its nodes in the last 16,383 scopes. A new thread reuses the memory of the thread
/// that ended first, if more than 32 threads have ended. Nodes without an entry have an unknown forward.
///
/// `backward_call` locks and allocates. Apart from the first ones of a thread, no scope or node does. Does not synchronise the device.
class libtorch_bridge {
  /// Whether a `backward_call` exists. Its hooks share it, because the nodes of a retained graph keep them after the call.
  using call_state = std::shared_ptr<std::atomic<bool>>;

 public:
  /// Counts over all threads.
  struct node_counts {
    std::uint64_t matched = 0;       ///< nodes charged to a forward scope
    std::uint64_t higher_order = 0;  ///< double backward or recomputed
    std::uint64_t unknown = 0;
  };

  /// Create one around each call that starts a backward pass; without one, the bridge charges nothing. From construction to destruction,
  /// nodes that run on other threads are inside the scope that is open here. If two exist on different threads at the same time, nodes are
  /// in neither scope, because their backward pass is unknown.
  ///
  /// Adds hooks to the nodes of the graph, so no other thread may run them at the same time. The hooks have no effect after the call.
  class backward_call {
   public:
    /// @param roots the tensor or tensors for which the backward pass is called.
    /// @param inputs what is passed as `inputs` to `grad` or `backward`: the tensors whose gradients are computed, instead of all.
    explicit backward_call(at::TensorList roots, at::TensorList inputs = {})
        : around_{profkit::scope_token::current()}, is_nested_{torch::autograd::get_current_node() != nullptr} {
      note_nodes();  // nodes of operations in the scope that is still open
      thread_state& thread = state();
      if (is_active()) is_open_ = std::make_shared<std::atomic<bool>>(true);
      if (is_nested_) {
        if (is_open_) watch_nodes(roots, inputs.empty(), is_open_);
        ++thread.level;
      } else {
        std::lock_guard const lock{calls_};
        if (is_open_) watch_nodes(roots, inputs.empty() && first_call_ == nullptr, is_open_);
        next_ = first_call_;
        first_call_ = this;
        calls_begun_.fetch_add(1, std::memory_order_relaxed);
        publish();
      }
      ++thread.calls;
    }

    ~backward_call() {
      note_nodes();
      thread_state& thread = state();
      leave_node(thread);
      if (is_open_) is_open_->store(false, std::memory_order_relaxed);
      --thread.calls;
      if (is_nested_) {
        --thread.level;
        return;
      }
      std::lock_guard const lock{calls_};
      backward_call** at = &first_call_;
      while (*at != this) at = &(*at)->next_;
      *at = next_;
      publish();
    }

    backward_call(backward_call const&) = delete;
    backward_call& operator=(backward_call const&) = delete;

   private:
    static void publish() noexcept {
      bool const is_one = first_call_ != nullptr && first_call_->next_ == nullptr;
      around_nodes_.store(is_one ? first_call_->around_ : profkit::scope_token{}, std::memory_order_relaxed);
    }

    static inline std::mutex calls_;
    static inline backward_call* first_call_ = nullptr;

    profkit::scope_token around_;
    bool is_nested_;      ///< the backward pass starts inside a node
    call_state is_open_;  ///< null: there was no bridge
    backward_call* next_ = nullptr;
  };

  /// @throws std::logic_error if a bridge or another scope listener exists.
  libtorch_bridge() : listener_{note_nodes} {
    if (!listener_.is_attached()) throw std::logic_error{"only one libtorch_bridge or other profkit::scope_listener can exist at a time"};
    bridges_.fetch_add(1, std::memory_order_relaxed);
    note_nodes();
    for (auto* const count : {&matched_, &higher_order_, &unknown_}) count->store(0, std::memory_order_relaxed);
    is_active_.store(true, std::memory_order_relaxed);
  }

  /// Must not be destroyed during a backward pass.
  ~libtorch_bridge() { is_active_.store(false, std::memory_order_relaxed); }

  libtorch_bridge(libtorch_bridge const&) = delete;
  libtorch_bridge& operator=(libtorch_bridge const&) = delete;

  /// The number of nodes in the graphs of all backward calls since the construction of the bridge, without those of parameters.
  [[nodiscard]] node_counts counts() const noexcept {
    auto const load = [](std::atomic<std::uint64_t> const& count) { return count.load(std::memory_order_relaxed); };
    return {load(matched_), load(higher_order_), load(unknown_)};
  }

 private:
  /// The scopes in which a thread created its most recent nodes: a ring, written by that thread and read by the threads that call
  /// `backward`.
  class node_scopes {
   public:
    struct found {
      profkit::scope_token scope;
      bool is_higher_order = false;
    };

    /// Adds the nodes from `first` up to but not including `end`. Numbers only increase.
    void add(std::uint64_t first, std::uint64_t end, profkit::scope_token scope, bool is_higher_order) noexcept {
      std::uint64_t const position = written_.load(std::memory_order_relaxed);
      entry& at = entries_[position % size];
      at.first.store(first << 1U | (is_higher_order ? 1U : 0U), std::memory_order_relaxed);
      at.end.store(end, std::memory_order_relaxed);
      at.scope.store(scope, std::memory_order_relaxed);
      written_.store(position + 1, std::memory_order_release);
    }

    /// For the next thread. No other thread may search at the same time.
    void clear() noexcept { written_.store(0, std::memory_order_relaxed); }

    /// @param near position of the entry that was found last, or 0. Nodes are looked up in the opposite order of their creation, so the
    /// next one is mostly in that entry or in the one before. Set to the position found.
    [[nodiscard]] std::optional<found> find(std::uint64_t number, std::uint64_t& near) const noexcept {
      std::uint64_t const written = written_.load(std::memory_order_acquire);
      std::uint64_t const oldest = written > size - 1 ? written - (size - 1) : 0;  // the writer may be overwriting the oldest entry
      for (std::uint64_t back = 0; back < 2 && near < written && near >= oldest + back; ++back) {
        if (auto const result = at_position(near - back, number)) {
          near -= back;
          return result;
        }
      }
      std::uint64_t low = oldest;
      std::uint64_t high = written;
      while (low < high) {  // binary search for the last entry that begins at or before the number
        std::uint64_t const middle = low + (high - low) / 2;
        if (entries_[middle % size].first.load(std::memory_order_relaxed) >> 1U <= number) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      if (low == oldest) return std::nullopt;
      near = low - 1;
      return at_position(near, number);
    }

   private:
    /// The entry at a position if it has the number and the writer has not reused it.
    [[nodiscard]] std::optional<found> at_position(std::uint64_t position, std::uint64_t number) const noexcept {
      entry const& at = entries_[position % size];
      std::uint64_t const first = at.first.load(std::memory_order_relaxed);
      std::uint64_t const end = at.end.load(std::memory_order_relaxed);
      profkit::scope_token const scope = at.scope.load(std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_acquire);
      bool const is_whole = written_.load(std::memory_order_relaxed) < position + size;
      if (!is_whole || number < first >> 1U || number >= end || !scope) return std::nullopt;
      return found{scope, (first & 1U) != 0};
    }

    struct entry {
      std::atomic<std::uint64_t> first{0};  ///< the number times two; the lowest bit marks higher order
      std::atomic<std::uint64_t> end{0};
      std::atomic<profkit::scope_token> scope{profkit::scope_token{}};
    };

    static_assert(std::atomic<profkit::scope_token>::is_always_lock_free);
    static constexpr std::uint64_t size = std::uint64_t{1} << 14U;
    std::array<entry, size> entries_;
    std::atomic<std::uint64_t> written_{0};
  };

  /// The nodes that a thread created. Kept after its end, because nodes outlive their thread.
  struct thread_nodes {
    node_scopes scopes;
    std::uint64_t thread = 0;      ///< LibTorch's number of the thread
    std::uint64_t ended = 0;       ///< the number of threads that had ended when this one did; 0 if it runs
    thread_nodes* next = nullptr;  ///< a list, newest first
  };

  /// Where a node was found, to find the next one faster.
  struct found_place {
    thread_nodes const* made = nullptr;
    std::uint64_t position = 0;
  };

  /// What a node is charged to: the name of its scope, and the scope that it adopts.
  struct charge {
    profkit::site* role;
    profkit::scope_token adopts;

    bool operator==(charge const& other) const noexcept { return role == other.role && adopts.node() == other.adopts.node(); }
  };

  /// A node of a graph.
  struct graph_node {
    torch::autograd::Node* node;
    charge charged;
    bool has_parameters;  ///< leads to nodes that add to the gradients of parameters; they run directly after it
  };

  /// What both kinds of hooks know. They have an effect until their call ends.
  class hook_of_call {
   public:
    explicit hook_of_call(call_state call) : call_{std::move(call)} {}
    [[nodiscard]] bool has_effect() const noexcept { return is_active() && call_->load(std::memory_order_relaxed); }

   protected:
    [[nodiscard]] call_state const& call() const noexcept { return call_; }

   private:
    call_state call_;
  };

  class enter_hook final : public torch::autograd::FunctionPreHook, public hook_of_call {
   public:
    enter_hook(charge const& charged, call_state const& call) : hook_of_call{call}, charged_{charged} {}
    torch::autograd::variable_list operator()(torch::autograd::variable_list const& gradients) override {
      if (has_effect()) {
        enter_node(charged_, call());
      } else {
        leave_ended_call(state());
      }
      return gradients;
    }

   private:
    charge charged_;
  };

  class leave_hook final : public torch::autograd::FunctionPostHook, public hook_of_call {
   public:
    using hook_of_call::hook_of_call;
    torch::autograd::variable_list operator()(torch::autograd::variable_list const& outputs,
                                              torch::autograd::variable_list const& /*inputs*/) override {
      if (has_effect()) leave_node(state());
      return outputs;
    }
  };

  /// Opened by a hook.
  struct open_scope {
    std::optional<profkit::adopting_scope> scope;
    call_state call;  ///< the call whose hook opened it last
  };

  /// By level: LibTorch nests up to 60 backward passes on a thread.
  using open_scopes = std::array<open_scope, 64>;

  /// The state of a thread. Zero-initialised, so that access needs no call.
  struct thread_state {
    std::uint64_t bridge;     ///< the bridge to which `next` belongs
    std::uint64_t next;       ///< the first node that has not been assigned to a scope
    thread_nodes* made;       ///< null: the thread has created no nodes yet, or it is ending
    open_scopes* scopes;      ///< null: no node has run here yet, or the thread is ending
    std::size_t level;        ///< number of nested backward passes
    std::size_t calls;        ///< number of nested `backward_call` objects
    std::uint64_t rest_call;  ///< the last call for which work between nodes was charged
  };

  static thread_state& state() noexcept {
    static thread_local thread_state value{};
    return value;
  }

  /// Called before a scope of this thread begins or ends: assigns the nodes created since the last call to the scope that is open now.
  static void note_nodes() noexcept {
    thread_state& thread = state();
    std::uint64_t const end = at::sequence_number::peek();
    std::uint64_t const bridge = bridges_.load(std::memory_order_relaxed);
    if (thread.bridge == bridge && end > thread.next) add_nodes(thread, end);
    thread.bridge = bridge;
    thread.next = end;
  }

  static void add_nodes(thread_state& thread, std::uint64_t end) noexcept {
    if (thread.made == nullptr) begin_thread(thread);
    if (thread.made == nullptr) return;
    bool const is_backward = thread.calls > 0 || torch::autograd::get_current_node() != nullptr;
    thread.made->scopes.add(thread.next, end, profkit::scope_token::current(), is_backward);
  }

  /// Gives this thread a `thread_nodes`, unless it is ending or there is no memory.
  static void begin_thread(thread_state& thread) noexcept {
    struct end_of_thread {
      ~end_of_thread() {
        std::lock_guard const lock{nodes_};
        state().made->ended = ++ended_threads_;
        state().made = nullptr;
      }
    };
    static thread_local bool has_begun = false;
    if (has_begun) return;
    thread.made = nodes_for(at::RecordFunction::currentThreadId());
    if (thread.made == nullptr) return;
    has_begun = true;
    static thread_local end_of_thread const at_end{};
  }

  /// Null: there is no memory.
  static thread_nodes* nodes_for(std::uint64_t thread) noexcept {
    std::lock_guard const lock{nodes_};
    std::size_t ended = 0;
    thread_nodes* result = nullptr;
    for (thread_nodes* each = first_thread_; each != nullptr; each = each->next) {
      if (each->ended == 0) continue;
      ++ended;
      if (result == nullptr || each->ended < result->ended) result = each;
    }
    if (ended <= kept_threads) {
      result = new (std::nothrow) thread_nodes;
      if (result == nullptr) return nullptr;
      result->next = first_thread_;
      first_thread_ = result;
    }
    result->scopes.clear();
    result->thread = thread;
    result->ended = 0;
    return result;
  }

  static bool is_active() noexcept { return is_active_.load(std::memory_order_relaxed); }

  /// Adds hooks to the nodes behind the tensors.
  /// @param is_whole all of them will run, and no other thread is in a backward pass.
  static void watch_nodes(at::TensorList tensors, bool is_whole, call_state const& call) {
    static std::vector<graph_node> nodes;  // kept, to save allocations
    std::vector<torch::autograd::Node*> const roots = nodes_of(tensors);
    std::lock_guard const lock{nodes_};
    bool const is_ordered = visit_in_order(roots, nodes) && is_whole;
    graph_node const* previous = nullptr;
    for (graph_node const& each : nodes) {
      count_of(each.charged).fetch_add(1, std::memory_order_relaxed);
      remove_hooks(*each.node);
      if (!is_ordered || previous == nullptr || previous->has_parameters || !(previous->charged == each.charged)) {
        each.node->add_pre_hook(std::make_unique<enter_hook>(each.charged, call));
      }
      if (!is_ordered || each.has_parameters) each.node->add_post_hook(std::make_unique<leave_hook>(call));
      previous = &each;
    }
  }

  /// Lists the nodes behind the roots in the order in which the engine runs them: of the nodes that are ready, it takes the one with the
  /// highest number. A node is ready when all nodes that lead to it have run. If these have higher numbers, that is the order of numbers.
  /// @return whether that order is certain: one thread created all nodes, they run on one device, and each leads only to nodes with lower
  /// numbers. Otherwise the nodes are in any order.
  static bool visit_in_order(std::vector<torch::autograd::Node*> const& roots, std::vector<graph_node>& nodes) {
    using torch::autograd::Node;
    auto const key = [](Node* node) { return std::tuple{node->sequence_nr(), node}; };
    auto const is_later = [&](Node* a, Node* b) { return key(a) < key(b); };
    std::priority_queue<Node*, std::vector<Node*>, decltype(is_later)> found{is_later, roots};
    nodes.clear();
    found_place near;
    bool is_ordered = true;
    while (is_ordered && !found.empty()) {
      Node* const node = found.top();
      found.pop();
      if (!nodes.empty() && nodes.back().node == node) continue;  // several nodes lead to it
      is_ordered = nodes.empty() || belong_together(*node, *nodes.front().node);
      bool const has_parameters = for_each_next(*node, [&](Node* next) {
        is_ordered = is_ordered && next->sequence_nr() < node->sequence_nr();
        found.push(next);
      });
      nodes.push_back({node, charge_of(*node, near), has_parameters});
    }
    if (!is_ordered) visit_all(roots, nodes);
    return is_ordered;
  }

  static void visit_all(std::vector<torch::autograd::Node*> found, std::vector<graph_node>& nodes) {
    std::unordered_set<torch::autograd::Node*> known;
    nodes.clear();
    found_place near;
    while (!found.empty()) {
      torch::autograd::Node* const node = found.back();
      found.pop_back();
      if (!known.insert(node).second) continue;
      bool const has_parameters = for_each_next(*node, [&](torch::autograd::Node* next) { found.push_back(next); });
      nodes.push_back({node, charge_of(*node, near), has_parameters});
    }
  }

  static std::vector<torch::autograd::Node*> nodes_of(at::TensorList roots) {
    std::vector<torch::autograd::Node*> result;
    for (at::Tensor const& root : roots) {
      if (root.defined() && root.grad_fn() != nullptr) result.push_back(root.grad_fn().get());
    }
    return result;
  }

  /// Whether one thread created both nodes, and they run on one device.
  static bool belong_together(torch::autograd::Node& a, torch::autograd::Node& b) {
    return a.thread_id() == b.thread_id() && a.device() == b.device();
  }

  /// Calls `work` for each node to which a node leads, except those of parameters.
  /// @return whether it leads to nodes of parameters.
  template <class Work>
  static bool for_each_next(torch::autograd::Node& node, Work const& work) {
    bool has_parameters = false;
    for (torch::autograd::Edge const& edge : node.next_edges()) {
      if (!edge.is_valid()) continue;
      bool const is_parameter = edge.function->sequence_nr() == std::numeric_limits<std::uint64_t>::max();
      if (!is_parameter) work(edge.function.get());
      has_parameters = has_parameters || is_parameter;
    }
    return has_parameters;
  }

  /// Removes the hooks of calls that have ended from a node that runs again.
  static void remove_hooks(torch::autograd::Node& node) {
    auto const remove = [](auto& hooks) {
      auto const has_ended = [](auto const& hook) {
        auto const* const ours = dynamic_cast<hook_of_call const*>(hook.get());
        return ours != nullptr && !ours->has_effect();
      };
      if (!hooks.empty()) hooks.erase(std::remove_if(hooks.begin(), hooks.end(), has_ended), hooks.end());
    };
    remove(node.pre_hooks());
    remove(node.post_hooks());
  }

  static open_scopes* scopes_of(thread_state& thread) {
    if (thread.scopes != nullptr) return thread.scopes;
    struct owned_scopes {
      open_scopes scopes;
      ~owned_scopes() { state().scopes = nullptr; }
    };
    static thread_local bool is_made = false;
    static thread_local std::unique_ptr<owned_scopes> owned;
    if (is_made) return nullptr;  // the thread is ending
    is_made = true;
    owned = std::make_unique<owned_scopes>();
    return thread.scopes = &owned->scopes;
  }

  static void enter_node(charge const& charged, call_state const& call) {
    thread_state& thread = state();
    open_scopes* const scopes = scopes_of(thread);
    if (scopes == nullptr || thread.level >= scopes->size()) return;
    leave_node(thread);
    profkit::scope_token const under = around_nodes_.load(std::memory_order_relaxed);
    if (thread.level == 0) charge_rest(thread, under);
    open_scope& opened = (*scopes)[thread.level];
    opened.scope.emplace(*charged.role, charged.adopts, under);
    if (opened.call != call) opened.call = call;
  }

  static void leave_node(thread_state& thread) noexcept {
    if (thread.scopes != nullptr && thread.level < thread.scopes->size()) (*thread.scopes)[thread.level].scope.reset();
  }

  /// Ends the scope of a node that threw in an earlier call, whose destructor ran on another thread.
  static void leave_ended_call(thread_state& thread) noexcept {
    if (thread.scopes == nullptr || thread.level >= thread.scopes->size()) return;
    open_scope const& left = (*thread.scopes)[thread.level];
    if (left.scope && !left.call->load(std::memory_order_relaxed)) leave_node(thread);
  }

  /// Only threads without open scopes belong to autograd.
  static void charge_rest(thread_state& thread, profkit::scope_token under) noexcept {
    std::uint64_t const call = calls_begun_.load(std::memory_order_relaxed);
    if (!under || thread.rest_call == call || profkit::scope_token::current()) return;
    profkit::set_default_scope(accumulation_role_, under);
    thread.rest_call = call;
  }

  static charge charge_of(torch::autograd::Node const& node, found_place& near) {
    std::uint64_t const thread = node.thread_id();
    if (near.made == nullptr || near.made->thread != thread) {
      near.made = first_thread_;
      while (near.made != nullptr && near.made->thread != thread) near.made = near.made->next;
    }
    auto const found = near.made != nullptr ? near.made->scopes.find(node.sequence_nr(), near.position) : std::nullopt;
    if (!found) return {&unknown_role_, {}};
    return {found->is_higher_order ? &higher_order_role_ : &backward_role_, found->scope};
  }

  static std::atomic<std::uint64_t>& count_of(charge const& charged) noexcept {
    return charged.role == &backward_role_ ? matched_ : charged.role == &unknown_role_ ? unknown_ : higher_order_;
  }

  static inline profkit::site backward_role_{"backward", __FILE__, __LINE__};
  static inline profkit::site higher_order_role_{"double backward or recomputed", __FILE__, __LINE__};
  static inline profkit::site accumulation_role_{"gradient accumulation", __FILE__, __LINE__};
  static inline profkit::site unknown_role_{"backward of unknown forward", __FILE__, __LINE__};

  static constexpr std::size_t kept_threads = 32;  ///< the nodes of at least so many threads that ended last are kept
  static inline std::mutex nodes_;                 ///< guards the nodes of graphs and the list of threads
  static inline thread_nodes* first_thread_ = nullptr;
  static inline std::uint64_t ended_threads_ = 0;
  static inline std::atomic<profkit::scope_token> around_nodes_{profkit::scope_token{}};
  static inline std::atomic<std::uint64_t> bridges_{0};      ///< total number constructed
  static inline std::atomic<bool> is_active_{false};         ///< a bridge exists
  static inline std::atomic<std::uint64_t> calls_begun_{0};  ///< total number begun
  static inline std::atomic<std::uint64_t> matched_{0};
  static inline std::atomic<std::uint64_t> higher_order_{0};
  static inline std::atomic<std::uint64_t> unknown_{0};

  profkit::scope_listener listener_;
};

}  // namespace profkit_torch
