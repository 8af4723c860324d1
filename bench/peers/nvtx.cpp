// SPDX-License-Identifier: Apache-2.0
//
// NVTX ranges, without a tool or under Nsight Systems.
//
// usage: profkit_peer_nvtx on|off FILE
#include "nvtx_scope.hpp"

#include "peer.hpp"

namespace {

PEER_LOOP(scopes)

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return peer::run(argv[2], scopes, [](std::int64_t) { return peer::counts{}; });
}
