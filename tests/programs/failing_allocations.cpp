// SPDX-License-Identifier: Apache-2.0
//
// The system refuses memory to a whole run: each allocation of a session in turn, once or from then on, on the threads of the program or on
// those of profkit. The program gets an exception, or the report counts the loss; afterwards another session works. Each refusal has a
// process of its own, forked before the session.
//
// usage: profkit_failing_allocations some                    a sample of each part of the run
//        profkit_failing_allocations windows                 the same in a long run that keeps most of its records as figures only
//        profkit_failing_allocations every STRIDE            every STRIDE-th allocation
//        profkit_failing_allocations one THREADS DURATION N  in this process, with files in the current directory, for a debugger with
//                                                            a breakpoint at `memory_is_refused`; the names are those of failed cases
//        profkit_failing_allocations every_windows STRIDE, one_windows THREADS DURATION N   the same of a long run
#include <profkit/profkit.hpp>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../support/child_processes.hpp"

namespace {

/// The threads whose allocations fail.
enum class threads { program, profkit, all };
constexpr char const* thread_names[] = {"program", "profkit", "all"};

/// How long they fail.
enum class duration { once, lasting, a_while };
constexpr char const* duration_names[] = {"once", "lasting", "a_while"};

// Constant-initialised: the first allocations of the process come before the constructors of this file.
std::atomic<bool> is_counting{false};
std::atomic<threads> chosen{threads::all};
std::atomic<long> first_refused{-1};  ///< negative: none
std::atomic<bool> is_lasting{false};
std::atomic<long> counted[3] = {};  ///< by `threads`
std::atomic<long> refused{0};

thread_local bool is_of_program = false;
thread_local int depth_in_profkit = 0;  ///< the program's own allocations between the calls do not fail

}  // namespace

extern "C" __attribute__((noinline)) void memory_is_refused() {
  asm volatile("");
  ++refused;
  errno = ENOMEM;
}

namespace {

bool is_refused() noexcept {
  if (!is_counting.load(std::memory_order_relaxed) || (is_of_program && depth_in_profkit == 0)) return false;
  long const among_all = counted[static_cast<int>(threads::all)]++;
  threads const mine = is_of_program ? threads::program : threads::profkit;
  long const among_mine = counted[static_cast<int>(mine)]++;
  threads const wanted = chosen;
  if (wanted != threads::all && wanted != mine) return false;
  long const number = wanted == threads::all ? among_all : among_mine;
  long const first = first_refused;
  if (first < 0 || (is_lasting ? number < first : number != first)) return false;
  memory_is_refused();
  return true;
}

}  // namespace

// They replace those of the C library, which `operator new` uses.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) noexcept { return is_refused() ? nullptr : __libc_malloc(bytes); }
void* calloc(std::size_t count, std::size_t bytes) noexcept { return is_refused() ? nullptr : __libc_calloc(count, bytes); }
void* realloc(void* old, std::size_t bytes) noexcept { return is_refused() ? nullptr : __libc_realloc(old, bytes); }
void* memalign(std::size_t alignment, std::size_t bytes) noexcept { return is_refused() ? nullptr : __libc_memalign(alignment, bytes); }
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return is_refused() ? nullptr : __libc_memalign(alignment, bytes);
}
int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) noexcept {
  void* const found = is_refused() ? nullptr : __libc_memalign(alignment, bytes);
  if (found == nullptr) return ENOMEM;
  *result = found;
  return 0;
}

void* mmap(void* where, std::size_t bytes, int protection, int flags, int file, ::off_t from) noexcept {
  if (is_refused()) return MAP_FAILED;
  return reinterpret_cast<void*>(::syscall(SYS_mmap, where, bytes, protection, flags, file, from));
}
void* mmap64(void* where, std::size_t bytes, int protection, int flags, int file, ::off64_t from) noexcept {
  return mmap(where, bytes, protection, flags, file, from);
}
void* mremap(void* old, std::size_t old_bytes, std::size_t bytes, int flags, ...) noexcept {
  std::va_list more;
  va_start(more, flags);
  void* const place = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void*) : nullptr;
  va_end(more);
  if (is_refused()) return MAP_FAILED;
  return reinterpret_cast<void*>(::syscall(SYS_mremap, old, old_bytes, bytes, flags, place));
}
}

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// The parts of a run.
constexpr char const* parts[] = {"construct", "collect", "steps", "snapshot", "report", "write", "print", "destroy", "end"};
constexpr std::size_t part_count = sizeof parts / sizeof *parts;

