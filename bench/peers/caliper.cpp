// SPDX-License-Identifier: Apache-2.0
//
// Caliper: the configuration that records a trace of regions, into FILE.trace; off: no configuration is started.
//
// usage: profkit_peer_caliper on|off FILE
#include "caliper_scope.hpp"

#include <caliper/cali-manager.h>

#include <cstring>
#include <string>

#include "peer.hpp"

namespace {

PEER_LOOP(scopes)

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  cali::ConfigManager manager;
  bool const on = std::strcmp(argv[1], "on") == 0;
  if (on) {
    manager.add(("event-trace(output=" + std::string{argv[2]} + ".trace)").c_str());
    if (manager.error()) {
      std::fprintf(stderr, "Caliper: %s\n", manager.error_msg().c_str());
      return 1;
    }
    manager.start();
  }
  return peer::run(argv[2], scopes, [&](std::int64_t) {
    if (on) manager.flush();
    return peer::counts{};
  });
}
