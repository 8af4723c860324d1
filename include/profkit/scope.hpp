// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The macros alone: the light header for measured code. Nothing is recorded until a session runs (`profkit.hpp`).
///
///     PROF_SCOPE("attention");                             a scope to the end of the block
///     PROF_SCOPE("scores", profkit::work{flops, bytes});   the same, with declared work; see also `profkit::add_work`
///     PROF_SCOPE("sum", profkit::collective{"all_reduce", group, bytes});   the same, as a collective operation of several ranks
///     PROF_SCOPE_INDEXED("layer", i);                      a scope shown as `layer_3`
///     PROF_FUNCTION();                                     a scope named after the function: "run", "engine::run", "engine::run lambda"
///     PROF_COUNTER("loss", value);                         a sampled number
///     PROF_ADOPT_SCOPE("backward", token);                 a scope that links work on any thread to the scope of the token
///
/// Names are string literals; `profkit::named_scope` takes names that are known at run time only. All macros may be used on any thread.
/// They do not synchronise the device, do not throw, and neither lock nor allocate after the first scope of a thread. With
/// `PROFKIT_DISABLE` defined the macros are empty.

#include "impl/record/function_name.hpp"
#include "impl/record/memory_poll.hpp"
#include "impl/record/named_scope.hpp"
#include "impl/record/scope.hpp"
#include "impl/record/scope_token.hpp"
#include "impl/record/scope_work.hpp"

#define PROFKIT_JOIN_2(a, b) a##b
#define PROFKIT_JOIN(a, b) PROFKIT_JOIN_2(a, b)
#define PROFKIT_FIRST(first, ...) first

// clang++ 22 warns about __COUNTER__ with -pedantic at the place of the expansion.
#if defined(__clang__) && __clang_major__ >= 22
#define PROFKIT_VARIABLE                                                                                                              \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wc2y-extensions\"") PROFKIT_JOIN(profkit_scope_, __COUNTER__) \
      _Pragma("clang diagnostic pop")
#else
#define PROFKIT_VARIABLE PROFKIT_JOIN(profkit_scope_, __COUNTER__)
#endif

/// @brief The static `profkit::site` of this source line. A statement expression, so that each macro expands to one declaration.
#define PROFKIT_SITE(name)                                         \
  (*__extension__({                                                \
    static ::profkit::site profkit_site{name, __FILE__, __LINE__}; \
    &profkit_site;                                                 \
  }))

/// @brief The name of the enclosing function, computed at compile time.
#define PROFKIT_FUNCTION_NAME(variable) \
  static constexpr ::profkit::detail::function_name variable = ::profkit::detail::short_function_name(__PRETTY_FUNCTION__, __func__)

#ifndef PROFKIT_DISABLE

/// @brief Opens a scope to the end of the block: `PROF_SCOPE("name")`. Add `profkit::work{flops, bytes}` to declare its work, or
/// `profkit::collective{...}` for a collective operation. Costs one load and a branch without a session.
#define PROF_SCOPE(...) \
  ::profkit::scope PROFKIT_VARIABLE { PROFKIT_SITE("" PROFKIT_FIRST(__VA_ARGS__, )), ::profkit::detail::work_of(__VA_ARGS__) }

/// @brief Opens a scope to the end of the block, shown as `name_index`, such as `layer_3`. The index can be any integer and is stored as a
/// number; no string is built.
#define PROF_SCOPE_INDEXED(name, index) \
  ::profkit::scope PROFKIT_VARIABLE { PROFKIT_SITE("" name), static_cast<std::int64_t>(index) }

#ifdef __CUDACC__
// In templates, nvcc treats a static variable that uses PROFKIT_FUNCTION_NAME as dynamically initialised, which it forbids in a statement
// expression.
#define PROFKIT_FUNCTION_SCOPE_2(number)                                                        \
  PROFKIT_FUNCTION_NAME(profkit_name_##number);                                                 \
  static ::profkit::site profkit_site_##number{profkit_name_##number.text, __FILE__, __LINE__}; \
  ::profkit::scope profkit_scope_##number { profkit_site_##number }
#define PROFKIT_FUNCTION_SCOPE(number) PROFKIT_FUNCTION_SCOPE_2(number)
#define PROF_FUNCTION() PROFKIT_FUNCTION_SCOPE(__COUNTER__)
#else
/// @brief Opens a scope to the end of the block, named after the enclosing function: with its class or namespace, without parameters and
/// template arguments.
#define PROF_FUNCTION()                                                           \
  ::profkit::scope PROFKIT_VARIABLE {                                             \
    *__extension__({                                                              \
      PROFKIT_FUNCTION_NAME(profkit_name);                                        \
      static ::profkit::site profkit_site{profkit_name.text, __FILE__, __LINE__}; \
      &profkit_site;                                                              \
    })                                                                            \
  }
#endif

/// @brief Opens a scope to the end of the block and links its work to the scope of `token`, a `profkit::scope_token`, which may belong to
/// another thread. `role` says how the work relates to that scope, such as "backward".
#define PROF_ADOPT_SCOPE(role, token) \
  ::profkit::adopting_scope PROFKIT_VARIABLE { PROFKIT_SITE("" role), token }

/// @brief Samples a number at this moment. The value is converted to `double`.
#define PROF_COUNTER(name, value) ::profkit::sample_counter(PROFKIT_SITE("" name), value)

#else

#define PROF_SCOPE(...) static_assert(sizeof(::profkit::detail::work_of(__VA_ARGS__)) > 0)
#define PROF_SCOPE_INDEXED(name, index) static_cast<void>(sizeof(index))
#define PROF_FUNCTION() static_assert(true)
#define PROF_ADOPT_SCOPE(role, token) static_cast<void>(sizeof(token))
#define PROF_COUNTER(name, value) static_cast<void>(sizeof(value))

#endif
