// SPDX-License-Identifier: Apache-2.0
//
// usage: profkit_peer_profkit on|off FILE
#include "profkit_scope.hpp"

#include <cstring>
#include <optional>
#include <thread>

#include "../bench_session.hpp"
#include "peer.hpp"

namespace {

PEER_LOOP(scopes)

/// Bytes of a scope in the log of its thread.
double log_bytes() {
  constexpr int count = 10'000;
  double bytes = 0.0;
  std::thread{[&bytes] {
    scopes(1);
    std::uint64_t const begin = bench::log_position();
    scopes(count);
    bytes = static_cast<double>(bench::log_position() - begin) / count;
  }}.join();
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::optional<bench::recording> session;
  if (std::strcmp(argv[1], "on") == 0) session.emplace();
  return peer::run(argv[2], scopes, [&session](std::int64_t total) {
    peer::counts counted;
    if (!session) return counted;
    bench::recording::result const found = session->end();
    session.reset();
    // Scopes that are neither in the profile nor counted as dropped are lost too.
    counted.lost = static_cast<double>(total) - static_cast<double>(found.scopes + found.discarded);
    bench::undrained const recorder;
    counted.log_bytes = log_bytes();
    return counted;
  });
}
