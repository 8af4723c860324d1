// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifndef __has_feature  // only in clang; g++ has macros for it
#define __has_feature(feature) 0
#endif

/// In the child of a fork, ThreadSanitizer still tracks the threads of the parent. It ends a child that starts a thread at the address of
/// one of them.
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
inline constexpr bool under_thread_sanitizer = true;
#else
inline constexpr bool under_thread_sanitizer = false;
#endif

/// The child of a fork waits forever if another thread of the parent was in AddressSanitizer's heap.
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
inline constexpr bool under_address_sanitizer = true;
#else
inline constexpr bool under_address_sanitizer = false;
#endif
