// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "../profile/own_memory.hpp"
#include "../profile/profile_builder.hpp"
#include "../profile/time.hpp"

namespace profkit::detail {

/// The open scopes of a thread that are collectives.
class scope_collectives {
 public:
  [[nodiscard]] bool empty() const noexcept { return open_.empty(); }

  /// @param depth number of open scopes and calls, including the scope.
  /// @param record record of the collective, without its end.
  void begin(std::size_t depth, collective_record const& record) { open_.push_back({depth, record}); }

  /// Adds the collectives of the ending scope at a depth.
  void end(std::size_t depth, timestamp time, profile_builder& into) {
    for (; !open_.empty() && open_.back().depth >= depth; open_.pop_back()) {
      collective_record& record = open_.back().record;
      record.time.end = time;
      into.add(record);
    }
  }

 private:
  struct open_collective {
    std::size_t depth;
    collective_record record;
  };

  own_vector<open_collective> open_;
};

}  // namespace profkit::detail
