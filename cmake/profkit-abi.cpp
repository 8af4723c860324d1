// SPDX-License-Identifier: Apache-2.0
//
// Properties of the compiler and its flags that compiled code depends on, as text in the object file. `profkit-abi.cmake` compiles it.

#include <cstddef>
#if __has_include(<features.h>)
#include <features.h>
#endif

#define PROFKIT_TEXT_OF(value) #value
#define PROFKIT_TEXT(value) PROFKIT_TEXT_OF(value)

#if defined(_LIBCPP_VERSION)
#define PROFKIT_LIBRARY "libc++"
#define PROFKIT_LIBRARY_VERSION PROFKIT_TEXT(_LIBCPP_VERSION)
#elif defined(__GLIBCXX__)
#define PROFKIT_LIBRARY "libstdc++"
#define PROFKIT_LIBRARY_VERSION PROFKIT_TEXT(_GLIBCXX_RELEASE)
#else
#define PROFKIT_LIBRARY "unknown"
#define PROFKIT_LIBRARY_VERSION "0"
#endif

#ifdef _GLIBCXX_DEBUG
#define PROFKIT_DEBUG "on"
#else
#define PROFKIT_DEBUG "off"
#endif

#if defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
#define PROFKIT_CXX11 "0"
#else
#define PROFKIT_CXX11 "1"
#endif

#ifdef __GLIBC__
#define PROFKIT_LIBC PROFKIT_TEXT(__GLIBC__) "." PROFKIT_TEXT(__GLIBC_MINOR__)
#else
#define PROFKIT_LIBC "0"
#endif

#if defined(__x86_64__)
#define PROFKIT_PROCESSOR "x86_64"
#elif defined(__aarch64__)
#define PROFKIT_PROCESSOR "aarch64"
#else
#define PROFKIT_PROCESSOR "unknown"
#endif

// Code that is not instrumented causes false reports of these tools.
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define PROFKIT_TOOL "ThreadSanitizer"
#elif __has_feature(memory_sanitizer)
#define PROFKIT_TOOL "MemorySanitizer"
#endif
#endif
#ifndef PROFKIT_TOOL
#if defined(__SANITIZE_THREAD__)
#define PROFKIT_TOOL "ThreadSanitizer"
#elif defined(_GLIBCXX_SANITIZE_VECTOR)
#define PROFKIT_TOOL "_GLIBCXX_SANITIZE_VECTOR"
#else
#define PROFKIT_TOOL "none"
#endif
#endif

extern char const profkit_abi[];
char const profkit_abi[] =
    "profkit_abi/library=" PROFKIT_LIBRARY "/library_version=" PROFKIT_LIBRARY_VERSION "/debug=" PROFKIT_DEBUG "/cxx11=" PROFKIT_CXX11
    "/libc_version=" PROFKIT_LIBC "/processor=" PROFKIT_PROCESSOR "/pointer=" PROFKIT_TEXT(__SIZEOF_POINTER__) "/tool=" PROFKIT_TOOL "/";
