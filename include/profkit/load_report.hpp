// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The report of a saved profile or of a journal.

#include <string>

#include "impl/profile/library_abi.hpp"
#include "report.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief Creates the report of a saved profile or of a journal. For a journal with more than two files, the figures cover the whole
/// session, and the profile has the records of the last two files.
/// @param path the saved profile or the journal.
/// @return the report.
/// @throws profkit::error that names the file and states whether it cannot be read, is not a profile, has another format or is damaged.
[[nodiscard]] PROFKIT_TAGGED_FUNCTION report load_report(std::string const& path);

}  // namespace PROFKIT_NAMESPACE
