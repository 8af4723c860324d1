// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

#include "../record/site.hpp"

namespace profkit::detail {

/// The last API call of a thread that returned. It is used to find the launch of a collective.
///
/// A library that launches the kernel of a collective reports the collective immediately afterwards, so the report is the next event of the
/// log. Compares positions in the log, because clocks can be coarse.
struct last_call {
  site const* where = nullptr;
  std::uint64_t correlation = 0;
  std::uint64_t const* next = nullptr;  ///< the event after the call, or after the collectives that follow it

  /// The correlation of the call, if it launched a kernel immediately before an event; otherwise 0.
  [[nodiscard]] std::uint64_t launch_before(std::uint64_t const* event) const noexcept {
    constexpr char const* launch = "cuLaunchKernel";
    return next == event && std::strncmp(where->name, launch, std::strlen(launch)) == 0 ? correlation : 0;
  }

  /// To be called after a collective, and where the log continues in another chunk, because the writer may reuse positions in earlier
  /// chunks.
  void continue_at(std::uint64_t const* before, std::uint64_t const* after) noexcept { next = next == before ? after : nullptr; }
};

}  // namespace profkit::detail
