// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
#define PROFKIT_TEST_REPEATS_LESS 1
#elif defined(__has_feature)  // clang's; g++ has macros for it
#define PROFKIT_TEST_REPEATS_LESS (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define PROFKIT_TEST_REPEATS_LESS 0
#endif

/// How often a test repeats something, such as with other random inputs: as often as it says in an ordinary build, an eighth of that with a
/// sanitizer or on another processor, in an emulator. A wrong figure is wrong in each build; there the test looks for invalid accesses,
/// races and differences of the processor.
constexpr std::uint64_t repetitions(std::uint64_t all) {
#if PROFKIT_TEST_REPEATS_LESS
  return (all + 7) / 8;
#else
  return all;
#endif
}

/// Whether tests repeat less here. What is only many numbers, such as error rates, is then left to the ordinary build.
inline constexpr bool repeats_less = PROFKIT_TEST_REPEATS_LESS != 0;

/// How far apart the places of a file are that a test cuts or damages, or the values that it tries: each in an ordinary build; else one in
/// seven, which is coprime to the sizes of numbers, so that each byte of them is tried somewhere.
inline constexpr std::size_t stride = repeats_less ? 7 : 1;
