// SPDX-License-Identifier: Apache-2.0
//
// Shows the work that a scope passes to other threads, next to the scope's own work.
#include <profkit/profkit.hpp>

#include <chrono>
#include <thread>
#include <vector>

void render(int tiles) {
  PROF_SCOPE("render");
  std::vector<std::thread> threads;
  for (int i = 0; i < tiles; ++i) {
    threads.emplace_back([asked_in = profkit::scope_token::current()] {
      PROF_ADOPT_SCOPE("tile", asked_in);  // shown as "render (tile)"
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    });
  }
  for (std::thread& each : threads) each.join();
}

int main() {
  profkit::session session;
  for (profkit::step step : session) render(4);
  fmt::print("{}\n", session.report());
}
