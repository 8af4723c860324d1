// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <profkit/impl/profile/own_containers.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/impl/report/json_text.hpp>
#include <string>

#include "collective_waits.hpp"
#include "job_rank.hpp"
#include "matched_collectives.hpp"
#include "rank_clocks.hpp"

namespace PROFKIT_NAMESPACE {

namespace detail {

/// Writes the timelines of all ranks as one trace, on one clock.
class ranks_trace_writer {
 public:
  explicit ranks_trace_writer(detail::own_vector<job_rank> const& ranks)
      : ranks_{ranks}, all_{collective_matcher{ranks}.take()}, clocks_{ranks, all_} {}

  [[nodiscard]] std::string write() && {
    find_beginning();
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      name("process_name", rank, 0, ranks_[rank].name());
      name("thread_name", rank, steps_track, "steps");
      name("thread_name", rank, collectives_track, "collectives");
      add_steps(rank);
    }
    for (matched_collective const& each : all_) add(each);
    return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[" + events_ + "\n]}\n";
  }

 private:
  static constexpr int steps_track = 1;
  static constexpr int collectives_track = 2;

  void find_beginning() {
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      for (timeline_step const& each : ranks_[rank].timeline.steps)
        begin_ = std::min(begin_, each.begin - clocks_.shift_at(rank, each.begin));
    }
    if (begin_ == timestamp::max()) begin_ = {};
  }

  void put(std::string const& event) { events_ += (events_.empty() ? "\n" : ",\n") + event; }

  void name(char const* what, std::uint32_t rank, int track, std::string const& text) {
    put(fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", what, ranks_[rank].rank, track,
                    json_string(text)));
  }

  void add(std::uint32_t rank, int track, std::string const& text, interval const& time, std::chrono::nanoseconds shift) {
    auto const us = [](std::chrono::nanoseconds ns) { return static_cast<double>(ns.count()) * 1e-3; };
    put(fmt::format(R"({{"ph":"X","name":{},"pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f}}})", json_string(text), ranks_[rank].rank, track,
                    us(time.begin - shift - begin_), us(time.duration())));
  }

  void add_steps(std::uint32_t rank) {
    for (timeline_step const& each : ranks_[rank].timeline.steps) {
      timestamp const end = std::max(each.begin, each.next_begin ? *each.next_begin : each.end);
      add(rank, steps_track, fmt::format("step {}{}", each.index, each.is_measured ? "" : " (warm-up)"), {each.begin, end},
          clocks_.shift_at(rank, each.begin));
    }
  }

  /// A collective with its waiting and its transfer inside.
  void add(matched_collective const& what) {
    collective_waits const waits{ranks_, what, clocks_};
    for (std::size_t i = 0; i < what.on.size(); ++i) {
      participant const& each = what.on[i];
      rank_timeline const& timeline = ranks_[each.rank].timeline;
      timeline_collective const& one = collective_of(ranks_, each);
      std::chrono::nanoseconds const shift = clocks_.shift(each);
      std::string const name = what.is_message
                                   ? fmt::format("{} {}", one.side == message_side::send ? "send to" : "receive from", one.partner)
                                   : fmt::format("{} {}", timeline.kinds[one.kind].function, one.sequence);
      add(each.rank, collectives_track, name, one.time, shift);
      if (!what.is_complete || what.is_contradictory) continue;
      timestamp const arrived = one.time.begin + waits.by_rank[i].waiting;
      if (waits.by_rank[i].waiting.count() > 0) add(each.rank, collectives_track, "waiting", {one.time.begin, arrived}, shift);
      if (waits.by_rank[i].transfer.count() > 0) add(each.rank, collectives_track, "transfer", {arrived, one.time.end}, shift);
    }
  }

  detail::own_vector<job_rank> const& ranks_;
  detail::own_vector<matched_collective> all_;
  rank_clocks clocks_;
  timestamp begin_ = timestamp::max();
  std::string events_;
};

}  // namespace detail

/// @brief Steps and collectives of all ranks on one clock, in Chrome's trace event format for https://ui.perfetto.dev. Each rank is a
/// process. Collectives that all their ranks recorded show waiting and transfer.
/// @param ranks the ranks in any order; those with a problem are left out, and all but the first of several with one number, as in
/// `summarize_job`.
[[nodiscard]] inline std::string ranks_trace(::profkit::detail::own_vector<job_rank> ranks) {
  ranks.erase(std::remove_if(ranks.begin(), ranks.end(), [](job_rank const& each) { return !each.problem.empty(); }), ranks.end());
  detail::own_stable_sort(ranks.begin(), ranks.end(), [](job_rank const& a, job_rank const& b) { return a.rank < b.rank; });
  auto const is_same_rank = [](job_rank const& a, job_rank const& b) { return a.rank == b.rank; };
  ranks.erase(std::unique(ranks.begin(), ranks.end(), is_same_rank), ranks.end());
  return detail::ranks_trace_writer{ranks}.write();
}

}  // namespace PROFKIT_NAMESPACE
