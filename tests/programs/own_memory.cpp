// SPDX-License-Identifier: Apache-2.0
//
// profkit's memory and the program's: a session changes neither where the program's memory comes from, nor what it costs.
#include <profkit/profkit.hpp>
#include <profkit/report.hpp>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../support/child_processes.hpp"

extern "C" void* __libc_malloc(std::size_t bytes);
extern "C" void* __libc_calloc(std::size_t count, std::size_t bytes);
extern "C" void* __libc_realloc(void* memory, std::size_t bytes);
extern "C" void* __libc_memalign(std::size_t alignment, std::size_t bytes);

namespace {

constexpr std::size_t large = std::size_t{64} << 10U;
std::atomic<bool> is_counting{false};
std::atomic<std::size_t> requests{0};
std::atomic<std::size_t> large_requests{0};
std::atomic<std::size_t> largest{0};

void count(std::size_t bytes) noexcept {
  if (!is_counting.load(std::memory_order_relaxed)) return;
  ++requests;
  if (bytes < large) return;
  if (::secure_getenv("OWN_MEMORY_ABORT") != nullptr) std::abort();  // for a debugger: who requests it
  ++large_requests;
  std::size_t known = largest;
  while (known < bytes && !largest.compare_exchange_weak(known, bytes)) continue;
}

}  // namespace

// All requests of this process, also those of `operator new`, of libraries and of glibc itself.
extern "C" void* malloc(std::size_t bytes) {
  count(bytes);
  return __libc_malloc(bytes);
}
extern "C" void* calloc(std::size_t items, std::size_t bytes) {
  count(items * bytes);
  return __libc_calloc(items, bytes);
}
extern "C" void* realloc(void* memory, std::size_t bytes) {
  count(bytes);
  return __libc_realloc(memory, bytes);
}
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  count(bytes);
  return __libc_memalign(alignment, bytes);
}
extern "C" void* memalign(std::size_t alignment, std::size_t bytes) {
  count(bytes);
  return __libc_memalign(alignment, bytes);
}
extern "C" int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  count(bytes);
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? 12 : 0;
}

namespace {

// The same number of page faults with and without profkit.

std::uint64_t own_faults() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_minflt);
}

void touch(void* memory, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 4096) static_cast<unsigned char volatile*>(memory)[at] = 1;
}

/// What the program allocates, uses and frees in each step.
struct load {
  std::string_view name;
  std::vector<std::size_t> blocks;
};

std::vector<load> loads() {
  std::vector<load> result{
      {"one block of 1 MB", {1'000'000}}, {"eight blocks of 1 MB", std::vector<std::size_t>(8, 1'000'000)}, {"24 blocks", {}}};
  for (std::size_t i = 0; i < 24; ++i) result.back().blocks.push_back(170'000 + i * 200'000 / 23);
  return result;
}

void work(load const& what) {
  void* blocks[24] = {};
  for (std::size_t i = 0; i < what.blocks.size(); ++i) touch(blocks[i] = std::malloc(what.blocks[i]), what.blocks[i]);
  for (std::size_t i = 0; i < what.blocks.size(); ++i) std::free(blocks[i]);
}

constexpr std::uint64_t warmup = 20;
constexpr std::uint64_t measured = 100;
constexpr int scopes_per_step = 3000;  // so that lists of profkit exceed 128 KiB between two reports

/// Prints the page faults of the program's own work in the measured steps. Logs of profkit take pages of their own when they grow.
void run(load const& what, bool has_session) {
  ::prctl(PR_SET_THP_DISABLE, 1UL, 0UL, 0UL, 0UL);  // one fault per page
  std::uint64_t faults = 0;
  auto const one_step = [&](std::uint64_t index) {
    for (int i = 0; i < scopes_per_step; ++i) PROF_SCOPE("scope");
    std::uint64_t const before = own_faults();
    work(what);
    if (index >= warmup) faults += own_faults() - before;
  };
  if (has_session) {
    profkit::options options = profkit::options::from_env();
    options.warmup_steps = warmup;
    options.measured_steps = measured;
    profkit::session session{options};
    for (profkit::step step : session) one_step(step.index());
  } else {
    for (std::uint64_t i = 0; i < warmup + measured; ++i) one_step(i);
  }
  std::fprintf(stderr, "%llu\n", static_cast<unsigned long long>(faults));
}

