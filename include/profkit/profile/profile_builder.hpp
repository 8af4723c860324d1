// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profile_builder_code.hpp"

#ifndef PROFKIT_CODE_ELSEWHERE
#include "make_profile_builder.hpp"  // IWYU pragma: export
#endif

namespace profkit {

/// @brief The only writer of the profile of a running session. The session drains the logs into it and passes it to its collectors.
///
/// * Tables (paths, threads, names, allocators): `position_of` returns the position of an entry and appends it if it is new. Positions stay
///   valid, because tables only grow.
/// * Records refer to positions. `add` appends a record. Records are never changed or removed.
/// * The record budget bounds the records that grow with time: scopes, GPU scopes, GPU operations, API calls, counters, allocations,
///   work, collectives and samples. Records beyond it wait for `take_rest` after a call of `collect_rest`; otherwise they are dropped and
///   counted in `quality_record::discarded_records`.
/// * `count` and `set` change single values of a profile.
///
/// Not thread-safe: a session lets one thread use it at a time.
class profile_builder : public detail::profile_builder_code<void> {};

}  // namespace profkit
