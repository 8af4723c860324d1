// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "../../error.hpp"
#include "../../profile.hpp"
#include "../../profile_builder.hpp"
#include "../../summary.hpp"
#include "../analyze/gpu/counted_operations.hpp"
#include "../analyze/windows/window_stream.hpp"
#include "../collect/collector_list.hpp"
#include "../collect/host_probe.hpp"
#include "../drain/log_drain.hpp"
#include "../profile/own_memory.hpp"
#include "../profile/validate.hpp"
#include "../record/other_modules.hpp"
#include "../record/recorder.hpp"
#include "console.hpp"
#include "live/captured_records.hpp"
#include "session_journal.hpp"
#include "session_owner.hpp"

namespace PROFKIT_NAMESPACE::detail {

[[nodiscard]] inline char const* why_not_shared() noexcept {
  return "the module has a recorder of its own: leave profkit's symbols out of its version script and of --exclude-libs, link it without "
         "-Bsymbolic, open it without RTLD_DEEPBIND and dlmopen, link the executable with -rdynamic, and use one version of profkit";
}

/// Adds one entry for each module with its own recorder, whose scopes are not in the report.
inline void describe_other_recorders(own_vector<collector_record>& into) {
  find_other_recorders();
  for (other_recorder* each = __atomic_load_n(&recorder.others, __ATOMIC_ACQUIRE); each != nullptr; each = each->next) {
    std::string const path = each->path;
    into.push_back({"scopes of " + path.substr(path.rfind('/') + 1), "not collected", why_not_shared(), {}});
  }
}

/// Adds one entry for each library with scopes whose file was replaced after it was loaded, and prints a warning.
inline void describe_replaced_libraries(own_vector<collector_record>& into) {
  find_replaced_libraries([&](char const* path) {
    std::string reason =
        std::string{"another file has replaced "} + path +
        " since it was loaded. Libraries with scopes stay loaded, so dlopen of the same path returns the old code: give each build "
        "of a plug-in another file name";
    warn(reason);
    std::string const name = path;
    into.push_back({"new version of " + name.substr(name.rfind('/') + 1), "not collected", std::move(reason), {}});
  });
}

/// Values that other threads add to, and that the owner copies to the profile.
struct step_counters {
  std::atomic<std::uint64_t> bookkeeping_ticks{0};
  std::atomic<std::uint64_t> abandoned_steps{0};
};

/// A copy of a running session's recording, made by the owner. `complete` continues on another thread.
struct recorded_so_far {
  profkit::profile profile;
  std::optional<window_stream> windows;  ///< n/a if the profile has all records
  snapshot_record missing;
  bool times_steps = false;
  bool has_steps = false;

  /// Computes what needs only the copy. @return the figures; null if they follow from the profile.
  [[nodiscard]] std::shared_ptr<summary const> complete() {
    count_missing_work(profile, times_steps, missing);
    profile.quality.snapshot = missing;
    if (!windows) return nullptr;
    windows->waiting().quality = profile.quality;
    windows->add_rest(has_steps);
    profile.quality.untraced_records -= windows->move_kept_to(profile);
    // A summary takes 4 KiB. The calling thread may have a small stack, so the summary is made where it stays.
    return std::shared_ptr<summary const>{new summary(windows->sums().finish())};
  }
};

/// The recording of a session: its profile, and the logs and collectors that fill it. Only the owner uses it (`session_owner`), except for
/// `collectors` and where a comment says so.
class session_recording {
 public:
  /// @param owner borrowed.
  explicit session_recording(session_owner& owner) : owner_{owner} {}

  /// Starts reading the logs.
  /// @param clock_flag 0 or `use_monotonic_clock`.
  /// @param journal borrowed; null without a journal.
  /// @param max_share maximum share of one core for draining.
  /// @param keep the steps whose records are kept.
  void start(std::uint32_t clock_flag, session_journal* journal, double max_share, kept_steps const& keep) {
    windows_.keep(keep);
    logs_.emplace(content_, clock_flag);
    journal_ = journal;
    pace_ = drain_pace{max_share, journal != nullptr};
  }