/// Runs this program again.
std::uint64_t faults_of(std::size_t number, char const* settings) {
  int ends[2] = {};
  require(::pipe(ends) == 0, "no pipe");
  std::fflush(stdout);
  ::pid_t const child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    static_cast<void>(std::freopen("/dev/null", "w", stdout));
    if (settings != nullptr) ::setenv("PROFKIT", settings, 1);
    std::string const load_number = std::to_string(number);
    ::execl("/proc/self/exe", "own_memory", settings == nullptr ? "without" : "with", load_number.c_str(), nullptr);
    std::_Exit(127);
  }
  ::close(ends[1]);
  std::string text;
  char piece[256];
  for (ssize_t got = 0; (got = ::read(ends[0], piece, sizeof piece)) > 0;) text.append(piece, static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  require(::waitpid(child, &status, 0) == child && status == 0, "the program failed: " + text);
  // The faults are the last line before what a report may add, and the only line that is a number.
  std::optional<std::uint64_t> result;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t const end = std::min(text.find('\n', begin), text.size());
    std::string const line = text.substr(begin, end - begin);
    if (!line.empty() && line.find_first_not_of("0123456789") == std::string::npos) result = std::stoull(line);
    begin = end + 1;
  }
  require(result.has_value(), "no number of faults: " + text);
  return *result;
}

void faults() {
  std::filesystem::remove_all("own_memory_out");
  bool is_same = true;
  std::vector<load> const all = loads();
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::uint64_t const plain = faults_of(i, nullptr);
    for (char const* const settings : {"off", "", "memory=scopes", "samples=1000Hz", "journal=own_memory.journal", "report=every:20",
                                       "report=every:20,trace=50,out=own_memory_out", "keep=last:3,records=30000"}) {
      std::uint64_t const found = faults_of(i, settings);
      auto const allowed = static_cast<std::uint64_t>(static_cast<double>(plain) * 0.02) + 20;  // 20: samples and the scheduler
      bool const is_close = found <= plain + allowed && plain <= found + allowed;
      std::printf("%s, PROFKIT=%s: %llu page faults, without profkit %llu%s\n", std::string{all[i].name}.c_str(), settings,
                  static_cast<unsigned long long>(found), static_cast<unsigned long long>(plain), is_close ? "" : "  <- differs");
      is_same = is_same && is_close;
    }
  }
  require(is_same, "profkit changes the number of page faults of the program");
}

// No large request to the heap.

/// Everything in a session that grows with what is recorded.
void record(profkit::options const& options) {
  profkit::session session{options};
  session.collect(profkit::host_memory{});
  std::uint64_t number = 0;
  for (profkit::step step : session) {
    PROF_SCOPE("forward");
    for (int i = 0; i < 300; ++i) {
      PROF_SCOPE_INDEXED("layer", i);
      PROF_SCOPE_INDEXED("row", static_cast<std::int64_t>(number++ % 20'000));
      PROF_COUNTER("loss", i);
    }
    for (int i = 0; i < 3000; ++i) PROF_SCOPE("small");
    if (step.index() == 50) {
      profkit::report const now = session.snapshot();
      require(!now.html().empty(), "no page");
    }
  }
  profkit::report const last = session.report();
  last.write("own_memory_files");
  last.write_trace("own_memory_trace.json", 1000);  // and the compact trace
  profkit::save(last.profile(), "own_memory.profkit");
  require(profkit::load("own_memory.profkit").scopes.size() == last.profile().scopes.size(), "the saved profile has other scopes");
  require(options.journal.empty() || !profkit::load(options.journal).scopes.empty(), "the journal has no scopes");
  require(!last.full_text().empty() && !last.markdown().empty() && !profkit::report_json(last.summary()).empty(), "no text");
  std::fputs(fmt::format("{}\n", last).c_str(), stdout);
}

void heap() {
  std::vector<char> buffer(std::size_t{1} << 16U);
  std::setvbuf(stdout, buffer.data(), _IOFBF, buffer.size());
  std::filesystem::remove_all("own_memory_files");
  std::remove("own_memory.journal");
  is_counting = true;
  profkit::options options;
  options.warmup_steps = 5;
  options.measured_steps = 80;
  options.journal = "own_memory.journal";
  options.journal_bytes = 2'000'000;  // so that it begins a next file
  options.samples_per_second = 1000;
  options.memory_at_scopes = true;
  options.output_directory = "own_memory_files";
  options.report_every_steps = 30;
  record(options);
  options.journal.clear();
  options.max_records = 100'000;
  options.full_report = true;
  record(options);
  is_counting = false;
  std::printf("%zu requests to the heap, %zu of them large, the largest of %zu bytes\n", requests.load(), large_requests.load(),
              largest.load());
  std::fflush(stdout);
  require(requests > 1000, "the requests were not counted");
  require(large_requests == 0,
          std::to_string(large_requests) + " large blocks from the heap, the largest of " + std::to_string(largest) + " bytes");
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view const wanted = argc > 1 ? argv[1] : "";
  if (wanted == "faults") {
    faults();
  } else if (wanted == "heap") {
    heap();
  } else if ((wanted == "with" || wanted == "without") && argc > 2) {
    run(loads().at(std::stoul(argv[2])), wanted == "with");
  } else {
    std::fputs("own_memory faults|heap\n", stderr);
    return 2;
  }
}
