// SPDX-License-Identifier: Apache-2.0
//
// What a scope costs on this machine, beside what it cannot be cheaper than, in turns. Prints medians of the rounds in ns.
#include <profkit/profkit.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace {

constexpr std::uint64_t iterations = 200'000;

void use_memory() { asm volatile("" ::: "memory"); }

__attribute__((noinline)) void empty() {
  for (std::uint64_t i = 0; i < iterations; ++i) use_memory();
}

struct record {
  std::uint64_t begin, end, what;
};
std::vector<record> ring(std::size_t{1} << 20U);

/// Two readings of the counter and one store of 24 bytes.
__attribute__((noinline)) void floor_of_a_scope() {
  for (std::uint64_t i = 0; i < iterations; ++i) {
    std::uint64_t const begin = profkit::detail::counter_ticks();
    use_memory();
    ring[i & (ring.size() - 1)] = {begin, profkit::detail::counter_ticks(), i};
  }
}

__attribute__((noinline)) void scopes() {
  for (std::uint64_t i = 0; i < iterations; ++i) {
    PROF_SCOPE("scope");
    use_memory();
  }
}

__attribute__((noinline)) void indexed_scopes() {
  for (std::uint64_t i = 0; i < iterations; ++i) {
    PROF_SCOPE_INDEXED("scope", i & 7U);
    use_memory();
  }
}

struct variant {
  char const* name;
  void (*run)();
  bool needs_session;
  std::vector<double> ns = {};
};

}  // namespace

int main() {
  std::vector<variant> variants{{"empty loop", empty, false},
                                {"two counter readings, one store", floor_of_a_scope, false},
                                {"scope, no session", scopes, false},
                                {"scope, session", scopes, true},
                                {"indexed scope, session", indexed_scopes, true}};
  for (int round = 0; round < 21; ++round) {
    for (variant& each : variants) {
      std::optional<profkit::session> session;
      if (each.needs_session) session.emplace(profkit::options{});
      auto const begin = std::chrono::steady_clock::now();
      each.run();
      std::chrono::duration<double, std::nano> const taken = std::chrono::steady_clock::now() - begin;
      if (round > 0) each.ns.push_back(taken.count() / iterations);  // the first touches the memory
    }
  }
  auto const median = [](variant& of) {
    std::sort(of.ns.begin(), of.ns.end());
    return of.ns[of.ns.size() / 2];
  };
  double const least = median(variants[1]);
  for (variant& each : variants) fmt::print("{:34} {:6.2f} ns  {:5.2f} times the floor\n", each.name, median(each), median(each) / least);
}
