// SPDX-License-Identifier: Apache-2.0
//
// Threads open scopes, sample counters and record allocations while sessions begin and end. For ThreadSanitizer: a thread may notice a
// session before it sees its other writes.
#include <profkit/report.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

int main() {
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&is_over] {
      static profkit::site pool{"pool", __FILE__, __LINE__};
      while (!is_over) {
        // A new thread each time, so that its first event can be of any kind, and its last scope can be open when the session ends.
        std::thread{[] {
          for (int k = 0; k < 20; ++k) {
            PROF_COUNTER("k", k);
            PROF_SCOPE("outer");
            profkit::record_allocation(pool, &pool, 8);
            PROF_SCOPE_INDEXED("inner", k);
            PROF_ADOPT_SCOPE("role", profkit::scope_token::current());
            profkit::record_release(pool, &pool);
            std::this_thread::yield();
          }
        }}.join();
      }
    });
  }
  std::uint64_t recorded = 0;
  for (int round = 0; round < 40; ++round) {
    profkit::options options;
    options.warmup_steps = 0;
    options.log_slots_per_thread = std::uint64_t{1} << (14U + static_cast<unsigned>(round) % 2);
    options.memory_at_scopes = true;
    profkit::session session{options};
    for (int i = 0; i < 2; ++i) {
      profkit::step const step{session};
      std::this_thread::sleep_for(std::chrono::milliseconds{6});
    }
    recorded += session.report().profile().scopes.size();
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  is_over = true;
  for (std::thread& each : threads) each.join();
  std::printf("%llu scopes\n", static_cast<unsigned long long>(recorded));
  return recorded > 80 ? 0 : 1;
}
