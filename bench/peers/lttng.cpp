// SPDX-License-Identifier: Apache-2.0
//
// LTTng-UST: bench_peers.py creates the session; without it, the tracepoints are disabled.
//
// usage: profkit_peer_lttng on|off FILE
#include "lttng_scope.hpp"

#include "peer.hpp"

namespace {

PEER_LOOP(scopes)

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return peer::run(argv[2], scopes, [](std::int64_t) { return peer::counts{}; });
}
