// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <profkit/error.hpp>
#include <profkit/impl/collect/host_probe.hpp>
#include <profkit/profile.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "../watched_files.hpp"

// What the system says about a process, from /proc, without the help of the process.

namespace profkit_program {

/// A thread of a process, as the system sees it. Unknown texts are empty.
struct system_thread {
  std::uint64_t id = 0;
  char state = '?';  ///< R runs, S sleeps, D waits for a device, T is stopped, Z has ended
  std::string name;
  std::string waits_in;     ///< function of the kernel, such as "futex_wait_queue"
  std::string system_call;  ///< such as "futex"; needs the rights of a debugger
};

enum class process_state : std::uint8_t {
  unknown,  ///< it runs on another machine or in another container
  running,
  stopped,  ///< by SIGSTOP or a debugger
  gone
};

struct process_view {
  process_state state = process_state::unknown;
  std::vector<system_thread> threads{};
};

namespace detail {

/// The content of a small file without its line end; empty if it cannot be read.
inline std::string small_file(std::filesystem::path const& path) {
  std::ifstream file{path, std::ios::binary};
  std::string text(4096, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\0')) text.pop_back();
  return text;
}

inline std::filesystem::path folder_of(std::uint64_t process) { return "/proc/" + std::to_string(process); }

/// Fields of /proc/PID/stat from the state on: the name before them may contain blanks and brackets.
inline std::vector<std::string> stat_fields(std::filesystem::path const& folder) {
  std::string const text = small_file(folder / "stat");
  std::vector<std::string> result;
  std::size_t at = text.rfind(')');
  while (at != std::string::npos && (at = text.find_first_not_of(' ', at + 1)) != std::string::npos) {
    std::size_t const end = std::min(text.find(' ', at), text.size());
    result.push_back(text.substr(at, end - at));
    at = end < text.size() ? end : std::string::npos;
  }
  return result;
}

inline std::chrono::nanoseconds now_of(::clockid_t clock) {
  ::timespec now{};
  ::clock_gettime(clock, &now);
  return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

/// When a process began, on CLOCK_MONOTONIC; n/a without it.
inline std::optional<std::chrono::nanoseconds> begin_of_process(std::vector<std::string> const& stat) {
  constexpr std::size_t start_time = 19;  // field 22 of proc(5)
  if (stat.size() <= start_time) return std::nullopt;
  std::uint64_t ticks = 0;
  std::from_chars(stat[start_time].data(), stat[start_time].data() + stat[start_time].size(), ticks);
  auto const per_second = static_cast<std::uint64_t>(std::max(::sysconf(_SC_CLK_TCK), 1L));
  std::chrono::nanoseconds const since_boot = std::chrono::milliseconds{ticks * 1000 / per_second};
  return since_boot - (now_of(CLOCK_BOOTTIME) - now_of(CLOCK_MONOTONIC));
}

/// The name of the system call in /proc/PID/task/TID/syscall.
inline std::string system_call_name(std::string const& text) {
  struct known {
    long number;
    char const* name;
  };
  static constexpr std::array names{
      known{SYS_futex, "futex"},
      known{SYS_read, "read"},
      known{SYS_write, "write"},
      known{SYS_ppoll, "ppoll"},
      known{SYS_ioctl, "ioctl"},
      known{SYS_clock_nanosleep, "clock_nanosleep"},
      known{SYS_nanosleep, "nanosleep"},
      known{SYS_recvfrom, "recvfrom"},
      known{SYS_recvmsg, "recvmsg"},
      known{SYS_sendto, "sendto"},
      known{SYS_sendmsg, "sendmsg"},
      known{SYS_accept, "accept"},
      known{SYS_connect, "connect"},
      known{SYS_wait4, "wait4"},
      known{SYS_waitid, "waitid"},
      known{SYS_epoll_pwait, "epoll_wait"},
      known{SYS_pread64, "pread"},
      known{SYS_pwrite64, "pwrite"},
      known{SYS_fsync, "fsync"},
      known{SYS_flock, "flock"},
      known{SYS_sched_yield, "sched_yield"},
      known{SYS_pselect6, "select"},
      known{SYS_openat, "openat"},
#ifdef SYS_poll
      known{SYS_poll, "poll"},
      known{SYS_select, "select"},
      known{SYS_epoll_wait, "epoll_wait"},
      known{SYS_pause, "pause"},
#endif
  };
  long number = -1;
  auto const [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc{} || number < 0) return {};  // "running", or no rights
  auto const* const found = std::find_if(names.begin(), names.end(), [&](known const& each) { return each.number == number; });
  return found != names.end() ? found->name : "system call " + std::to_string(number);
}

inline std::vector<system_thread> threads_of(std::uint64_t process) {
  std::vector<system_thread> result;
  std::error_code failed;
  for (std::filesystem::directory_iterator each{folder_of(process) / "task", failed}, end; !failed && each != end; each.increment(failed)) {
    system_thread thread;
    std::string const number = each->path().filename().string();
    std::from_chars(number.data(), number.data() + number.size(), thread.id);
    std::vector<std::string> const stat = stat_fields(each->path());
    if (stat.empty()) continue;  // it has just ended
    thread.state = stat.front().front();
    thread.name = small_file(each->path() / "comm");
    thread.waits_in = small_file(each->path() / "wchan");
    if (thread.waits_in == "0") thread.waits_in.clear();
    thread.system_call = system_call_name(small_file(each->path() / "syscall"));
    result.push_back(std::move(thread));
  }
  std::sort(result.begin(), result.end(), [](system_thread const& a, system_thread const& b) { return a.id < b.id; });
  return result;
}

}  // namespace detail

/// What the system says about the process that wrote a journal.
/// @param where the process, as its journal names it.
/// @param begin of the session.
/// @param known its number here, if the caller has found the journal through it; otherwise 0.
inline process_view look_at_process(profkit::environment_record const& where, profkit::timestamp begin, std::uint64_t known = 0) {
  static profkit::environment_record const here = profkit::detail::describe_host();
  process_view result;
  bool const is_this_boot = !where.boot_id.empty() && where.boot_id == here.boot_id && where.host == here.host;
  if (known == 0 && !is_this_boot) {
    // After a boot, no process of the time before it is left.
    if (!where.boot_id.empty() && where.host == here.host) result.state = process_state::gone;
    return result;
  }
  std::uint64_t const process = known != 0 ? known : where.process_id;
  std::vector<std::string> const stat = detail::stat_fields(detail::folder_of(process));
  auto const process_begin = detail::begin_of_process(stat);
  std::chrono::nanoseconds const session_begin = begin.time_since_epoch() - std::chrono::nanoseconds{where.clock_offset_ns.value_or(0)};
  bool const is_other = known == 0 && process_begin && where.clock_offset_ns && *process_begin > session_begin + std::chrono::seconds{1};
  if (!process_begin || is_other || stat.front() == "Z" || stat.front() == "X") {
    result.state = process_state::gone;
    return result;
  }
  result.state = stat.front() == "T" || stat.front() == "t" ? process_state::stopped : process_state::running;
  result.threads = detail::threads_of(process);
  return result;
}

/// The journal that a process writes.
/// @throws profkit::error if there is no such process, if its files must not be listed, or if it writes no journal.
inline std::filesystem::path journal_of_process(std::uint64_t process) {
  std::filesystem::path const folder = detail::folder_of(process);
  std::string const number = std::to_string(process);
  std::string const name = detail::small_file(folder / "comm");
  if (name.empty()) throw profkit::error{"process " + number + ": does not exist; pass the journal of a process that has ended"};
  std::error_code failed;
  std::filesystem::directory_iterator each{folder / "fd", failed};
  if (failed)
    throw profkit::error{"process " + number + " (" + name + "): its open files cannot be listed: " + failed.message() +
                         "; pass its journal"};
  for (std::filesystem::directory_iterator const end; !failed && each != end; each.increment(failed)) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(each->path(), ignored)) continue;
    if (detail::content_of_file(each->path()) != detail::file_content::journal) continue;
    std::filesystem::path const target = std::filesystem::read_symlink(each->path(), ignored);
    // A process in a container has other names for its files.
    return std::filesystem::equivalent(target, each->path(), ignored) ? target : each->path();
  }
  throw profkit::error{"process " + number + " (" + name + "): it writes no journal; start programs with PROFKIT=journal=FILE"};
}

}  // namespace profkit_program
