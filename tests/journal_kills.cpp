// SPDX-License-Identifier: Apache-2.0
//
// Kills a program that records in bursts at full speed, 200 times at random times, and reads its journal. The journal must contain only
// what the program did, and everything done until 100 ms before the kill. In every third run the journal continues in new files all the
// time; then its figures must be complete.
//
// usage: profkit_journal_kills [KILLS]
#include <profkit/load_report.hpp>
#include <profkit/save_load.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <ctime>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/profile_of.hpp"
#include "support/sanitizers.hpp"

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr std::uint64_t outer_scopes = 50;  ///< per block
constexpr std::uint64_t inner_scopes = 10;  ///< of each of them
constexpr std::size_t threads = 2;
constexpr int skipped = 4;

#ifdef RUNS_SLOWLY  // in the emulator
constexpr bool is_slow = true;
#else
constexpr bool is_slow = under_thread_sanitizer || under_address_sanitizer;
#endif
// If all takes several times as long, the content of the journal is checked, but not the delay.
constexpr int usual_kills = is_slow ? 40 : 200;
constexpr milliseconds bound{is_slow ? 10'000 : 100};
constexpr bool fills_files = !is_slow;

std::int64_t now_ns() {
  return static_cast<std::int64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds{1});
}

/// The amount of work done over time. One thread writes it; the killing program reads it afterwards.
class progress_log {
 public:
  void put(std::uint64_t done) {
    std::uint64_t const at = written_.load(std::memory_order_relaxed);
    entries_[at % entries_.size()] = {now_ns(), done};
    written_.store(at + 1, std::memory_order_release);
  }

  /// The amount done at a moment.
  [[nodiscard]] std::uint64_t done_by(std::int64_t ns) const {
    std::uint64_t result = 0;
    for_each([&](entry const& each) {
      if (each.ns <= ns) result = each.done;
    });
    return result;
  }

  /// The longest time without an entry between two times, from the first entry on.
  [[nodiscard]] std::int64_t max_pause(std::int64_t from, std::int64_t to) const {
    std::optional<std::int64_t> last;
    std::int64_t longest = 0;
    for_each([&](entry const& each) {
      if (last && each.ns > from && each.ns <= to) longest = std::max(longest, each.ns - std::max(from, *last));
      if (each.ns <= to) last = each.ns;
    });
    return last ? std::max(longest, to - std::max(from, *last)) : 0;
  }

 private:
  struct entry {
    std::int64_t ns;
    std::uint64_t done;
  };

  template <class Function>
  void for_each(Function&& function) const {
    std::uint64_t const end = written_.load(std::memory_order_acquire);
    for (std::uint64_t i = end - std::min<std::uint64_t>(end, entries_.size()); i < end; ++i) function(entries_[i % entries_.size()]);
  }

  std::atomic<std::uint64_t> written_{0};
  std::array<entry, 16384> entries_{};
};

/// In memory shared by both programs.
struct progress {
  std::atomic<bool> is_recording{false};
  std::array<progress_log, threads> blocks;
  progress_log wakes;  ///< wake-ups of a thread that sleeps and computes as long as the session's thread
};

/// Uses as much processor time.
void compute_for(std::chrono::nanoseconds time) {
  auto const used = [] {
    ::timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
  };
  auto const end = used() + time;
  while (used() < end) {
  }
}

void record_block() {
  for (std::uint64_t i = 0; i < outer_scopes; ++i) {
    PROF_SCOPE("outer");
    for (std::uint64_t k = 0; k < inner_scopes; ++k) PROF_SCOPE_INDEXED("inner", static_cast<std::int64_t>(k));
  }
}

/// Bursts at full speed, with pauses, because two threads record more than one thread can write.
template <class Block>
[[noreturn]] void record_for_ever(progress_log& into, Block&& block) {
  for (std::uint64_t done = 1;; ++done) {
    block();
    into.put(done);
    std::this_thread::sleep_for(milliseconds{2});
  }
}

enum class how { in_many_steps, in_one_step, in_many_files };

char const* name_of(how run) {
  return run == how::in_many_steps ? "in many steps" : run == how::in_one_step ? "in one step" : "in many files";
}

/// The program that is killed.
[[noreturn]] void record(progress& shown, fs::path const& journal, how run) {
  profkit::options options;
  options.journal = journal.string();
  if (run == how::in_many_files) {
    options.journal_bytes = std::uint64_t{1} << 20U;
    options.max_records = 1000;
  }
  profkit::session session{options};
  std::thread{[&] {
    for (std::uint64_t wakes = 1;; ++wakes) {
      shown.wakes.put(wakes);
      std::this_thread::sleep_for(milliseconds{20});
      compute_for(milliseconds{4});
    }
  }}.detach();
  std::thread{[&] {
    record_for_ever(shown.blocks[1], [] {
      PROF_SCOPE("worker");
      record_block();
    });
  }}.detach();
  shown.is_recording = true;
  if (run == how::in_one_step) {
    profkit::step const step{session};
    record_for_ever(shown.blocks[0], record_block);
  }
  if (run == how::in_many_files) {
    record_for_ever(shown.blocks[0], [] {
      PROF_SCOPE("main");
      record_block();
    });
  }
  record_for_ever(shown.blocks[0], [&] {
    profkit::step const step{session};
    record_block();
  });
}

