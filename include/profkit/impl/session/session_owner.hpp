// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../collect/collector_list.hpp"
#include "../profile/numbers.hpp"
#include "../record/log_memory.hpp"
#include "../record/own_thread.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The locks of sessions, in the order in which a thread may take them. All other state belongs to one thread or is atomic.
enum class lock_order : int {
  none,
  ending,   ///< `session_exit`: the end of a session, with its outputs
  requests  ///< `session_owner`: the list of requests
};

/// A mutex with a place in the lock order. Debug builds check the order.
class ordered_mutex {
 public:
  explicit ordered_mutex(lock_order place) noexcept : place_{place} {}

  void lock() {
    assert(innermost() < place_ && "a lock of a session is taken in the wrong order");
    mutex_.lock();
    outer_ = innermost();
    innermost() = place_;
  }
  [[nodiscard]] bool try_lock() {
    if (!mutex_.try_lock()) return false;
    outer_ = innermost();
    innermost() = place_;
    return true;
  }
  void unlock() {
    innermost() = outer_;
    mutex_.unlock();
  }

  /// Whether the calling thread has a lock of a session.
  [[nodiscard]] static bool is_any_held() noexcept { return innermost() != lock_order::none; }

 private:
  static lock_order& innermost() noexcept {
    static thread_local lock_order value = lock_order::none;
    return value;
  }

  std::mutex mutex_;
  lock_order const place_;
  lock_order outer_ = lock_order::none;  ///< guarded by `mutex_`
};

using ordered_lock = std::lock_guard<ordered_mutex>;

/// The session's thread, which owns everything that is recorded: the profile, the read positions of the logs, the windows, the journal, and
/// the drains of the collectors. Other threads ask it to run a function. If the system provides no thread, the asking thread becomes the
/// owner for the time of its request.
///
/// While nothing is recorded, the thread wakes 40 times a second.
class session_owner {
 public:
  /// What a request resulted in.
  enum class answer {
    given,    ///< the function has run
    too_late  ///< it has not, because the session has ended, or because a collector has not returned (`stuck`)
  };

  struct round_result {
    std::chrono::nanoseconds pause{};  ///< before the next round
    bool is_complete = false;          ///< everything recorded before the round has been drained
  };

  session_owner() = default;
  session_owner(session_owner const&) = delete;
  session_owner& operator=(session_owner const&) = delete;

  /// Starts the thread. If the system cannot create one, `failure` states why.
  /// @param round drains once; throws only if a collector ends the thread.
  void start(std::function<round_result()> round) {
    round_ = std::move(round);
    try {
      thread_ = std::make_unique<own_thread>("profkit", [this] { run(); });
      has_thread_ = true;
    } catch (std::exception const& reason) {
      failure_ = reason.what();
    }
  }

  /// Why there is no thread; empty if there is one.
  [[nodiscard]] std::string const& failure() const noexcept { return failure_; }

  /// Whether a collector has ended the thread (`pthread_exit`).
  [[nodiscard]] bool is_lost() const noexcept { return has_left_.load() && !has_ended_.load(); }

  /// Starts the next round immediately. May be called on any thread, and in a signal handler at any time.
  static void wake() noexcept { reader_of_logs.wake(); }

  /// Whether the calling thread is the owner now.
  [[nodiscard]] bool is_current() const noexcept { return owned() == this; }

  [[nodiscard]] called_collector& calls() noexcept { return calls_; }
  [[nodiscard]] called_collector const& calls() const noexcept { return calls_; }

  /// Runs a function on the session's thread and waits for it. Exceptions of the function reach the caller.
  /// @param function may outlive this call if a collector has not returned, so it must own its data or refer to the session.
  /// @param rounds number of complete rounds before the function, at most a second.
  template <class Function>
  [[nodiscard]] answer ask(Function&& function, int rounds = 0) {
    if (is_current()) {
      function();
      return answer::given;
    }
    if (!has_thread_) return own_for(function, rounds);
    auto const asked = std::make_shared<request>(std::forward<Function>(function), rounds);
    if (!add(asked) || !wait_for(*asked)) return answer::too_late;
    if (asked->failure) std::rethrow_exception(asked->failure);
    return asked->state == request_state::done ? answer::given : answer::too_late;
  }

