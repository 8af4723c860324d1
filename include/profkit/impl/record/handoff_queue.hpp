// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "../../version.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Passes values from any threads to one reader, in the order in which each thread added them. Lock-free. A move leaves the queue that is
/// moved from empty; no thread may use it meanwhile.
template <class T>
class handoff_queue {
 public:
  handoff_queue() = default;
  handoff_queue(handoff_queue&& other) noexcept
      : newest_{std::exchange(other.newest_, nullptr)}, oldest_{std::exchange(other.oldest_, nullptr)} {}
  handoff_queue& operator=(handoff_queue&& other) noexcept {
    std::swap(newest_, other.newest_);
    std::swap(oldest_, other.oldest_);
    return *this;
  }
  ~handoff_queue() {
    while (front() != nullptr) pop();
  }

  /// Adds a value. May be called on any thread. Allocates one block.
  void push(T value) {
    auto* const added = new node{std::move(value), __atomic_load_n(&newest_, __ATOMIC_RELAXED)};
    while (!__atomic_compare_exchange_n(&newest_, &added->next, added, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
  }

  /// The oldest value; null if there is none. For the reader.
  [[nodiscard]] T* front() noexcept {
    if (oldest_ == nullptr) {
      for (node* each = __atomic_exchange_n(&newest_, static_cast<node*>(nullptr), __ATOMIC_ACQUIRE); each != nullptr;) {
        node* const older = std::exchange(each->next, oldest_);
        oldest_ = std::exchange(each, older);
      }
    }
    return oldest_ == nullptr ? nullptr : &oldest_->value;
  }

  /// Removes the value of `front`. For the reader.
  void pop() noexcept { delete std::exchange(oldest_, oldest_->next); }

  /// Calls a function for each value and removes it, oldest first. If the function throws, that value and later ones stay. For the reader.
  template <class Visit>
  void take_all(Visit&& visit) {
    for (T* each = front(); each != nullptr; each = front()) {
      visit(*each);
      pop();
    }
  }

 private:
  struct node {
    T value;
    node* next;
  };

  node* newest_ = nullptr;  ///< written by all threads; `next` is the next older value
  node* oldest_ = nullptr;  ///< used by the reader; `next` is the next newer value
};

}  // namespace PROFKIT_NAMESPACE::detail
