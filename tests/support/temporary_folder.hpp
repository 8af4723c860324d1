// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

/// A folder that goes away.
struct temporary_folder {
  std::filesystem::path path;

  /// @param name of the test, so that folders of tests that run beside each other differ.
  explicit temporary_folder(std::string const& name)
      : path{std::filesystem::temp_directory_path() / ("profkit-" + name + "-" + std::to_string(::getpid()))} {
    std::filesystem::create_directories(path);
  }
  ~temporary_folder() { std::filesystem::remove_all(path); }
  temporary_folder(temporary_folder const&) = delete;
  temporary_folder& operator=(temporary_folder const&) = delete;
};
