// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/impl/report/trace_content.hpp>
#include <profkit/impl/report/trace_json.hpp>
#include <profkit/profile.hpp>
#include <profkit/version.hpp>
#include <utility>

#include "pftrace_format.hpp"
#include "pftrace_output.hpp"

namespace PROFKIT_NAMESPACE {

namespace detail {

inline void put_pftrace(profile const& profile, attribution const& launched, std::uint64_t steps, pftrace_packing packing,
                        trace_output& to) {
  trace_content const content{profile, launched, steps};
  pftrace_output packets{to, packing};
  pftrace_format format{content, packets};
  content.write_to(format);
  format.finish();
}

}  // namespace detail

/// @brief The content of `trace_json` in Perfetto's format, at about a tenth of the size. https://ui.perfetto.dev and trace_processor open
/// it.
///
/// Times are nanoseconds of CLOCK_REALTIME. The enclosing slices of a scope form its path. Source:
/// perfetto/protos/perfetto/trace/trace_packet.proto and the files it includes.
/// @param profile the profile.
/// @param launched `attribute(profile)`.
/// @param steps number of measured steps, counted from the end.
/// @param packing whether the packets are compressed.
/// @return the bytes of the trace.
[[nodiscard]] inline detail::own_string trace_pftrace(profile const& profile, attribution const& launched, std::uint64_t steps,
                                                      pftrace_packing packing = pftrace_packing::compressed) {
  detail::trace_output bytes;
  detail::put_pftrace(profile, launched, steps, packing, bytes);
  return std::move(bytes).take();
}

/// @brief A compressed trace of a profile; computes the attribution.
[[nodiscard]] inline detail::own_string trace_pftrace(profile const& profile, std::uint64_t steps = 3) {
  return trace_pftrace(profile, attribute(profile), steps);
}

/// @brief Writes the trace to a file, in pieces. The file is replaced atomically.
/// @throws profkit::error that names the file and the reason.
inline void write_pftrace(profile const& profile, attribution const& launched, std::uint64_t steps, std::filesystem::path const& path,
                          pftrace_packing packing = pftrace_packing::compressed) {
  detail::trace_output file{path};
  detail::put_pftrace(profile, launched, steps, packing, file);
  file.close();
}

}  // namespace PROFKIT_NAMESPACE
