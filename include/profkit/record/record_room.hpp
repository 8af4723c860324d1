// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "../profile/profile.hpp"
#include "recorder.hpp"

namespace profkit::detail {

/// How many more records fit into the profile of the running session, of those that come with time: what the logs hold, GPU operations and
/// API calls. Records of steps are always kept. What does not fit is counted in the profile.
class record_room {
 public:
  explicit record_room(profile& of) noexcept : unkept_{of.quality.unkept_records} { look_again(of); }

  /// To be called when others may have added records.
  void look_again(profile const& of) noexcept {
    std::uint64_t const held = of.scopes.size() + of.gpu_scopes.size() + of.gpu_operations.size() + of.api_calls.size() +
                               of.counters.size() + of.allocations.size() + of.work.size();
    std::uint64_t const most = recorder.most_records;
    left_ = most > held ? most - held : 0;
  }

  /// Whether there is room for one more.
  [[nodiscard]] bool take() noexcept {
    if (__builtin_expect(left_ == 0, 0)) {
      ++unkept_;
      return false;
    }
    --left_;
    return true;
  }

  /// Moves as many as there is room for.
  template <class Record>
  void append(std::vector<Record>& to, std::vector<Record>& from) {
    auto const kept = static_cast<std::size_t>(std::min<std::uint64_t>(left_, from.size()));
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.begin() + static_cast<std::ptrdiff_t>(kept)));
    left_ -= kept;
    unkept_ += from.size() - kept;
  }

 private:
  std::uint64_t& unkept_;
  std::uint64_t left_ = 0;
};

}  // namespace profkit::detail
