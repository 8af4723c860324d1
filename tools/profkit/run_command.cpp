// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <profkit/error.hpp>
#include <profkit/options.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "environment.hpp"

namespace profkit_program {

namespace {

struct run_arguments {
  std::vector<std::string> command;
  std::string step;
  std::string out;
  bool samples = false;
  bool full = false;
  bool with_profkit = false;
};

/// Does not throw if standard error is closed or full, unlike `fmt::print`: the program runs also then.
void say(std::string const& text) { std::fprintf(stderr, "profkit: run: %s\n", text.c_str()); }

/// The library is beside this program in a build folder, and in the folder of libraries when installed; vcpkg moves programs one folder
/// deeper.
/// @throws profkit::error if it is in neither, or cannot be loaded from there.
std::string find_library() {
  std::filesystem::path const folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (std::filesystem::path const& place : {folder, folder / PROFKIT_RUN_FOLDER, folder / ".." / PROFKIT_RUN_FOLDER}) {
    std::filesystem::path const file = (place / library_of_run).lexically_normal();
    if (!std::filesystem::exists(file)) continue;
    if (file.string().find_first_of(" :") == std::string::npos) return file.string();
    throw profkit::error{"cannot load " + file.string() + ": LD_PRELOAD takes no path with a space or a colon; install profkit elsewhere"};
  }
  throw profkit::error{std::string{"cannot find "} + library_of_run + " beside " + folder.string() +
                       "/profkit; install the program and this library together"};
}

/// The file that the system would run; nothing if there is none.
std::optional<std::filesystem::path> find_program(std::string const& name) {
  std::error_code ignored;
  if (name.find('/') != std::string::npos)
    return std::filesystem::exists(name, ignored) ? std::optional{std::filesystem::path{name}} : std::nullopt;
  char const* const path = ::secure_getenv("PATH");
  std::string_view rest = path == nullptr ? "/bin:/usr/bin" : path;  // the C library searches the same folders without PATH
  while (!rest.empty()) {
    std::size_t const end = std::min(rest.find(':'), rest.size());
    std::filesystem::path const file = std::filesystem::path{rest.substr(0, end)} / name;
    if (::access(file.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(file)) return file;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::nullopt;
}

/// Why nothing can be recorded in a program; empty if it can, or is no ELF file.
std::string why_not_recorded(std::filesystem::path const& file) {
  struct ::stat found {};
  if (::stat(file.c_str(), &found) == 0 && (found.st_mode & (S_ISUID | S_ISGID)) != 0 && ::geteuid() != 0)
    return "runs with the rights of another user, so the system ignores the library";
  std::ifstream in{file, std::ios::binary};
  Elf64_Ehdr head{};
  in.read(reinterpret_cast<char*>(&head), sizeof head);
  if (!in || std::string_view{reinterpret_cast<char const*>(head.e_ident), SELFMAG} != ELFMAG) return {};
  if (head.e_ident[EI_CLASS] != ELFCLASS64) return "is not a 64-bit program";
  if (head.e_phentsize != sizeof(Elf64_Phdr)) return {};
  in.seekg(static_cast<std::streamoff>(head.e_phoff));
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr part{};
    in.read(reinterpret_cast<char*>(&part), sizeof part);
    if (!in || part.p_type == PT_INTERP) return {};
  }
  return "is statically linked, so no library can be loaded into it. Link it dynamically, or use PROF_SCOPE in it";
}

void set(char const* name, std::string const& value) {
  ::setenv(name, value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): this program has one thread
}

/// Sets a variable that makes a library call the tool, unless another tool has set it.
/// @param before its value.
void set_tool(char const* name, char const* before, std::string const& library, char const* what) {
  std::string_view const other = text_of(before);
  if (other.empty() || other == library) return set(name, library);
  say(fmt::format("{} is {}: {} go to that tool and are not recorded", name, other, what));
}

void set_environment(run_arguments const& given, std::string const& library) {
  std::string options = given.full ? "report=full" : "report";
  options += ",warmup=3";
  if (given.samples) options += ",samples=1000Hz";
  std::string_view const own = text_of(::secure_getenv("PROFKIT"));
  static_cast<void>(profkit::options::parse(options + "," + std::string{own}));  // says what is wrong
  set("PROFKIT_RUN", std::to_string(::getpid()));
  set("PROFKIT_RUN_OPTIONS", options);
  ::unsetenv("PROFKIT_RUN_STEP");  // NOLINT(concurrency-mt-unsafe): this program has one thread
  if (!given.step.empty()) set("PROFKIT_RUN_STEP", given.step);
  ::unsetenv("PROFKIT_RUN_OUT");  // NOLINT(concurrency-mt-unsafe): this program has one thread
  if (!given.out.empty()) set("PROFKIT_RUN_OUT", given.out);
  ::unsetenv("PROFKIT_RUN_WITH_PROFKIT");  // NOLINT(concurrency-mt-unsafe): this program has one thread
  if (given.with_profkit) set("PROFKIT_RUN_WITH_PROFKIT", "1");
  std::string_view const loaded_before = text_of(::secure_getenv("LD_PRELOAD"));
  set("LD_PRELOAD", library + (loaded_before.empty() ? "" : ":") + std::string{loaded_before});
  set_tool("NVTX_INJECTION64_PATH", ::secure_getenv("NVTX_INJECTION64_PATH"), library, "NVTX ranges");
  set_tool("CUDA_INJECTION64_PATH", ::secure_getenv("CUDA_INJECTION64_PATH"), library, "GPU operations");
  set_tool("KOKKOS_TOOLS_LIBS", ::secure_getenv("KOKKOS_TOOLS_LIBS"), library, "Kokkos regions");
  if (::secure_getenv("PROFKIT_CUPTI_PATH") == nullptr && std::filesystem::exists(PROFKIT_CUPTI_FILE))
    set("PROFKIT_CUPTI_PATH", PROFKIT_CUPTI_FILE);
}

/// Becomes the program. Returns if that fails.
int run(run_arguments const& given) {
  constexpr int not_found = 127;
  constexpr int not_executable = 126;
  std::string const& name = given.command.front();
  std::optional<std::filesystem::path> const file = find_program(name);
  if (!file) {
    say("cannot find the program " + name);
    return not_found;
  }
  std::string const why = why_not_recorded(*file);
  if (!why.empty()) say(name + " " + why + ". It runs, and nothing is recorded");
  set_environment(given, find_library());
  std::vector<char*> words;
  for (std::string const& each : given.command) words.push_back(const_cast<char*>(each.c_str()));
  words.push_back(nullptr);
  static_cast<void>(std::fflush(nullptr));
  ::execvp(words.front(), words.data());
  say("cannot run " + name + ": " + std::generic_category().message(errno));
  return not_executable;
}

}  // namespace

void add_run_command(CLI::App& app, command& chosen) {
  CLI::App& run_app =
      *app.add_subcommand("run", "Records a program that was not built for profkit, and prints the report at its end on stderr");
  auto const given = std::make_shared<run_arguments>();
  run_app.add_option("PROGRAM", given->command, "The program and its arguments, after --")->required()->type_name("");
  run_app.add_option("--step", given->step, "The ranges that are steps, such as 'Train step *', or none; without it, they are found")
      ->type_name("PATTERN");
  run_app.add_option("--out", given->out, "Also write the report to this folder: out=DIR of PROFKIT")->type_name("DIR");
  run_app.add_flag("--samples", given->samples, "Sample the functions of the host: samples=1000Hz of PROFKIT");
  run_app.add_flag("--full", given->full, "Print all tables: report=full of PROFKIT");
  run_app.add_flag("--with-profkit", given->with_profkit, "Record a program although it has profkit: for PROF_SCOPE without a session");
  run_app.footer(
      "profkit run --step 'Train step *' -- python train.py --epochs 3\n"
      "NVTX ranges and Kokkos regions become scopes; kernels, copies, memory and clocks are collected if the program uses a GPU.\n"
      "All keys of PROFKIT work. Standard output, exit code and signals are those of the program.\n"
      "Exit codes of its own: 127 no such program, 126 it cannot be run, 2 bad arguments.");
  run_app.callback([given, &chosen] { chosen = [given] { return run(*given); }; });
}

}  // namespace profkit_program
