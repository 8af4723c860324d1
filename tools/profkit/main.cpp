// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <profkit/error.hpp>
#include <profkit/version.hpp>
#include <string>
#include <system_error>

#include "commands.hpp"

namespace {

constexpr int bad_input = 2;

/// Does not throw if standard error is closed or full, unlike `fmt::print`.
int fail(std::string const& reason) {
  static_cast<void>(std::fputs(("profkit: " + reason + "\n").c_str(), stderr));
  return bad_input;
}

int run(int argc, char** argv) {
  CLI::App app{"Records programs, and works with what profkit wrote."};
  app.name("profkit");
  app.set_version_flag("--version", std::string{"profkit "} + profkit::version);
  profkit_program::command chosen;
  profkit_program::add_run_command(app, chosen);
  profkit_program::add_compare_command(app, chosen);
  profkit_program::add_report_command(app, chosen);
  profkit_program::add_watch_command(app, chosen);
  profkit_program::add_stuck_command(app, chosen);
  profkit_program::add_control_commands(app, chosen);
  app.require_subcommand(1);
  try {
    app.parse(argc, argv);
  } catch (CLI::Success const& wanted) {  // --help, --version
    return app.exit(wanted);
  } catch (CLI::ParseError const& error) {
    return fail(std::string{error.what()} + "; see profkit --help");
  }
  return chosen();
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): where there is not even memory to say what is wrong, it ends
int main(int argc, char** argv) {
  try {
    int const code = run(argc, argv);
    // CLI11 flushes after the version, and ignores that it failed.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      return fail("cannot write to standard output: " + std::generic_category().message(errno));
    return code;
  } catch (std::exception const& error) {
    return fail(error.what());
  }
}
