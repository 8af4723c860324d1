// SPDX-License-Identifier: Apache-2.0
//
// The header of spall. The trace is written to FILE.trace during the measurement. Recording cannot be disabled.
//
// usage: profkit_peer_spall on FILE
#include "spall_scope.hpp"

#include "peer.hpp"

namespace {

PEER_LOOP(scopes)

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  if (!spall_init_file((std::string{argv[2]} + ".trace").c_str(), 1.0, &peer_spall::profile)) return 1;  // the unit changes no cost
  return peer::run(argv[2], scopes, [](std::int64_t) {
    spall_buffer_quit(&peer_spall::profile, &peer_spall::of_thread.buffer);
    spall_quit(&peer_spall::profile);
    return peer::counts{};
  });
}