/// What a run without refusals needs, written by a child process.
struct measured {
  long begin[part_count][3];  ///< allocations before each part, by `threads`
};

constexpr std::uint64_t steps = 5;
std::uint64_t scopes = 50;  ///< in a step, on each of two threads
bool is_long = false;       ///< the session adds most records to its figures while it runs, and begins further files of its journal

void make_runs_long() {
  is_long = true;
  scopes = 12'000;
}

/// Calls profkit. @return false if it throws an exception that a program expects.
template <class Call>
bool attempt(char const* part, Call&& call) {
  struct inside {
    inside() { ++depth_in_profkit; }
    ~inside() { --depth_in_profkit; }
  };
  try {
    inside const now;
    call();
    return true;
  } catch (std::bad_alloc const&) {
  } catch (profkit::error const& failure) {
    std::fprintf(stderr, "%s: %s\n", part, failure.what());
  } catch (std::exception const& failure) {
    std::fprintf(stderr, "%s throws another exception: %s\n", part, failure.what());
    std::_Exit(1);
  }
  return false;
}

void some_scopes(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    PROF_SCOPE_INDEXED("layer", static_cast<std::int64_t>(i % 3));
    PROF_SCOPE("work");
    PROF_COUNTER("loss", static_cast<double>(i));
  }
}

/// @return whether there was a step.
bool make_step(profkit::session& session) {
  std::atomic<bool> is_begun{false};
  std::atomic<bool> is_wanted{false};
  std::thread other{[&] {  // exists before memory is short
    is_of_program = true;
    is_begun = true;
    while (!is_wanted) std::this_thread::yield();
    ++depth_in_profkit;
    some_scopes(scopes);
    --depth_in_profkit;
  }};
  while (!is_begun) std::this_thread::yield();
  bool const is_made = attempt("step", [&] {
    profkit::step const step{session};
    is_wanted = true;
    some_scopes(scopes);
    other.join();
  });
  is_wanted = true;
  if (other.joinable()) other.join();
  std::this_thread::sleep_for(milliseconds{is_long ? 40 : 4});
  return is_made;
}

profkit::options options_of_run() {
  profkit::options result;
  result.warmup_steps = 1;
  result.measured_steps = steps - 1;
  result.journal = "run.journal";
  result.output_directory = "out";
  result.print_report = true;
  result.report_every_steps = 3;
  if (is_long) {
    result.max_records = 1000;
    result.keep = {profkit::kept_steps::slowest, 2};
    result.journal_bytes = std::uint64_t{1} << 20U;
  }
  return result;
}

/// The loss that a report admits. The status of a collector or a line on stderr admits it too.
bool admits_loss(profkit::profile const& profile) {
  profkit::quality_record const& quality = profile.quality;
  if (quality.dropped_events + quality.discarded_records + quality.abandoned_steps + quality.untraced_records + quality.open_scopes > 0) {
    return true;
  }
  return std::any_of(profile.collectors.begin(), profile.collectors.end(), [](auto const& each) { return each.status == "not collected"; });
}

void check(profkit::report const& last, std::uint64_t steps_made) {
  profkit::profile const& profile = last.profile();
  auto const is_work = [&](auto const& each) { return profile.paths[each.path].name == "work"; };
  auto const found = static_cast<std::uint64_t>(std::count_if(profile.scopes.begin(), profile.scopes.end(), is_work));
  // The scopes of a step that was refused may be there too.
  bool const is_whole = profile.steps.size() == steps_made && found >= 2 * scopes * steps_made;
  bool const has_whole_figures = is_long && last.summary().scopes_recorded >= 4 * scopes * steps_made;
  if (is_whole || has_whole_figures || admits_loss(profile)) return;
  std::fprintf(stderr, "uncounted loss: %zu of %llu steps, %llu of %llu scopes\n", profile.steps.size(),
               static_cast<unsigned long long>(steps_made), static_cast<unsigned long long>(found),
               static_cast<unsigned long long>(2 * scopes * steps_made));
}

