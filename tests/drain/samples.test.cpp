// SPDX-License-Identifier: Apache-2.0
//
// Samples are charged by time to the open scope of their thread. The test is the source of samples.
#include <profkit/impl/collect/sample_source.hpp>
#include <profkit/impl/drain/log_drain.hpp>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <profkit/impl/record/recording_start.hpp>
#include <profkit/options.hpp>
#include <profkit/scope.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

using profkit::detail::thread_log;

/// Gives each drain the samples that the test has added.
class given_samples final : public profkit::detail::sample_source {
 public:
  void put(thread_log const* log, std::int64_t monotonic_ns, std::uint32_t weight = 1) { later_.push_back({log, monotonic_ns, weight}); }

  void use_clock(profkit::detail::calendar_clock const& clock) { clock_ = &clock; }

  void read(profkit::profile_builder& into) override {
    std::uint32_t const function = into.position_of(profkit::function_record{"f", "program", {}});
    for (later const& each : later_) waiting_[each.log].add({clock_->at_monotonic(each.ns), function, each.weight});
    later_.clear();
    ++reads_;
  }

  [[nodiscard]] profkit::detail::waiting_samples* samples_of(thread_log const& log) override {
    auto const found = waiting_.find(&log);
    return found == waiting_.end() ? nullptr : &found->second;
  }

  [[nodiscard]] int reads() const { return reads_; }

 private:
  struct later {
    thread_log const* log;
    std::int64_t ns;
    std::uint32_t weight;
  };
  profkit::detail::calendar_clock const* clock_ = nullptr;
  std::vector<later> later_;
  std::map<thread_log const*, profkit::detail::waiting_samples> waiting_;
  int reads_ = 0;
};

class sampled_recording {
 public:
  sampled_recording() {
    logs_.use_samples(samples_);
    samples_.use_clock(logs_.calendar());
    __atomic_fetch_or(&profkit::detail::recorder.flags, profkit::detail::recording | clock_flag_, __ATOMIC_RELEASE);
  }
  ~sampled_recording() {
    __atomic_fetch_and(&profkit::detail::recorder.flags, ~(profkit::detail::recording | profkit::detail::use_monotonic_clock),
                       __ATOMIC_RELEASE);
    profkit::detail::skip_logs();
  }

  void drain(bool last = false) {
    logs_.drain(
        last, [] { return true; }, [] {});
  }

  /// Takes a sample of this thread now, well after the previous event and before the next one.
  void sample() {
    wait();
    samples_.put(profkit::detail::this_thread_log(), profkit::detail::monotonic_ns());
    wait();
  }

  /// The scopes of the samples so far; "" for none.
  [[nodiscard]] std::vector<std::string> scopes() const {
    std::vector<std::string> result;
    for (profkit::sample_record const& each : made().samples)
      result.push_back(each.path == profkit::path_record::no_parent ? "" : made().paths[each.path].name);
    return result;
  }

  [[nodiscard]] profkit::profile const& made() const { return made_.so_far(); }
  [[nodiscard]] given_samples& samples() { return samples_; }

 private:
  /// Much longer than the error of a clock anchor, which is about ten nanoseconds, or some microseconds if the reading is interrupted.
  static void wait() {
    std::int64_t const until = profkit::detail::monotonic_ns() + 200'000;
    while (profkit::detail::monotonic_ns() < until) continue;
  }

  profkit::profile_builder made_;
  std::uint32_t clock_flag_ = profkit::detail::start_recording(profkit::options{}.log_slots_per_thread, made_);
  profkit::detail::log_drain logs_{made_, clock_flag_};
  given_samples samples_;
};

using scope_names = std::vector<std::string>;

}  // namespace

TEST_CASE("a sample is charged to the innermost scope open on its thread when it was taken", "[samples]") {
  sampled_recording here;
  here.sample();
  {
    PROF_SCOPE("outer");
    here.sample();
    {
      PROF_SCOPE("inner");
      here.sample();
      here.sample();
    }
    here.sample();
  }
  here.sample();
  here.drain();
  CHECK(here.scopes() == scope_names{"", "outer", "inner", "inner", "outer", ""});
  for (profkit::sample_record const& each : here.made().samples) CHECK(each.thread == here.made().samples.front().thread);
}

TEST_CASE("a scope that is open over many drains gets the samples of each, and none is charged twice", "[samples]") {
  sampled_recording here;
  {
    PROF_SCOPE("long");
    for (int drains = 0; drains < 3; ++drains) {
      here.sample();
      here.drain();
      CHECK(here.made().samples.size() == static_cast<std::size_t>(drains) + 1);
    }
  }
  here.sample();
  here.drain(true);
  CHECK(here.scopes() == scope_names{"long", "long", "long", ""});
}

TEST_CASE("a sample from after the clock anchor waits for the next drain", "[samples]") {
  sampled_recording here;
  thread_log const* log = nullptr;
  {
    PROF_SCOPE("first");
    log = profkit::detail::this_thread_log();
  }
  std::int64_t const soon = profkit::detail::monotonic_ns() + 30'000'000;
  here.samples().put(log, soon);
  here.drain();
  CHECK(here.made().samples.empty());
  PROF_SCOPE("second");
  while (profkit::detail::monotonic_ns() < soon + 200'000) continue;
  here.drain();
  CHECK(here.scopes() == scope_names{"second"});
}

TEST_CASE("samples of an ended thread are charged to its scopes, and not to the next thread that uses its log", "[samples]") {
  sampled_recording here;
  std::thread{[&] {
    PROF_SCOPE("of the first");
    here.sample();
  }}.join();
  here.drain();
  std::thread{[&] {
    PROF_SCOPE("of the second");
    here.sample();
  }}.join();
  here.drain();
  CHECK(here.scopes() == scope_names{"of the first", "of the second"});
  REQUIRE(here.made().samples.size() == 2);
  CHECK(here.made().samples[0].thread != here.made().samples[1].thread);
}