  [[nodiscard]] profile_builder& content() noexcept { return content_; }
  [[nodiscard]] collector_list& collectors() noexcept { return collectors_; }
  [[nodiscard]] collector_list const& collectors() const noexcept { return collectors_; }
  /// May be used on any thread.
  [[nodiscard]] step_counters& counters() noexcept { return counters_; }
  /// `log_drain` says which functions may be called on the step thread.
  [[nodiscard]] log_drain& logs() noexcept { return *logs_; }

  /// The host before the measured steps, from the step thread.
  [[nodiscard]] handoff_queue<host_start>& host_starts() noexcept { return host_starts_; }
  /// What the process does from now on is not counted.
  void end_host_use() noexcept { use_at_end_ = read_host_use(); }
  /// Sets the last speed of the host.
  void set_host_speed(std::optional<host_speed_record> const& measured) noexcept {
    take_host_starts();
    content_.environment().host_speed = measured;
  }
  /// Sets the reason why the session has no journal although one was requested.
  void has_no_journal(std::string reason) { no_journal_ = std::move(reason); }
  /// Sets whether the metrics were written last. @param failure the reason if they were not; otherwise empty.
  void metrics_written(std::string const& file, std::string const& failure) {
    metrics_ = {"metrics", failure.empty() ? "written" : "not written", failure.empty() ? file : failure, {}};
  }
  /// Sets whether the session listens on its control socket, and where or why not.
  void set_control(char const* status, std::string reason) { control_ = {"control", status, std::move(reason), {}}; }
  /// From now on, copies the GPU times of steps for `next_gpu_step`.
  void pass_gpu_steps() noexcept { passes_gpu_steps_ = true; }
  /// The GPU times of steps that are in the profile, for the step thread.
  [[nodiscard]] handoff_queue<gpu_step_record>& gpu_steps() noexcept { return gpu_steps_; }

  /// Starts a collector. Called on the thread that adds it, which is the owner meanwhile.
  void start(collector_list::entry& entry, bool wants_polls) {
    collector& added = *entry.what;
    sample_source* samples = nullptr;
    owner_.calls().call(added, [&](collector& each) {
      each.use_clock(logs_->calendar());
      each.start(content_);
      samples = each.samples();
      entry.times_steps = each.times_steps();
    });
    entry.has_started.store(true);
    if (!added.works()) return;
    if (samples != nullptr && std::exchange(is_sampled_, true)) return added.fail("another collector takes samples already");
    if (samples != nullptr) logs_->use_samples(samples);
    if (wants_polls) owner_.calls().call(added, [&](collector& each) { each.poll_at_scopes(content_); });
  }

  /// Keeps a kernel collector for captures (`kernels=capture`).
  void put_aside(collector_list::entry& entry) {
    entry.waits_for_capture.store(true);
    kernels_on_capture_.push_back(&entry);
  }

  /// Whether kernels can be collected in some steps.
  [[nodiscard]] bool has_kernel_collector() const {
    bool result = !kernels_on_capture_.empty();
    collectors_.for_each([&](collector const& each) { result = result || (each.kind() == collector_kind::kernels && each.works()); });
    return result;
  }

  /// From now on, also records for a capture. What it asks for runs until `end_capture`.
  /// @param sampler null without host samples.
  /// @throws profkit::error with the reason if a collector cannot work.
  void begin_capture(bool wants_kernels, std::unique_ptr<collector> sampler) {
    if (sampler != nullptr && is_sampled_) throw error{"the session takes host samples already; its captures contain them"};
    bool const has_memory = !content_.so_far().allocators.empty();
    if (has_memory) take_windows();
    capture_.emplace(content_.so_far(), content_.rest());
    try {
      for (allocation_record const& each : has_memory ? windows_.live_allocations() : own_vector<allocation_record>{})
        capture_->others.add_unchecked(each);
      for (collector_list::entry* each : kernels_on_capture_) {
        if (!wants_kernels) break;
        start_for_capture(*each->what, content_);
        capture_->kernels.push_back(each->what.get());
        each->waits_for_capture.store(false);
      }
      if (sampler == nullptr) return;
      start_for_capture(*sampler, capture_->others);
      capture_->sampler = std::move(sampler);
      logs_->use_samples(capture_->sampler->samples(), &capture_->others);
    } catch (...) {
      end_capture();
      throw;
    }
  }

