// SPDX-License-Identifier: Apache-2.0
#include "run_session.hpp"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <new>
#include <profkit/find_rank.hpp>
#include <profkit/impl/collect/built_in_collectors.hpp>
#include <profkit/impl/record/named_scope.hpp>
#include <profkit/impl/record/other_modules.hpp>
#include <profkit/impl/session/console.hpp>
#include <profkit/impl/session/session_ending.hpp>
#include <profkit/impl/session/session_impl.hpp>
#include <profkit/session.hpp>
#include <string_view>
#include <utility>

#include "ranges.hpp"

bool const profkit::detail::is_library_of_run = true;

namespace profkit_run {

namespace detail = profkit::detail;
using profkit_program::library_of_run;
using profkit_program::text_of;

namespace {

void say(std::string const& line) noexcept { detail::warn("run: ", line.c_str()); }

/// Standard error as it was when the recording began. Programs such as cat close it before the end of the process. Others close all
/// descriptors but the standard streams. Never destroyed.
detail::own_descriptor const* kept_error_stream = nullptr;

void keep_error_stream() {
  constexpr int out_of_the_way = 100;
  kept_error_stream = new detail::own_descriptor{::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, out_of_the_way)};
}

char const* own_name() noexcept { return ::program_invocation_short_name; }

/// The name in the system: for a script that of its file, and not that of the interpreter.
std::string name_in_system() {
  std::ifstream file{"/proc/self/comm"};
  std::string name;
  std::getline(file, name);
  return name;
}

/// Programs that start others and do nothing themselves.
bool is_launcher() {
  constexpr std::array names{"sh",       "bash",       "dash",      "zsh",  "ksh",   "fish",    "csh",     "tcsh",
                             "busybox",  "mpirun",     "mpiexec",   "srun", "prun",  "prterun", "orterun", "hydra_pmi_proxy",
                             "torchrun", "accelerate", "deepspeed", "make", "ninja", "xargs"};
  std::string const system = name_in_system();
  return std::any_of(names.begin(), names.end(), [&](char const* each) { return system == each || text_of(own_name()) == each; });
}

/// Programs that become another one, which needs LD_PRELOAD.
bool is_wrapper() {
  constexpr std::array names{"env", "nice", "nohup", "taskset", "numactl", "stdbuf", "setarch", "chrt", "ionice", "prlimit"};
  return std::any_of(names.begin(), names.end(), [](char const* each) { return text_of(own_name()) == each; });
}

/// Removes this library from LD_PRELOAD, so that programs that this one starts are left alone.
void leave_preload() noexcept {
  std::string_view const value = text_of(::secure_getenv("LD_PRELOAD"));
  std::size_t const at = value.find(library_of_run);
  if (at == std::string_view::npos) return;
  std::size_t begin = value.find_last_of(" :", at);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  std::size_t end = value.find_first_of(" :", at);
  std::string rest{value.substr(0, begin)};
  if (end != std::string_view::npos) rest += value.substr(end + 1);
  while (!rest.empty() && (rest.back() == ':' || rest.back() == ' ')) rest.pop_back();
  if (rest.empty()) {
    ::unsetenv("LD_PRELOAD");  // NOLINT(concurrency-mt-unsafe): before main
  } else {
    ::setenv("LD_PRELOAD", rest.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): before main
  }
}

/// Whether a module of this process contains the code of sessions.
bool has_own_sessions() noexcept {
  auto const look = [](::dl_phdr_info* module, std::size_t, void* into) {
    if (text_of(module->dlpi_name).find(library_of_run) != std::string_view::npos) return 0;
    if (!detail::has_session_note(module->dlpi_addr, module->dlpi_phdr, module->dlpi_phnum)) return 0;
    *static_cast<bool*>(into) = true;
    return 1;
  };
  bool found = false;
  ::dl_iterate_phdr(look, &found);
  return found;
}

profkit::options wanted_options() {
  std::string text{text_of(::secure_getenv("PROFKIT_RUN_OPTIONS"))};
  text += text.empty() ? "" : ",";
  text += text_of(::secure_getenv("PROFKIT"));
  profkit::options result = profkit::options::parse(text);
  if (result.output_directory.empty()) result.output_directory = text_of(::secure_getenv("PROFKIT_RUN_OUT"));
  return result;
}

/// Puts what a step is into the list of what was collected. Without steps, no memory source was read: adds one reading.
class step_note final : public profkit::collector {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return text_; }
  void drain(profkit::profile_builder& into, bool last) override {
    if (!last) return;
    text_ = run_session::only().steps().short_text();
    if (run_session::only().steps().has_any()) return;
    for (profkit::memory_reading& each : detail::read_host_memory())
      into.add(
          profkit::memory_record{"host", std::move(each.quantity), 0, each.current_bytes, each.peak_bytes, std::move(each.peak_note), {}});
  }

