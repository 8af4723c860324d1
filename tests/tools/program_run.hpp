// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "../support/temporary_folder.hpp"

namespace fs = std::filesystem;

/// A folder in which `profkit` runs.
struct program_folder : temporary_folder {
  program_folder() : temporary_folder{"tools"} {}

  /// Writes a report.json into a folder with this name. @return the folder.
  [[nodiscard]] fs::path write(std::string const& name, std::string const& content) const {
    fs::create_directories(path / name);
    std::ofstream{path / name / "report.json", std::ios::binary} << content;
    return path / name;
  }

  struct result {
    int code;
    std::string out;
    std::string err;
  };

  [[nodiscard]] result run(std::string const& arguments) const {
    fs::path const out = path / "stdout";
    fs::path const err = path / "stderr";
    std::string const line = std::string{"'"} + PROFKIT_PROGRAM + "' " + arguments + " > '" + out.string() + "' 2> '" + err.string() + "'";
    int const status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of_file(out), text_of_file(err)};
  }
};

inline std::string quoted(fs::path const& path) { return " '" + path.string() + "'"; }
