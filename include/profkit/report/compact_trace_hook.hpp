// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "../analyze/gpu/attribution.hpp"
#include "../profile/profile.hpp"

namespace profkit::detail {

using compact_trace_writer = void(profile const& profile, attribution const& launched, std::uint64_t steps,
                                  std::filesystem::path const& path);

/// The function that writes `trace.pftrace` beside `trace.json`. `<profkit/perfetto.hpp>` installs it before `main`. It is null in programs
/// that do not include that header, so these programs do not need protozero.
__attribute__((visibility("default"))) inline compact_trace_writer* write_compact_trace = nullptr;

}  // namespace profkit::detail
