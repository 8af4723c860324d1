// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <profkit/profkit.hpp>
#include <profkit/save_load.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench_support.hpp"
#include "growth_costs.hpp"

// Sessions of programs that have many of one thing.
namespace bench::growth {

/// Processor time of threads of the program other than the step thread, in nanoseconds; each adds its own.
inline std::atomic<std::int64_t> ns_of_other_threads{0};

/// Source locations with different names, such as those of an interpreter.
class named_sites {
 public:
  explicit named_sites(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      names_.push_back("name " + std::to_string(i));
      sites_.push_back({names_.back().c_str(), __FILE__, static_cast<std::uint32_t>(i)});
    }
  }

  [[nodiscard]] profkit::site& operator[](std::size_t position) { return sites_[position]; }
  [[nodiscard]] auto begin() noexcept { return sites_.begin(); }
  [[nodiscard]] auto end() noexcept { return sites_.end(); }

 private:
  std::deque<std::string> names_;
  std::deque<profkit::site> sites_;
};

/// A memory source with many quantities, such as an allocator with size classes.
class many_quantities final : public profkit::memory_source {
 public:
  explicit many_quantities(std::size_t count) : count_{count} {}
  [[nodiscard]] std::string_view name() const noexcept override { return "pool"; }
  [[nodiscard]] std::vector<profkit::memory_reading> read() override {
    std::vector<profkit::memory_reading> result;
    for (std::size_t i = 0; i < count_; ++i) result.push_back({"class " + std::to_string(i), 64 * ++reads_, std::nullopt, {}});
    return result;
  }

 private:
  std::size_t count_;
  std::uint64_t reads_ = 0;
};

/// One of many collectors.
class numbered_collector final : public profkit::collector {
 public:
  explicit numbered_collector(std::size_t number) : name_{"collector " + std::to_string(number)} {}
  [[nodiscard]] std::string_view name() const noexcept override { return name_; }

 private:
  std::string name_;
};

/// The processor clock of the session's thread; nothing before the thread has begun.
inline std::optional<clockid_t> clock_of_session_thread() {
  for (auto const& thread : std::filesystem::directory_iterator{"/proc/self/task"}) {
    std::string name;
    std::getline(std::ifstream{thread.path() / "comm"}, name);
    if (name != "profkit") continue;
    // Source: Linux `include/linux/posix-timers_types.h`: CPUCLOCK_PERTHREAD_MASK and CPUCLOCK_SCHED.
    auto const number = static_cast<unsigned>(std::stoul(thread.path().filename().string()));
    return static_cast<clockid_t>(~number << 3U | 6U);
  }
  return std::nullopt;
}