void use_second_session() {
  profkit::options options;
  options.warmup_steps = 0;
  options.measured_steps = 3;
  profkit::session session{options};
  session.collect(profkit::host_memory());
  for (profkit::step step : session) {
    for (int i = 0; i < 10; ++i) PROF_SCOPE("in the second session");
  }
  profkit::report const report = session.report();
  profkit::profile const& profile = report.profile();
  auto const is_mine = [&](auto const& each) { return profile.paths[each.path].name == "in the second session"; };
  auto const found = std::count_if(profile.scopes.begin(), profile.scopes.end(), is_mine);
  require(profile.steps.size() == 3 && found == 30, "the second session has " + std::to_string(found) + " scopes");
  require(profile.quality.dropped_events == 0, "the second session dropped something");
}

/// A whole run. @param into where the number of allocations is written; null without.
int run(threads whose, duration how_long, long first, measured* into) {
  profkit::options const options = options_of_run();
  is_of_program = true;
  chosen = whose;
  is_lasting = how_long != duration::once;
  first_refused = first;
  is_counting = true;
  auto const part_begins = [into](std::size_t part) {
    if (into != nullptr) std::copy(std::begin(counted), std::end(counted), into->begin[part]);
  };
  std::optional<profkit::session> session;
  std::optional<profkit::report> report;
  std::string text;
  std::uint64_t steps_made = 0;
  part_begins(0);
  if (attempt("construct", [&] { session.emplace(options); })) {
    part_begins(1);
    attempt("collect", [&] { session->collect(profkit::host_memory()); });
    part_begins(2);
    for (std::uint64_t i = 0; i < steps; ++i) steps_made += make_step(*session) ? 1U : 0U;
    part_begins(3);
    attempt("snapshot", [&] { static_cast<void>(session->snapshot()); });
    if (how_long == duration::a_while) is_counting = false;
    part_begins(4);
    attempt("report", [&] { report.emplace(session->report()); });
    part_begins(5);
    if (report) attempt("write", [&] { report->write("written"); });
    part_begins(6);
    if (report) attempt("print", [&] { text = report->full_text(); });
    part_begins(7);
    ++depth_in_profkit;
    session.reset();
    --depth_in_profkit;
  }
  part_begins(8);
  is_counting = false;
  if (report) check(*report, steps_made);
  use_second_session();
  std::fprintf(stderr, "refused %ld\n", refused.load());
  return 0;
}

std::string judge(child_outcome const& found) {
  if (!found.exits_with(0)) return found.end();
  bool const has_line = has(found.err, "profkit: ");
  if (has(found.err, "uncounted loss") && !has_line) return "a loss is not counted";
  for (char const* const folder : {"/out", "/written"}) {
    std::string const json = text_of_file(found.directory + folder + "/report.json");
    if (!json.empty() && json[json.find_last_not_of(" \n")] != '}') return "report.json is incomplete";
  }
  std::string const last = text_of_file(found.directory + "/out/report.json");
  bool const is_whole = has(last, "\"snapshot\": null") && has(found.out, "\nDATA ");
  bool const is_explained = has_line || has(found.err, "construct") || has(found.err, "report: ");
  if (has(found.err, "refused 0\n") && !is_whole) return "nothing failed, and yet there is no report";
  // Without a line, the program knows from an exception that there is no report.
  bool const threw = !std::filesystem::exists(found.directory + "/written/report.json");
  return is_whole || is_explained || threw ? "" : "there is neither a whole report, nor an exception, nor a line that says why";
}

child_case case_of(threads whose, duration how_long, long first, char const* part) {
  std::string const name = std::string{thread_names[static_cast<int>(whose)]} + " " + duration_names[static_cast<int>(how_long)] + " " +
                           std::to_string(first) + " (" + part + ")";
  return {name, [=] { return run(whose, how_long, first, nullptr); }, judge, seconds{30}};
}