  /// Runs a function on the session's thread after some complete rounds, at most a second. Called by the owner; does not wait.
  /// @param function must not throw.
  void post(std::function<void()> function, int rounds) {
    if (!has_thread_) return function();
    static_cast<void>(add(std::make_shared<request>(std::move(function), rounds)));
  }

  /// Makes the calling thread the owner while it runs a function. The session's thread waits meanwhile.
  template <class Function>
  [[nodiscard]] answer borrow(Function&& function) {
    if (is_current() || !has_thread_) return ask(function);
    struct loan {
      std::atomic<bool> is_lent{false};
      std::atomic<bool> is_returned{false};
      waker lent;
      waker returned;
    };
    auto const lending = std::make_shared<loan>();
    auto const asked = std::make_shared<request>(
        [lending] {
          lending->is_lent.store(true);
          lending->lent.wake();
          while (!lending->is_returned.load()) lending->returned.wait(std::chrono::seconds{1});
        },
        0);
    if (!add(asked)) return answer::too_late;
    while (!lending->is_lent.load()) {
      lending->lent.wait(patience);
      if (asked->state == request_state::refused || (!lending->is_lent.load() && calls_.stuck() != nullptr && asked->drop()))
        return answer::too_late;
    }
    struct give_back {
      loan& what;
      ownership const mine;
      ~give_back() {
        what.is_returned.store(true);
        what.returned.wake();
      }
    } const at_end{*lending, ownership{*this}};
    function();
    return answer::given;
  }

  /// Replaces the session's thread between steps. Does nothing if another thread is the owner.
  void run_round_without_thread() {
    if (!mutex_.try_lock()) return;
    std::lock_guard<ordered_mutex> const lock{mutex_, std::adopt_lock};
    ownership const mine{*this};
    static_cast<void>(round_());
  }

  /// Whether a drain should stop soon, because a thread waits for an answer.
  [[nodiscard]] bool is_interrupted() const noexcept { return urgent_.load(std::memory_order_relaxed) > 0; }

  /// Whether a request waits for complete rounds.
  [[nodiscard]] bool are_rounds_wanted() const noexcept { return waiting_.load(std::memory_order_relaxed) > 0; }

  /// No further requests: the thread ends after the present request or round.
  void end() noexcept {
    has_ended_.store(true);
    wake();
  }

  /// Waits until the thread has ended, after `end`.
  /// @return false if it is the calling thread, or if it does not end because of a collector.
  [[nodiscard]] bool join() noexcept {
    if (is_current()) return false;
    if (!has_thread_ || thread_ == nullptr) return true;
    while (!has_left_.load()) {
      if (calls_.stuck() != nullptr) return false;
      left_.wait(patience);
    }
    thread_->join();
    thread_.reset();
    return true;
  }

 private:
  static constexpr std::chrono::milliseconds patience{10};

  enum class request_state { waiting, running, done, dropped, refused };

  struct request {
    template <class Function>
    request(Function&& function, int rounds_before) : run{std::forward<Function>(function)}, rounds{rounds_before} {}

    /// Withdraws the request. @return false if it runs already.
    bool drop() noexcept {
      request_state expected = request_state::waiting;
      return state.compare_exchange_strong(expected, request_state::dropped);
    }

    std::function<void()> run;
    int rounds;
    bool const is_urgent = rounds == 0;
    std::chrono::steady_clock::time_point const latest = std::chrono::steady_clock::now() + std::chrono::seconds{1};
    std::exception_ptr failure;
    std::atomic<request_state> state{request_state::waiting};
    waker changed;
  };

  /// Makes the calling thread the owner until the end of the block.
  struct ownership {
    explicit ownership(session_owner const& owner) noexcept : before{std::exchange(owned(), &owner)} {}
    ownership(ownership const&) = delete;
    ownership& operator=(ownership const&) = delete;
    ~ownership() { owned() = before; }
    session_owner const* before;
    usual_arithmetic arithmetic;
  };

  static session_owner const*& owned() noexcept {
    static thread_local session_owner const* value = nullptr;
    return value;
  }

  [[nodiscard]] bool add(std::shared_ptr<request> const& asked) {
    {
      ordered_lock const lock{mutex_};
      if (is_closed_) return false;
      requests_.push_back(asked);
      (asked->is_urgent ? urgent_ : waiting_).fetch_add(1);
    }
    wake();
    return true;
  }

