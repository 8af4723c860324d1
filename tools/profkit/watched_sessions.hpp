// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <profkit/error.hpp>
#include <profkit/summary.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stuck/rank_standing.hpp"
#include "stuck/stuck_words.hpp"
#include "watch_view.hpp"
#include "watched_files.hpp"

namespace profkit_program {

/// The sessions whose journals are watched, with their figures.
class watched_sessions {
 public:
  /// @throws profkit::error for a path that is there and is neither a journal nor a folder.
  explicit watched_sessions(std::vector<std::string> const& paths) : files_{paths} {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) == 0) host_ = name.data();
    look();
  }

  /// Looks for journals that are new in folders.
  void look() {
    files_.look();
    std::size_t at = 0;
    for (watched_journal& each : files_.journals()) {
      if (at++ == sessions_.size()) sessions_.push_back({&each});
      sessions_[at - 1].has_more = true;
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return sessions_.size(); }

  /// Reads a part of what is new, of each journal in turn.
  /// @return whether there is more.
  bool read() {
    constexpr std::chrono::milliseconds slice{50};
    for (std::size_t tries = 0; tries < sessions_.size(); ++tries) {
      session& each = sessions_[next_to_read_++ % sessions_.size()];
      if (!each.has_more) continue;
      each.has_more = each.journal->read(std::chrono::steady_clock::now() + slice);
      break;
    }
    return std::any_of(sessions_.begin(), sessions_.end(), [](session const& each) { return each.has_more; });
  }

  /// Computes the figures of the chosen session and of one other, so that an update costs the same for any number of sessions.
  void compute(std::size_t chosen) {
    if (sessions_.empty()) return;
    compute_one(sessions_[chosen]);
    compute_one(sessions_[next_to_compute_++ % sessions_.size()]);
  }

  /// Computes the figures of all sessions.
  void compute_all() {
    for (session& each : sessions_) compute_one(each);
  }

  /// Addresses in it are good until the next call of another function.
  [[nodiscard]] std::vector<watch_view> views() const {
    std::vector<watch_view> result;
    for (session const& each : sessions_) result.push_back(view_of(each));
    std::string const stuck = stuck_words();
    for (watch_view& each : result) each.stuck = stuck;
    return result;
  }

  /// Changes with everything that changes the screen, but for the passing of time.
  [[nodiscard]] std::vector<std::pair<std::uint64_t, watch_state>> news() const {
    std::vector<std::pair<std::uint64_t, watch_state>> result;
    for (session const& each : sessions_) result.emplace_back(each.journal->frames(), view_of(each).state);
    return result;
  }

  /// @throws profkit::error that names the first journal that is missing or cannot be read.
  void require_all() const {
    if (sessions_.empty()) throw profkit::error{"profkit watch: no journal in the folder yet; start a program with PROFKIT=journal=FILE"};
    for (session const& each : sessions_) {
      std::string const path = each.journal->path().string();
      if (!each.journal->problem().empty()) throw profkit::error{path + ": " + each.journal->problem()};
      if (!each.journal->has_session())
        throw profkit::error{fmt::format("{0}: no journal there yet; a program with PROFKIT=journal={0} writes it", path)};
    }
  }

 private:
  struct session {
    watched_journal* journal;
    bool has_more = true;
    std::optional<profkit::summary> figures{};
    std::uint64_t frames = 0;  ///< that are in the figures
  };

  /// "step 34, 94 s: rank 7 is in data", if a step takes ten times its usual time and more than a second; else empty.
  [[nodiscard]] std::string stuck_words() const {
    std::vector<rank_standing> ranks;
    bool may_hang = false;
    for (session const& each : sessions_) {
      if (!each.journal->has_session() || each.has_more) continue;
      ranks.push_back({each.journal->path(), each.journal->standing(), {}});
      auto const written = each.journal->written();
      bool const is_silent = written && std::chrono::system_clock::now() - *written >= std::chrono::seconds{1};  // perhaps stopped
      may_hang = may_hang || (!ranks.back().at.is_complete && (is_silent || ranks.back().at.step_begin()));
    }
    if (!may_hang) return {};
    for (rank_standing& each : ranks) each.process = look_at_process(each.at.environment, each.at.time.begin);
    job_clock::set_now(ranks);
    set_missing_usual(ranks);
    rank_standing const* const worst = worst_rank(ranks, std::chrono::seconds{1});
    if (worst == nullptr) return {};
    return fmt::format("step {}, {}: {}", worst->step(), age_words(*worst->step_age()), job_sentence(ranks));
  }

  static void compute_one(session& watched) {
    if (watched.frames == watched.journal->frames()) return;
    watched.frames = watched.journal->frames();
    watched.figures = watched.journal->figures();
  }

  [[nodiscard]] watch_view view_of(session const& watched) const {
    watched_journal const& journal = *watched.journal;
    watch_view result;
    result.name = journal.path().filename().string();
    result.path = journal.path().string();
    if (auto const written = journal.written()) {
      auto const silence = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now() - *written);
      result.silence = std::max(silence, std::chrono::seconds{0});
    }
    result.share_read = journal.share_read();
    result.problem = journal.problem();
    result.state = state_of(watched, result.silence);
    if (!journal.has_session()) return result;
    result.environment = journal.environment();
    if (auto const& rank = result.environment.rank; rank && rank->size > 1)
      result.name = profkit::detail::rank_name(rank->rank, result.environment.host);
    result.recorded = journal.time().duration();
    result.steps = &journal.steps();
    result.figures = watched.figures ? &*watched.figures : nullptr;
    return result;
  }

  [[nodiscard]] watch_state state_of(session const& watched, std::chrono::seconds silence) const {
    constexpr std::chrono::seconds long_silence{3};
    if (!watched.journal->problem().empty()) return watch_state::unreadable;
    if (!watched.journal->has_session()) return watch_state::waiting;
    if (watched.journal->is_complete()) return watch_state::ended;
    if (watched.has_more) return watch_state::reading;
    if (silence < long_silence) return watch_state::running;
    profkit::environment_record const& where = watched.journal->environment();
    bool const is_gone =
        where.host == host_ && where.process_id > 0 && ::kill(static_cast<::pid_t>(where.process_id), 0) != 0 && errno == ESRCH;
    return is_gone ? watch_state::gone : watch_state::silent;
  }

  watched_files files_;
  std::vector<session> sessions_;  ///< in the order of the journals
  std::size_t next_to_read_ = 0;
  std::size_t next_to_compute_ = 0;
  std::string host_;
};

}  // namespace profkit_program
