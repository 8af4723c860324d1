// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace trainer {

/// Creates the directory and checks that it is writable, before the training instead of after it.
/// @param option the command line option, for the message.
/// @throws input_error
void check_output_directory(char const* option, std::filesystem::path const& directory);

/// Writes the content to a temporary file first, so that a reader finds the old file or the new one.
/// @throws profkit::error that names the path.
void replace_file(std::filesystem::path const& path, std::string const& content);

}  // namespace trainer
