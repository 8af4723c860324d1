// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Scopes, counters and steps for C, and for languages that call C, such as Fortran, Rust and Go. Link the code of
/// `profkit::profkit`.
///
///     profkit_scope const scope = profkit_begin("solve");
///     ...
///     profkit_end(scope);
///
/// Names are known at run time: a look-up in a hash table for each use, and at most 8,192 names (`profkit::named_scope`). Without a
/// session, a call costs a load and a branch. No function fails, locks, or synchronises the device.

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// @brief An open scope. Pass it to `profkit_end` unchanged.
typedef uintptr_t profkit_scope;

/// @brief Begins a scope. @param name ends with a zero; it is copied. @return the scope, which must end on this thread, in reverse order.
profkit_scope profkit_begin(char const* name);
/// @brief Begins a scope that is shown as `name_index`. @param name as above. @param index stored as a number. @return as above.
profkit_scope profkit_begin_indexed(char const* name, int64_t index);
/// @brief Ends a scope. @param scope the result of `profkit_begin`.
void profkit_end(profkit_scope scope);

/// @brief Samples a number at this moment. @param name ends with a zero; it is copied. @param value of any unit.
void profkit_counter(char const* name, double value);

/// @brief Ends the open step and begins the next one.
///
/// The first call creates a session with the options of the environment variable `PROFKIT`, which ends with the program: `PROFKIT=report`
/// prints its report. All calls must be on one thread. If the session cannot be created, such as beside a C++ session, a message on stderr
/// says so, and steps have no effect.
void profkit_step_begin(void);
/// @brief Ends the open step, if there is one.
void profkit_step_end(void);

#ifdef __cplusplus
}
#endif
