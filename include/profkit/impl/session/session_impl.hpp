// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "../../error.hpp"
#include "../../find_rank.hpp"
#include "../../options.hpp"
#include "../../profile.hpp"
#include "../../report.hpp"
#include "../../step.hpp"
#include "../collect/collector_list.hpp"
#include "../collect/host_probe.hpp"
#include "../profile/file_access.hpp"
#include "../profile/numbers.hpp"
#include "../profile/record_types.hpp"
#include "../record/other_modules.hpp"
#include "../record/process_identity.hpp"
#include "../record/quiet_thread.hpp"
#include "console.hpp"
#include "live/live_reports.hpp"
#include "live/session_control.hpp"
#include "session_exit.hpp"
#include "session_factory.hpp"
#include "session_journal.hpp"
#include "session_owner.hpp"
#include "session_recording.hpp"
#include "step_side.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Replaces the placeholders of a path: "%p" by the process id, "%r" by the rank, "%h" by the host name. Slashes in the host name become
/// "_". The result is absolute, so that it stays the same if the program changes its directory.
inline std::string process_path(std::string_view pattern, std::uint32_t rank) {
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  std::string result;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    char const what = pattern[at] == '%' && at + 1 < pattern.size() ? pattern[at + 1] : '\0';
    if (what == 'p') {
      result += std::to_string(::getpid());
    } else if (what == 'r') {
      result += std::to_string(rank);
    } else if (what == 'h') {
      std::string name = host;
      std::replace(name.begin(), name.end(), '/', '_');
      result += name;
    } else {
      result += pattern[at];
      continue;
    }
    ++at;
  }
  return absolute_path(result);
}

/// Whether processes of one run that use this path get different paths.
[[nodiscard]] inline bool differs_by_process(std::string_view pattern) noexcept {
  return pattern.find("%p") != std::string_view::npos || pattern.find("%r") != std::string_view::npos;
}

/// The options of one process of a run: placeholders in paths are replaced, each rank has its own files, and only rank 0 prints.
inline options options_of_rank(options wanted, std::optional<rank_record> const& rank) {
  std::uint32_t const number = rank ? rank->rank : 0;
  std::string& directory = wanted.output_directory;
  std::string& journal = wanted.journal;
  std::string& trace = wanted.trace_file;
  std::string& metrics = wanted.metrics;
  if (trace.empty()) trace = "trace.json";
  if (rank && rank->size > 1) {
    std::string const name = "rank" + std::to_string(number);
    if (!directory.empty() && !differs_by_process(directory)) directory += (directory.back() == '/' ? "" : "/") + name;
    if (!differs_by_process(trace)) trace = std::filesystem::path{trace}.replace_extension(name + ".json").string();
    if (!journal.empty() && !differs_by_process(journal)) journal += "." + name;
    if (!metrics.empty() && !differs_by_process(metrics)) {
      std::filesystem::path file{metrics};
      metrics = file.replace_extension(name + file.extension().string()).string();
    }
    if (number != 0) {
      wanted.print_report = wanted.full_report = false;
      if (directory.empty()) {
        wanted.report_every = std::chrono::milliseconds{0};
        wanted.report_every_steps = 0;
      }
    }
  }
  directory = process_path(directory, number);
  journal = process_path(journal, number);
  trace = process_path(trace, number);
  metrics = process_path(metrics, number);
  return wanted;
}

/// The states of a session.
enum class session_state : std::uint8_t {
  created,   ///< records nothing yet, or profkit is off
  running,   ///< records
  ending,    ///< the session's thread drains the rest and makes the report
  ended,     ///< the report is made, or cannot be made; also in the child of a `fork`
  abandoned  ///< this process is the child of a `fork`, and the session had not ended before it
};

/// Whether a session may go from one state to another: only forward, and from `running` directly to `ended` if its thread does not answer.
[[nodiscard]] constexpr bool may_follow(session_state from, session_state to) noexcept {
  bool const is_over = from == session_state::ended || from == session_state::abandoned;
  bool const leaves_out_running = from == session_state::created && to == session_state::ending;
  return !is_over && !leaves_out_running && from < to;
}

