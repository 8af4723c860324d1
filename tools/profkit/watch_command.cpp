// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

#include <fmt/format.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <profkit/error.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "environment.hpp"
#include "terminal.hpp"
#include "watch_screen.hpp"
#include "watch_view.hpp"
#include "watched_sessions.hpp"

namespace profkit_program {

namespace {

using clock = std::chrono::steady_clock;

struct watch_arguments {
  std::vector<std::string> paths;
  double interval = 1.0;  // seconds
  bool once = false;
};

/// Whether the locale of the environment has UTF-8.
bool is_utf8_locale() {
  ::locale_t const found = ::newlocale(LC_CTYPE_MASK, "", nullptr);
  if (found == nullptr) return false;
  bool const result = std::string_view{::nl_langinfo_l(CODESET, found)} == "UTF-8";
  ::freelocale(found);
  return result;
}

/// What there is before the first journal of a folder.
std::vector<std::string> no_journal_lines() {
  return {"no journal in the folder yet: start programs with PROFKIT=journal=FOLDER/%p.journal"};
}

std::vector<std::string> screen_lines(watched_sessions const& sessions, std::size_t chosen, screen_size size, screen_style style,
                                      bool has_keys) {
  if (sessions.size() == 0) return {screen_line{size.columns, style}.add(no_journal_lines().front()).text()};
  return watch_screen{size, style}.lines(sessions.views(), chosen, has_keys);
}

/// Until q.
void show_screen(watched_sessions& sessions, std::chrono::milliseconds interval) {
  screen_style const style{text_of(::secure_getenv("NO_COLOR")).empty(), is_utf8_locale()};
  terminal screen;
  std::size_t chosen = 0;
  bool is_over = false;
  auto const draw = [&] { screen.draw(screen_lines(sessions, chosen, terminal::size(), style, screen.has_keys())); };
  auto const react = [&](clock::time_point until) {
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now());
    terminal_event const event = screen.wait(std::max(left, std::chrono::milliseconds{0}));
    if (event == terminal_event::nothing) return;
    if (event == terminal_event::up && chosen > 0) --chosen;
    if (event == terminal_event::down && chosen + 1 < sessions.size()) ++chosen;
    is_over = is_over || event == terminal_event::quit;
    sessions.compute(chosen);
    draw();
  };
  while (!is_over) {
    clock::time_point const next = clock::now() + interval;
    sessions.look();
    while (!is_over && sessions.read() && clock::now() < next) react(clock::now());
    sessions.compute(chosen);
    draw();
    do react(next);
    while (!is_over && clock::now() < next);
  }
}

/// Prints the screen as plain lines.
void print_snapshot(watched_sessions& sessions) {
  constexpr screen_size page{100, 60};
  sessions.compute_all();
  std::string text;
  for (std::string const& line : screen_lines(sessions, 0, page, {false, is_utf8_locale()}, false)) {
    text += line;
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  fmt::print("{}", text);
  static_cast<void>(std::fflush(stdout));
}

/// A snapshot after each interval in which something happened, until a signal ends the program.
[[noreturn]] void print_snapshots(watched_sessions& sessions, std::chrono::milliseconds interval) {
  std::vector<std::pair<std::uint64_t, watch_state>> printed;
  for (bool is_first = true;; is_first = false) {
    clock::time_point const next = clock::now() + interval;
    sessions.look();
    while (sessions.read() && clock::now() < next) continue;
    auto news = sessions.news();
    if (is_first || news != printed) {
      if (!is_first) fmt::print("\n");
      print_snapshot(sessions);
      printed = std::move(news);
    }
    std::this_thread::sleep_until(next);
  }
}

int run_watch(watch_arguments const& given) {
  watched_sessions sessions{given.paths};
  if (given.once) {
    while (sessions.read()) continue;
    sessions.require_all();
    print_snapshot(sessions);
    return 0;
  }
  auto const interval = std::chrono::milliseconds{static_cast<std::int64_t>(1000.0 * given.interval)};
  if (!terminal::is_there(text_of(::secure_getenv("TERM")))) print_snapshots(sessions, interval);
  show_screen(sessions, interval);
  return 0;
}

}  // namespace

void add_watch_command(CLI::App& app, command& chosen) {
  CLI::App& watch = *app.add_subcommand("watch", "Shows running sessions through their journals: steps, GPU, scopes, memory, data quality");
  auto const given = std::make_shared<watch_arguments>();
  watch.add_option("PATH", given->paths, "Journals (PROFKIT=journal=FILE) or folders of journals; they may come later")
      ->required()
      ->type_name("");
  watch.add_option("--interval", given->interval, "Time between updates, 0.1 to 3600")
      ->check(number_from(0.1, 3600.0))
      ->type_name("SECONDS")
      ->option_text("SECONDS [1]");
  watch.add_flag("--once", given->once, "Print one snapshot and exit");
  watch.footer(
      "Keys: q quits, up and down choose a journal. Without a terminal, it prints a snapshot after each interval in which a journal grew.\n"
      "Reads the journals only; the watched programs do not notice. NO_COLOR turns colours off.\n"
      "Exit codes: 0 after q or --once; 2 for bad arguments or input, with --once also if there is no journal. SIGINT and SIGTERM end it.");
  watch.callback([given, &chosen] { chosen = [given] { return run_watch(*given); }; });
}

}  // namespace profkit_program
