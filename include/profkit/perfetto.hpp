// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Perfetto's own trace format. Include it in one translation unit of a program and link `profkit::perfetto`: from there on, wherever
/// `trace.json` is written (`report::write`, `report::write_trace`, `PROFKIT=trace`), `trace.pftrace` is written beside it.
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

/// Writes the last measured steps of what was recorded.
/// @throws profkit::error that names the file.
inline void write_pftrace(profile const& of, std::filesystem::path const& path, std::uint64_t steps = 3) {
  write_pftrace(of, attribute(of), steps, path);
}

/// The same of the profile of a report.
inline void write_pftrace(report const& of, std::filesystem::path const& path, std::uint64_t steps = 3) {
  write_pftrace(of.profile(), path, steps);
}

namespace detail {

inline bool install_compact_trace() noexcept {
  write_compact_trace = [](profile const& of, attribution const& launched, std::uint64_t steps, std::filesystem::path const& path) {
    write_pftrace(of, launched, steps, path);
  };
  return true;
}

/// Initialised before `main`, once per program, in whatever translation unit includes this header.
__attribute__((visibility("default"))) inline bool const compact_trace_is_installed = install_compact_trace();

}  // namespace detail
}  // namespace profkit