/// The state of one session. May be used on any thread.
class session_states {
 public:
  [[nodiscard]] session_state now() const noexcept { return state_.load(std::memory_order_acquire); }
  [[nodiscard]] bool is(session_state which) const noexcept { return now() == which; }

  /// @return false, with nothing changed, if the present state does not permit it.
  bool move(session_state to) noexcept {
    session_state from = now();
    while (may_follow(from, to)) {
      if (state_.compare_exchange_weak(from, to)) return true;
    }
    return false;
  }

 private:
  std::atomic<session_state> state_{session_state::created};
};

/// The process that created a session. The session must not be used in the child of a `fork`: threads that exist only in the parent may
/// have left it in an inconsistent state.
class owning_process {
 public:
  /// Whether the calling process is a child of the process that created the session.
  [[nodiscard]] bool is_parent() const noexcept { return !is_process(number_); }

  /// Whether that process has ended; to be called in a child.
  [[nodiscard]] bool has_ended() const noexcept { return ::kill(id_, 0) != 0 && errno == ESRCH; }

  [[nodiscard]] ::pid_t id() const noexcept { return id_; }

  [[nodiscard]] std::string why_not_in_child() const {
    return "the session belongs to process " + std::to_string(id_) +
           ", the parent of this one, and stopped recording here at the fork; make the session after fork() or daemon()";
  }

  /// A report without data, for a child.
  [[nodiscard]] report report_in_child() const {
    auto nothing = std::make_shared<profile>();
    nothing->environment = describe_host();
    nothing->quality.not_recorded = why_not_in_child();
    return report{std::move(nothing)};
  }

 private:
  std::uint64_t number_ = identify_process();
  ::pid_t id_ = ::getpid();  ///< no identity in a PID namespace, so for messages only
};

/// The implementation of `session`. All calls except steps are requests to the owner (`session_owner`), so they may be made on any thread.
class session_impl final : public session_core, private ends_with_process {
 public:
  explicit session_impl(options wanted)
      : rank_{wanted.use_rank ? find_rank() : found_rank{}}, options_{options_of_rank(std::move(wanted), rank_.rank)} {
    recording_.content().set(&profile::item_name, options_.item_name);
    recording_.content().set(&profile::precision, options_.precision);
    if (options_.enabled) start();
  }

  raw_step begin_step() override {
    ::pthread_testcancel();  // so that a thread whose loop has no other cancellation point can be cancelled between steps
    no_cancellation const whole;
    if (called_collector::is_on_this_thread()) throw error{"a collector began a profkit::step; steps belong to the measured loop"};
    if (is_step_open_.exchange(true)) throw error{"a profkit::step is open already; steps of one session cannot nest or overlap"};
    raw_step next;
    next.index = next_step_.fetch_add(1);
    next.warmup = next.index < options_.warmup_steps;
    next.has_kernels = options_.collects_kernels_in(next.index) || control_.collects_kernels_in(next.index);
    next.items = options_.items_per_step;
    next.model_flops = amount_or_zero(options_.model_flops_per_step);
    if (is_of_parent() && !is_in_library_of_run() && !is_child_warned_.exchange(true))
      warn("this process records nothing: " + process_.why_not_in_child());
    if (!states_.is(session_state::running)) return next;
    try {
      // A session in static memory is constructed at the first step, so this registration makes the exit handler run before its destructor.
      if (next.index == 0) session_exit::run_before_later_handlers();
      steps_.prepare(next.warmup);
      std::uint64_t const begin = ticks(clock_flag_);
      steps_.begin({{}, next.index, next.warmup, next.items, next.model_flops, next.has_kernels, false});
      recording_.counters().bookkeeping_ticks.fetch_add(ticks(clock_flag_) - begin, std::memory_order_relaxed);
    } catch (...) {
      is_step_open_.store(false);
      throw;
    }
    return next;
  }

