// SPDX-License-Identifier: Apache-2.0
//
// Threads that end inside steps and scopes: `pthread_exit`, `pthread_cancel`.
#include <profkit/impl/collect/built_in_collectors.hpp>
#include <profkit/impl/collect/collector_list.hpp>
#include <profkit/impl/record/quiet_thread.hpp>
#include <profkit/impl/record/step_code.hpp>
#include <profkit/memory_source.hpp>
#include <profkit/scope.hpp>

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "../support/profile_of.hpp"

namespace {

/// Runs a function on a new thread. @return whether the thread was cancelled.
class ending_thread {
 public:
  explicit ending_thread(std::function<void()> body) : body_{std::move(body)} {
    REQUIRE(::pthread_create(
                &thread_, nullptr,
                [](void* self) -> void* {
                  static_cast<ending_thread*>(self)->body_();
                  return nullptr;
                },
                this) == 0);
  }
  void cancel() const { REQUIRE(::pthread_cancel(thread_) == 0); }
  bool join() const {
    void* result = nullptr;
    REQUIRE(::pthread_join(thread_, &result) == 0);
    return result == PTHREAD_CANCELED;
  }

 private:
  std::function<void()> body_;
  ::pthread_t thread_{};
};

/// Waits without a call that ThreadSanitizer intercepts: it sees no atomic operation of a thread that was cancelled in one.
[[noreturn]] void wait_until_cancelled() {
  for (;;) {
    ::pthread_testcancel();
    std::this_thread::yield();
  }
}

/// A cancellation point.
void pause_here() noexcept { ::usleep(200); }

/// A collector all of whose functions are cancellation points.
struct cancellable final : profkit::memory_source {
  [[nodiscard]] std::string_view name() const noexcept override { return "cancellable"; }
  [[nodiscard]] std::vector<profkit::memory_reading> read() override {
    pause_here();
    return {{"allocated", 1, {}, {}}};
  }
  void reset_peak() override { pause_here(); }
  [[nodiscard]] profkit::polled_allocator at_scopes() const noexcept override {
    static profkit::site source{"cancellable", __FILE__, __LINE__};
    return {&source, []() noexcept {
              pause_here();
              return std::uint64_t{1};
            }};
  }
};

}  // namespace

TEST_CASE("a step in which its thread calls pthread_exit is abandoned, and later steps of other threads are recorded", "[thread_exit]") {
  profkit::session session{plain_options(0, 100)};
  session.collect(profkit::host_memory());
  ending_thread const thread{[&] {
    for (profkit::step step : session) {
      PROF_SCOPE("work");
      if (step.index() == 3) ::pthread_exit(nullptr);
    }
  }};
  CHECK_FALSE(thread.join());
  { profkit::step const step{session}; }
  profkit::report const report = session.report();
  CHECK(report.profile().steps.size() == 4);
  CHECK(report.profile().quality.abandoned_steps == 1);
  CHECK(report.profile().quality.open_scopes == 0);
  CHECK(report.profile().quality.unmatched_ends == 0);
}

TEST_CASE("a step in which its thread is cancelled is abandoned", "[thread_exit]") {
  profkit::options options = plain_options(0, ~std::uint64_t{0});
  options.memory_at_scopes = true;
  profkit::session session{options};
  session.collect(profkit::host_memory());
  std::atomic<bool> is_in_step{false};
  ending_thread const thread{[&] {
    for (profkit::step step : session) {
      PROF_SCOPE("work");
      if (step.index() < 2) continue;
      is_in_step = true;
      wait_until_cancelled();
    }
  }};
  while (!is_in_step) std::this_thread::yield();
  thread.cancel();
  CHECK(thread.join());
  profkit::report const report = session.report();
  CHECK(report.profile().steps.size() == 2);
  CHECK(report.profile().quality.abandoned_steps == 1);
  CHECK(report.profile().quality.open_scopes == 0);
}

TEST_CASE("a step is not abandoned if its thread ends after the step", "[thread_exit]") {
  profkit::session session{plain_options(0, 100)};
  ending_thread const thread{[&] {
    { profkit::step const step{session}; }
    ::pthread_exit(nullptr);
  }};
  CHECK_FALSE(thread.join());
  struct step_in_unwinding {
    profkit::session& session;
    ~step_in_unwinding() { profkit::step const step{session}; }
  };
  ending_thread const other{[&] {
    step_in_unwinding const last{session};
    ::pthread_exit(nullptr);
  }};
  CHECK_FALSE(other.join());
  CHECK(session.report().profile().steps.size() == 2);
  CHECK(session.report().profile().quality.abandoned_steps == 0);
}

TEST_CASE("a thread is not cancelled in a collector, a polled allocator or a listener, but at its next cancellation point",
          "[thread_exit]") {
  for (int round = 0; round < 60; ++round) {
    profkit::options options = plain_options(0, ~std::uint64_t{0});
    options.memory_at_scopes = round % 2 == 0;
    profkit::session session{options};
    profkit::scope_listener const listener{pause_here};
    session.collect(cancellable{});
    session.collect(profkit::host_memory());
    std::atomic<bool> has_begun{false};
    std::atomic<std::uint64_t> steps{0};
    ending_thread const thread{[&] {
      for (profkit::step step : session) {
        has_begun = true;
        { PROF_SCOPE("work"); }
        ++steps;
        ::pthread_testcancel();
      }
    }};
    while (!has_begun) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds{137 * round});
    thread.cancel();
    CHECK(thread.join());
    profkit::profile const profile = session.report().profile();
    CHECK(profile.quality.abandoned_steps <= 1);  // none if the thread ended where the next step would have begun
    CHECK(profile.steps.size() + profile.quality.abandoned_steps == steps);
    for (profkit::collector_record const& each : profile.collectors) CHECK(each.status == "collected");
  }
}

TEST_CASE("threads that are cancelled in scopes leave complete logs", "[thread_exit]") {
  profkit::session session{plain_options(0, 1)};
  constexpr int threads = 100;
  std::atomic<int> begun{0};
  for (int i = 0; i < threads; ++i) {
    int const before = begun;
    ending_thread const thread{[&] {
      for (;;) {
        PROF_SCOPE("outer");
        { PROF_SCOPE("inner"); }
        ++begun;
        ::pthread_testcancel();
        std::this_thread::yield();
      }
    }};
    while (begun == before) std::this_thread::yield();
    thread.cancel();
    CHECK(thread.join());
  }
  profkit::profile const profile = session.report().profile();
  CHECK(count_scopes(profile, "outer/inner") == static_cast<std::size_t>(begun));
  CHECK(count_scopes(profile, "outer") == static_cast<std::size_t>(begun));
  CHECK(profile.quality.open_scopes == 0);
}

TEST_CASE("a collector that ends the thread is not called a failure, and the unwinding goes on", "[thread_exit]") {
  struct last_collector final : profkit::collector {
    [[nodiscard]] std::string_view name() const noexcept override { return "last"; }
  } collector;
  bool is_after = false;
  ending_thread const thread{[&] {
    profkit::detail::called_collector{}.call(collector, [](profkit::collector&) { ::pthread_exit(nullptr); });
    is_after = true;
  }};
  CHECK_FALSE(thread.join());
  CHECK_FALSE(is_after);
  CHECK(collector.status().works);
}