void require(bool condition, std::string const& what) {
  if (!condition) throw std::runtime_error{what};
}

/// Reads the scopes of one thread, in the order of their ends.
class thread_check {
 public:
  /// @param root the scope that ends with each block; empty if there is none.
  thread_check(std::string root, std::string around) : root_{std::move(root)}, around_{std::move(around)} {}

  void add(profkit::profile const& in, profkit::scope_record const& scope) {
    constexpr std::uint64_t scopes_of_outer = inner_scopes + 1;
    std::uint64_t const length = outer_scopes * scopes_of_outer + (root_.empty() ? 0 : 1);
    std::uint64_t const at = count_++ % length;
    bool const is_root = at == outer_scopes * scopes_of_outer;
    bool const is_outer = !is_root && at % scopes_of_outer == inner_scopes;
    bool const is_inner = !is_root && !is_outer;
    std::string const name = is_root ? root_ : is_outer ? "outer" : "inner_" + std::to_string(at % scopes_of_outer);
    check_path(in, scope.path, is_root ? name : is_outer ? around_ + "/outer" : around_ + "/outer/" + name);
    require(scope.time.begin <= scope.time.end, "a scope ends before it begins");
    if (is_inner) {
      require(scope.time.begin >= last_end_, "two scopes beside each other overlap");
      if (at % scopes_of_outer == 0) begin_of_outer_ = scope.time.begin;
    } else {
      require(scope.time.end >= last_end_, "a scope ends before what is in it");
      require(scope.time.begin <= (is_outer ? begin_of_outer_ : begin_of_block_), "a scope begins after what is in it");
    }
    if (is_outer && at == inner_scopes) begin_of_block_ = scope.time.begin;
    last_end_ = scope.time.end;
    blocks_ = count_ / length;
  }

  [[nodiscard]] std::uint64_t blocks() const { return blocks_; }

 private:
  void check_path(profkit::profile const& in, std::uint32_t path, std::string const& wanted) {
    auto const known = std::find_if(paths_.begin(), paths_.end(), [&](auto const& each) { return each.first == path; });
    if (known == paths_.end()) {
      paths_.emplace_back(path, path_name(in, path));
      std::string const file = in.paths[path].file;
      bool const is_step = in.paths[path].name == "step";
      require(is_step || (file.find("journal_kills.cpp") != std::string::npos && in.paths[path].line > 0),
              "a path of another file: " + file);
      return check_path(in, path, wanted);
    }
    require(known->second == wanted, "the scope " + known->second + " stands where " + wanted + " should");
  }

  std::string root_;
  std::string around_;
  std::uint64_t count_ = 0;
  std::uint64_t blocks_ = 0;
  profkit::timestamp last_end_{};
  profkit::timestamp begin_of_outer_{};
  profkit::timestamp begin_of_block_{};
  std::vector<std::pair<std::uint32_t, std::string>> paths_;
};

/// @return the number of complete blocks of each thread.
std::array<std::uint64_t, threads> check(profkit::journal_content const& found, std::uint64_t process, bool in_one_step) {
  profkit::profile const& content = found.content;
  require(!found.is_complete, "the journal says that the session ended");
  require(content.environment.process_id == process, "the journal is of another process");
  require(content.quality.dropped_events == 0, std::to_string(content.quality.dropped_events) + " scopes were dropped");
  std::array<thread_check, threads> checks{thread_check{in_one_step ? "" : "step", "step"}, thread_check{"worker", "worker"}};
  for (profkit::scope_record const& scope : content.scopes) {
    bool const is_main = content.threads[scope.thread].system_id == process;
    checks[is_main ? 0 : 1].add(content, scope);
  }
  for (std::size_t i = 0; i < content.steps.size(); ++i) {
    profkit::step_record const& step = content.steps[i];
    require(step.index == i, "step " + std::to_string(i) + " is missing");
    require(i == 0 || step.time.begin >= content.steps[i - 1].time.end, "two steps overlap");
  }
  std::uint64_t const steps = in_one_step ? 0 : checks[0].blocks();
  require(content.steps.size() <= steps + 1 && content.steps.size() + 1 >= steps,
          std::to_string(content.steps.size()) + " steps, and " + std::to_string(steps) + " scopes of steps");
  return {checks[0].blocks(), checks[1].blocks()};
}