  void end_step(raw_step const& done) noexcept override {
    no_cancellation const whole;
    static_cast<void>(is_of_parent());  // then the session does not run here
    if (states_.is(session_state::running)) {
      try {
        steps_.end(done);
      } catch (std::exception const& failure) {
        recording_.counters().abandoned_steps.fetch_add(1, std::memory_order_relaxed);
        warn("a step is lost: ", failure.what());
      }
      if (!owner_.failure().empty()) owner_.run_round_without_thread();
      live_reports_.step_ended(done.index + 1);
      recording_.counters().bookkeeping_ticks.fetch_add(ticks(clock_flag_) - done.end_ticks, std::memory_order_relaxed);
    }
    is_step_open_.store(false);
  }

  void take(std::unique_ptr<collector> taken) override {
    no_cancellation const whole;
    while (taken != nullptr) taken = take_one(std::move(taken));
  }

  profkit::report report() override {
    no_cancellation const whole;
    refuse_in_collector("report");
    if (is_of_parent()) return report_of_parent();
    if (is_step_open_.load()) throw error{"profkit::session::report() was called inside a step; call it when the step has ended"};
    profkit::report result = ended_report();
    end_process_if_signalled();
    return result;
  }

  profkit::report snapshot() override {
    no_cancellation const whole;
    refuse_in_collector("snapshot");
    if (is_of_parent()) return report_of_parent();
    if (states_.is(session_state::running)) {
      auto const so_far = std::make_shared<std::optional<recorded_so_far>>();
      auto const asked = std::chrono::steady_clock::now();
      auto const copy = [this, so_far, asked] {
        if (states_.is(session_state::running)) so_far->emplace(recording_.copy(std::chrono::steady_clock::now() - asked > max_behind));
      };
      if (owner_.ask(copy, rounds_of_snapshot) == session_owner::answer::given && *so_far) {
        quiet_thread const unrecorded;
        usual_arithmetic const arithmetic;
        std::shared_ptr<summary const> figures = (*so_far)->complete();
        return report_of(std::move((*so_far)->profile), std::move(figures));
      }
    }
    if (owner_.calls().stuck() != nullptr) return report_without_data(why_no_answer());
    return ended_report();
  }

  [[nodiscard]] bool end() noexcept override;

  [[nodiscard]] std::uint64_t wanted_steps() const noexcept override { return options_.max_wanted_steps(); }
  [[nodiscard]] std::uint64_t next_step() const noexcept override { return next_step_.load(); }
  [[nodiscard]] bool has_enough() const noexcept override { return steps_.has_enough(); }

 private:
  /// The first round requests data that collectors hold back; after the second one, everything recorded before the request is drained.
  static constexpr int rounds_of_snapshot = 2;
  /// A snapshot that waits longer than this lacks something.
  static constexpr std::chrono::seconds max_behind{1};

  /// @param figures null: computed from the profile.
  static profkit::report report_of(profile&& recorded, std::shared_ptr<summary const> figures) {
    auto content = std::make_shared<profile const>(std::move(recorded));
    using made = profkit::report;  // nvcc writes `class ::profkit::report{`, which is not C++, since a function has the same name
    if (figures == nullptr) return made{std::move(content)};
    return made{std::move(content), std::move(figures)};
  }

  [[nodiscard]] profkit::report report_without_data(std::string reason) const {
    profile nothing;
    nothing.item_name = options_.item_name;
    nothing.precision = options_.precision;
    nothing.quality.not_recorded = std::move(reason);
    recording_.collectors().describe(nothing.collectors);
    return report_of(std::move(nothing), nullptr);
  }

  [[nodiscard]] profkit::report report_of_parent() const {
    return states_.is(session_state::ended) && report_ ? *report_ : process_.report_in_child();
  }

  static void refuse_in_collector(char const* function) {
    if (!called_collector::is_on_this_thread()) return;
    throw error{std::string{"profkit::session::"} + function + "() was called by a collector; call it outside of collectors"};
  }

  [[nodiscard]] bool is_of_parent() const noexcept override {
    if (!options_.enabled || !process_.is_parent()) return false;
    states_.move(session_state::abandoned);
    return true;
  }

