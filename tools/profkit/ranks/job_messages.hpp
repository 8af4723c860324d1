// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <profkit/impl/profile/own_containers.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/time.hpp>
#include <string>
#include <tuple>

#include "collective_waits.hpp"
#include "job_rank.hpp"
#include "job_summary.hpp"
#include "matched_collectives.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The waits for messages of the compared steps, by scope, waiting rank and late partner. A receiver waits until the sender has started to
/// send; a sender that is not buffered waits until the receiver has started to receive (Scalasca's "late sender" and "late receiver").
class job_messages {
 public:
  /// @param share part of the wait that is in no earlier wait of the rank: several messages can be awaited at once.
  void add(own_vector<job_rank> const& ranks, matched_collective const& what, collective_waits const& waits, double share) {
    participant const& waiting = what.on[1 - waits.last];
    timeline_collective const& one = collective_of(ranks, waiting);
    std::string const& path = ranks[waiting.rank].timeline.paths[one.path];
    std::uint32_t const partner = what.on[waits.last].rank;
    group& to = groups_[{path, waiting.rank, partner, one.side == message_side::receive}];
    milliseconds time = share * milliseconds{waits.by_rank[1 - waits.last].waiting};
    awaited& before = last_[waiting.rank];
    if (before.by != nullptr && before.partner == partner && before.begin == one.time.begin) {
      // Two messages of a partner in one wait: the later one ended it.
      before.by->waiting -= before.time;
      --before.by->count;
      time += before.time;
    }
    ++to.count;
    to.waiting += time;
    before = {&to, partner, one.time.begin, time};
  }

  /// @param steps number of compared steps.
  [[nodiscard]] own_vector<job_message_summary> rows(std::size_t steps) const {
    own_vector<job_message_summary> result;
    auto const count = static_cast<double>(std::max<std::size_t>(steps, 1));
    for (auto const& [key, each] : groups_) {
      if (each.count == 0) continue;
      auto const& [path, rank, partner, is_late_sender] = key;
      result.push_back({path, rank, partner, is_late_sender, static_cast<double>(each.count) / count, each.waiting / count});
    }
    own_stable_sort(result.begin(), result.end(), [](auto const& a, auto const& b) { return a.waiting > b.waiting; });
    constexpr std::size_t max_rows = 200;
    result.resize(std::min(result.size(), max_rows));
    return result;
  }

 private:
  struct group {
    std::uint64_t count = 0;  ///< number of messages that were awaited
    milliseconds waiting{};
  };
  /// The last message that a rank waited for.
  struct awaited {
    group* by = nullptr;
    std::uint32_t partner = 0;
    timestamp begin{};
    milliseconds time{};
  };
  /// Path, waiting rank, late rank, and whether that is the sender.
  std::map<std::tuple<std::string, std::size_t, std::size_t, bool>, group> groups_;
  std::map<std::uint32_t, awaited> last_;  ///< by waiting rank
};

}  // namespace PROFKIT_NAMESPACE::detail