/// The same from the figures of a journal in many files.
std::array<std::uint64_t, threads> check_figures(fs::path const& journal, progress const& shown) {
  profkit::report const found = profkit::load_report(journal);
  profkit::summary const& figures = found.summary();
  require(figures.quality.dropped_events == 0, std::to_string(figures.quality.dropped_events) + " scopes were dropped");
  std::array<std::uint64_t, threads> blocks{};
  for (std::size_t i = 0; i < threads; ++i) {
    std::string const root = i == 0 ? "main" : "worker";
    auto const count_of = [&](std::string const& path) {
      auto const row = std::find_if(figures.scopes.begin(), figures.scopes.end(), [&](auto const& each) { return each.path == path; });
      return row == figures.scopes.end() ? 0 : row->host.count;
    };
    blocks[i] = count_of(root);
    std::uint64_t const done = shown.blocks[i].done_by(std::numeric_limits<std::int64_t>::max());
    require(blocks[i] <= done + 1,
            std::to_string(done) + " blocks of " + root + " were done, " + std::to_string(blocks[i]) + " are counted");
    std::uint64_t const outer = count_of(root + "/outer");
    bool const is_of_blocks = blocks[i] * outer_scopes <= outer && outer <= (blocks[i] + 1) * outer_scopes;
    require(is_of_blocks, std::to_string(blocks[i]) + " blocks of " + root + " have " + std::to_string(outer) + " scopes");
  }
  return blocks;
}

struct killed {
  bool is_judged = false;      ///< whether a thread could wake in time on this machine
  std::uint64_t left_out = 0;  ///< bytes of a frame that was cut off
  bool has_files = false;      ///< the journal had gone on in a new file
};

killed kill_once(progress& shown, fs::path const& journal, milliseconds after, how run) {
  fs::remove(journal);
  fs::remove(journal.string() + ".1");
  new (&shown) progress;
  ::pid_t const child = ::fork();
  require(child >= 0, "cannot fork");
  if (child == 0) {
    try {
      record(shown, journal, run);
    } catch (std::exception const& failure) {
      std::fprintf(stderr, "%s\n", failure.what());
      std::_Exit(1);
    }
  }
  while (!shown.is_recording && ::waitpid(child, nullptr, WNOHANG) == 0) std::this_thread::sleep_for(milliseconds{1});
  std::this_thread::sleep_for(after);
  std::int64_t const moment = now_ns();
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  require(WIFSIGNALED(status), "the program ended before it was killed");

  profkit::journal_content const found = profkit::load_journal(journal);
  std::array<std::uint64_t, threads> const blocks =
      run == how::in_many_files ? check_figures(journal, shown) : check(found, static_cast<std::uint64_t>(child), run == how::in_one_step);
  std::int64_t const before = moment - bound / std::chrono::nanoseconds{1};
  killed result;
  result.is_judged = shown.wakes.max_pause(before - bound / std::chrono::nanoseconds{4}, moment) <= 50'000'000;
  result.left_out = found.bytes_left_out;
  result.has_files = fs::exists(journal.string() + ".1");
  for (std::size_t i = 0; i < threads && result.is_judged; ++i) {
    std::uint64_t const wanted = shown.blocks[i].done_by(before);
    require(blocks[i] >= wanted, "thread " + std::to_string(i) + ": " + std::to_string(wanted) + " blocks had ended 100 ms before, " +
                                     std::to_string(blocks[i]) + " are in the journal");
  }
  return result;
}

/// Uses a folder in memory if there is one, because the speed of the disk is not tested.
fs::path folder() {
  fs::path const memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK) == 0 ? memory : fs::temp_directory_path();
}

}  // namespace

int main(int argc, char** argv) {
  int const wanted = argc > 1 ? std::atoi(argv[1]) : usual_kills;
  fs::path const journal = folder() / ("profkit-kills-" + std::to_string(::getpid()));
  void* const memory = ::mmap(nullptr, sizeof(progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  std::mt19937 random{20240607};
  std::uniform_int_distribution<int> after_ms{0, 200};
  int kills = 0;
  int cut_off = 0;
  int judged = 0;
  int in_files = 0;
  bool has_failed = false;
  while (judged < wanted && kills < 2 * wanted && !has_failed) {
    milliseconds const after{after_ms(random)};
    how const run = static_cast<how>(kills % 3);
    try {
      killed const result = kill_once(*static_cast<progress*>(memory), journal, after, run);
      judged += result.is_judged ? 1 : 0;
      cut_off += result.left_out > 0 ? 1 : 0;
      in_files += result.has_files ? 1 : 0;
    } catch (std::exception const& failure) {
      std::printf("kill %d, after %d ms, %s: %s\n", kills, static_cast<int>(after.count()), name_of(run), failure.what());
      has_failed = true;
    }
    ++kills;
  }
  std::error_code ignored;
  fs::remove(journal, ignored);
  fs::remove(journal.string() + ".1", ignored);
  fs::remove(journal.string() + ".next", ignored);
  std::printf(
      "%d kills, %d of them while the machine let threads wake in time; %d journals ended in the middle of a frame, and %d had gone on "
      "in a new file\n",
      kills, judged, cut_off, in_files);
  if (fills_files && !has_failed && in_files == 0) {
    std::printf("no journal had gone on in a new file\n");
    has_failed = true;
  }
  if (has_failed) return 1;
  if (judged < wanted) std::printf("this machine is too busy to say more\n");
  return judged < wanted ? skipped : 0;
}