  /// @return false if the session's thread has been in a function of a collector for too long.
  [[nodiscard]] bool wait_for(request& asked) const noexcept {
    while (asked.state == request_state::waiting || asked.state == request_state::running) {
      asked.changed.wait(patience);
      if (calls_.stuck() != nullptr && (asked.drop() || asked.state == request_state::running)) return false;
    }
    return true;
  }

  void run() {
    ownership const mine{*this};
    struct leave {
      session_owner& owner;
      ~leave() {
        owner.close();
        owner.has_left_.store(true);
        owner.left_.wake();
      }
    } const at_end{*this};  // also if a collector ends the thread
    while (!has_ended_.load()) {
      serve();
      if (has_ended_.load()) break;
      round_result const done = round_();
      if (done.is_complete && are_rounds_wanted()) count_round();
      serve();
      if (!has_ended_.load()) reader_of_logs.wait(done.pause);
    }
  }

  void count_round() noexcept {
    ordered_lock const lock{mutex_};
    for (auto const& each : requests_) each->rounds = std::max(each->rounds - 1, 0);
  }

  /// Runs all requests that need no further round.
  void serve() {
    while (std::shared_ptr<request> const next = take_next()) {
      request_state expected = request_state::waiting;
      if (!next->state.compare_exchange_strong(expected, request_state::running)) continue;
      try {
        next->run();
#if __has_include(<bits/cxxabi_forced.h>)  // a collector ends the thread
      } catch (abi::__forced_unwind const&) {
        next->state.store(request_state::refused);
        next->changed.wake();
        throw;
#endif
      } catch (...) {
        next->failure = std::current_exception();
      }
      next->run = nullptr;
      next->state.store(request_state::done);
      next->changed.wake();
    }
  }

  [[nodiscard]] std::shared_ptr<request> take_next() noexcept {
    if (!is_interrupted() && !are_rounds_wanted()) return nullptr;
    ordered_lock const lock{mutex_};
    auto const now = std::chrono::steady_clock::now();
    auto const found =
        std::find_if(requests_.begin(), requests_.end(), [&](auto const& each) { return each->rounds == 0 || now > each->latest; });
    if (found == requests_.end()) return nullptr;
    std::shared_ptr<request> result = std::move(*found);
    requests_.erase(found);
    (result->is_urgent ? urgent_ : waiting_).fetch_sub(1);
    return result;
  }

  /// Refuses all waiting and later requests.
  void close() noexcept {
    ordered_lock const lock{mutex_};
    is_closed_ = true;
    for (auto const& each : requests_) {
      request_state expected = request_state::waiting;
      static_cast<void>(each->state.compare_exchange_strong(expected, request_state::refused));
      each->changed.wake();
    }
    requests_.clear();
  }

  /// `ask` without a thread.
  template <class Function>
  [[nodiscard]] answer own_for(Function&& function, int rounds) {
    auto const latest = std::chrono::steady_clock::now() + std::chrono::seconds{1};
    while (!mutex_.try_lock()) {
      if (calls_.stuck() != nullptr) return answer::too_late;
      std::this_thread::sleep_for(std::chrono::microseconds{100});
    }
    std::lock_guard<ordered_mutex> const lock{mutex_, std::adopt_lock};
    if (has_ended_.load()) return answer::too_late;
    ownership const mine{*this};
    for (; rounds > 0 && std::chrono::steady_clock::now() < latest; std::this_thread::sleep_for(std::chrono::milliseconds{1}))
      rounds -= round_().is_complete ? 1 : 0;
    function();
    return answer::given;
  }

  std::function<round_result()> round_;
  std::unique_ptr<own_thread> thread_;
  bool has_thread_ = false;
  std::string failure_;
  called_collector calls_;
  ordered_mutex mutex_{lock_order::requests};
  std::vector<std::shared_ptr<request>> requests_;  ///< guarded by `mutex_`, like `is_closed_`
  bool is_closed_ = false;
  std::atomic<int> urgent_{0};   ///< number of requests that need no round
  std::atomic<int> waiting_{0};  ///< number of requests that need rounds
  std::atomic<bool> has_ended_{false};
  std::atomic<bool> has_left_{false};  ///< the thread has ended
  waker left_;
};

}  // namespace PROFKIT_NAMESPACE::detail