  /// The latest step that has ended in a capture that runs; n/a before the first one.
  [[nodiscard]] std::optional<std::uint64_t> last_captured_step() const noexcept { return capture_->records.last_step(); }
  /// The memory of a capture that runs.
  [[nodiscard]] std::uint64_t capture_bytes() const noexcept {
    return capture_->records.bytes() + sizeof(sample_record) * capture_->others.so_far().samples.size();
  }

  /// Stops what the capture has started. May wait for a GPU.
  /// @return the file of the capture; null if it cannot be completed.
  std::unique_ptr<own_descriptor> end_capture() noexcept {
    std::unique_ptr<own_descriptor> result;
    for (collector* each : capture_->kernels) {
      owner_.calls().call(*each, [&](collector& last) { last.drain(content_, true); });
      owner_.calls().call(*each, [](collector& last) { last.stop(); });
    }
    capture_->kernels.clear();
    if (capture_->sampler != nullptr) {
      logs_->use_samples(nullptr);
      owner_.calls().call(*capture_->sampler, [](collector& last) { last.stop(); });
    }
    try {
      describe();
      result = capture_->records.finish(content_, capture_->others.take());
    } catch (std::exception const&) {  // no memory
    }
    capture_.reset();
    return result;
  }

  /// Drains logs and collectors, and writes the journal.
  [[nodiscard]] session_owner::round_result round() {
    auto const begin = std::chrono::steady_clock::now();
    std::chrono::nanoseconds const period = begin - std::exchange(last_round_, begin);
    std::chrono::nanoseconds const busy_before{clock_ns(CLOCK_THREAD_CPUTIME_ID)};
    std::uint64_t slot_count = 0;
    std::chrono::nanoseconds until_due{};
    bool is_complete = false;
    bool const is_wanted = owner_.are_rounds_wanted();
    try {
      keep_only_chosen_steps();
      until_due = logs_->until_due();
      is_complete = until_due.count() <= 0;
      auto const goes_on = [&] { return is_complete = is_complete && !owner_.is_interrupted(); };
      if (is_complete) slot_count = logs_->drain(false, goes_on, [&] { add_windows(); });
      drain_collectors(journal_ != nullptr || capture_ || is_wanted || std::exchange(are_operations_wanted_, false));
      append_to_journal();
      if (journal_ != nullptr && journal_->is_open_due()) journal_->append(logs_->open());
    } catch (std::exception const& failure) {  // no memory: the next round continues where this one stopped
      is_complete = false;
      if (!std::exchange(has_told_failure_, true)) warn("recorded data cannot be read: ", failure.what());
    }
    if (journal_ != nullptr) journal_->write();
    auto const taken = std::chrono::steady_clock::now() - begin;
    std::chrono::nanoseconds const busy = std::chrono::nanoseconds{clock_ns(CLOCK_THREAD_CPUTIME_ID)} - busy_before;
    bool const is_soon = owner_.are_rounds_wanted() || owner_.is_interrupted();
    if (!is_soon && until_due.count() > 0) return {until_due, false};
    return {is_soon ? drain_pace::soon_after(taken) : pace_.wait_after({taken, busy, slot_count, period}), is_complete && is_wanted};
  }

  /// Copies the recording of the running session.
  [[nodiscard]] recorded_so_far copy(bool is_behind) {
    describe();
    recorded_so_far result;
    if (has_figures_of_more()) {
      take_windows();
      result.windows = windows_;
    }
    result.times_steps = collectors_.time_steps();
    result.has_steps = logs_->has_steps();
    result.missing.is_behind = is_behind;
    result.missing.is_step_open = logs_->has_unfinished_step();
    result.profile = content_.so_far();
    result.profile.quality.open_scopes += logs_->open_scopes();
    return result;
  }

  /// Copies the figures of the running session, and the records that they do not include yet; at most those of some windows.
  [[nodiscard]] window_stream copy_windows() {
    describe();
    take_windows();
    return windows_;
  }

