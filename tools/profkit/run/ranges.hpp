// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <profkit/impl/record/named_scope.hpp>
#include <profkit/impl/record/scope_token.hpp>
#include <profkit/impl/record/thread_registry.hpp>
#include <string_view>

#include "run_session.hpp"

namespace profkit_run {

/// The name of a range.
struct range_name {
  std::string_view text;
  profkit::site* registered = nullptr;  ///< null: to be looked up
  char const* place = "";               ///< where the name comes from, for the report

  [[nodiscard]] profkit::site& site() const noexcept {
    return registered != nullptr ? *registered : profkit::detail::sites_by_name.find(text.data(), text.size(), place);
  }
};

/// A range that is open on a thread.
struct open_range {
  profkit::detail::open_scope_word word;
  void const* key;  ///< the domain; ranges of a domain nest
  bool is_step;
  bool is_over;  ///< it has ended, but a range inside it has not
};

/// Whether this thread belongs to PyTorch's autograd engine. It runs backward passes of a device while the thread that asked for them
/// waits.
inline bool is_autograd_thread() noexcept {
  char name[16] = {};
  return ::pthread_getname_np(::pthread_self(), &name[0], sizeof name) == 0 && std::string_view{&name[0]}.substr(0, 12) == "pt_autograd_";
}

/// A range that lies in a scope of another thread.
class range_elsewhere : private profkit::adopting_scope {
 public:
  static profkit::detail::open_scope_word begin(profkit::site& where, profkit::scope_token under) noexcept {
    range_elsewhere opened{where, under};
    return opened.release();
  }

 private:
  range_elsewhere(profkit::site& where, profkit::scope_token under) noexcept : adopting_scope{where, {}, under} {}
};

/// The open ranges of a thread, outermost first. In zero-initialised memory, without a constructor.
struct thread_ranges {
  static constexpr std::uint32_t max_depth = 256;
  std::uint32_t depth;
  bool is_main_thread;
  bool is_autograd;
  std::uint64_t too_deep;
  open_range open[max_depth];
};

/// A pointer, because a library that is loaded late has little thread-local memory.
inline thread_local thread_ranges* ranges_of_thread = nullptr;

/// @return null if there is no memory.
inline thread_ranges* find_ranges() noexcept {
  if (ranges_of_thread != nullptr) return ranges_of_thread;
  static ::pthread_key_t const key = [] {
    ::pthread_key_t made{};
    return ::pthread_key_create(&made, std::free) == 0 ? made : ~::pthread_key_t{0};
  }();
  ranges_of_thread = static_cast<thread_ranges*>(std::calloc(1, sizeof(thread_ranges)));
  if (ranges_of_thread == nullptr) return nullptr;
  ranges_of_thread->is_main_thread = ::syscall(SYS_gettid) == ::getpid();
  ranges_of_thread->is_autograd = is_autograd_thread();
  ::pthread_setspecific(key, ranges_of_thread);
  return ranges_of_thread;
}

/// The key of a step between a start and an end.
inline constexpr char started = 0;

int pop_range(void const* key) noexcept;

/// Begins a step on this thread if a range is one. @param number see `step_finder::begin`.
inline bool begin_step(thread_ranges& thread, std::string_view name, std::uint64_t number) noexcept {
  run_session& session = run_session::only();
  if (!session.steps().begin(name, &thread, thread.is_main_thread, number)) return false;
  if (session.has_ended_elsewhere.exchange(false)) pop_range(&started);
  return session.begin_step();
}

/// Begins the scope of a range. The outermost ranges of the autograd engine lie in the scope that waits for it.
inline profkit::detail::open_scope_word begin_scope(thread_ranges const& thread, profkit::site& where, std::int64_t const* index) noexcept {
  if (thread.is_autograd && thread.depth == 0 && index == nullptr) {
    if (auto const waiting = run_session::only().followed.find()) return range_elsewhere::begin(where, *waiting);
  }
  return profkit::detail::kept_scope::begin(where, index);
}

/// Begins a range on this thread. @return the number of ranges around it, as NVTX wants it.
inline int push_range(void const* key, range_name const& name, std::int64_t const* index) noexcept {
  run_session& session = run_session::only();
  if (!session.records()) return 0;
  thread_ranges* const found = find_ranges();
  if (found == nullptr) return 0;
  thread_ranges& thread = *found;
  if (thread.depth == thread_ranges::max_depth) {
    ++thread.too_deep;
    session.lost.fetch_add(1, std::memory_order_relaxed);
    return static_cast<int>(thread.depth);
  }
  session.saw_range();
  bool const is_step = begin_step(thread, name.text, 0);
  thread.open[thread.depth] = {is_step ? 0 : begin_scope(thread, name.site(), index), key, is_step, false};
  if (session.steps().are_on(&thread, thread.is_main_thread)) session.followed.note();
  return static_cast<int>(thread.depth++);
}

/// Ends the innermost range of a key. A range inside it, of another domain, keeps it open until then, because ranges of a thread nest.
inline int pop_range(void const* key) noexcept {
  run_session& session = run_session::only();
  if (!session.records(false) || ranges_of_thread == nullptr) return 0;
  thread_ranges& thread = *ranges_of_thread;
  if (key != &started && thread.too_deep > 0) {
    --thread.too_deep;
    return static_cast<int>(thread.depth);
  }
  std::uint32_t at = thread.depth;
  while (at > 0 && (thread.open[at - 1].key != key || thread.open[at - 1].is_over)) --at;
  if (at == 0) return 0;  // it began before the recording
  thread.open[at - 1].is_over = true;
  if (at != thread.depth) session.crossed.fetch_add(1, std::memory_order_relaxed);
  for (; thread.depth > 0 && thread.open[thread.depth - 1].is_over; --thread.depth) {
    open_range const& done = thread.open[thread.depth - 1];
    session.steps().end(thread.is_main_thread);
    done.is_step ? session.end_step() : profkit::detail::kept_scope::end(done.word);
  }
  if (session.steps().are_on(&thread, thread.is_main_thread)) session.followed.note();
  return static_cast<int>(at - 1);
}

/// Begins a range between a start and an end as a step of this thread, if it is one.
inline bool start_step(std::string_view name, std::uint64_t number) noexcept {
  thread_ranges* const thread = find_ranges();
  if (thread == nullptr || thread->depth == thread_ranges::max_depth || !begin_step(*thread, name, number)) return false;
  thread->open[thread->depth++] = {0, &started, true, false};
  return true;
}

/// Ends it. A step that began on another thread lasts until the next one begins.
inline void end_started_step() noexcept {
  thread_ranges const* const mine = ranges_of_thread;
  bool const is_here = mine != nullptr && std::any_of(mine->open, mine->open + mine->depth,
                                                      [](open_range const& each) { return each.key == &started && !each.is_over; });
  if (is_here) {
    pop_range(&started);
  } else {
    run_session::only().ended_elsewhere.fetch_add(1, std::memory_order_relaxed);
    run_session::only().has_ended_elsewhere.store(true);
  }
}

/// Ranges from a start to an end, which may be on different threads and need not nest. Each open one has a log of its own, which appears as
/// a thread, so that ranges of one log nest. A range that is a step belongs to its thread instead.
class process_ranges {
 public:
  static process_ranges& only() noexcept {
    alignas(process_ranges) static unsigned char memory[sizeof(process_ranges)];
    static auto* const value = new (memory) process_ranges;
    return *value;
  }

