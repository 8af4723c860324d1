// SPDX-License-Identifier: Apache-2.0
//
// Built twice: as `this_version` with the headers of profkit, and as `other_version` with the headers that other_version.cmake makes.
#include "session_library.hpp"

#include <profkit/impl/record/recorder.hpp>
#include <profkit/report.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>
#include <profkit/version.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <typeinfo>

#include "../support/profile_of.hpp"

#define STRING_2(text) #text
#define STRING(text) STRING_2(text)

namespace {

void open_scope() { PROF_SCOPE(STRING(LIBRARY)); }

// Like the GPU scopes of a library, without a GPU.
std::uint64_t drains = 0;
profkit::detail::side_log side{[](std::int64_t) {},
                               [](profkit::profile_builder&, bool) { ++drains; },
                               [] { side.untimed = 0; },
                               [] { return (std::numeric_limits<std::int64_t>::max)(); },
                               profkit::version,
                               0,
                               nullptr};

void lose_gpu_time() {
  static bool const is_listed = [] {
    side.next = profkit::detail::recorder.side_logs;
    profkit::detail::recorder.side_logs = &side;
    return true;
  }();
  side.untimed += is_listed ? 1 : 0;
}

session_outcome run(void (*inside)(void*), void* argument) {
  session_outcome result;
  try {
    profkit::session session{plain_options()};
    for (profkit::step step : session) inside(argument);
    profkit::report const report = session.report();
    result.report = report.text();
    result.scopes = scope_names(report.profile());
    result.untimed = report.profile().quality.untimed_gpu_scopes;
  } catch (profkit::error const& failure) {
    result.error = failure.what();
  }
  std::sort(result.scopes.begin(), result.scopes.end());
  return result;
}

}  // namespace

session_library const& LIBRARY() {
  static session_library const value{STRING(LIBRARY),
                                     profkit::version,
                                     STRING(PROFKIT_VERSION_MAJOR) "." STRING(PROFKIT_VERSION_MINOR) "." STRING(PROFKIT_VERSION_PATCH),
                                     typeid(profkit::session).name(),
                                     open_scope,
                                     lose_gpu_time,
                                     [] { return drains; },
                                     run};
  return value;
}