  /// Ends the recording: drains the rest, which may wait for a GPU, and stops the collectors. If it throws, another call continues.
  /// @param steps the calls of collectors on the step thread; closed.
  void finish(called_collector const& steps, std::optional<stop_record> const& stop) {
    if (phase_ == phase::logs) {
      keep_only_chosen_steps();
      static_cast<void>(logs_->drain(
          true, [] { return true; }, [&] { add_windows(); }));
      phase_ = phase::gpu_scopes;
    }
    append_to_journal();  // the program may be killed while a collector waits
    if (journal_ != nullptr) journal_->write();
    if (phase_ == phase::gpu_scopes) {
      for_each_side_log([](side_log& each) { each.poll(side_log::until_the_end); });
      phase_ = phase::collectors;
      for_each_side_log([&](side_log& each) { each.drain(content_, true); });
      count_scopes_of_other_versions();
    }
    if (phase_ == phase::collectors) {
      phase_ = phase::content;
      collectors_.for_each([&](collector& each) {
        if (!steps.wait_for(each)) return each.fail("a function that the step thread called has not returned");
        owner_.calls().call(each, [&](collector& last) { last.drain(content_, true); });
      });
      collectors_.for_each([&](collector& each) { owner_.calls().call(each, [](collector& last) { last.stop(); }); });
    }
    content_.set(&profile::stop, stop);
    replaced_libraries_.clear();
    describe_replaced_libraries(replaced_libraries_);
    describe();
    if (journal_ == nullptr) return;
    journal_->append(content_.so_far(), content_.rest(), true);
    journal_->write();
    describe_collectors();  // includes whether the last frame was written
    journal_->close();
  }

  /// The figures of the session, after `finish`; n/a if the profile has all records.
  [[nodiscard]] std::shared_ptr<summary const> figures() {
    if (!has_figures_of_more()) return nullptr;
    windows_.take(content_);
    windows_.add_rest(logs_->has_steps());
    return std::shared_ptr<summary const>{new summary(windows_.sums().finish())};
  }

  /// Returns the profile, after `figures`.
  [[nodiscard]] profile take_profile() {
    profile result = content_.take();
    result.quality.untraced_records -= windows_.move_kept_to(result);
    return result;
  }

 private:
  /// The next part of `finish`.
  enum class phase { logs, gpu_scopes, collectors, content };

  /// What runs for a capture.
  struct running_capture {
    running_capture(profile const& so_far, profile const& rest) : records{so_far, rest} {}
    captured_records records;
    own_vector<collector*> kernels;      ///< borrowed from `collectors_`
    std::unique_ptr<collector> sampler;  ///< null without host samples
    profile_builder others;  ///< host samples, which are not in the figures of the session; their functions; memory that was in use before
  };

  void start_for_capture(collector& each, profile_builder& into) {
    owner_.calls().call(each, [&](collector& starting) {
      starting.use_clock(logs_->calendar());
      starting.start(into);
    });
    if (!each.works()) throw error{std::string{each.name()} + ": " + each.status().reason};
  }

  template <class Visit>
  static void for_each_side_log(Visit const& visit) {
    for (side_log* side = __atomic_load_n(&recorder.side_logs, __ATOMIC_ACQUIRE); side != nullptr; side = side->next) {
      if (std::strcmp(side->version, version) == 0) visit(*side);
    }
  }

  /// The GPU scopes of libraries with another version of profkit have no times.
  void count_scopes_of_other_versions() {
    for (side_log* side = __atomic_load_n(&recorder.side_logs, __ATOMIC_ACQUIRE); side != nullptr; side = side->next) {
      if (std::strcmp(side->version, version) == 0) continue;
      content_.count(&quality_record::untimed_gpu_scopes, __atomic_exchange_n(&side->untimed, std::uint64_t{0}, __ATOMIC_RELAXED));
    }
  }

  /// The beginning of the oldest GPU scope that is not in the profile; nothing if there is none.
  [[nodiscard]] static std::optional<timestamp> oldest_unread_scope() {
    std::optional<timestamp> result;
    for_each_side_log([&](side_log const& each) {
      timestamp const oldest{std::chrono::nanoseconds{each.oldest_ns()}};
      result = std::min(result.value_or(oldest), oldest);
    });
    return result;
  }

