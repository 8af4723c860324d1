// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace fs = std::filesystem;

inline std::string content_of(fs::path const& file) {
  std::ifstream stream{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

/// A folder that is removed at the end of its scope.
class temporary_folder {
 public:
  temporary_folder() : path_{fs::temp_directory_path() / ("profkit-tools-" + std::to_string(::getpid()))} {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~temporary_folder() { fs::remove_all(path_); }
  temporary_folder(temporary_folder const&) = delete;
  temporary_folder& operator=(temporary_folder const&) = delete;

  [[nodiscard]] fs::path const& path() const { return path_; }

  /// Writes a report.json into a folder with this name. @return the folder.
  [[nodiscard]] fs::path write(std::string const& name, std::string const& content) const {
    fs::create_directories(path_ / name);
    std::ofstream{path_ / name / "report.json", std::ios::binary} << content;
    return path_ / name;
  }

  struct result {
    int code;
    std::string out;
    std::string err;
  };

  [[nodiscard]] result run(std::string const& arguments) const {
    fs::path const out = path_ / "stdout";
    fs::path const err = path_ / "stderr";
    std::string const line = std::string{"'"} + PROFKIT_PROGRAM + "' " + arguments + " > '" + out.string() + "' 2> '" + err.string() + "'";
    int const status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content_of(out), content_of(err)};
  }

 private:
  fs::path path_;
};

inline std::string quoted(fs::path const& path) { return " '" + path.string() + "'"; }
