// SPDX-License-Identifier: Apache-2.0
//
// The minimum work of a recorder, in the same loop. It never drains: its ring is overwritten.
//
// usage: profkit_peer_floor on FILE
#include "peer.hpp"

namespace {

__attribute__((noinline)) void scopes(int count) {
  static thread_local bench::floor_recorder recorder;
  for (int i = 0; i < count; ++i) recorder.record(static_cast<std::uint64_t>(i), bench::touch_memory);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return peer::run(argv[2], scopes, [](std::int64_t) { return peer::counts{sizeof(bench::floor_record), -1.0}; });
}