  [[nodiscard]] std::string why_no_answer() const {
    collector* const stuck = owner_.calls().stuck();
    if (stuck == nullptr) return owner_.is_lost() ? "a collector ended the thread of the session" : "the session has ended";
    stuck->fail("it has not returned from a function for 10 s");
    return "the collector \"" + std::string{stuck->name()} + "\" has not returned from a function for 10 s";
  }

  [[nodiscard]] std::optional<std::string> why_not_collected(collector const& added) {
    if (is_of_parent()) return "the session belongs to the parent process";
    if (!options_.enabled) return "profkit is off";
    if (!states_.is(session_state::running)) return "the session has ended";
    if (added.kind() == collector_kind::kernels && !options_.kernels) return "switched off by kernels=off";
    bool const is_second = (added.kind() == collector_kind::gpu_utilization && has_utilization_.exchange(true)) ||
                           (added.kind() == collector_kind::energy && has_energy_.exchange(true));
    if (is_second) return "the session already has this collector";
    return std::nullopt;
  }

  // make_session.hpp
  void start();
  /// @return a collector that `options::unified_memory` asks for beside this one, or null.
  std::unique_ptr<collector> take_one(std::unique_ptr<collector> taken) {
    collector_list::entry& added = recording_.collectors().add(std::move(taken));
    if (std::optional<std::string> const reason = why_not_collected(*added.what)) {
      added.what->fail(*reason);
      return nullptr;
    }
    bool const is_for_captures = added.what->kind() == collector_kind::kernels && options_.kernels_on_capture;
    auto const start = [&] { is_for_captures ? recording_.put_aside(added) : recording_.start(added, options_.memory_at_scopes); };
    if (owner_.borrow(start) == session_owner::answer::too_late) added.what->fail(why_no_answer());
    session_exit::run_before_later_handlers();
    return options_.unified_memory && added.what->works() ? added.what->with_unified_memory() : nullptr;
  }

  void start_recording_and_thread(std::unique_ptr<collector> sampler);
  void undo_start() noexcept;
  void make_journal();
  [[nodiscard]] std::optional<summary> figures_so_far();
  [[nodiscard]] bool write_first_metrics();
  void listen();
  [[nodiscard]] std::uint64_t max_kept_steps() const noexcept;

  // session_ending.hpp
  session_owner::round_result round();
  void end_by_signal() noexcept;
  void end_process_if_signalled() noexcept;
  void end_at_exit() noexcept override;
  void warn_if_orphaned() const noexcept;
  void end_with_outputs() noexcept;
  profkit::report ended_report();
  void ask_to_end();
  void end_recording();
  void set_ended() noexcept;

  found_rank const rank_;
  options options_;
  owning_process const process_;
  session_states mutable states_;  ///< mutable: any call in a child finds out that the session is abandoned
  std::optional<session_journal> journal_;
  session_owner owner_;
  session_recording recording_{owner_};
  step_side steps_{options_, recording_};
  std::uint32_t clock_flag_ = 0;  ///< 0 or `use_monotonic_clock`
  std::atomic<std::uint64_t> next_step_{0};
  std::atomic<bool> is_step_open_{false};
  std::atomic<bool> has_utilization_{false};  ///< the program added a collector of this kind
  std::atomic<bool> has_energy_{false};       ///< the same for `collector_kind::energy`
  std::atomic<bool> is_child_warned_{false};
  std::chrono::steady_clock::time_point next_look_at_threads_{};  ///< used by the owner
  std::optional<profkit::report> report_;                         ///< written by the owner before the state is `ended`
  std::string why_no_report_;                                     ///< likewise
  bool has_last_metrics_ = false;                                 ///< guarded by `session_exit::mutex`
  bool has_given_outputs_ = false;                                ///< guarded by `session_exit::mutex`
  session_control control_{{options_, rank_.rank, next_step_, is_step_open_}, owner_, recording_};  ///< used by the owner
  live_reports live_reports_;
};

}  // namespace PROFKIT_NAMESPACE::detail
