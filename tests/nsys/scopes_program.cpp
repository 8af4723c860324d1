// SPDX-License-Identifier: Apache-2.0
//
// Opens scopes in all ways, on several threads, and prints the number of each name, as "count name" per line. With the argument "measured"
// it counts only scopes of measured steps.
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
bool is_counting = true;

void count(std::string const& name) {
  if (!is_counting) return;
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

int main(int argument_count, char** arguments) {
  bool const measured_only = argument_count > 1 && std::string{arguments[1]} == "measured";
  is_counting = !measured_only;
  work(10);  // without a session
  profkit::options options;
  options.warmup_steps = 2;
  options.measured_steps = 20;
  profkit::session session{options};
  for (profkit::step step : session) {
    is_counting = !measured_only || !step.is_warmup();
    count("step");
    work(5);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) threads.emplace_back([] { work(2); });
    for (std::thread& thread : threads) thread.join();
  }
  static_cast<void>(session.report());
  is_counting = !measured_only;
  work(10);  // after the session
  for (auto const& [name, number] : opened) std::printf("%llu %s\n", static_cast<unsigned long long>(number), name.c_str());
}
