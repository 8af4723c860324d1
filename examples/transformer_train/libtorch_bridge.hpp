// SPDX-License-Identifier: Apache-2.0
//
// Charges the work of autograd in a backward pass to the scopes of the forward pass. Self-contained: copy this file into a program that
// uses LibTorch and profkit. Needs C++17 and no CUDA.
#pragma once

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <profkit/scope.hpp>
#include <stdexcept>
#include <string_view>

namespace profkit_torch {

/// During its lifetime, each node that autograd runs is in a scope such as `forward/layer_3/attention (backward)`. That scope adopts the
/// innermost scope that was open on the forward thread when the node was created.
///
///     profkit_torch::libtorch_bridge const bridge;      // once, before the first forward pass
///     ...
///     profkit_torch::libtorch_bridge::backward_call const call;
///     loss.backward();
///
/// LibTorch numbers the nodes that a thread creates. When a scope begins or ends, the bridge assigns all new numbers to the scope that was
/// open until then. So operations of the forward pass cost nothing. When a node runs, the bridge finds its scope by the creating thread and
/// the number. Work without a forward scope has its own name and is never charged to a forward scope:
///
/// * `gradient accumulation`: adding to the gradients of the parameters. On autograd threads, also the work of the engine between two
///   nodes: it sums gradients, converts their shapes and types, and calls hooks.
/// * `backward of unknown forward`: the node was created outside any scope, or before the bridge or the session. Or its thread has created
///   nodes in 16,383 scopes since.
/// * `... (double backward or recomputed)`: the node was created during a backward pass: for a gradient of a gradient, or by a checkpoint
///   that repeats its forward pass.
///
/// Apart from the first ones of a thread, no scope or node locks or allocates. Does not synchronise the device.
class libtorch_bridge {
 public:
  /// Counts over all threads.
  struct node_counts {
    std::uint64_t matched = 0;       ///< nodes charged to a forward scope
    std::uint64_t higher_order = 0;  ///< double backward or recomputed
    std::uint64_t accumulation = 0;
    std::uint64_t unknown = 0;
  };

  /// From construction to destruction, nodes that run on other threads are inside the scope that is open here. Create one around each call
  /// that starts a backward pass. If two exist on different threads at the same time, nodes are in neither scope, because their backward
  /// pass is unknown.
  class backward_call {
   public:
    backward_call() : around_{profkit::scope_token::current()}, is_listed_{state().depth == 0} {
      note_nodes();  // nodes of operations in the scope that is still open
      ++state().calls;
      if (!is_listed_) return;  // the backward pass starts inside a node
      std::lock_guard const lock{calls_};
      next_ = first_call_;
      first_call_ = this;
      calls_begun_.fetch_add(1, std::memory_order_relaxed);
      publish();
    }

    ~backward_call() {
      note_nodes();
      --state().calls;
      if (!is_listed_) return;
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
    bool is_listed_;
    backward_call* next_ = nullptr;
  };

  /// @throws std::logic_error if a bridge or another scope listener exists.
  libtorch_bridge() : listener_{note_nodes} {
    if (!listener_.is_attached()) throw std::logic_error{"only one libtorch_bridge or other profkit::scope_listener can exist at a time"};
    bridges_.fetch_add(1, std::memory_order_relaxed);
    note_nodes();
    for (auto* const count : {&matched_, &higher_order_, &accumulation_, &unknown_}) count->store(0, std::memory_order_relaxed);
    nodes_ = at::addGlobalCallback(at::RecordFunctionCallback{begin_node, end_node}.scopes({at::RecordScope::BACKWARD_FUNCTION}));
  }

  /// Must not be destroyed during a backward pass.
  ~libtorch_bridge() { at::removeCallback(nodes_); }

  libtorch_bridge(libtorch_bridge const&) = delete;
  libtorch_bridge& operator=(libtorch_bridge const&) = delete;

  /// The number of nodes that ran since the construction of the bridge. Call it only while no backward pass runs.
  [[nodiscard]] node_counts counts() const noexcept {
    auto const load = [](std::atomic<std::uint64_t> const& count) { return count.load(std::memory_order_relaxed); };
    return {load(matched_), load(higher_order_), load(accumulation_), load(unknown_)};
  }

 private:
  /// The scopes in which a thread created its most recent nodes: a ring, written by that thread and read by the threads that run the nodes.
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

    /// @param near position of the entry that this thread found last, or 0. A backward pass runs nodes in the opposite order of their
    /// creation, so the next one is mostly in that entry or in the one before. Set to the position found.
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

  /// The name of the scope of a node, and the scope that it adopts.
  struct charge {
    profkit::site* role = nullptr;  ///< null: no scope
    profkit::scope_token adopts;
  };

  /// A node that is running.
  struct level {
    charge charged;
    std::optional<profkit::adopting_scope> scope;
  };

  /// LibTorch nests up to 60 backward passes on a thread, and functions of nodes call other functions.
  using level_stack = std::array<level, 192>;