 private:
  std::string text_ = "steps";
};

}  // namespace

void step_ranges::use(char const* pattern) {
  is_given_ = pattern != nullptr;
  if (is_given_) pattern_ = pattern;
  has_pattern_.store(is_given_ && pattern_ != "none");
  finds_.store(!is_given_);
}

bool step_ranges::begin(std::string_view name, void const* thread, bool is_main_thread, std::uint64_t number) noexcept {
  try {
    if (is_main_thread && finds_.load(std::memory_order_relaxed)) {
      finder_.forget_ended([](std::uint64_t each) { return process_ranges::only().is_open(each); });
      std::optional<std::string> found = finder_.begin(name, step_finder::clock::now(), number);
      if (!found) return false;
      pattern_ = *std::move(found);
      thread_.store(thread);
      finds_.store(false);
      has_pattern_.store(true, std::memory_order_release);
    }
    if (!has_pattern_.load(std::memory_order_acquire)) return false;
    void const* const its_thread = thread_.load(std::memory_order_relaxed);
    if (its_thread != nullptr && its_thread != thread) return false;
    if (!matches(pattern_, name)) return false;
    void const* nobody = nullptr;
    return its_thread == thread || thread_.compare_exchange_strong(nobody, thread);
  } catch (std::exception const&) {  // no memory
    return false;
  }
}

std::string step_ranges::text() const {
  std::string const choose = "profkit run --step PATTERN chooses another range";
  if (is_given_ && pattern_ == "none") return "no steps, as asked for by --step none";
  if (is_given_ && thread_.load() == nullptr) return "no steps: no range matches --step \"" + pattern_ + "\"";
  if (is_given_) return "steps: the range \"" + pattern_ + "\" (--step)";
  if (has_pattern_.load()) return "steps: the range \"" + pattern_ + "\", found because it repeats (" + choose + ")";
  std::string const names = finder_.names();
  if (names.empty()) return "no steps: the main thread has no range";
  return "no steps: no outermost range of the main thread repeats, takes 100 us and covers half of the time (" + choose + ": " + names +
         ")";
}

std::string step_ranges::short_text() const { return has_any() ? "steps: the range \"" + pattern_ + "\"" : "no steps"; }

run_session& run_session::only() noexcept {
  alignas(run_session) static unsigned char memory[sizeof(run_session)];
  static auto* const value = new (memory) run_session;
  return *value;
}

bool run_session::find_program() noexcept {
  std::optional<std::uint32_t> const process = detail::number_in(::secure_getenv("PROFKIT_RUN"));
  return process && *process == static_cast<std::uint32_t>(::getpid());
}

void run_session::loaded() noexcept {
  try {
    if (is_program() && is_wrapper()) return;
    leave_preload();
    if (!is_program()) return;
    if (is_launcher()) {
      say(std::string{own_name()} +
          " is left alone; each program that it starts and that uses a GPU, NVTX or Kokkos has a report of its own");
    } else {
      static_cast<void>(records());
    }
  } catch (std::exception const&) {  // no memory
  }
}

bool run_session::is_refused() noexcept {
  if (state_.load() == idle) {
    bool const is_asked = ::secure_getenv("PROFKIT_RUN") != nullptr;
    bool const is_wanted_anyway = ::secure_getenv("PROFKIT_RUN_WITH_PROFKIT") != nullptr;
    if (!is_asked || (!is_wanted_anyway && has_own_sessions())) {
      int expected = idle;
      if (state_.compare_exchange_strong(expected, refused) && is_asked) say_refusal("has sessions of profkit in its code and keeps them");
    }
  }
  return state_.load() == refused;
}

