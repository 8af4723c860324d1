// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <profkit/error.hpp>
#include <profkit/impl/analyze/windows/window_stream.hpp>
#include <profkit/impl/profile/file_access.hpp>
#include <profkit/impl/profile/journal_format.hpp>
#include <profkit/impl/profile/journal_output.hpp>
#include <profkit/impl/profile/profile_follower.hpp>
#include <profkit/profile.hpp>
#include <profkit/summary.hpp>
#include <profkit/time.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <optional>
#include <string>
#include <utility>

#include "stuck/standing.hpp"
#include "watch_view.hpp"

namespace profkit_program {

/// Follows a journal while its session writes it, and keeps the figures so far. Reads the file, and changes nothing: no locks, no files.
///
/// The figures are added up window by window, as the session itself does it, so an update takes time for what is new and not for what
/// came before. A file that continues another one begins with the figures of the session up to there; they replace those made here.
/// A scope that ends more than half a second after the step in which it began counts in a later step.
///
/// Not thread-safe.
class watched_journal {
 public:
  explicit watched_journal(std::filesystem::path path) : path_{std::move(path)} {}

  /// Reads what is new. A file that is missing, or has nothing yet, is not an error: the session may come later, or again.
  /// @param until when to stop, if there is more.
  /// @return whether there is more to read at once.
  bool read(std::chrono::steady_clock::time_point until) {
    try {
      return read_news(until);
    } catch (profkit::error const& failure) {
      problem_ = failure.what();
      return false;
    }
  }

  /// The figures of everything read so far; n/a before the first frame.
  [[nodiscard]] std::optional<profkit::summary> figures() {
    if (!file_.has_read()) return std::nullopt;
    add_complete();
    profkit::detail::window_stream so_far = windows_;
    so_far.add_rest(has_steps());
    return so_far.sums().finish();
  }

  [[nodiscard]] std::filesystem::path const& path() const noexcept { return path_; }
  [[nodiscard]] step_series const& steps() const noexcept { return steps_; }
  /// Whether a frame of a session was read.
  [[nodiscard]] bool has_session() const noexcept { return file_.has_read(); }
  /// Whether the session ended, and all of it was read.
  [[nodiscard]] bool is_complete() const noexcept { return file_.is_complete(); }
  [[nodiscard]] profkit::environment_record const& environment() const noexcept { return windows_.waiting().environment; }
  /// From the beginning of the session to what it wrote last.
  [[nodiscard]] profkit::interval time() const noexcept { return windows_.waiting().time; }
  /// Why the file cannot be read; empty if it can.
  [[nodiscard]] std::string const& problem() const noexcept { return problem_; }
  /// How much of the file has been read.
  [[nodiscard]] double share_read() const noexcept {
    return size_ == 0 ? 1.0 : static_cast<double>(file_.position()) / static_cast<double>(size_);
  }
  /// How many windows were added since the file began.
  [[nodiscard]] std::uint64_t windows() const noexcept { return windows_.windows(); }
  /// How many frames were read: grows with everything new.
  [[nodiscard]] std::uint64_t frames() const noexcept { return frames_; }

  /// Where the process stands, as far as the file tells.
  [[nodiscard]] profkit_program::standing standing() const { return recorder_.result(windows_.waiting(), is_complete()); }

  /// When the file was written last; n/a if it is not there.
  [[nodiscard]] std::optional<std::chrono::system_clock::time_point> written() const {
    struct ::stat found {};
    if (::stat(path_.c_str(), &found) != 0) return std::nullopt;
    return std::chrono::system_clock::time_point{std::chrono::seconds{found.st_mtim.tv_sec} +
                                                 std::chrono::nanoseconds{found.st_mtim.tv_nsec}};
  }

 private:
  using clock = std::chrono::steady_clock;

  /// What is waited for before a window is added: scopes of other threads that began in it and are still open are not in the journal.
  static constexpr std::chrono::milliseconds for_open_scopes{500};
  /// Records that are added together: a few milliseconds of work.
  static constexpr std::uint64_t records_at_a_time = std::uint64_t{1} << 16U;
  /// Records that are kept until it is known whether the session has steps.
  static constexpr std::uint64_t max_before_first_step = std::uint64_t{1} << 18U;

  static profkit::detail::window_stream empty_stream() {
    profkit::detail::window_waits waits;
    waits.for_threads = for_open_scopes;
    return profkit::detail::window_stream{{}, waits};
  }