/// Calls a function for each kind of refusal, with the allocations of each part.
void for_each_kind(measured const& of_run, std::function<void(threads, duration, std::size_t part, long begin, long end)> const& call) {
  for (threads const whose : {threads::program, threads::profkit, threads::all}) {
    for (duration const how_long : {duration::once, duration::lasting, duration::a_while}) {
      for (std::size_t part = 0; part + 1 < part_count; ++part) {
        if (how_long == duration::a_while && part > 3) continue;
        long const begin = of_run.begin[part][static_cast<int>(whose)];
        long const end = of_run.begin[part + 1][static_cast<int>(whose)];
        call(whose, how_long, part, begin, end);
      }
    }
  }
}

std::vector<child_case> sample(measured const& of_run) {
  constexpr long in_part[part_count - 1] = {10, 3, 4, 4, 5, 2, 1, 4};
  constexpr long in_part_of_long_run[part_count - 1] = {1, 1, 8, 3, 6, 1, 1, 1};
  std::vector<child_case> result;
  for_each_kind(of_run, [&](threads whose, duration how_long, std::size_t part, long begin, long end) {
    long const count = std::min((is_long ? in_part_of_long_run : in_part)[part], end - begin);
    for (long i = 0; i < count; ++i) {
      // Other positions for each kind.
      long const shift = (static_cast<long>(whose) * 3 + static_cast<long>(how_long)) * (end - begin) / (9 * count);
      result.push_back(case_of(whose, how_long, begin + (end - begin) * i / count + shift, parts[part]));
    }
  });
  return result;
}

std::vector<child_case> every(measured const& of_run, long stride) {
  std::vector<child_case> result;
  for_each_kind(of_run, [&](threads whose, duration how_long, std::size_t part, long begin, long end) {
    for (long i = begin; i < end; i += stride) result.push_back(case_of(whose, how_long, i, parts[part]));
  });
  return result;
}

long number_of(char const* text) { return std::strtol(text, nullptr, 10); }

template <class Enum, std::size_t Count>
Enum value_of(char const* const (&names)[Count], std::string const& name) {
  return static_cast<Enum>(std::find(std::begin(names), std::end(names) - 1, name) - std::begin(names));
}

}  // namespace

int main(int count, char** arguments) {
  std::string kind = count > 1 ? arguments[1] : "";
  for (char const* const each : {"some", "every", "one"}) {
    if (kind != (each == std::string{"some"} ? "windows" : each + std::string{"_windows"})) continue;
    make_runs_long();
    kind = each;
    break;
  }
  if (kind == "one" && count == 5) {
    return run(value_of<threads>(thread_names, arguments[2]), value_of<duration>(duration_names, arguments[3]), number_of(arguments[4]),
               nullptr);
  }
  child_processes processes{"failing-allocations"};
  void* const shared = ::mmap(nullptr, sizeof(measured), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const of_run = new (shared) measured{};
  std::vector<child_case> const first{{"without refusals", [of_run] { return run(threads::all, duration::once, -1, of_run); }, judge}};
  if (processes.run(first, 1) != 0) return 1;
  for (std::size_t part = 0; part + 1 < part_count; ++part) {
    std::printf("%-9s %6ld allocations on the program's threads, %6ld on profkit's\n", parts[part],
                of_run->begin[part + 1][0] - of_run->begin[part][0], of_run->begin[part + 1][1] - of_run->begin[part][1]);
  }
  std::vector<child_case> cases;
  if (kind == "some") cases = sample(*of_run);
  if (kind == "every" && count == 3) cases = every(*of_run, std::max(1L, number_of(arguments[2])));
  if (cases.empty()) return std::fputs("usage: failing_allocations some | windows | every STRIDE | one THREADS DURATION N\n", stderr), 2;
  std::size_t const failures = processes.run(cases, 3);
  std::printf("%zu of %zu cases fail\n", failures, cases.size());
  return failures == 0 ? 0 : 1;
}