  void drain_collectors(bool flushes) {
    for_each_side_log([&](side_log& each) { each.drain(content_, false); });
    auto const drain = [&](collector& each) {
      owner_.calls().call(each, [&](collector& working) {
        working.drain(content_, false);
        if (flushes) working.flush();
      });
    };
    collectors_.for_each(drain);
    if (capture_) {
      for (collector* each : capture_->kernels) drain(*each);
    }
    own_vector<gpu_step_record> const& timed = content_.so_far().gpu_steps;
    while (passes_gpu_steps_ && passed_gpu_steps_ < timed.size()) {
      gpu_steps_.push(timed[passed_gpu_steps_]);
      ++passed_gpu_steps_;
    }
  }

  /// With `keep=last:N` and `keep=slowest:K`: after the first step begins, the profile keeps only records of kept steps.
  void keep_only_chosen_steps() noexcept {
    if (!windows_.keeps_all() && logs_->has_steps()) content_.keep_no_more();
  }

  /// Whether the figures cover more records than the profile, or are mostly computed already.
  [[nodiscard]] bool has_figures_of_more() const noexcept {
    return windows_.windows() > 0 || content_.so_far().quality.untraced_records > 0;
  }

  /// Takes windows; the journal receives records first, because the profile does not keep all of them.
  void take_windows() {
    append_to_journal();
    windows_.take(content_);
    if (journal_ != nullptr) journal_->forget_rest();
    if (capture_) capture_->records.forget_rest();
  }

  /// Adds complete windows if enough was recorded.
  void add_windows() {
    bool const is_full = journal_ != nullptr && journal_->is_full();
    if (!windows_.is_due(content_) && !is_full) {
      if (windows_.has_many_new(content_)) take_windows();  // not all of them at the end of a long step
      return;
    }
    std::optional<arrival> until = logs_->arrived();
    if (!until) return;
    append_to_journal();      // the program may be killed while a collector waits
    drain_collectors(false);  // readings of a step that a window contains would otherwise miss the window
    describe();
    until->times_steps = collectors_.time_steps();
    until->unread_gpu_scope = oldest_unread_scope();
    are_operations_wanted_ = true;
    take_windows();
    if (journal_ != nullptr) journal_->write();
    std::uint64_t const lost = windows_.lost();
    try {
      windows_.add_complete(*until);
    } catch (std::exception const&) {
      content_.count(&quality_record::discarded_records, windows_.lost() - lost);
      throw;
    }
    if (journal_ != nullptr && journal_->is_full()) begin_next_journal_file();
  }

  void begin_next_journal_file() {
    journal_head head = windows_.head();
    std::uint64_t const records = content_.records();
    head.forgotten = records - std::min(records, count_records(head.waiting));
    journal_->begin_next_file(head);
  }

  /// Encodes all new records, also for a capture. Each frame contains the number of open scopes, because it may be the last one.
  void append_to_journal() {
    if (capture_) capture_->records.append(content_.so_far(), content_.rest());
    if (journal_ == nullptr) return;
    describe();
    struct with_open_scopes {
      with_open_scopes(profile_builder& in, std::uint64_t open) : content{in}, before{in.so_far().quality.open_scopes} {
        content.count(&quality_record::open_scopes, open);
      }
      ~with_open_scopes() { content.set(&quality_record::open_scopes, before); }
      profile_builder& content;
      std::uint64_t const before;
    } const in_frame{content_, logs_->open_scopes()};
    journal_->append(content_.so_far(), content_.rest(), false);
  }

  void take_host_starts() noexcept {
    host_starts_.take_all([this](host_start const& each) {
      content_.environment().host_speed = each.speed;
      use_at_begin_ = each.use;
    });
  }

  /// The use changes in every round. In a journal, it is new at most once a second, and only with new records: a program that waits must
  /// not fill the disk.
  void describe_host_use() {
    bool const is_running = journal_ != nullptr && phase_ == phase::logs;
    if (is_running && (last_round_ < next_use_ || used_at_records_ == content_.records())) return;
    next_use_ = last_round_ + std::chrono::seconds{1};
    used_at_records_ = content_.records();
    content_.environment().host_use = use_between(use_at_begin_, use_at_end_ ? *use_at_end_ : read_host_use());
  }

