// SPDX-License-Identifier: Apache-2.0
//
// The effect of a snapshot on the step thread: the time of the end of a step while another thread copies and analyses the recording,
// compared with the time without. With a collector that can be drained only between steps, each end of a step also requests the profile
// that is being copied.
//
// usage: profkit_snapshot_cost [SCOPES]     default: 10 million
#include <profkit/profkit.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using std::chrono::steady_clock;

class between_steps final : public profkit::collector {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "between steps"; }
};

/// The times of the ends of steps, in microseconds.
struct times {
  std::vector<double> alone;      ///< steps in which the thread kept its processor
  std::vector<double> preempted;  ///< steps in which it was preempted; they include the effect of the scheduler
};

void print(char const* what, std::vector<double> values) {
  if (values.empty()) return;
  std::sort(values.begin(), values.end());
  auto const at = [&](double share) { return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))]; };
  std::printf("%-36s %6zu steps; a step's end takes %8.1f us at the median, p99 %8.1f, worst %8.1f\n", what, values.size(), at(0.5),
              at(0.99), values.back());
}

long context_switches() {
  rusage used{};
  ::getrusage(RUSAGE_THREAD, &used);
  return used.ru_nvcsw + used.ru_nivcsw;
}

/// The time of the end of each step.
template <class GoesOn>
times make_steps(profkit::session& session, GoesOn&& goes_on) {
  times result;
  while (goes_on()) {
    steady_clock::time_point begin;
    long switches = 0;
    {
      profkit::step const step{session};
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
      switches = context_switches();
      begin = steady_clock::now();
    }
    double const taken = std::chrono::duration<double, std::micro>(steady_clock::now() - begin).count();
    (context_switches() == switches ? result.alone : result.preempted).push_back(taken);
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t const scopes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
  profkit::options options;
  options.warmup_steps = 0;
  profkit::session session{options};
  session.collect(between_steps{});
  constexpr std::uint64_t burst = 1'000'000;
  {
    profkit::step const step{session};
    for (std::uint64_t i = 0; i < scopes; ++i) {
      PROF_SCOPE("scope");
      if (i % burst == 0) std::this_thread::sleep_for(std::chrono::milliseconds{200});  // until the logs are drained
    }
  }
  std::uint64_t left = 3000;
  times const alone = make_steps(session, [&] { return left-- > 0; });

  constexpr int snapshots = 10;
  std::atomic<bool> is_done{false};
  double seconds = 0.0;
  std::size_t records = 0;
  std::thread asker{[&] {
    for (int i = 0; i < snapshots; ++i) {
      auto const begin = steady_clock::now();
      records = session.snapshot().profile().scopes.size();
      seconds += std::chrono::duration<double>(steady_clock::now() - begin).count() / snapshots;
    }
    is_done = true;
  }};
  times const beside = make_steps(session, [&] { return !is_done; });
  asker.join();
  profkit::quality_record const quality = session.report().profile().quality;
  std::printf("%zu scopes; a snapshot takes %.2f s; %llu scopes dropped\n", records, seconds,
              static_cast<unsigned long long>(quality.dropped_events));
  print("without snapshots:", alone.alone);
  print("without snapshots, preempted:", alone.preempted);
  print("during ten snapshots:", beside.alone);
  print("during ten snapshots, preempted:", beside.preempted);
  return quality.dropped_events == 0 ? 0 : 1;
}
