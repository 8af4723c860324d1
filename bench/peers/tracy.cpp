// SPDX-License-Identifier: Apache-2.0
//
// Tracy. No server is connected: the client keeps all zones in memory. Compiled with TRACY_ON_DEMAND, it records nothing without a server.
//
// usage: profkit_peer_tracy on FILE, profkit_peer_tracy_on_demand off FILE
#include "tracy_scope.hpp"

#include "peer.hpp"

namespace {

PEER_LOOP(scopes)

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return peer::run(argv[2], scopes, [](std::int64_t) { return peer::counts{}; });
}
