// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace trainer {

/// Makes the directory, and sees that it can be written: better now than after an hour of training.
/// @param option the option that named it, for the message.
/// @throws input_error
void check_output_directory(char const* option, std::filesystem::path const& directory);

/// Writes the content under another name first, so that a reader finds the old file or the new one.
/// @throws profkit::error that names the path.
void replace_file(std::filesystem::path const& path, std::string const& content);

}  // namespace trainer
