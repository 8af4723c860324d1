// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../../version.hpp"

#include <cstddef>  // defines the macros of the standard library

// The layout of containers depends on the standard library and its macros. The ABI tags below put them into the names of symbols, so that a
// program and code of sessions that differ in them do not link. The error names the tag.

#if defined(_LIBCPP_VERSION)
#define PROFKIT_ABI_TAG "with_libcxx"
#elif defined(_GLIBCXX_DEBUG)
#define PROFKIT_ABI_TAG "with_GLIBCXX_DEBUG"
#elif defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
#define PROFKIT_ABI_TAG "with_GLIBCXX_USE_CXX11_ABI_0"
#endif

// PROFKIT_TAGGED_FUNCTION: every use of the code of sessions and reports calls at least one of these functions. They always have a tag, so
// that the error also names the macro if only the code has it.
// PROFKIT_TAGGED_TYPE: the types that contain containers or give access to them. They have a tag only if it is not the usual one.
#ifdef PROFKIT_ABI_TAG
#define PROFKIT_TAGGED_FUNCTION [[gnu::abi_tag(PROFKIT_ABI_TAG)]]
#define PROFKIT_TAGGED_TYPE [[gnu::abi_tag(PROFKIT_ABI_TAG)]]
#else
#define PROFKIT_TAGGED_FUNCTION [[gnu::abi_tag("without_GLIBCXX_DEBUG")]]
#define PROFKIT_TAGGED_TYPE
#endif

namespace PROFKIT_NAMESPACE {

// A type has its tag from the first declaration on.
class PROFKIT_TAGGED_TYPE profile_builder;
struct PROFKIT_TAGGED_TYPE profile;
struct PROFKIT_TAGGED_TYPE summary;

}  // namespace PROFKIT_NAMESPACE
