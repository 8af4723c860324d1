// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/impl/analyze/summary_fields.hpp>
#include <profkit/impl/profile/archive_writer.hpp>

#include <string>

/// The members of a summary, byte for byte.
inline std::string bytes_of(profkit::summary const& what) {
  std::string result;
  profkit::detail::string_output output{result};
  profkit::detail::archive_writer archive{output};
  archive(what);
  archive.flush();
  return result;
}
