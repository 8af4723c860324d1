// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __has_include(<bits/cxxabi_forced.h>)
#include <cxxabi.h>
#endif

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "../../collector.hpp"
#include "../../profile_builder.hpp"
#include "../profile/own_memory.hpp"
#include "../record/process_identity.hpp"
#include "../record/quiet_thread.hpp"
#include "../record/recorder.hpp"
#include "../record/ticks.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Says which collector a thread calls. One thread at a time calls; any thread may ask.
class called_collector {
 public:
  /// The longest time that a session waits for a function of a collector.
  static constexpr std::chrono::seconds max_wait{10};

  /// To the end of the block, the calling thread counts as running a function of a collector.
  struct in_collector {
    in_collector() noexcept { ++depth(); }
    in_collector(in_collector const&) = delete;
    in_collector& operator=(in_collector const&) = delete;
    ~in_collector() { --depth(); }
  };

  /// Whether the calling thread runs a function of a collector.
  [[nodiscard]] static bool is_on_this_thread() noexcept { return depth() > 0; }

  /// The collector that has been running for more than `max_wait`; null if there is none.
  [[nodiscard]] collector* stuck() const noexcept {
    void* const called = called_.load();
    std::int64_t const ns = monotonic_ns() - since_ns_.load();
    bool const is_stuck =
        called != nullptr && called != this && ns > std::chrono::nanoseconds{max_wait}.count() && called_.load() == called;
    return is_stuck ? static_cast<collector*>(called) : nullptr;
  }

  /// No further calls begin. To be called by the thread that ends the session.
  void close() noexcept { is_closed_.store(true); }

  /// Waits until a collector is not called, for at most `max_wait`. To be called after `close`.
  [[nodiscard]] bool wait_for(collector const& each) const noexcept {
    while (called_.load() == &each) {
      if (stuck() == &each) return false;
      std::this_thread::sleep_for(std::chrono::microseconds{100});
    }
    return true;
  }
  /// Waits until no function of `own_work` runs. To be called after `close`.
  void wait_for_own_work() const noexcept {
    while (called_.load() == this) std::this_thread::sleep_for(std::chrono::microseconds{100});
  }

  /// Calls a function of a collector that works. A collector that throws gets the reason as its status and is not called again. The thread
  /// cannot be cancelled in the function. If the function ends the thread (`pthread_exit`), the unwinding goes on, because a handler that
  /// stopped it would abort the program.
  template <class Call>
  void call(collector& each, Call&& function) {
    if (!each.works()) return;
    no_cancellation const whole;
    since_ns_.store(monotonic_ns());
    mark const called{*this, called_.exchange(&each)};
    in_collector const here;
    if (!is_closed_.load()) guarded(each, function);
    end_child_of_own_thread();
  }

  /// Calls a function that shares data with the end of the session, unless that has begun.
  template <class Work>
  void own_work(Work&& work) {
    mark const called{*this, called_.exchange(this)};  // also removed if there is no memory for the work
    if (!is_closed_.load()) work();
  }

 private:
  /// Ends the child in which a collector has forked on a thread of the library, here: the rest of that thread would use the parent's files,
  /// and memory of the C library that other threads had locked. A thread of the program goes on.
  void end_child_of_own_thread() const noexcept {
    if (!is_process(process_) && this_thread().quiet == always_quiet) ::_exit(0);
  }

  /// Removes the mark of a call at the end of the block.
  struct mark {
    mark(called_collector& marked, void* around) noexcept : calls{marked}, before{around} {}
    mark(mark const&) = delete;
    mark& operator=(mark const&) = delete;
    ~mark() { calls.called_.store(before); }
    called_collector& calls;
    void* before;
  };

  template <class Call>
  static void guarded(collector& each, Call&& function) {
    try {
      function(each);
#if __has_include(<bits/cxxabi_forced.h>)  // the exception by which a thread ends
    } catch (abi::__forced_unwind const&) {
      throw;
#endif
    } catch (std::exception const& failure) {
      fail(each, failure.what());
    } catch (...) {
      fail(each, "it threw an exception that is not a std::exception");
    }
  }

  static void fail(collector& each, char const* reason) noexcept {
    try {
      each.fail(reason);
    } catch (std::exception const&) {
      each.fail({});  // no memory for the reason
    }
  }

  static int& depth() noexcept {
    static thread_local int value = 0;
    return value;
  }

  std::uint64_t const process_ = identify_process();
  std::atomic<void*> called_{nullptr};  ///< a collector, or this object during `own_work`
  std::atomic<std::int64_t> since_ns_{0};
  std::atomic<bool> is_closed_{false};
};

/// The collectors of a session. Any thread may add collectors at any time, and call those that have started: entries are never removed.
class collector_list {
 public:
  /// A collector and what the session knows about it.
  struct entry {
    std::unique_ptr<collector> what;
    std::atomic<bool> has_started{false};
    bool times_steps = false;                    ///< set before `has_started`
    std::atomic<bool> waits_for_capture{false};  ///< `kernels=capture`: it has not started so far
    std::atomic<entry*> next{nullptr};
  };

  collector_list() = default;
  collector_list(collector_list const&) = delete;
  collector_list& operator=(collector_list const&) = delete;
  ~collector_list() {
    called_collector::in_collector const refuse_requests;
    for (entry* each = first_.load(); each != nullptr;) delete std::exchange(each, each->next.load());
  }

  /// Adds a collector that has not started. @return its entry, to be started.
  entry& add(std::unique_ptr<collector> taken) {
    auto* const added = new entry{std::move(taken)};
    std::atomic<entry*>* link = &first_;
    for (entry* last = nullptr; !link->compare_exchange_strong(last, added); last = nullptr) link = &last->next;
    size_.fetch_add(1);
    return *added;
  }

  /// The number of collectors, including those that have not started.
  [[nodiscard]] std::size_t size() const noexcept { return size_.load(); }

  /// Calls a function for those of the first `count` collectors that have started.
  template <class Visit>
  void for_each(std::size_t count, Visit&& visit) const {
    for (entry const* each = first_.load(); each != nullptr && count > 0; each = each->next.load(), --count) {
      if (each->has_started.load()) visit(*each->what);
    }
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for_each(~std::size_t{0}, visit);
  }

  /// Whether a working collector adds GPU step times.
  [[nodiscard]] bool time_steps() const noexcept {
    for (entry const* each = first_.load(); each != nullptr; each = each->next.load()) {
      if (each->has_started.load() && each->times_steps && each->what->works()) return true;
    }
    return false;
  }

  /// The outcome of each collector.
  void describe(own_vector<collector_record>& into) const {
    for (entry const* each = first_.load(); each != nullptr; each = each->next.load()) {
      collector_status const status = each->what->status();
      if (status.works && each->waits_for_capture.load()) {
        into.push_back({std::string{each->what->name()}, "not started", "kernels=capture: no capture so far", each->what->kind()});
        continue;
      }
      into.push_back({std::string{each->what->name()}, status.works ? "collected" : "not collected", status.reason, each->what->kind()});
    }
  }

 private:
  std::atomic<entry*> first_{nullptr};
  std::atomic<std::size_t> size_{0};
};

}  // namespace PROFKIT_NAMESPACE::detail