  /// Removes single values that a collector has set and that cannot be: a file with them could not be read.
  void remove_impossible_values() noexcept {
    environment_record& where = content_.environment();
    if (where.rank && !is_possible(*where.rank)) where.rank.reset();
    if (where.host_speed && !is_possible(*where.host_speed)) where.host_speed.reset();
    auto const& sampling = content_.so_far().sampling;
    if (sampling && !is_possible(*sampling)) content_.set(&profile::sampling, std::nullopt);
    std::chrono::nanoseconds const cost = content_.so_far().quality.cost_of_1000_scopes;
    if (cost.count() < 0 || cost > std::chrono::hours{1}) content_.set(&quality_record::cost_of_1000_scopes, std::chrono::nanoseconds{0});
  }

  /// Copies single values to the profile.
  void describe() {
    remove_impossible_values();
    take_host_starts();
    describe_host_use();
    content_.environment().clock_offset_ns = logs_->calendar().offset_ns();
    content_.set(&profile::time, logs_->time());
    content_.set(&quality_record::clock_changes, logs_->calendar().changes());
    content_.set(&quality_record::clock_change, logs_->calendar().change());
    content_.set(&quality_record::bookkeeping, logs_->clock().duration(counters_.bookkeeping_ticks.load(std::memory_order_relaxed)));
    content_.set(&quality_record::abandoned_steps, counters_.abandoned_steps.load(std::memory_order_relaxed));
    describe_collectors();
  }

  /// Fills `profile::collectors`, including the session's own parts: thread, journal, and recorders of other libraries.
  void describe_collectors() {
    own_vector<collector_record> outcomes;
    collectors_.describe(outcomes);
    describe_other_recorders(outcomes);
    outcomes.insert(outcomes.end(), replaced_libraries_.begin(), replaced_libraries_.end());
    if (!owner_.failure().empty()) outcomes.push_back({"draining", "between steps only", owner_.failure(), {}});
    if (!control_.name.empty()) outcomes.push_back(control_);
    if (!no_journal_.empty()) outcomes.push_back({"journal", "not written", no_journal_, collector_kind::journal});
    if (!metrics_.name.empty()) outcomes.push_back(metrics_);
    if (journal_ != nullptr) {
      bool const is_written = journal_->failure().empty();
      outcomes.push_back({"journal", is_written ? "written" : "not written", is_written ? journal_->file() : journal_->failure(),
                          collector_kind::journal});
    }
    content_.set(&profile::collectors, std::move(outcomes));
  }

  session_owner& owner_;
  profile_builder content_;
  std::optional<log_drain> logs_;
  drain_pace pace_;
  std::chrono::steady_clock::time_point last_round_ = std::chrono::steady_clock::now();
  collector_list collectors_;
  own_vector<collector_record> replaced_libraries_;
  session_journal* journal_ = nullptr;
  own_vector<collector_list::entry*> kernels_on_capture_;  ///< with `kernels=capture`
  std::optional<running_capture> capture_;
  std::string no_journal_;
  collector_record metrics_;  ///< without a name: none are wanted
  collector_record control_;  ///< without a name if `PROFKIT=control` is not set
  step_counters counters_;
  window_stream windows_;
  handoff_queue<host_start> host_starts_;
  host_use_record use_at_begin_ = read_host_use();
  std::optional<host_use_record> use_at_end_;
  std::chrono::steady_clock::time_point next_use_{};
  std::uint64_t used_at_records_ = 0;  ///< number of records when the use was described
  handoff_queue<gpu_step_record> gpu_steps_;
  std::size_t passed_gpu_steps_ = 0;
  bool passes_gpu_steps_ = false;
  bool is_sampled_ = false;             ///< a collector takes samples
  bool are_operations_wanted_ = false;  ///< the next window needs records that collectors hold back
  bool has_told_failure_ = false;
  phase phase_ = phase::logs;
};

}  // namespace PROFKIT_NAMESPACE::detail
