// SPDX-License-Identifier: Apache-2.0
//
// The Perfetto SDK, with its service in this process. The trace is written to FILE.trace.
//
// usage: profkit_peer_perfetto on|off FILE
#include "perfetto_scope.hpp"

#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "peer.hpp"

PERFETTO_TRACK_EVENT_STATIC_STORAGE();

namespace {

PEER_LOOP(scopes)

/// Buffers that hold all scopes of a run, so that none is dropped or overwritten.
std::unique_ptr<perfetto::TracingSession> started() {
  perfetto::TraceConfig config;
  config.add_buffers()->set_size_kb(128 * 1024);
  config.add_data_sources()->mutable_config()->set_name("track_event");
  auto session = perfetto::Tracing::NewTrace();
  session->Setup(config);
  session->StartBlocking();
  return session;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  perfetto::TracingInitArgs arguments;
  arguments.backends = perfetto::kInProcessBackend;
  arguments.shmem_size_hint_kb = 16 * 1024;
  perfetto::Tracing::Initialize(arguments);
  perfetto::TrackEvent::Register();
  std::unique_ptr<perfetto::TracingSession> session;
  if (std::strcmp(argv[1], "on") == 0) session = started();
  return peer::run(argv[2], scopes, [&](std::int64_t) {
    if (session != nullptr) {
      perfetto::TrackEvent::Flush();
      session->StopBlocking();
      std::vector<char> const trace = session->ReadTraceBlocking();
      std::ofstream{std::string{argv[2]} + ".trace", std::ios::binary}.write(trace.data(), static_cast<std::streamsize>(trace.size()));
    }
    return peer::counts{};
  });
}
