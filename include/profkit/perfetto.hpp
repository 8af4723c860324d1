// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Traces in Perfetto's own format. Include this header in one translation unit and link `profkit::perfetto`. Then every function
/// that writes `trace.json` (`report::write`, `report::write_trace`, `PROFKIT=trace`) also writes `trace.pftrace` beside it.
///
///     profkit::write_pftrace(report, "run.pftrace");

#if !__has_include(<protozero/pbf_writer.hpp>)
#error "<profkit/perfetto.hpp> needs protozero (Debian and Ubuntu: libprotozero-dev)"
#endif

#include <cstdint>
#include <filesystem>

#include "analyze/gpu/attribution.hpp"
#include "profile/profile.hpp"
#include "report/compact_trace_hook.hpp"
#include "report/pftrace.hpp"
#include "report/report.hpp"

namespace profkit {

/// @brief Writes the last measured steps of a profile as a Perfetto trace.
/// @param profile the profile.
/// @param path the file; replaced atomically.
/// @param steps number of measured steps, counted from the end.
/// @throws profkit::error that names the file and the reason.
inline void write_pftrace(profile const& profile, std::filesystem::path const& path, std::uint64_t steps = 3) {
  write_pftrace(profile, attribute(profile), steps, path);
}

/// @brief Writes the last measured steps of the profile of a report, like the overload for a profile.
inline void write_pftrace(report const& report, std::filesystem::path const& path, std::uint64_t steps = 3) {
  write_pftrace(report.profile(), path, steps);
}

namespace detail {

inline bool install_compact_trace() noexcept {
  write_compact_trace = [](profile const& profile, attribution const& launched, std::uint64_t steps, std::filesystem::path const& path) {
    write_pftrace(profile, launched, steps, path);
  };
  return true;
}

/// Initialised before `main`, once per program, by the translation unit that includes this header.
__attribute__((visibility("default"))) inline bool const compact_trace_is_installed = install_compact_trace();

}  // namespace detail
}  // namespace profkit
