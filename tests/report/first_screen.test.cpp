// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <profkit/analyze.hpp>
#include <profkit/impl/report/first_screen.hpp>
#include <profkit/impl/report/report_code.hpp>
#include <profkit/report.hpp>
#include <profkit/save_load.hpp>

#include "../support/is_utf8.hpp"
#include "../support/made_gpu_profile.hpp"
#include "../support/made_summary.hpp"
#include "../support/temporary_folder.hpp"
#include "../support/testing.hpp"

using profkit::detail::text_style;

namespace {

std::string screen(profkit::summary const& what, text_style const& style = {}, std::string const& files = "profile: report.json") {
  return profkit::detail::first_screen{profkit::detail::report_code::describe(what), style}.text(files);
}

std::vector<std::string> screen_lines(std::string const& text) {
  std::vector<std::string> result;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    result.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

/// Checks what must hold for any program.
void check_size(std::string const& text, std::size_t width = 120) {
  std::vector<std::string> const lines = screen_lines(text);
  INFO(text);
  CHECK(lines.size() <= 60);
  CHECK(lines.size() >= 3);
  for (std::string const& line : lines) {
    CHECK(profkit::detail::width_of(line) <= width);
    CHECK((line.empty() || line.back() != ' '));
    for (char const each : line) CHECK(static_cast<unsigned char>(each) >= 0x20);
  }
  CHECK(is_utf8(text));
}

std::vector<std::filesystem::path> recorded_profiles() {
  std::vector<std::filesystem::path> result;
  for (auto const& each : std::filesystem::directory_iterator{TEST_DATA}) {
    if (each.path().extension() == ".profile") result.push_back(each.path());
  }
  return result;
}

/// Restores an environment variable.
class changed_variable {
 public:
  changed_variable(char const* name, char const* value) : name_{name} {
    if (char const* const old = std::getenv(name)) old_ = old, had_ = true;
    ::setenv(name, value, 1);
  }
  ~changed_variable() { had_ ? ::setenv(name_, old_.c_str(), 1) : ::unsetenv(name_); }
  changed_variable(changed_variable const&) = delete;
  changed_variable& operator=(changed_variable const&) = delete;

 private:
  char const* name_;
  std::string old_;
  bool had_ = false;
};

}  // namespace

TEST_CASE("the first screen of each recorded profile has at most 60 lines of at most 120 characters", "[first_screen]") {
  std::vector<std::filesystem::path> const profiles = recorded_profiles();
  REQUIRE(profiles.size() >= 5);
  for (std::filesystem::path const& file : profiles) {
    INFO(file);
    profkit::summary const summary = profkit::analyze(profkit::load(file));
    std::string const text = screen(summary);
    check_size(text);
    CHECK_THAT(text, ContainsSubstring(" step takes ") && ContainsSubstring("\nWHERE THE STEP WENT ") && ContainsSubstring("\nSCOPES ") &&
                         ContainsSubstring("\nKERNELS ") && ContainsSubstring("\nMEMORY ") && ContainsSubstring("\nDATA ") &&
                         ContainsSubstring("\nFILES    profile: report.json\n"));
    for (std::size_t const width : {60U, 80U, 100U}) {
      text_style narrow;
      narrow.width = width;
      check_size(screen(summary, narrow), width);
    }
  }
}

TEST_CASE("the first screen of a recorded profile equals its file", "[first_screen]") {
  profkit::summary const summary = profkit::analyze(profkit::load(std::filesystem::path{TEST_DATA} / "small-128-train-fp32.profile"));
  CHECK(screen(summary) == text_of_file(TEST_DATA "/small-128-train-fp32.txt"));
}

TEST_CASE("the first screen of a loop with validation is about the usual step, and has a line for the other kind", "[first_screen]") {
  std::string const text = screen(profkit::analyze(profkit::load(std::filesystem::path{TEST_DATA} / "validation-steps.profile")));
  CHECK_THAT(text, ContainsSubstring("A usual step takes 2.11 ms and keeps the GPU busy for 98 % of it") &&
                       ContainsSubstring(
                           " 2 Most kernel time is in kernels without a class. Longest: layer_backward, 1.49 ms (72 %), 4 launches.\n") &&
                       ContainsSubstring(" 3 4 steps with validation are not usual steps. They take 3.13 ms, 1.49 times the usual step") &&
                       ContainsSubstring("\nother: 4 steps with validation   4  3.132 ") &&
                       ContainsSubstring("\n4 steps with validation: validation 3.13 ms (busy 2.94 ms)\n"));
}

TEST_CASE("3,000 paths and names of 200 characters fit the first screen", "[first_screen]") {
  made_summary made;
  std::string const part =
      GENERATE(std::string(200, 'x'), std::string{"\xc3\xa4\xc3\xb6 \xe4\xb8\xad\xe6\x96\x87"} + std::string(190, 'y'));
  std::vector<made_summary::part> parts;
  for (int i = 0; i < 60; ++i) parts.push_back({part + std::to_string(i), 0.1, 0.05});
  made.budget(parts);
  made.scope(0, "step", 10.0).gpu_time(6.0, 3.0);
  for (int i = 0; i < 60; ++i) {
    made.scope(1, part + std::to_string(i), 0.15).gpu_time(0.1, 0.05);
    for (int k = 0; k < 50; ++k) made.scope(2, part + "inner" + std::to_string(k), 0.003).gpu_time(0.002, 0.001);
  }
  for (int i = 0; i < 500; ++i) made.kernel("void " + part + "<int>(float*, " + std::to_string(i) + ")", "matmul", 0.01, 3);
  made.other_kind(part, {part + "0", part + "other"}, 20, 100.0)
      .other_kind(part, {part}, 10, 100.0)
      .other_kind("step 7", {part}, 1, 10.0)
      .other_kind("other", {}, 1, 10.0);
  made.get().environment.command = {part};
  made.get().environment.gpu = part;
  made.get().environment.host = part;
  made.get().memory.push_back({part, part, 10, 1, 2, 3, {}, {}});
  made.get().collectors.push_back({part, part, part});
  check_size(screen(made.get(), {}, std::string(500, 'f') + " " + std::string(500, 'g')));
}

TEST_CASE("control characters and invalid bytes in names do not reach the terminal", "[first_screen]") {
  std::string const hostile =
      "a\x1b[31mred\x07\n\r\t\x7f\xff\xc3(\xe2\x80\xa8"
      "b|c";
  made_summary made;
  made.budget({{hostile, 5.0, 5.0}}).scope(0, "step", 10.0).gpu_time(5.0, 5.0).scope(1, hostile, 10.0).gpu_time(5.0, 5.0);
  made.kernel(hostile, hostile, 5.0, 1);
  made.get().environment = {hostile, hostile, hostile, hostile, {hostile}, 1, {}};
  made.get().memory.push_back({hostile, hostile, 10, 1, 2, 3, {}, {}});
  made.get().steps.item_name = hostile;
  made.get().steps.items_per_second = 12345.0;
  made.get().quality.abandoned_steps = 3;
  check_size(screen(made.get()));
  text_style ascii;
  ascii.is_utf8 = false;
  check_size(screen(made.get(), ascii));
}

TEST_CASE("without steps, scopes, kernels or any data there is a first screen", "[first_screen]") {
  profkit::summary nothing;
  nothing.covers_steps = false;
  check_size(screen(nothing));
  CHECK_THAT(screen(nothing), ContainsSubstring("Nothing was measured"));
  profkit::summary off;
  off.quality.not_recorded = "profkit is off";
  CHECK_THAT(screen(off), ContainsSubstring("Nothing was recorded: profkit is off."));
  profkit::summary only_warmup;
  only_warmup.steps.warmup = 3;
  check_size(screen(only_warmup));
  CHECK_THAT(screen(only_warmup), ContainsSubstring("No step was measured: 3 warm-up steps"));
  check_size(screen(profkit::analyze(made_gpu_profile())));
}

TEST_CASE("collectors that failed are a finding with their reasons", "[first_screen]") {
  made_summary made;
  made.get().collectors = {{"kernels", "not collected", "no GPU", profkit::collector_kind::kernels},
                           {"journal", "not written", "No space left on device", profkit::collector_kind::journal},
                           {"GPU clocks", "collected", "", profkit::collector_kind::gpu_clocks}};
  CHECK_THAT(screen(made.get()), ContainsSubstring(" 1 2 collectors failed. kernels: not collected (no GPU); journal: not written (No "
                                                   "space left on device).\n   > docs/troubleshooting.md has "));
  made.get().collectors.resize(1);
  made.one_part(5.0, 5.0).get().steps.host_verdict.verdict = profkit::step_verdict::noisy;
  CHECK_THAT(screen(made.get()), ContainsSubstring(" 3 A collector failed. kernels: not collected (no GPU).\n"));
  made.get().quality.dropped_events = 300;
  CHECK_THAT(screen(made.get()), ContainsSubstring(" 2 A collector failed. ") && ContainsSubstring(" 3 Data is missing. "));
  made_summary off;
  off.get().collectors = {{"kernels", "not collected", "switched off by kernels=off", profkit::collector_kind::kernels}};
  CHECK_THAT(screen(off.get()), !ContainsSubstring("failed") && ContainsSubstring("Not asked for: GPU operations, "));
}

TEST_CASE("a program without a GPU shows host times, and says in one line what it did not ask for", "[first_screen]") {
  made_summary made{40, 49.73};
  made.get().environment.gpu = {};
  made.scope(0, "step", 49.73).scope(1, "gpt2_backward", 28.10);
  for (int i = 0; i < 4; ++i) made.scope(2, "layer", 6.135, i).scope(3, "matmul_backward", 4.6625, {}, 4);
  made.scope(1, "gpt2_forward", 19.73);
  made.get().steps.warmup = 0;
  made.get().environment.host_use = profkit::host_use_record{
      std::chrono::seconds{2}, std::chrono::milliseconds{2250}, std::chrono::milliseconds{750}, 108, 12, 30, 10, 4};
  made.get().threads = 3;
  made.get().environment.host_speed = profkit::host_speed_record{{}, {}, 0.25};
  std::vector<std::string> figures;
  for (profkit::detail::key_figure const& each : profkit::detail::report_code::describe(made.get()).key_figures)
    figures.push_back(each.name);
  CHECK(figures == std::vector<std::string>{"step", "threads", "waiting for a processor", "processors used", "page faults"});
  std::string const text = screen(made.get());
  CHECK_THAT(text,
             ContainsSubstring("process: 1.50 of 4 processors used, 25 % of it in the kernel; 3.00 page faults a step, 12 in all from a "
                               "disk; 1.00\n  context switches a step\n"));
  CHECK_THAT(text, ContainsSubstring("A step takes 49.7 ms on the host, 40 % of it in gpt2_forward."));
  CHECK_THAT(text, ContainsSubstring("layer_* \xc3\x97 4") && ContainsSubstring("    matmul_backward     16    18.65  37.5"));
  CHECK_THAT(text, !ContainsSubstring("n/a") && !ContainsSubstring("KERNELS") && !ContainsSubstring("MEMORY") &&
                       !ContainsSubstring("WHERE THE STEP WENT"));
  CHECK_THAT(text, ContainsSubstring(" Not asked for: GPU operations, GPU\n         clocks, memory, items, FLOPs.\n"));
}

TEST_CASE("only a UTF-8 locale gets block characters, and otherwise only ASCII is added to names", "[first_screen]") {
  made_summary made;
  made.one_part(9.0, 1.0);
  text_style ascii;
  ascii.is_utf8 = false;
  std::string const in_ascii = screen(made.get(), ascii);
  for (char const each : in_ascii) CHECK(static_cast<unsigned char>(each) < 0x80);
  CHECK_THAT(in_ascii, ContainsSubstring("# busy  . idle") && ContainsSubstring("####"));
  CHECK_THAT(screen(made.get()), ContainsSubstring("\xe2\x96\x88\xe2\x96\x88\xe2\x96\x91"));

  changed_variable const category{"LC_CTYPE", ""};
  changed_variable const language{"LANG", "C"};
  auto const is_utf8_with = [](char const* all) {
    changed_variable const locale{"LC_ALL", all};
    return profkit::detail::plain_style().is_utf8;
  };
  CHECK(is_utf8_with("en_US.UTF-8"));
  CHECK(is_utf8_with("C.utf8"));
  CHECK_FALSE(is_utf8_with("POSIX"));
  CHECK_FALSE(is_utf8_with("de_DE.ISO-8859-1"));
  CHECK_FALSE(is_utf8_with(""));
}

TEST_CASE("text has colours only if requested, and always the same characters", "[first_screen]") {
  made_summary made;
  made.one_part(5.0, 5.0);
  text_style coloured;
  coloured.has_colours = true;
  std::string text = screen(made.get(), coloured);
  CHECK_THAT(text, ContainsSubstring("\x1b["));
  for (std::size_t at = text.find('\x1b'); at != std::string::npos; at = text.find('\x1b')) text.erase(at, text.find('m', at) + 1 - at);
  std::vector<std::string> stripped = screen_lines(text);
  for (std::string& line : stripped) line.erase(line.find_last_not_of(' ') + 1);
  CHECK(stripped == screen_lines(screen(made.get())));
  CHECK_FALSE(profkit::detail::style_of(-1).has_colours);
}

namespace {

/// Whether a report has colours in a process with this controlling terminal.
bool has_colours_on(char const* terminal) {
  ::pid_t const child = ::fork();
  if (child == 0) {
    int const opened = ::setsid() < 0 ? -1 : ::open(terminal, O_RDWR);
    ::_exit(opened >= 0 && profkit::detail::style_of(opened).has_colours ? 1 : 0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status) == 1;
}

}  // namespace

TEST_CASE("a terminal provides width and colours, and NO_COLOR disables colours", "[first_screen]") {
  int const controller = ::posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(controller >= 0);
  REQUIRE(::grantpt(controller) == 0);
  REQUIRE(::unlockpt(controller) == 0);
  int const terminal = ::open(::ptsname(controller), O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  auto const set_width = [&](unsigned short columns) {
    winsize size{};
    size.ws_col = columns;
    REQUIRE(::ioctl(terminal, TIOCSWINSZ, &size) == 0);
  };
  changed_variable const type{"TERM", "xterm"};
  changed_variable const no_colour{"NO_COLOR", ""};
  set_width(90);
  CHECK(profkit::detail::style_of(terminal).width == 90);
  CHECK(has_colours_on(::ptsname(controller)));
  CHECK_FALSE(profkit::detail::style_of(terminal).has_colours);  // as under mpirun, which writes it to a file
  set_width(300);
  CHECK(profkit::detail::style_of(terminal).width == 120);
  set_width(5);
  CHECK(profkit::detail::style_of(terminal).width == 60);
  set_width(0);
  {
    changed_variable const columns{"COLUMNS", "100"};
    CHECK(profkit::detail::style_of(terminal).width == 100);
  }
  {
    changed_variable const wanted{"NO_COLOR", "1"};
    CHECK_FALSE(has_colours_on(::ptsname(controller)));
  }
  {
    changed_variable const dumb{"TERM", "dumb"};
    CHECK_FALSE(has_colours_on(::ptsname(controller)));
  }
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  CHECK_FALSE(profkit::detail::style_of(ends[1]).has_colours);
  CHECK(profkit::detail::style_of(ends[1]).width == 120);
  for (int const each : {controller, terminal, ends[0], ends[1]}) ::close(each);
}
