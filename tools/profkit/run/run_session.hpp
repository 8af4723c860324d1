// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <profkit/impl/record/scope_token.hpp>
#include <profkit/impl/session/session_factory.hpp>
#include <profkit/options.hpp>
#include <profkit/report.hpp>
#include <string>
#include <string_view>

#include "environment.hpp"
#include "step_choice.hpp"

// The session inside a program that `profkit run` started. The symbols of this library are hidden, so a program with profkit of its own
// has its own recorder.

namespace profkit_run {

/// The ranges that are steps. Steps are on one thread.
class step_ranges {
 public:
  void use(char const* pattern);

  /// Whether a range that begins now on this thread is a step. @param thread identifies this thread. @param number see
  /// `step_finder::begin`.
  [[nodiscard]] bool begin(std::string_view name, void const* thread, bool is_main_thread, std::uint64_t number = 0) noexcept;
  /// A range of this thread ends.
  void end(bool is_main_thread, std::uint64_t number = 0) noexcept {
    if (is_main_thread && finds_.load(std::memory_order_relaxed)) finder_.end(step_finder::clock::now(), number);
  }
  /// Whether a range may be a step.
  [[nodiscard]] bool are_wanted() const noexcept {
    return finds_.load(std::memory_order_relaxed) || has_pattern_.load(std::memory_order_relaxed);
  }
  /// No further range is a step.
  void stop() noexcept { has_pattern_.store(false); }

  /// Whether steps are on this thread, or on none so far and it is the main thread.
  [[nodiscard]] bool are_on(void const* thread, bool is_main_thread) const noexcept {
    void const* const found = thread_.load(std::memory_order_relaxed);
    return found == nullptr ? is_main_thread : found == thread;
  }
  /// Whether a range was a step.
  [[nodiscard]] bool has_any() const noexcept { return thread_.load() != nullptr; }
  /// A sentence for the user.
  [[nodiscard]] std::string text() const;
  /// A few words for the report.
  [[nodiscard]] std::string short_text() const;

 private:
  std::atomic<bool> finds_{false};
  std::atomic<bool> has_pattern_{false};
  bool is_given_ = false;
  std::string pattern_;
  step_finder finder_;
  std::atomic<void const*> thread_{nullptr};
};

/// The scope in which the thread of the steps is, for threads that work while it waits.
class followed_scope {
 public:
  /// To be called by the thread of the steps after its scopes have changed. Costs a load unless another thread has asked.
  void note() noexcept {
    if (!is_wanted_.load(std::memory_order_relaxed)) return;
    scope_.store(profkit::scope_token::current(), std::memory_order_relaxed);
    is_known_.store(true, std::memory_order_release);
  }

  /// Any thread. @return n/a before the first change after the first request.
  [[nodiscard]] std::optional<profkit::scope_token> find() noexcept {
    is_wanted_.store(true, std::memory_order_relaxed);
    if (!is_known_.load(std::memory_order_acquire)) return std::nullopt;
    return scope_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> is_wanted_{false};
  std::atomic<bool> is_known_{false};
  std::atomic<profkit::scope_token> scope_{};
};

/// The session of this process. Never destroyed.
class run_session {
 public:
  static run_session& only() noexcept;

  /// Whether the session records now. @param starts whether to start it if it has not been started: something to record happens.
  [[nodiscard]] bool records(bool starts = true) noexcept {
    int const now = state_.load(std::memory_order_acquire);
    return now == running || (now == idle && starts && start());
  }

  /// Called when the library is loaded, if that is before `main`.
  void loaded() noexcept;
  /// Whether this process must be left alone: it has a session of its own, or profkit is off.
  [[nodiscard]] bool is_refused() noexcept;

  [[nodiscard]] step_ranges& steps() noexcept { return steps_; }
  /// Begins a step on this thread. @return false if one is open, or the session has none.
  [[nodiscard]] bool begin_step() noexcept;
  void end_step() noexcept;

  void take(std::unique_ptr<profkit::collector> taken) noexcept;

  void saw_range() noexcept { has_ranges_.store(true, std::memory_order_relaxed); }
  std::atomic<std::uint64_t> crossed{0};          ///< ranges that ended before a range inside them
  std::atomic<std::uint64_t> lost{0};             ///< ranges that had no room
  std::atomic<std::uint64_t> ended_elsewhere{0};  ///< steps that ended on another thread than they began
  followed_scope followed;
  std::atomic<bool> has_ended_elsewhere{false};  ///< the open step has

 private:
  enum : int { idle, starting, running, refused };

  [[nodiscard]] bool start() noexcept;
  void start_session();
  void say_refusal(std::string const& why) const noexcept;
  [[nodiscard]] bool is_program() const noexcept { return is_program_; }
  static void write(profkit::report const& last, profkit::options const& wanted);

  std::atomic<int> state_{idle};
  bool is_program_ = find_program();  ///< this process is PROGRAM, not one that PROGRAM started
  std::atomic<bool> has_ranges_{false};
  std::unique_ptr<profkit::detail::session_core> core_;
  std::atomic<bool> is_step_open_{false};
  profkit::detail::raw_step step_;
  profkit::detail::open_scope_word step_word_ = 0;
  step_ranges steps_;

  [[nodiscard]] static bool find_program() noexcept;
};

}  // namespace profkit_run
