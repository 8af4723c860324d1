// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// The macros alone: the light header for the code that is measured. It records nothing until a session runs (`profkit.hpp`).
///
///     PROF_SCOPE("attention");           a scope to the end of the block
///     PROF_SCOPE("scores", profkit::work{flops, bytes});   the same, and what it has to do; `profkit::add_work` says so later
///     PROF_SCOPE_INDEXED("layer", i);    the same, shown as `layer_3`
///     PROF_FUNCTION();                   a scope named after the function: "run", "engine::run", "engine::run lambda"
///     PROF_COUNTER("loss", value);       a sampled number
///     PROF_ADOPT_SCOPE("backward", token);  a scope that works for the one of the token, on whatever thread that was
///
/// Names are string literals. With `PROFKIT_DISABLE` defined the macros are empty.

#include "record/add_work.hpp"
#include "record/adopting_scope.hpp"
#include "record/function_name.hpp"
#include "record/memory_events.hpp"
#include "record/scope.hpp"
#include "record/scope_listener.hpp"
#include "record/scope_token.hpp"
#include "record/thread_rest.hpp"

#define PROFKIT_JOIN_2(a, b) a##b
#define PROFKIT_JOIN(a, b) PROFKIT_JOIN_2(a, b)
#define PROFKIT_FIRST(first, ...) first

// clang++ 22 takes exception to __COUNTER__ with -pedantic, where the macro stands.
#if defined(__clang__) && __clang_major__ >= 22
#define PROFKIT_VARIABLE                                                                                                              \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wc2y-extensions\"") PROFKIT_JOIN(profkit_scope_, __COUNTER__) \
      _Pragma("clang diagnostic pop")
#else
#define PROFKIT_VARIABLE PROFKIT_JOIN(profkit_scope_, __COUNTER__)
#endif

/// The site of this place: a statement expression, so that each macro is one declaration.
#define PROFKIT_SITE(name)                                         \
  (*__extension__({                                                \
    static ::profkit::site profkit_site{name, __FILE__, __LINE__}; \
    &profkit_site;                                                 \
  }))

/// The name of the function around it, made by the compiler.
#define PROFKIT_FUNCTION_NAME(variable) \
  static constexpr ::profkit::detail::function_name variable = ::profkit::detail::short_function_name(__PRETTY_FUNCTION__, __func__)

#ifndef PROFKIT_DISABLE

/// A scope to the end of the block: `PROF_SCOPE("name")`, or `PROF_SCOPE("name", profkit::work{flops, bytes})`, which says what it has to
/// do.
#define PROF_SCOPE(...) \
  ::profkit::scope PROFKIT_VARIABLE { PROFKIT_SITE("" PROFKIT_FIRST(__VA_ARGS__, )), ::profkit::detail::work_of(__VA_ARGS__) }

/// A scope to the end of the block, shown as `layer_3`. The index is kept as a number: no text is made.
#define PROF_SCOPE_INDEXED(name, index) \
  ::profkit::scope PROFKIT_VARIABLE { PROFKIT_SITE("" name), static_cast<std::int64_t>(index) }

/// A scope to the end of the block, named after the function: with its class or namespace, without parameters and template arguments.
#ifdef __CUDACC__
// In templates nvcc takes a static variable with a name of PROFKIT_FUNCTION_NAME for one that is initialised at run time, and allows none
// in a statement expression.
#define PROFKIT_FUNCTION_SCOPE_2(number)                                                        \
  PROFKIT_FUNCTION_NAME(profkit_name_##number);                                                 \
  static ::profkit::site profkit_site_##number{profkit_name_##number.text, __FILE__, __LINE__}; \
  ::profkit::scope profkit_scope_##number { profkit_site_##number }
#define PROFKIT_FUNCTION_SCOPE(number) PROFKIT_FUNCTION_SCOPE_2(number)
#define PROF_FUNCTION() PROFKIT_FUNCTION_SCOPE(__COUNTER__)
#else
#define PROF_FUNCTION()                                                           \
  ::profkit::scope PROFKIT_VARIABLE {                                             \
    *__extension__({                                                              \
      PROFKIT_FUNCTION_NAME(profkit_name);                                        \
      static ::profkit::site profkit_site{profkit_name.text, __FILE__, __LINE__}; \
      &profkit_site;                                                              \
    })                                                                            \
  }
#endif

/// A scope to the end of the block that works for the one of the token, a `profkit::scope_token`.
#define PROF_ADOPT_SCOPE(role, token) \
  ::profkit::adopting_scope PROFKIT_VARIABLE { PROFKIT_SITE("" role), token }

/// Samples a number, now.
#define PROF_COUNTER(name, value) ::profkit::sample_counter(PROFKIT_SITE("" name), static_cast<double>(value))

#else

#define PROF_SCOPE(...) static_assert(sizeof(::profkit::detail::work_of(__VA_ARGS__)) > 0)
#define PROF_SCOPE_INDEXED(name, index) static_cast<void>(sizeof(index))
#define PROF_FUNCTION() static_assert(true)
#define PROF_ADOPT_SCOPE(role, token) static_cast<void>(sizeof(token))
#define PROF_COUNTER(name, value) static_cast<void>(sizeof(value))

#endif
