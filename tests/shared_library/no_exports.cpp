// SPDX-License-Identifier: Apache-2.0
//
// An executable that exports no symbols opens a library with scopes. The two cannot share a recorder, and the report says so.
//   usage: no_exports LIBRARY
#include <profkit/impl/session/session_recording.hpp>
#include <profkit/report.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <dlfcn.h>

#include <cstdio>
#include <string>

int main(int, char** arguments) {
  profkit::options options;
  options.measured_steps = 1;
  profkit::session session{options};
  void* const library = ::dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::fprintf(stderr, "%s\n", ::dlerror()), 1;
  auto const open_scope = reinterpret_cast<void* (*)()>(::dlsym(library, "deep"));
  for (profkit::step step : session) {
    PROF_SCOPE("executable");
    if (open_scope() == &profkit::detail::recorder) return std::fprintf(stderr, "the executable exports the recorder\n"), 1;
  }
  int entries = 0;
  for (profkit::collector_record const& each : session.report().profile().collectors) {
    entries += each.name == "scopes of libprofkit_deep.so" && each.reason == profkit::detail::why_not_shared() ? 1 : 0;
  }
  if (entries != 1) return std::fprintf(stderr, "the report has %d entries for the library\n", entries), 1;
}
