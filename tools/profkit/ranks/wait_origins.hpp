// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <profkit/impl/profile/own_memory.hpp>
#include <utility>

namespace PROFKIT_NAMESPACE::detail {

/// Charges the waits in collectives to the ranks whose own work caused them. A rank that is late because it waited itself passes the delay
/// on: with the pairs {0, 1} and {2, 3}, and then a collective of all, ranks 2 and 3 wait for rank 0 even if rank 1 arrives last.
///
/// For each rank, `delays_` has the delays on the chain of waits that made it as late as it is, by the rank that caused them. All members
/// of a collective leave it at the same time, so they all take over the delays of the last one. Only differences count.
class wait_origins {
 public:
  explicit wait_origins(std::size_t ranks) : delays_(ranks, std::make_shared<delays const>()) {}

  /// The ranks of a collective meet. Collectives must be given approximately in order of time.
  /// @param count number of these ranks.
  /// @param last element with the latest start.
  /// @param rank_of called with an element: its rank.
  /// @param wait_of called with an element: how long it waits for the last one.
  /// @param charge called with the rank that caused a wait, the element that waited, and the time. A rank can have caused its own wait.
  /// @param own_work how long the last one worked since it left its previous collective or message: it caused no longer delay itself.
  /// Beyond that and the delays of others, communication took long, and nobody is charged.
  template <class RankOf, class WaitOf, class Charge>
  void meet(std::size_t count, std::size_t last, RankOf const& rank_of, WaitOf const& wait_of, Charge const& charge,
            double own_work = std::numeric_limits<double>::infinity()) {
    std::size_t const late = rank_of(last);
    std::shared_ptr<delays const> const of_last = delays_[late];
    std::shared_ptr<delays const> known;  // the delays of the element before
    own_vector<std::pair<std::size_t, double>> passed;
    double sum = 0.0;
    double own = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
      double const wait = i == last ? 0.0 : wait_of(i);
      if (wait <= 0.0) continue;
      if (known != delays_[rank_of(i)]) {
        known = delays_[rank_of(i)];
        passed.clear();
        sum = 0.0;
        for (auto const& [origin, delay] : *of_last) {
          auto const at = known->find(origin);
          double const more = delay - (at == known->end() ? 0.0 : at->second);
          if (more <= 0.0) continue;
          passed.emplace_back(origin, more);
          sum += more;
        }
      }
      double const part = sum > 0.0 ? std::min(1.0, wait / sum) : 0.0;
      for (auto const& [origin, delay] : passed) charge(origin, i, part * delay);
      double const rest = std::min(wait - part * sum, own_work);
      if (rest <= 0.0) continue;
      charge(late, i, rest);
      own += rest / static_cast<double>(count - 1);
    }
    auto next = std::make_shared<delays>();
    if (count < delays_.size()) {  // after a collective of all ranks, nobody is later than another
      *next = *of_last;
      if (own > 0.0) (*next)[late] += own;
    }
    for (std::size_t i = 0; i < count; ++i) delays_[rank_of(i)] = next;
  }

 private:
  using delays = std::map<std::size_t, double>;
  own_vector<std::shared_ptr<delays const>> delays_;  ///< by rank
};

}  // namespace PROFKIT_NAMESPACE::detail
