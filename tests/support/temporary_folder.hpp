// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

/// A folder that is removed at the end of its scope.
struct temporary_folder {
  std::filesystem::path path;

  /// @param name the name of the test, so that parallel tests have different folders.
  explicit temporary_folder(std::string const& name)
      : path{std::filesystem::temp_directory_path() / ("profkit-" + name + "-" + std::to_string(::getpid()))} {
    std::filesystem::create_directories(path);
  }
  ~temporary_folder() { std::filesystem::remove_all(path); }
  temporary_folder(temporary_folder const&) = delete;
  temporary_folder& operator=(temporary_folder const&) = delete;
};

/// The text of a file; empty without the file.
inline std::string text_of_file(std::filesystem::path const& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}
