// SPDX-License-Identifier: Apache-2.0
//
// The header of spall. The trace is written to FILE.trace during the measurement. Recording cannot be disabled.
//
// usage: profkit_peer_spall on FILE
#define SPALL_IMPLEMENTATION
#include "spall_scope.hpp"

#include "peer.hpp"

namespace {

PEER_LOOP(scopes)

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  peer_spall::profile = SpallInit((std::string{argv[2]} + ".trace").c_str(), 1.0);  // the unit of the clock does not change the cost
  if (peer_spall::profile.file == nullptr) return 1;
  return peer::run(argv[2], scopes, [](std::int64_t) {
    SpallBufferQuit(&peer_spall::profile, &peer_spall::of_thread.buffer);
    SpallQuit(&peer_spall::profile);
    return peer::counts{};
  });
}
