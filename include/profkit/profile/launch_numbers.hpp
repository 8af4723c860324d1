// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>

#include "profile.hpp"

namespace profkit::detail {

/// Extends the 32-bit correlations of CUPTI to 64 bits, so that they are unique in a session, and knows when recent launches began.
class launch_numbers {
 public:
  /// Consecutive arguments must be less than 2^31 launches apart.
  [[nodiscard]] std::uint64_t extend(std::uint32_t correlation) noexcept {
    if (newest_ == 0) newest_ = (std::uint64_t{1} << 32U) | correlation;
    auto const distance = static_cast<std::int32_t>(correlation - static_cast<std::uint32_t>(newest_));
    auto const extended = static_cast<std::uint64_t>(static_cast<std::int64_t>(newest_) + distance);
    newest_ = std::max(newest_, extended);
    return extended;
  }

  /// Remembers a call. Of several calls with one correlation, the earliest counts. Without memory, the call is unknown.
  void add(api_call_record const& call) noexcept {
    std::unique_ptr<block>& in = blocks_[call.correlation / launches_per_block % blocks_.size()];
    if (in == nullptr) in.reset(new (std::nothrow) block{});
    if (in == nullptr) return;
    launch& known = (*in)[call.correlation % launches_per_block];
    if (known.correlation != call.correlation || call.time.begin < known.begin) known = {call.correlation, call.time.begin};
  }

  /// @return the beginning of the call with this extended correlation; nothing if it was not added, or at least `known_launches` launches
  /// ago.
  [[nodiscard]] std::optional<timestamp> begin_of(std::uint64_t correlation) const noexcept {
    std::unique_ptr<block> const& in = blocks_[correlation / launches_per_block % blocks_.size()];
    if (in == nullptr || (*in)[correlation % launches_per_block].correlation != correlation) return std::nullopt;
    return (*in)[correlation % launches_per_block].begin;
  }

  /// Some times as many as the records that CUPTI holds back: 20,000 in a buffer.
  static constexpr std::size_t known_launches = std::size_t{1} << 18U;

 private:
  static constexpr std::size_t launches_per_block = std::size_t{1} << 11U;  ///< blocks of 32 KiB

  struct launch {
    std::uint64_t correlation = 0;
    timestamp begin{};
  };
  using block = std::array<launch, launches_per_block>;

  std::uint64_t newest_ = 0;
  std::array<std::unique_ptr<block>, known_launches / launches_per_block> blocks_{};
};

}  // namespace profkit::detail
