// SPDX-License-Identifier: Apache-2.0
#include "files.hpp"

#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <profkit/error.hpp>
#include <system_error>

#include "errors.hpp"

namespace trainer {

namespace fs = std::filesystem;

void check_output_directory(char const* option, fs::path const& directory) {
  std::error_code failure;
  fs::create_directories(directory, failure);
  if (!failure && ::access(directory.c_str(), W_OK | X_OK) != 0) failure = {errno, std::generic_category()};
  if (failure) {
    throw input_error{option + (" " + directory.string()) + ": " + failure.message() + "; use a writable directory"};
  }
}

void replace_file(fs::path const& path, std::string const& content) {
  fs::path const other = path.string() + ".new";
  std::ofstream file{other, std::ios::binary};
  file << content;
  file.close();
  std::error_code failure;
  if (file) fs::rename(other, path, failure);
  if (!file || failure) throw profkit::error{"cannot write " + path.string() + (failure ? ": " + failure.message() : "")};
}

}  // namespace trainer
