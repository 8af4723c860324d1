// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/summary.hpp>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace PROFKIT_NAMESPACE::detail {

/// The id, the name and the size of a communicator, equal on all its ranks.
using communicator_key = std::tuple<std::uint64_t, std::string, std::uint32_t>;

/// The key of a communicator. An id of NCCL is unique, and its name may differ between ranks. An id that the program declares
/// distinguishes only communicators with equal names.
inline communicator_key communicator_key_of(collective_kind const& kind) {
  bool const is_unique = kind.communicator != 0 && !kind.is_host;
  return {kind.communicator, is_unique ? std::string{} : kind.group, kind.size};
}

/// A rank that declares a communicator.
struct communicator_member {
  std::uint32_t position = 0;    ///< position in the list of ranks
  std::uint32_t rank = 0;        ///< rank number in the job
  std::uint32_t group_rank = 0;  ///< rank number in the communicator
};

/// Divides the ranks that declare communicators of one key, such as the pairs {0, 1} and {2, 3} that all declare "tp". Two ranks with
/// the same number in the communicator, or more ranks than its size, are in different communicators.
class communicator_parts {
 public:
  communicator_parts() = default;

  /// @param size number of ranks of a communicator; 0: unknown, then all ranks are in one.
  communicator_parts(own_vector<communicator_member> const& members, std::uint32_t size) {
    std::optional<std::uint64_t> const stride = is_one(members, size) ? std::nullopt : stride_of(members, size);
    is_ambiguous_ = !stride && !is_one(members, size);
    std::uint64_t const step = stride.value_or(0);  // with `*stride`, g++ 12 warns of an uninitialised value
    std::map<std::uint64_t, std::uint32_t> numbers;
    for (communicator_member const& each : members) {
      std::uint64_t const group = step == 0 ? 0 : each.rank / (step * size) * step + each.rank % step;
      std::uint32_t const part = numbers.try_emplace(group, static_cast<std::uint32_t>(numbers.size())).first->second;
      part_of_[{each.position, each.group_rank}] = part;
    }
    present_.resize(numbers.size());
    for (auto const& [member, part] : part_of_) ++present_[part];
  }

  /// @return the number of the communicator.
  [[nodiscard]] std::uint32_t part_of(std::uint32_t position, std::uint32_t group_rank) const {
    return part_of_.at({position, group_rank});
  }

  /// @return the number of members of a communicator that have a file.
  [[nodiscard]] std::uint32_t present(std::uint32_t part) const { return present_.at(part); }

  /// Whether there are several communicators, and the members of each are unknown.
  [[nodiscard]] bool is_ambiguous() const noexcept { return is_ambiguous_; }

 private:
  static bool is_one(own_vector<communicator_member> const& members, std::uint32_t size) {
    if (size == 0) return true;
    if (members.size() > size) return false;
    std::set<std::uint32_t> numbers;
    for (communicator_member const& each : members) numbers.insert(each.group_rank);
    bool const are_numbered = numbers.size() > 1 || *numbers.begin() != 0;  // a program may leave the numbers at 0
    return !are_numbered || numbers.size() == members.size();
  }

  /// Programs divide ranks into communicators of every n-th rank: n = 1 makes {0, 1} and {2, 3}, n = 2 makes {0, 2} and {1, 3}.
  /// @return the only n that agrees with the numbers of all members; n/a if none or several do.
  static std::optional<std::uint64_t> stride_of(own_vector<communicator_member> const& members, std::uint32_t size) {
    std::uint64_t ranks = 0;
    for (communicator_member const& each : members) ranks = std::max(ranks, std::uint64_t{each.rank} + 1);
    constexpr std::uint64_t max_ranks = std::uint64_t{1} << 20U;
    if (ranks > max_ranks) return std::nullopt;
    // A wrong stride disagrees with many members. Not in their order, the first one of these is found soon.
    own_vector<communicator_member> mixed = members;
    auto const mixed_number = [](communicator_member const& each) { return each.rank * 0x9e3779b9U; };
    std::sort(mixed.begin(), mixed.end(), [&](auto const& a, auto const& b) { return mixed_number(a) < mixed_number(b); });
    std::optional<std::uint64_t> result;
    for (std::uint64_t stride = 1; stride * size <= ranks; ++stride) {
      bool const agrees = std::all_of(mixed.begin(), mixed.end(),
                                      [&](communicator_member const& each) { return each.rank / stride % size == each.group_rank; });
      if (!agrees) continue;
      if (result) return std::nullopt;
      result = stride;
    }
    return result;
  }

  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> part_of_;  ///< by position and number in the communicator
  own_vector<std::uint32_t> present_;                                         ///< by part
  bool is_ambiguous_ = false;
};

}  // namespace PROFKIT_NAMESPACE::detail
