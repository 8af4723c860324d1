// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/impl/analyze/time/path_tree.hpp>
#include <profkit/impl/profile/journal_format.hpp>
#include <profkit/profile.hpp>
#include <profkit/time.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../watch_view.hpp"

namespace profkit_program {

/// A scope or a driver call that is open. Times are those of its session.
struct open_scope {
  std::string path;  ///< such as "step/forward"; of the scope, or of the innermost scope around the call
  std::string call;  ///< name of a driver call; empty for a scope
  profkit::timestamp begin;
  bool is_step = false;
};

/// The open scopes of one thread.
struct open_thread {
  std::uint64_t system_id = 0;
  std::string name;
  std::vector<open_scope> open;  ///< outermost first

  /// Whether the step is open on this thread.
  [[nodiscard]] bool has_step() const {
    return std::any_of(open.begin(), open.end(), [](open_scope const& each) { return each.is_step; });
  }
};

/// The last collective of one communicator that a rank entered, or a message.
struct entered_collective {
  std::string function;
  std::string group;               ///< name of the communicator; may be empty
  std::uint64_t communicator = 0;  ///< id, equal on all its ranks
  std::uint32_t size = 0;          ///< number of ranks of the communicator; 0: unknown
  std::uint64_t sequence = 0;
  std::string path;  ///< of the scope around it; empty: none
  profkit::timestamp begin;
  std::uint64_t thread = 0;  ///< `gettid` of the thread that entered it
  bool is_open = false;      ///< this rank waits in it, or its kernel has not ended
  bool is_host = false;      ///< declared by the program; NCCL counts by function, programs by communicator
  profkit::message_side side = profkit::message_side::none;
  std::uint32_t partner = 0;  ///< the other rank of a message
};

/// The median of at least one time.
inline std::chrono::nanoseconds median_of(std::vector<std::chrono::nanoseconds> times) {
  auto const middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// The end of a collective: communicator, function, number. Ranks leave it at about the same time.
using collective_ends = std::map<std::pair<std::pair<std::uint64_t, std::string>, std::uint64_t>, profkit::timestamp>;

/// Where a process stood when it last wrote its journal. Times are those of its session.
struct standing {
  profkit::environment_record environment;
  profkit::interval time;    ///< from the beginning of the session to the last sign of life in the journal
  bool is_complete = false;  ///< the session ended
  std::optional<profkit::step_record> last_step{};
  std::optional<std::chrono::nanoseconds> usual{};  ///< median time of the latest measured steps; without one, of the latest steps
  std::size_t usual_steps = 0;                      ///< number of steps of the median
  std::vector<open_thread> threads{};               ///< with open scopes or calls; the one with the step first
  std::vector<entered_collective> collectives{};    ///< the last of each communicator and function, latest first
  collective_ends ends{};                           ///< of the latest ones

  /// When the open step began; n/a without one.
  [[nodiscard]] std::optional<profkit::timestamp> step_begin() const {
    for (open_thread const& thread : threads) {
      for (open_scope const& each : thread.open) {
        if (each.is_step) return each.begin;
      }
    }
    return std::nullopt;
  }
};

/// Follows the frames of a journal and keeps what `standing` needs. Memory does not grow with the journal.
class standing_recorder {
 public:
  /// The lengths of the lists that `add` reads.
  struct lengths {
    std::size_t scopes = 0, steps = 0, calls = 0, operations = 0, collectives = 0;
    lengths() = default;
    explicit lengths(profkit::profile const& profile)
        : scopes{profile.scopes.size()},
          steps{profile.steps.size()},
          calls{profile.api_calls.size()},
          operations{profile.gpu_operations.size()},
          collectives{profile.collectives.size()} {}
  };

  /// Adds the records of a frame. @param from lengths of the lists before the frame.
  void add(profkit::profile const& all, lengths const& from) {
    for (std::size_t i = from.steps; i < all.steps.size(); ++i) steps_.add(all.steps[i]);
    for (std::size_t i = from.collectives; i < all.collectives.size(); ++i) note(all, all.collectives[i], true);
    for (std::size_t i = from.operations; i < all.gpu_operations.size(); ++i) {
      has_operations_ = true;
      for (auto& [key, each] : entered_) {
        if (each.correlation != 0 && each.correlation == all.gpu_operations[i].correlation) each.is_done = true;
      }
    }
    if (!open_) return;
    for (std::size_t i = from.scopes; i < all.scopes.size() && !open_->ranges.empty(); ++i) {
      profkit::scope_record const& ended = all.scopes[i];
      forget(all, ended.time.begin, ended.thread, [&](auto const& each) { return each.call.empty() && each.path == ended.path; });
    }
    for (std::size_t i = from.calls; i < all.api_calls.size() && !open_->ranges.empty(); ++i) {
      profkit::api_call_record const& ended = all.api_calls[i];
      forget(all, ended.time.begin, ended.thread, [&](auto const& each) { return !each.call.empty(); });
    }
  }

  /// Takes what was open at a frame. To be called after each frame that has it.
  void set_open(profkit::profile const& all, profkit::detail::journal_open const& open) {
    for (auto& [key, each] : entered_) {
      if (each.is_host) each.is_done = true;
    }
    open_ = open;
    for (profkit::collective_record const& each : open.collectives) note(all, each, false);
  }

  /// @param tables the profile with the tables of all frames so far.
  [[nodiscard]] standing result(profkit::profile const& tables, bool is_complete) const {
    standing made;
    made.environment = tables.environment;
    made.time = tables.time;
    if (open_) made.time.end = std::max(made.time.end, open_->time);
    made.is_complete = is_complete;
    if (!steps_.empty()) made.last_step = steps_.last();
    add_usual(made);
    if (open_) add_threads(made, tables);
    add_collectives(made, tables);
    made.ends = ends_;
    return made;
  }

 private:
  /// Communicator, function, and the other rank and side of a message.
  using collective_key = std::pair<std::pair<std::uint64_t, std::string>, std::pair<std::uint32_t, profkit::message_side>>;

  struct entry {
    profkit::collective_record record;
    std::uint64_t correlation = 0;
    bool is_host = false;
    bool is_done = false;
  };

  void note(profkit::profile const& all, profkit::collective_record const& record, bool has_ended) {
    profkit::communicator_record const& group = all.communicators[record.communicator];
    std::pair<std::uint64_t, std::string> const name{group.id, all.collective_words[record.function]};
    entry& last = entered_[{name, {record.partner, record.side}}];
    bool const is_host = record.posted != profkit::timestamp{};
    bool const is_newer = last.record.time.begin <= record.time.begin;
    if (is_newer) last = {record, is_host ? 0 : record.correlation, is_host, is_host && has_ended};
    if (!is_host || !has_ended || record.side != profkit::message_side::none) return;
    constexpr std::size_t max_ends = 256;
    if (ends_.size() == max_ends) {
      ends_.erase(order_of_ends_.front());
      order_of_ends_.pop_front();
    }
    if (ends_.try_emplace({name, record.sequence}, record.time.end).second) order_of_ends_.emplace_back(name, record.sequence);
  }

  /// Removes a range that has ended.
  template <class Is>
  void forget(profkit::profile const& all, profkit::timestamp begin, std::uint32_t thread, Is const& is) {
    if (begin > open_->time) return;
    auto& ranges = open_->ranges;
    auto const found = std::find_if(ranges.begin(), ranges.end(), [&](profkit::detail::open_range_record const& each) {
      return each.begin == begin && is(each) && all.threads[each.thread].system_id == all.threads[thread].system_id;
    });
    if (found != ranges.end()) ranges.erase(found);
  }

  void add_usual(standing& made) const {
    std::vector<std::chrono::nanoseconds> times;
    for (bool const any : {false, true}) {
      for (profkit::step_record const& each : steps_) {
        if (any || each.is_measured()) times.push_back(each.time.duration());
      }
      if (!times.empty()) break;
    }
    if (times.empty()) return;
    made.usual_steps = times.size();
    made.usual = median_of(std::move(times));
  }

  void add_threads(standing& made, profkit::profile const& tables) const {
    std::map<std::uint64_t, std::size_t> positions;
    for (profkit::detail::open_range_record const& each : open_->ranges) {
      profkit::thread_record const& thread = tables.threads[each.thread];
      auto const [at, is_new] = positions.try_emplace(thread.system_id, made.threads.size());
      if (is_new) made.threads.push_back({thread.system_id, thread.name, {}});
      open_scope scope{{}, each.call, each.begin};
      if (each.path != profkit::path_record::no_parent) {
        scope.path = profkit::detail::path_text(tables.paths, each.path);
        scope.is_step = each.call.empty() && tables.paths[each.path].is_step;
      }
      made.threads[at->second].open.push_back(std::move(scope));
    }
    for (open_thread& each : made.threads) std::reverse(each.open.begin(), each.open.end());
    std::stable_sort(made.threads.begin(), made.threads.end(), [](open_thread const& a, open_thread const& b) {
      if (a.has_step() != b.has_step()) return a.has_step();
      return a.system_id < b.system_id;
    });
  }

  /// The scope that a collective belongs to: a declared collective is a scope of its own.
  [[nodiscard]] static std::string path_around(profkit::profile const& tables, entry const& last) {
    std::uint32_t path = last.record.path;
    if (last.is_host && path != profkit::path_record::no_parent) path = tables.paths[path].parent;
    return path == profkit::path_record::no_parent ? std::string{} : profkit::detail::path_text(tables.paths, path);
  }

  void add_collectives(standing& made, profkit::profile const& tables) const {
    for (auto const& [key, each] : entered_) {
      profkit::communicator_record const& group = tables.communicators[each.record.communicator];
      bool const is_open = !each.is_done && (each.is_host || (has_operations_ && each.correlation != 0));
      made.collectives.push_back({key.first.second, group.name, group.id, group.size, each.record.sequence, path_around(tables, each),
                                  each.record.time.begin, tables.threads[each.record.thread].system_id, is_open, each.is_host,
                                  each.record.side, each.record.partner});
    }
    std::stable_sort(made.collectives.begin(), made.collectives.end(),
                     [](entered_collective const& a, entered_collective const& b) { return a.begin > b.begin; });
  }

  step_series steps_;
  std::optional<profkit::detail::journal_open> open_;
  std::map<collective_key, entry> entered_;
  collective_ends ends_;
  std::deque<collective_ends::key_type> order_of_ends_;
  bool has_operations_ = false;
};

}  // namespace profkit_program