/// Processor time of the session's thread in nanoseconds. The rest of the process includes what the system takes to make threads.
inline double ns_of_session_thread() {
  for (int tries = 0; tries < 1000; ++tries) {
    if (auto const clock = clock_of_session_thread()) return now_ns(*clock);
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  throw std::runtime_error{"the session has no thread"};
}

/// Waits until the session's thread has read the logs and added its windows, and so rests.
inline void wait_for_rest() {
  constexpr double resting_ns = 2e6;
  for (double before = ns_of_session_thread();;) {
    std::this_thread::sleep_for(std::chrono::milliseconds{40});
    double const now = ns_of_session_thread();
    if (now - before < resting_ns) return;
    before = now;
  }
}

/// Measures writing all files, all tables and the profile.
inline void write_report(profkit::report const& made, std::string const& folder, costs& to) {
  to.measure(phase::writing, [&] {
    made.write(folder);
    profkit::save(made.profile(), folder + "/made.profile");
    if (made.text().empty() || made.full_text().empty()) std::abort();
  });
}

/// Without warm-up, and independent of the environment.
inline profkit::options options_of(std::uint64_t steps) {
  profkit::options result;
  result.warmup_steps = 0;
  result.measured_steps = steps;
  return result;
}

/// @param body runs the steps of the session.
template <class Body>
costs costs_of_session(profkit::options options, std::string const& folder, Body const& body) {
  costs result;
  double const begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
  profkit::session session{std::move(options)};
  body(session);
  result.set(phase::recording, now_ns(CLOCK_THREAD_CPUTIME_ID) - begin + static_cast<double>(ns_of_other_threads.load()));
  wait_for_rest();
  result.set(phase::draining, ns_of_session_thread());
  std::optional<profkit::report> made;
  result.measure(phase::report, [&] { made.emplace(session.report()); });
  write_report(*made, folder, result);
  return result;
}

/// @param work called in each step.
template <class Work>
costs costs_of_steps(std::uint64_t steps, std::string const& folder, Work const& work) {
  return costs_of_session(options_of(steps), folder, [&](profkit::session& session) {
    for (profkit::step const& step : session) work(step.index());
  });
}

/// @param work runs on a new thread.
template <class Work>
[[nodiscard]] std::thread measured_thread(Work work) {
  return std::thread{[work] {
    work();
    ns_of_other_threads += static_cast<std::int64_t>(now_ns(CLOCK_THREAD_CPUTIME_ID));
  }};
}

inline void nest(std::size_t depth) {  // NOLINT(misc-no-recursion): the depth is measured
  PROF_SCOPE("nested");
  if (depth > 1) nest(depth - 1);
  touch_memory();
}

inline costs many_steps(std::size_t n, std::string const& folder) {
  return costs_of_steps(n, folder, [](std::uint64_t) {});
}

/// Every tenth step has another set of scopes, so that kinds of steps are compared.
inline costs many_step_kinds(std::size_t n, std::string const& folder) {
  named_sites sites{n};
  return costs_of_steps(n, folder, [&](std::uint64_t step) { profkit::scope const one{sites[step]}; });
}

/// Two kinds of steps with many parts each.
inline costs many_parts_of_kinds(std::size_t n, std::string const& folder) {
  named_sites sites{2 * n};
  return costs_of_steps(10, folder, [&](std::uint64_t step) {
    std::size_t const first = step == 5 ? n : 0;
    for (std::size_t i = first; i < first + n; ++i) profkit::scope const one{sites[i]};
  });
}

inline costs many_scopes(std::size_t n, std::string const& folder) {
  return costs_of_steps(5, folder, [&](std::uint64_t) {
    for (std::size_t i = 0; i < n / 10; ++i) {
      PROF_SCOPE("outer");
      PROF_SCOPE("inner");
    }
  });
}

/// A server without steps, with a small record budget: most records are only added to the figures.
inline costs many_scopes_without_steps(std::size_t n, std::string const& folder) {
  profkit::options options = options_of(0);
  options.max_records = 1000;
  return costs_of_session(options, folder, [&](profkit::session&) {
    for (std::size_t i = 0; i < n / 2; ++i) {
      PROF_SCOPE("outer");
      PROF_SCOPE("inner");
    }
  });
}

inline costs many_names(std::size_t n, std::string const& folder) {
  named_sites sites{n};
  return costs_of_steps(3, folder, [&](std::uint64_t) {
    for (profkit::site& each : sites) profkit::scope const one{each};
  });
}

/// With a journal and a small record budget: the journal has the tables in several files.
inline costs many_names_in_journal(std::size_t n, std::string const& folder) {
  named_sites sites{n};
  profkit::options options = options_of(20);
  options.max_records = 1000;
  options.journal = folder + "/made.journal";
  options.journal_bytes = std::max<std::uint64_t>(std::uint64_t{1} << 20U, 200 * n);
  return costs_of_session(std::move(options), folder, [&](profkit::session& session) {
    for (profkit::step const& step : session) {
      for (profkit::site& each : sites) profkit::scope const one{each};
      std::this_thread::sleep_for(std::chrono::milliseconds{12});  // several windows
      static_cast<void>(step);
    }
  });
}

inline costs many_kept_steps(std::size_t n, std::string const& folder) {
  profkit::options options = options_of(2 * n);
  options.keep = {profkit::kept_steps::slowest, n};
  return costs_of_session(std::move(options), folder, [&](profkit::session& session) {
    for (profkit::step const& step : session) {
      for (int i = 0; i < 4; ++i) PROF_SCOPE("inside");
      static_cast<void>(step);
    }
  });
}

inline costs many_excluded_steps(std::size_t n, std::string const& folder) {
  profkit::options options = options_of(n / 2);
  options.warmup_steps = n / 2;
  return costs_of_session(std::move(options), folder, [&](profkit::session& session) {
    for (profkit::step step : session) {
      PROF_SCOPE("inside");
      if (step.index() % 2 == 0) step.exclude();
    }
  });
}

inline costs many_indices(std::size_t n, std::string const& folder) {
  return costs_of_steps(3, folder, [&](std::uint64_t) {
    for (std::size_t i = 0; i < n; ++i) {
      PROF_SCOPE_INDEXED("index", i);
      PROF_SCOPE("inside");
    }
  });
}

inline costs many_levels(std::size_t n, std::string const& folder) {
  return costs_of_steps(3, folder, [&](std::uint64_t) { nest(n); });
}

/// Steps inside many open scopes.
inline costs many_open_scopes(std::size_t n, std::string const& folder) {
  return costs_of_session(options_of(n), folder, [&](profkit::session& session) {
    std::vector<std::thread> threads;
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t ready = 0;
    bool is_over = false;
    constexpr std::size_t some_threads = 4;
    for (std::size_t thread = 0; thread < some_threads; ++thread) {
      threads.push_back(measured_thread([&] {
        std::vector<std::optional<profkit::scope>> open(n / some_threads);
        static profkit::site where{"open", __FILE__, __LINE__};
        for (auto& each : open) each.emplace(where);
        std::unique_lock<std::mutex> lock{mutex};
        ++ready;
        changed.notify_all();
        changed.wait(lock, [&] { return is_over; });
        lock.unlock();
        while (!open.empty()) open.pop_back();
      }));
    }
    {
      std::unique_lock<std::mutex> lock{mutex};
      changed.wait(lock, [&] { return ready == some_threads; });
    }
    for (profkit::step const& step : session) {
      for (int i = 0; i < 20; ++i) PROF_SCOPE("inside");
      static_cast<void>(step);
    }
    {
      std::lock_guard<std::mutex> const lock{mutex};
      is_over = true;
    }
    changed.notify_all();
    for (std::thread& each : threads) each.join();
  });
}

/// Threads that exist at the same time, for the same time whatever their number, because each round of draining looks at each log.
inline costs many_threads(std::size_t n, std::string const& folder) {
  return costs_of_steps(2, folder, [&](std::uint64_t) {
    auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds{1500};
    std::mutex mutex;
    std::condition_variable changed;
    bool is_over = false;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < n; ++i) {
      threads.push_back(measured_thread([&] {
        PROF_SCOPE("work of a thread");
        std::unique_lock<std::mutex> lock{mutex};
        changed.wait(lock, [&] { return is_over; });
      }));
    }
    std::this_thread::sleep_until(end);
    {
      std::lock_guard<std::mutex> const lock{mutex};
      is_over = true;
    }
    changed.notify_all();
    for (std::thread& each : threads) each.join();
  });
}