void run_session::say_refusal(std::string const& why) const noexcept {
  std::optional<profkit::rank_record> const rank = detail::find_rank().rank;
  if (rank && rank->rank != 0) return;
  say(std::string{own_name()} + " " + why + "; PROFKIT=report prints its own report. If it has none, use profkit run --with-profkit");
}

bool run_session::start() noexcept {
  if (is_refused()) return false;
  int expected = idle;
  if (!state_.compare_exchange_strong(expected, starting)) return false;
  detail::foreign_call const unrecorded;
  try {
    start_session();
    return state_.load() == running;
  } catch (std::exception const& failure) {
    say(std::string{own_name()} + " is not recorded: " + failure.what());
    state_.store(refused);
    return false;
  }
}

void run_session::start_session() {
  profkit::options wanted = wanted_options();
  if (!wanted.enabled) return state_.store(refused);
  std::string& folder = wanted.output_directory;
  if (!is_program() && !folder.empty() && !detail::differs_by_process(folder) && !detail::find_rank().rank) {
    folder += "/" + std::string{own_name()} + "-%p";  // PROGRAM may start several
  }
  steps_.use(::secure_getenv("PROFKIT_RUN_STEP"));
  detail::write_outputs_instead = write;
  keep_error_stream();
  core_ = detail::make_session(std::move(wanted));
  core_->take(std::make_unique<profkit::host_memory>());
  core_->take(std::make_unique<step_note>());
  state_.store(running, std::memory_order_release);
}

void run_session::take(std::unique_ptr<profkit::collector> taken) noexcept {
  try {
    core_->take(std::move(taken));
  } catch (std::exception const& failure) {
    say(failure.what());
  }
}

bool run_session::begin_step() noexcept {
  static profkit::site where{"step", "", 0};
  if (is_step_open_.exchange(true)) return false;
  try {
    step_ = core_->begin_step();
  } catch (std::exception const&) {  // the thread of an earlier step has ended inside it
    steps_.stop();
    return false;
  }
  step_word_ = detail::begin_step_scope(where, step_);
  return true;
}

void run_session::end_step() noexcept {
  detail::end_step_scope(step_word_, step_);
  core_->end_step(step_);
  is_step_open_.store(false);
}

/// Writes the outputs at the end, with what the user must know about them, on standard error.
void run_session::write(profkit::report const& last, profkit::options const& wanted) {
  run_session& self = only();
  bool const has_seen = self.has_ranges_.load() || last.summary().gpu.has_value();
  if (!has_seen && !self.is_program()) return;
  int const error_stream = kept_error_stream->is_own() ? kept_error_stream->number : STDERR_FILENO;
  std::string text;
  auto const add = [&](std::string const& line) { text += "profkit: run: " + line + "\n"; };
  auto const count = [&](std::uint64_t number, char const* what) {
    if (number > 0) add(std::to_string(number) + what);
  };
  if (!has_seen) add(std::string{own_name()} + " used neither a GPU, nor NVTX, nor Kokkos: the report is about the host alone");
  if (self.has_ranges_.load()) add(self.steps_.text());
  count(self.crossed.load(), " ranges ended before a range inside them, of another domain: their times include the rest of that range");
  count(self.ended_elsewhere.load(), " steps ended on another thread than they began: each lasts until the next one begins");
  count(self.lost.load(), " ranges are not recorded: more than 256 ranges of a thread, or 64 ranges between start and end, were open");
  count(__atomic_load_n(&detail::sites_by_name.refused, __ATOMIC_RELAXED),
        " ranges are in the row \"(further names)\": there is room for 8,192 names of ranges, of 1 MiB in all");
  try {
    if (wanted.print_report || wanted.full_report) detail::print_report(error_stream, text);
  } catch (std::exception const&) {  // standard error is closed; `write_outputs` says what it can
  }
  detail::write_outputs(last, wanted, error_stream);
}

}  // namespace profkit_run