  bool read_news(clock::time_point until) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path_, ignored)) return false;
    std::ifstream file = profkit::detail::open_to_read(path_);
    if (!file) {
      problem_ = "it cannot be opened";
      return false;
    }
    size_ = profkit::detail::size_of(file);
    if (file_.has_read() && !file_.is_same_file(file, size_)) {
      if (read_rest_of_file_before(until)) return true;
      file_ = {};
      is_failed_ = false;
    }
    if (is_failed_) return false;
    problem_.clear();
    if (!file_.read_beginning(file, size_)) return false;
    return read_frames(file, size_, until);
  }

  /// The file was renamed to FILE.1 and the session continues in another one, unless another session has replaced it.
  /// @return whether there is more to read.
  bool read_rest_of_file_before(clock::time_point until) {
    if (is_failed_) return false;
    std::ifstream file = profkit::detail::open_to_read(profkit::detail::earlier_journal(path_.string()));
    if (!file) return false;
    std::uint64_t const size = profkit::detail::size_of(file);
    return file_.is_same_file(file, size) && read_frames(file, size, until);
  }

  bool read_frames(std::ifstream& file, std::uint64_t size, clock::time_point until) {
    is_failed_ = true;  // unless all goes well: what was added halfway cannot be continued
    bool has_more = true;
    while (has_more && clock::now() < until) {
      has_more = !file_.is_complete() && read_frame(file, size);
      if (has_more) ++frames_;
    }
    is_failed_ = false;
    return has_more;
  }

  bool read_frame(std::ifstream& file, std::uint64_t size) {
    if (!file_.has_read()) return read_first_frame(file, size);
    profkit::profile& into = windows_.waiting();
    std::size_t const known_steps = into.steps.size();
    std::size_t const known_gpu_steps = into.gpu_steps.size();
    standing_recorder::lengths const known{into};
    if (!file_.read_frame(file, size, into)) return false;
    note_steps(known_steps);
    note_standing(known);
    times_steps_ = times_steps_ || into.gpu_steps.size() > known_gpu_steps;
    if (count_waiting() >= std::max(records_at_a_time, 2 * left_waiting_)) add_complete();
    return true;
  }

  /// Begins a session, or continues one with the figures at the beginning of its next file.
  bool read_first_frame(std::ifstream& file, std::uint64_t size) {
    profkit::profile first;
    if (!file_.read_frame(file, size, first)) return false;
    file_.check_tables(first);
    profkit::profile const& before = windows_.waiting();
    bool const is_same_session =
        frames_ > 0 && first.environment.process_id == before.environment.process_id && first.time.begin == before.time.begin;
    if (!is_same_session) {
      steps_ = {};
      recorder_ = {};
      last_step_end_.reset();
      times_steps_ = false;
    }
    windows_ = empty_stream();
    if (file_.number() > 0) {
      windows_.resume(file_.take_figures(), std::move(first));
      known_scopes_ = windows_.waiting().scopes.size();
    } else {
      windows_.waiting() = std::move(first);
      known_scopes_ = 0;
    }
    times_steps_ = times_steps_ || !windows_.waiting().gpu_steps.empty();
    left_waiting_ = 0;
    note_steps(0);
    note_standing({});
    return true;
  }

  void note_standing(standing_recorder::lengths const& known) {
    recorder_.add(windows_.waiting(), known);
    if (!file_.open() || file_.open()->time == open_time_) return;
    recorder_.set_open(windows_.waiting(), *file_.open());
    open_time_ = file_.open()->time;
  }

  void note_steps(std::size_t from) {
    auto const& all = windows_.waiting().steps;
    for (std::size_t i = from; i < all.size(); ++i) {
      steps_.add(all[i]);
      last_step_end_ = std::max(last_step_end_.value_or(all[i].time.end), all[i].time.end);
    }
  }

  [[nodiscard]] std::uint64_t count_waiting() const { return profkit::detail::count_records(windows_.waiting()); }

  /// Whether the session has steps, as far as the journal tells: the first one may be open.
  [[nodiscard]] bool has_steps() const {
    profkit::profile const& profile = windows_.waiting();
    auto const is_of_step = [](profkit::path_record const& each) { return each.is_step; };
    return windows_.has_steps() || last_step_end_ || profile.quality.abandoned_steps > 0 ||
           std::any_of(profile.paths.begin(), profile.paths.end(), is_of_step);
  }

  /// Adds the windows that are complete.
  void add_complete() {
    profkit::profile& waiting = windows_.waiting();
    file_.check_tables(waiting);
    profkit::detail::arrival until;
    until.has_steps = has_steps();
    until.times_steps = times_steps_;
    // The session writes a step after everything that ended before it.
    if (until.has_steps && !last_step_end_) return;
    if (!until.has_steps && count_waiting() < max_before_first_step) return;
    until.logs_until = until.has_steps ? *last_step_end_ : waiting.time.end;
    if (until.has_steps) move_late_scopes();
    windows_.add_complete(until);
    known_scopes_ = waiting.scopes.size();
    left_waiting_ = count_waiting();
  }

  /// Scopes that began in a window which was added without them count in the next measured step.
  void move_late_scopes() {
    profkit::profile& waiting = windows_.waiting();
    auto const is_next = [&](profkit::step_record const& each) { return each.time.begin >= windows_.until() && each.is_measured(); };
    auto const next = std::find_if(waiting.steps.begin(), waiting.steps.end(), is_next);
    if (next == waiting.steps.end()) return;
    for (std::size_t i = known_scopes_; i < waiting.scopes.size(); ++i) {
      profkit::interval& time = waiting.scopes[i].time;
      if (time.begin < windows_.until() && steps_.is_in_measured_step(time.begin)) {
        time = {next->time.begin, next->time.begin + time.duration()};
      }
    }
  }

  std::filesystem::path path_;
  profkit::detail::journal_file file_;
  std::uint64_t size_ = 0;  ///< of the file
  profkit::detail::window_stream windows_ = empty_stream();
  step_series steps_;
  standing_recorder recorder_;
  profkit::timestamp open_time_{};  ///< of the last `journal_open`
  std::optional<profkit::timestamp> last_step_end_;
  bool times_steps_ = false;        ///< GPU times of steps come later than the steps
  std::size_t known_scopes_ = 0;    ///< in `windows_.waiting()`, when the last window was added
  std::uint64_t left_waiting_ = 0;  ///< records, when the last window was added
  std::uint64_t frames_ = 0;
  std::string problem_;
  bool is_failed_ = false;  ///< nothing more is read of this file
};

}  // namespace profkit_program
