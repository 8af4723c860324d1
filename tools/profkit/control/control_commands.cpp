// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <profkit/error.hpp>
#include <profkit/profile.hpp>
#include <profkit/report.hpp>
#include <profkit/save_load.hpp>
#include <profkit/summary_file.hpp>
#include <profkit/time.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "../commands.hpp"
#include "../screen_line.hpp"
#include "captured_steps.hpp"
#include "control_client.hpp"

namespace profkit_program {

namespace {

using clock = std::chrono::steady_clock;

/// A session answers within one of its rounds, at most 100 ms; a stopped process does not.
constexpr std::chrono::seconds max_wait_for_status{2};

/// The sessions of the user with their status; without one if they do not answer. Removes sockets that processes have left behind.
std::vector<std::pair<session_socket, std::optional<session_answer>>> ask_all() {
  ::uid_t const user = ::geteuid();
  std::vector<std::unique_ptr<session_call>> calls;
  for (session_socket& each : find_sockets(user)) {
    auto call = std::make_unique<session_call>(std::move(each), "status", user);
    try {
      static_cast<void>(call->begin());
    } catch (profkit::error const&) {
      if (call->is_stale()) ::unlink(call->where().path.c_str());
      continue;  // it ended
    }
    calls.push_back(std::move(call));
  }
  auto const until = clock::now() + max_wait_for_status;
  std::vector<std::pair<session_socket, std::optional<session_answer>>> result;
  for (auto const& call : calls) {
    try {
      result.emplace_back(call->where(), call->finish(until));
    } catch (profkit::error const&) {  // it ended
    }
  }
  return result;
}

int run_ps() {
  std::vector<std::vector<std::string>> rows{{"PID", "RANK", "STEP", "STEPS/S", "AGE", "IN STEP", "PROGRAM"}};
  for (auto const& session : ask_all()) {
    std::optional<session_answer> const& answer = session.second;
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(std::to_string(session.first.process));
    if (!answer) {
      row.insert(row.end(), {"-", "-", "-", "-", "-", "(no answer within 2 s)"});
      continue;
    }
    auto const text = [&](std::string_view key) { return profkit::detail::one_line(answer->text(key).value_or("-"), 24); };
    auto const age = [&](std::string_view key) {
      std::optional<double> const milliseconds = answer->number(key);
      return milliseconds ? age_words(profkit::milliseconds{*milliseconds}) : "-";
    };
    std::optional<double> const rate = answer->number("steps_per_second");
    row.push_back(answer->text("ranks") ? text("rank") + "/" + text("ranks") : "-");
    row.push_back(text("step"));
    row.push_back(rate ? fmt::format("{:.3g}", *rate) : "-");
    row.push_back(age("age"));
    row.push_back(answer->number("in_step") == 1.0 ? age("step_age") : "-");
    row.push_back(profkit::detail::one_line(answer->text("program").value_or(""), 100));
  }
  if (rows.size() == 1) {
    fmt::print(stderr, "no session listens: start programs with PROFKIT=control\n");
    return 0;
  }
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (auto const& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (auto const& row : rows) {
    std::string line;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) line += fmt::format("{:>{}}  ", row[i], widths[i]);
    fmt::print("{}{}\n", line, row.back());
  }
  return 0;
}

struct snapshot_arguments {
  std::uint64_t process = 0;
  std::string folder;
  bool full = false;
  double timeout = 60.0;  // seconds
};

clock::time_point deadline_after(double seconds) {
  return clock::now() + std::chrono::milliseconds{static_cast<std::int64_t>(1000.0 * seconds)};
}

int run_snapshot(snapshot_arguments const& given) {
  bool const writes = !given.folder.empty();
  session_call call{socket_of_process(given.process), writes ? "snapshot profile" : "snapshot", user_of_process(given.process)};
  std::optional<session_answer> const answer = call.finish(deadline_after(given.timeout));
  if (!answer) throw profkit::error{fmt::format("process {} has not answered within {} s", given.process, given.timeout)};
  if (answer->files.size() < (writes ? 2U : 1U)) throw profkit::error{fmt::format("process {}: its answer has no report", given.process)};
  auto const figures = std::make_shared<profkit::summary const>(profkit::load_summary(path_of(*answer->files[0])));
  if (writes) {
    auto const content = std::make_shared<profkit::profile const>(profkit::load(path_of(*answer->files[1])));
    profkit::report{content, figures}.write(given.folder);
  }
  fmt::print("{}\n", given.full ? profkit::report_full_text(*figures) : profkit::report_text(*figures));
  return 0;
}

struct capture_arguments {
  std::string target;
  std::uint64_t steps = 20;
  std::uint64_t from = 0;  // 0: the next step
  bool kernels = false;
  std::string samples;
  bool trace = false;
  std::string folder;
  double timeout = 600.0;  // seconds
};

/// A session that is captured.
struct captured_session {
  session_socket socket;
  std::optional<std::uint64_t> rank{};
  std::uint64_t from = 0;  ///< the first step to capture; 0: the next one
  captured_range steps{};  ///< that were captured
};

/// "1000Hz" -> 1000; 0 for an empty text.
std::uint64_t rate_of(std::string const& text) {
  std::uint64_t rate = 0;
  auto const [end, status] = std::from_chars(text.data(), text.data() + text.size(), rate);
  bool const is_rate = status == std::errc{} && std::string_view{end} == "Hz" && rate >= 1 && rate <= 10'000;
  if (!text.empty() && !is_rate) throw profkit::error{"--samples: \"" + text + "\" is not a rate from 1Hz to 10000Hz, such as 1000Hz"};
  return rate;
}

/// Whether a path is a folder or in it.
bool is_in(std::optional<std::string> const& path, std::filesystem::path const& folder) {
  if (!path) return false;
  std::error_code failure;
  std::filesystem::path const relative = std::filesystem::weakly_canonical(*path, failure).lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

/// The sessions of this machine that write to a folder or to one in it, with a step that none of them has reached. A session that began
/// much later than the others, such as that of a restarted rank, would reach this step too late and has its own.
/// @param seconds the step begins at least this much later, at the present rates.
/// @param silent replaced: processes that do not answer, of this or other jobs.
std::vector<captured_session> sessions_of_job(std::string const& target, double seconds, std::vector<std::uint64_t>& silent) {
  constexpr double max_seconds_behind = 10.0;
  std::error_code failure;
  std::filesystem::path const folder = std::filesystem::weakly_canonical(std::filesystem::absolute(target), failure);
  if (failure) throw profkit::error{target + ": " + failure.message()};
  std::vector<captured_session> result;
  std::vector<double> next;
  std::vector<double> rates;
  silent.clear();
  for (auto const& session : ask_all()) {
    if (!session.second) {
      silent.push_back(session.first.process);
      continue;
    }
    session_answer const& answer = *session.second;
    if (!is_in(answer.text("out"), folder) && !is_in(answer.text("journal"), folder)) continue;
    captured_session& added = result.emplace_back(captured_session{session.first});
    if (auto const rank = answer.number("rank")) added.rank = static_cast<std::uint64_t>(*rank);
    rates.push_back(answer.number("steps_per_second").value_or(0.0));
    next.push_back(answer.number("step").value_or(0.0) + 3.0 + seconds * rates.back());
  }
  if (result.empty())
    throw profkit::error{target + ": no session that listens writes to it: start programs with PROFKIT=control,out=" + target};
  double const foremost = *std::max_element(next.begin(), next.end());
  double const max_rate = *std::max_element(rates.begin(), rates.end());
  for (std::size_t i = 0; i < result.size(); ++i) {
    bool const is_far_behind = max_rate > 0.0 && foremost - next[i] > max_seconds_behind * (rates[i] > 0.0 ? rates[i] : max_rate);
    result[i].from = static_cast<std::uint64_t>(is_far_behind ? next[i] : foremost);
  }
  return result;
}

/// Writes the report of a captured session.
void write_capture(captured_session& session, session_answer const& answer, std::string const& folder, capture_arguments const& given) {
  session.steps.first = static_cast<std::uint64_t>(answer.number("from").value_or(0.0));
  session.steps.last = static_cast<std::uint64_t>(answer.number("to").value_or(0.0));
  auto content = std::make_shared<profkit::profile>(profkit::load_journal(path_of(*answer.files[0])).content);
  if (!keep_captured_steps(*content, session.steps, !given.samples.empty()))
    throw profkit::error{fmt::format("process {}: its capture has no step", session.socket.process)};
  std::string reason = fmt::format("steps {} to {} of a session that goes on", session.steps.first, session.steps.last);
  if (given.kernels) reason += "; kernels in these steps";
  if (!given.samples.empty()) reason += "; host samples in these steps";
  content->collectors.push_back({"capture", "collected", std::move(reason), {}});
  std::uint64_t const usual_steps_of_trace = 3;
  profkit::report{std::move(content)}.write(folder, given.trace ? given.steps : usual_steps_of_trace);
}

constexpr std::string_view is_late = "has begun already";

/// Captures sessions, and writes their reports. One that ends or does not answer does not spoil the captures of the others.
/// @return the sessions that were captured. The reasons of others are on stderr.
/// @throws profkit::error if there is none, or if a session of a job is beyond the first step.
std::vector<captured_session> capture(std::vector<captured_session> sessions, capture_arguments const& given) {
  std::uint64_t const rate = rate_of(given.samples);
  std::vector<std::unique_ptr<session_call>> calls(sessions.size());
  std::vector<std::optional<session_answer>> answers(sessions.size());
  std::vector<std::string> failures;
  auto const for_each_session = [&](auto const& act) {
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      try {
        act(i);
      } catch (profkit::error const& failure) {
        calls[i].reset();
        failures.emplace_back(failure.what());
      }
    }
  };
  for_each_session([&](std::size_t i) {
    session_socket const& socket = sessions[i].socket;
    std::string const request =
        fmt::format("capture steps={}{}{}{}", given.steps, sessions[i].from > 0 ? fmt::format(" from={}", sessions[i].from) : "",
                    given.kernels ? " kernels" : "", rate > 0 ? fmt::format(" samples={}", rate) : "");
    calls[i] = std::make_unique<session_call>(socket, request, user_of_process(socket.process));
    static_cast<void>(calls[i]->begin());
  });
  auto const until = deadline_after(given.timeout);
  for_each_session([&](std::size_t i) {
    if (calls[i] == nullptr) return;
    answers[i] = calls[i]->finish(until);
    std::uint64_t const process = sessions[i].socket.process;
    if (!answers[i])
      throw profkit::error{fmt::format("process {} has not ended the steps of the capture within {} s", process, given.timeout)};
    if (answers[i]->files.size() != 1) throw profkit::error{fmt::format("process {}: its answer has no capture", process)};
  });
  std::vector<captured_session> done;
  auto const late =
      std::find_if(failures.begin(), failures.end(), [](auto const& each) { return each.find(is_late) != std::string::npos; });
  if (late != failures.end()) throw profkit::error{*late};
  for_each_session([&](std::size_t i) {
    if (calls[i] == nullptr) return;
    captured_session& each = sessions[i];
    std::string const folder =
        sessions.size() == 1 ? given.folder : fmt::format("{}/rank{}", given.folder, each.rank.value_or(each.socket.process));
    write_capture(each, *answers[i], folder, given);
    done.push_back(each);
  });
  if (done.empty()) throw profkit::error{failures.front()};
  for (std::string const& each : failures) fmt::print(stderr, "profkit: {}\n", each);
  return done;
}

int run_capture(capture_arguments const& given) {
  if (given.target.empty() || given.folder.empty()) throw profkit::error{"capture: an argument is empty; profkit ps lists the sessions"};
  auto const process = number_in(given.target, std::uint64_t{1}, max_process);
  bool const is_like_process = given.target.find_first_not_of("+-0123456789") == std::string::npos;
  std::error_code ignored;
  if (!process && is_like_process && !std::filesystem::exists(given.target, ignored))
    throw profkit::error{fmt::format("capture: \"{}\" is not a process id from 1 to {}, nor a folder; profkit ps lists the sessions",
                                     given.target, max_process)};
  std::vector<captured_session> asked;
  std::vector<captured_session> done;
  std::vector<std::uint64_t> silent;
  if (process) {
    asked = {{socket_of_process(*process), {}, given.from}};
    done = capture(asked, given);
  } else {
    double seconds = 1.0;  // between the answers of all sessions and the first step
    constexpr double max_seconds = 64.0;
    while (done.empty()) {
      asked = sessions_of_job(given.target, seconds, silent);
      for (captured_session& each : asked) {
        if (given.from > 0) each.from = given.from;
      }
      try {
        done = capture(asked, given);
      } catch (profkit::error const& failure) {
        if (std::string_view{failure.what()}.find(is_late) == std::string_view::npos || given.from > 0 || seconds >= max_seconds) throw;
        seconds *= 4.0;
      }
    }
  }
  for (captured_session const& each : done) {
    fmt::print("process {}{}: steps {} to {}\n", each.socket.process, each.rank ? fmt::format(", rank {}", *each.rank) : "",
               each.steps.first, each.steps.last);
  }
  for (std::uint64_t const each : silent)
    fmt::print(stderr, "profkit: process {} does not answer (stopped or starved?); the capture is without it\n", each);
  fmt::print("profkit report {}\n", given.folder);
  return done.size() == asked.size() ? 0 : 1;
}

}  // namespace

void add_control_commands(CLI::App& app, command& chosen) {
  CLI::App& ps = *app.add_subcommand("ps", "Lists the running sessions of this user (PROFKIT=control)");
  ps.footer(
      "Columns: process, rank, index of the latest step, steps per second over the last 10 to 20 s, age of the session, time since the\n"
      "latest step began if it has not ended, program. Removes sockets that ended processes have left behind.");
  ps.callback([&chosen] { chosen = run_ps; });

  CLI::App& snapshot = *app.add_subcommand("snapshot", "Prints a report of a running session (PROFKIT=control)");
  auto const given = std::make_shared<snapshot_arguments>();
  snapshot.add_option("PID", given->process, "Process of the session; profkit ps lists them")
      ->required()
      ->check(number_from(std::uint64_t{1}, max_process))
      ->type_name("");
  snapshot.add_option("--out", given->folder, "Also write all files of the report to this folder")->type_name("DIR");
  snapshot.add_flag("--full", given->full, "Print all tables");
  snapshot.add_option("--timeout", given->timeout, "Longest time to wait for the answer, 1 to 3600")
      ->check(number_from(1.0, 3600.0))
      ->type_name("SECONDS")
      ->option_text("SECONDS [60]");
  snapshot.footer("The session goes on. Its own thread answers, also while the program hangs in a step.");
  snapshot.callback([given, &chosen] { chosen = [given] { return run_snapshot(*given); }; });

  CLI::App& capture = *app.add_subcommand("capture", "Records some steps of a running session or job (PROFKIT=control)");
  auto const wanted = std::make_shared<capture_arguments>();
  capture.add_option("PID|DIR", wanted->target, "A process, or the folder of out= or journal= of a job: all its ranks on this machine")
      ->required()
      ->type_name("");
  capture.add_option("--out", wanted->folder, "Folder of the report")->required()->type_name("DIR");
  capture.add_option("--steps", wanted->steps, "Number of steps, 1 to 100000")
      ->check(number_from(std::uint64_t{1}, std::uint64_t{100'000}))
      ->type_name("N")
      ->option_text("N [20]");
  capture.add_option("--from", wanted->from, "Index of the first step, for jobs of several machines")
      ->check(number_from(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max()))
      ->type_name("STEP");
  capture.add_flag("--kernels", wanted->kernels, "Collect kernels in these steps, with the kernel collector of the program");
  capture.add_option("--samples", wanted->samples, "Take host samples in these steps, such as 1000Hz")->type_name("RATE");
  capture.add_flag("--trace", wanted->trace, "Write all steps to trace.json, instead of the last three");
  capture.add_option("--timeout", wanted->timeout, "Longest time to wait for the end of the steps, 1 to 86400")
      ->check(number_from(1.0, 86'400.0))
      ->type_name("SECONDS")
      ->option_text("SECONDS [600]");
  capture.footer(
      "The session starts what is asked for shortly before the steps, and stops it afterwards, also if this program ends before.\n"
      "All ranks of a job record the same steps; their reports are in DIR/rankN.");
  capture.callback([wanted, &chosen] { chosen = [wanted] { return run_capture(*wanted); }; });
}

}  // namespace profkit_program
