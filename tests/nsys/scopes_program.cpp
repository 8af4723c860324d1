// SPDX-License-Identifier: Apache-2.0
//
// Opens scopes in all ways, on several threads, and prints how many of each name it opened: "count name" a line.
#include <profkit/profkit.hpp>

#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

std::mutex mutex;
std::map<std::string, std::uint64_t> opened;

void count(std::string const& name) {
  std::lock_guard const lock{mutex};
  ++opened[name];
}

void function_scope() {
  PROF_FUNCTION();
  count("function_scope");
}

void work(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    PROF_SCOPE("work");
    count("work");
    for (int layer = 0; layer < 3; ++layer) {
      PROF_SCOPE_INDEXED("layer", layer);
      count("layer_" + std::to_string(layer));
      function_scope();
    }
  }
}

}  // namespace

int main() {
  work(10);  // without a session
  profkit::options options;
  options.warmup_steps = 2;
  options.measured_steps = 20;
  profkit::session session{options};
  for (profkit::step step : session) {
    count("step");
    work(5);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) threads.emplace_back([] { work(2); });
    for (std::thread& thread : threads) thread.join();
  }
  for (auto const& [name, number] : opened) std::printf("%llu %s\n", static_cast<unsigned long long>(number), name.c_str());
}