inline costs many_short_threads(std::size_t n, std::string const& folder) {
  return costs_of_steps(2, folder, [&](std::uint64_t) {
    for (std::size_t i = 0; i < n / 2; ++i) measured_thread([] { PROF_SCOPE("work of a thread"); }).join();
  });
}

inline costs many_counters(std::size_t n, std::string const& folder) {
  named_sites sites{n};
  return costs_of_steps(3, folder, [&](std::uint64_t step) {
    for (profkit::site& each : sites) profkit::sample_counter(each, static_cast<double>(step));
  });
}

inline costs many_samples_of_a_counter(std::size_t n, std::string const& folder) {
  return costs_of_steps(3, folder, [&](std::uint64_t) {
    for (std::size_t i = 0; i < n / 3; ++i) PROF_COUNTER("value", i);
  });
}

inline costs many_memory_quantities(std::size_t n, std::string const& folder) {
  return costs_of_session(options_of(3), folder, [&](profkit::session& session) {
    session.collect(many_quantities{n});
    for (profkit::step const& step : session) static_cast<void>(step);
  });
}

inline costs many_collectors(std::size_t n, std::string const& folder) {
  return costs_of_session(options_of(3), folder, [&](profkit::session& session) {
    for (std::size_t i = 0; i < n; ++i) session.collect(numbered_collector{i});
    for (profkit::step const& step : session) static_cast<void>(step);
  });
}

