// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
#define PROFKIT_TEST_REPEATS_LESS 1
#elif defined(__has_feature)  // only in clang; g++ has macros for it
#define PROFKIT_TEST_REPEATS_LESS (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define PROFKIT_TEST_REPEATS_LESS 0
#endif

/// How often a test repeats, for example with other random inputs. An ordinary build uses the given number; sanitizers and emulators use an
/// eighth of it. They look for invalid accesses, races and processor differences; wrong figures are found by the ordinary build.
constexpr std::uint64_t repetitions(std::uint64_t all) {
#if PROFKIT_TEST_REPEATS_LESS
  return (all + 7) / 8;
#else
  return all;
#endif
}

/// Whether tests repeat less here. Tests that only compute many numbers, such as error rates, then run in the ordinary build only.
inline constexpr bool repeats_less = PROFKIT_TEST_REPEATS_LESS != 0;

/// The distance between the tested places of a file, or between tested values. In an ordinary build 1; otherwise 7, which is coprime to the
/// sizes of numbers, so that each byte of them is tested somewhere.
inline constexpr std::size_t stride = repeats_less ? 7 : 1;