  /// The state of a thread. Zero-initialised, so that access needs no call.
  struct thread_state {
    std::uint64_t bridge;     ///< the bridge to which `next` belongs
    std::uint64_t next;       ///< the first node that has not been assigned to a scope
    node_scopes* made;        ///< never freed, because nodes outlive their thread
    level_stack* levels;      ///< null: no node has run here yet, or the thread is ending
    std::size_t depth;        ///< number of nested running nodes
    std::size_t calls;        ///< number of nested `backward_call` objects
    std::uint64_t rest_call;  ///< the last call for which work between nodes was charged
    std::uint64_t found_at;   ///< position in `node_scopes` of the last node that ran here
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
    if (thread.made == nullptr) {
      std::uint64_t const number = at::RecordFunction::currentThreadId();
      if (number >= threads_.size()) return;
      thread.made = new (std::nothrow) node_scopes;
      if (thread.made == nullptr) return;
      threads_[number].store(thread.made, std::memory_order_release);
    }
    thread.made->add(thread.next, end, profkit::scope_token::current(), thread.depth + thread.calls > 0);
  }

  static level_stack* levels_of(thread_state& thread) {
    if (thread.levels != nullptr) return thread.levels;
    struct owned_levels {
      level_stack levels;
      ~owned_levels() { state().levels = nullptr; }
    };
    static thread_local bool is_made = false;
    static thread_local std::unique_ptr<owned_levels> owned;
    if (is_made) return nullptr;  // the thread is ending
    is_made = true;
    owned = std::make_unique<owned_levels>();
    return thread.levels = &owned->levels;
  }

  static std::unique_ptr<at::ObserverContext> begin_node(at::RecordFunction const& node) {
    thread_state& thread = state();
    charge const own = charge_of(node);
    std::size_t const depth = thread.depth;
    level_stack* const levels = levels_of(thread);
    if (levels != nullptr && depth < levels->size()) {
      profkit::scope_token const under = around_nodes_.load(std::memory_order_relaxed);
      if (depth == 0) charge_rest(thread, under);
      level& in = (*levels)[depth];
      in.charged = own;
      // The node of a copy into a view runs the node of the previous writer inside it; both share one scope.
      bool const is_part = depth > 0 && is_same((*levels)[depth - 1].charged, own);
      if (own.role != nullptr && !is_part) in.scope.emplace(*own.role, own.adopts, under);
    }
    ++thread.depth;
    return nullptr;
  }

  static bool is_same(charge const& a, charge const& b) noexcept { return a.role == b.role && a.adopts.node() == b.adopts.node(); }

  static void end_node(at::RecordFunction const& /*node*/, at::ObserverContext* /*none*/) {
    thread_state& thread = state();
    if (thread.depth == 0) return;
    if (thread.levels != nullptr && thread.depth <= thread.levels->size()) (*thread.levels)[thread.depth - 1].scope.reset();
    --thread.depth;
  }

  /// Only threads without open scopes belong to autograd.
  static void charge_rest(thread_state& thread, profkit::scope_token under) noexcept {
    std::uint64_t const call = calls_begun_.load(std::memory_order_relaxed);
    if (!under || thread.rest_call == call || profkit::scope_token::current()) return;
    profkit::set_default_scope(accumulation_role_, under);
    thread.rest_call = call;
  }

  static charge charge_of(at::RecordFunction const& node) {
    if (node.seqNr() < 0) return counted(accumulation_, accumulation_role_);
    std::uint64_t const thread = node.forwardThreadId();
    node_scopes const* const made = thread < threads_.size() ? threads_[thread].load(std::memory_order_acquire) : nullptr;
    auto const found = made != nullptr ? made->find(static_cast<std::uint64_t>(node.seqNr()), state().found_at) : std::nullopt;
    if (found && found->is_higher_order) return counted(higher_order_, higher_order_role_, found->scope);
    if (found) return counted(matched_, backward_role_, found->scope);
    if (std::string_view{node.name()}.find("GraphRoot") != std::string_view::npos) return {};  // passes the initial gradients on
    return counted(unknown_, unknown_role_);
  }

  static charge counted(std::atomic<std::uint64_t>& count, profkit::site& role, profkit::scope_token token = {}) noexcept {
    count.fetch_add(1, std::memory_order_relaxed);
    return {&role, token};
  }

  static inline profkit::site backward_role_{"backward", __FILE__, __LINE__};
  static inline profkit::site higher_order_role_{"double backward or recomputed", __FILE__, __LINE__};
  static inline profkit::site accumulation_role_{"gradient accumulation", __FILE__, __LINE__};
  static inline profkit::site unknown_role_{"backward of unknown forward", __FILE__, __LINE__};

  static inline std::array<std::atomic<node_scopes*>, 4096> threads_{};  ///< indexed by LibTorch's thread number
  static inline std::atomic<profkit::scope_token> around_nodes_{profkit::scope_token{}};
  static inline std::atomic<std::uint64_t> bridges_{0};      ///< total number constructed
  static inline std::atomic<std::uint64_t> calls_begun_{0};  ///< total number begun
  static inline std::atomic<std::uint64_t> matched_{0};
  static inline std::atomic<std::uint64_t> higher_order_{0};
  static inline std::atomic<std::uint64_t> accumulation_{0};
  static inline std::atomic<std::uint64_t> unknown_{0};

  profkit::scope_listener listener_;
  at::CallbackHandle nodes_;
};

}  // namespace profkit_torch