  /// @return the number of the range, from 1; 0: it is not recorded.
  std::uint64_t start(range_name const& name, std::int64_t const* index) noexcept {
    run_session& session = run_session::only();
    if (!session.records()) return 0;
    session.saw_range();
    profkit::detail::no_cancellation const whole;
    std::unique_lock<std::mutex> lock{mutex_};
    auto* const found = std::find_if(lanes_.begin(), lanes_.end(), [](lane const& each) { return each.number == 0; });
    if (found != lanes_.end()) {
      auto const place = static_cast<std::uint64_t>(found - lanes_.begin());
      std::uint64_t const number = found->number = ++started_ * lanes_.size() + place;
      found->is_step = false;
      if (session.steps().are_wanted() && std::string_view{name.place} != "profkit") {  // its range is around all steps
        lock.unlock();  // a step calls collectors, which may call libraries with ranges
        bool const is_step = start_step(name.text, number);
        lock.lock();
        found->is_step = is_step;
      }
      if (found->is_step || found->begin(name.site(), index, place)) return number;
      found->number = 0;
    }
    session.lost.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }

  /// @param number the result of `start`.
  void end(std::uint64_t number) noexcept {
    if (number == 0) return;
    profkit::detail::no_cancellation const whole;
    std::unique_lock<std::mutex> lock{mutex_};
    lane& found = lanes_[number % lanes_.size()];
    if (found.number != number) return;
    found.number = 0;
    bool const is_step = found.is_step;
    if (!is_step && found.word != 0) found.log->leave(found.word, profkit::detail::ticks(profkit::detail::flags_with_what_is_installed()));
    lock.unlock();
    if (is_step) return end_started_step();
    if (ranges_of_thread != nullptr) run_session::only().steps().end(ranges_of_thread->is_main_thread, number);
  }

  /// Whether a range has not ended. @param number the result of `start`.
  [[nodiscard]] bool is_open(std::uint64_t number) noexcept {
    std::lock_guard<std::mutex> const lock{mutex_};
    return lanes_[number % lanes_.size()].number == number;
  }

 private:
  struct lane {
    std::uint64_t number = 0;  ///< of the open range; 0: none
    bool is_step = false;      ///< it is a step of a thread: the log is not used
    profkit::detail::thread_log* log = nullptr;
    profkit::detail::open_scope_word word = 0;

    bool begin(profkit::site& where, std::int64_t const* index, std::uint64_t lane_number) noexcept {
      namespace detail = profkit::detail;
      std::uint32_t const flags = detail::flags_with_what_is_installed();
      if ((flags & detail::recording) == 0) return false;
      if (log == nullptr) log = make(lane_number);
      if (log == nullptr) return false;
      auto const claimed = log->claim(index == nullptr ? 3 : 4);
      if (claimed == 0) return false;
      std::uint64_t const now = detail::ticks(flags);
      word = index == nullptr
                 ? log->open(claimed, detail::tagged(where, detail::event_kind::enter), now)
                 : log->open(claimed, detail::tagged(where, detail::event_kind::enter_indexed), now, static_cast<std::uint64_t>(*index));
      return true;
    }

    /// A log of no thread, with a number that no thread has.
    static profkit::detail::thread_log* make(std::uint64_t lane_number) noexcept {
      namespace detail = profkit::detail;
      detail::thread_log* const made = detail::make_log(detail::log_taken);
      if (made == nullptr) return nullptr;
      made->reset();
      made->thread_system_id = (std::uint64_t{1} << 32U) + lane_number;
      static_cast<void>(std::snprintf(made->thread_name, sizeof made->thread_name, "start/end %u", static_cast<unsigned>(lane_number)));
      made->generation = 1;
      __atomic_store_n(&made->state, std::uint32_t{detail::log_owned}, __ATOMIC_RELEASE);
      return made;
    }
  };

  std::mutex mutex_;
  std::array<lane, 64> lanes_;  ///< guarded by `mutex_`, like the following
  std::uint64_t started_ = 0;
};

}  // namespace profkit_run