inline void* address_of(std::size_t number) { return reinterpret_cast<void*>((number + 1) * 64); }

inline costs many_allocators(std::size_t n, std::string const& folder) {
  named_sites sites{n};
  return costs_of_steps(3, folder, [&](std::uint64_t step) {
    for (std::size_t i = 0; i < n; ++i) {
      PROF_SCOPE("allocating");
      profkit::record_allocation(sites[i], address_of(i + step * n), 100);
    }
  });
}

/// Blocks that stay allocated while steps allocate and release others.
inline costs many_live_allocations(std::size_t n, std::string const& folder) {
  static profkit::site heap{"heap", __FILE__, __LINE__};
  return costs_of_steps(20, folder, [&](std::uint64_t step) {
    for (std::size_t i = 0; i < n / 20; ++i) {
      PROF_SCOPE("allocating");
      profkit::record_allocation(heap, address_of(i + step * n), 100);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{12});  // several windows
  });
}

inline costs many_released_allocations(std::size_t n, std::string const& folder) {
  static profkit::site heap{"heap", __FILE__, __LINE__};
  return costs_of_steps(10, folder, [&](std::uint64_t) {
    for (std::size_t i = 0; i < n / 10; ++i) {
      PROF_SCOPE("allocating");
      profkit::record_allocation(heap, address_of(i), 100);
    }
    for (std::size_t i = 0; i < n / 10; ++i) {
      PROF_SCOPE("releasing");
      profkit::record_release(heap, address_of(i), 100);
    }
  });
}

inline costs many_collectives(std::size_t n, std::string const& folder) {
  static profkit::communicator world{"world", 1, 0, 8};
  return costs_of_steps(10, folder, [&](std::uint64_t) {
    for (std::size_t i = 0; i < n / 10; ++i) PROF_SCOPE("sum", profkit::collective{"all_reduce", world, 64});
  });
}

inline costs many_communicators(std::size_t n, std::string const& folder) {
  std::deque<profkit::communicator> groups;
  for (std::size_t i = 0; i < n; ++i) groups.push_back({"group", i, 0, 8});
  return costs_of_steps(3, folder, [&](std::uint64_t) {
    for (profkit::communicator& each : groups) PROF_SCOPE("sum", profkit::collective{"all_reduce", each, 64});
  });
}

inline costs many_tokens(std::size_t n, std::string const& folder) {
  return costs_of_steps(3, folder, [&](std::uint64_t) {
    for (std::size_t i = 0; i < n; ++i) {
      profkit::scope_token token;
      {
        PROF_SCOPE_INDEXED("forward", i);
        token = profkit::scope_token::current();
      }
      PROF_ADOPT_SCOPE("backward", token);
    }
  });
}

inline costs many_default_scopes(std::size_t n, std::string const& folder) {
  named_sites sites{n};
  return costs_of_steps(3, folder, [&](std::uint64_t) {
    for (profkit::site& each : sites) {
      profkit::set_default_scope(each, {});
      PROF_SCOPE("work");
    }
  });
}

/// One after another; the first session of the process is not measured.
inline costs many_sessions(std::size_t n, std::string const& folder) {
  auto const run = [] {
    profkit::session session{options_of(2)};
    for (profkit::step const& step : session) {
      PROF_SCOPE("work");
      static_cast<void>(step);
    }
    return session.report();
  };
  run();
  costs result;
  std::optional<profkit::report> last;
  result.measure(phase::report, [&] {
    for (std::size_t i = 0; i < n; ++i) last.emplace(run());
  });
  write_report(*last, folder, result);
  return result;
}

}  // namespace bench::growth
