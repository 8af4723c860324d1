// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <profkit/impl/analyze/ranks/found_collectives.hpp>
#include <profkit/impl/analyze/work/model_flops.hpp>
#include <profkit/impl/profile/own_containers.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/time.hpp>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "collective_waits.hpp"
#include "job_rank.hpp"
#include "job_summary.hpp"
#include "matched_collectives.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The factor from the bandwidth of a collective to the bandwidth of a link (the bus bandwidth of nccl-tests); n/a for other functions. The
/// size of an all-gather, a reduce-scatter and an all-to-all is the part of one rank. Source: nccl-tests, doc/PERFORMANCE.md.
inline std::optional<double> bus_factor(std::string const& function, std::size_t ranks) {
  auto const n = static_cast<double>(ranks);
  if (ranks < 2) return std::nullopt;
  std::string const name = plain_function(function);
  if (name == "allreduce") return 2.0 * (n - 1.0) / n;
  if (name == "allgather" || name == "reducescatter" || name == "alltoall") return n - 1.0;
  if (name == "broadcast" || name == "reduce") return 1.0;
  return std::nullopt;
}

/// Bytes per second of the link between the GPUs of a host, in one direction; 0 if the GPU models differ or are unknown.
inline double link_of(own_vector<job_rank> const& ranks) {
  std::string const& gpu = ranks.front().environment.gpu;
  bool const is_one = std::all_of(ranks.begin(), ranks.end(), [&](job_rank const& each) { return each.environment.gpu == gpu; });
  device_peaks const* const peaks = is_one ? peaks_of(gpu) : nullptr;
  return peaks == nullptr ? 0.0 : peaks->link_gigabytes * 1e9;
}

/// The collectives of the compared steps by scope, function, kind and size. If ranks of a communicator have no file, it is not known
/// whether the others waited for them: their whole time counts as transfer, without a bandwidth.
class job_collectives {
 public:
  void add(own_vector<job_rank> const& ranks, matched_collective const& what, collective_waits const& waits, bool is_last_known) {
    participant const& first = what.on.front();
    rank_timeline const& timeline = ranks[first.rank].timeline;
    timeline_collective const& one = collective_of(ranks, first);
    collective_kind const& kind = timeline.kinds[one.kind];
    std::size_t const members = what.size > 0 ? what.size : what.on.size();
    group& to = groups_[{timeline.paths[one.path], kind.function, kind.datatype, kind.algorithm, kind.protocol, one.bytes, members,
                         what.is_complete}];
    to.instances += what.on.size();
    to.is_awaited = to.is_awaited && waits.is_awaited;
    for (rank_wait const& each : waits.by_rank) {
      to.transfer += static_cast<double>(each.transfer.count());
      to.after_last += static_cast<double>(each.after_last.count());
      to.waiting += static_cast<double>(each.waiting.count());
      to.exposed += static_cast<double>((each.exposed_waiting + each.exposed_transfer).count());
    }
    for (participant const& each : what.on) to.ranks.insert(each.rank);
    if (is_last_known) ++to.last[what.on[waits.last].rank];
  }

  /// @param steps number of compared steps.
  [[nodiscard]] own_vector<job_collective_summary> rows(std::size_t steps, own_vector<job_rank> const& ranks,
                                                        job_clock_summary const& clocks) && {
    double const link = clocks.has_many_hosts ? 0.0 : link_of(ranks);
    own_vector<job_collective_summary> result;
    for (auto const& [key, each] : groups_) {
      job_collective_summary row;
      std::size_t members = 0;
      bool is_complete = true;
      std::tie(row.path, row.function, row.datatype, row.algorithm, row.protocol, row.bytes, members, is_complete) = key;
      row.ranks = members;
      auto const instances = static_cast<double>(each.instances);
      auto const of_rank = static_cast<double>(std::max<std::size_t>(steps * each.ranks.size(), 1));
      row.per_step = instances / of_rank;
      milliseconds const waiting{each.waiting * 1e-6 / instances};
      row.transfer = milliseconds{(each.transfer + (is_complete ? 0.0 : each.waiting)) * 1e-6 / instances};
      if (is_complete && waiting >= clocks.bound) row.waiting = waiting;
      row.exposed = milliseconds{each.exposed * 1e-6 / of_rank};
      std::optional<double> const factor = bus_factor(row.function, members);
      double const seconds = each.after_last * 1e-9 / instances;
      if (is_complete && factor && row.bytes > 0 && seconds > 0.0 && each.is_awaited)
        row.bus_bandwidth = static_cast<double>(row.bytes) * *factor / seconds;
      if (row.bus_bandwidth && link > 0.0 && row.algorithm.rfind("NVLS", 0) != 0) row.link_share = *row.bus_bandwidth / link;
      auto const last =
          std::max_element(each.last.begin(), each.last.end(), [](auto const& a, auto const& b) { return a.second < b.second; });
      if (last != each.last.end()) row.last = ranks[last->first].rank;
      result.push_back(std::move(row));
    }
    own_stable_sort(result.begin(), result.end(), [](auto const& a, auto const& b) { return a.exposed > b.exposed; });
    return result;
  }

 private:
  /// Path, function, datatype, algorithm, protocol, size, number of ranks, and whether all ranks recorded it.
  using group_key = std::tuple<std::string, std::string, std::string, std::string, std::string, std::uint64_t, std::size_t, bool>;
  struct group {
    std::uint64_t instances = 0;                          ///< sum over the collectives: number of ranks that recorded it
    bool is_awaited = true;                               ///< false: on some rank, see `collective_waits::is_awaited`
    double transfer = 0.0, waiting = 0.0, exposed = 0.0;  ///< sums over all ranks, in ns
    double after_last = 0.0;                              ///< sum over all ranks, in ns
    std::set<std::uint32_t> ranks;
    std::map<std::uint32_t, std::uint64_t> last;  ///< by rank: how often it started last
  };
  std::map<group_key, group> groups_;
};

}  // namespace PROFKIT_NAMESPACE::detail
