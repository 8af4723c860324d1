// SPDX-License-Identifier: Apache-2.0
//
// Built several times, with different names and with hidden visibility, as libraries that are linked or opened with dlopen. Each has a
// function that opens a scope, one that takes a token and one that adopts it; the names of the last two have the library name as prefix.
#include <profkit/scope.hpp>

#define JOIN_2(a, b) a##b
#define JOIN(a, b) JOIN_2(a, b)
#define STRING_2(text) #text
#define STRING(text) STRING_2(text)

extern "C" __attribute__((visibility("default"))) void* PLUGIN_FUNCTION() {
  PROF_SCOPE(STRING(PLUGIN_FUNCTION));
  return &profkit::detail::recorder;
}

extern "C" __attribute__((visibility("default"))) void JOIN(PLUGIN_FUNCTION, _take)(profkit::scope_token* token) {
  PROF_SCOPE(STRING(PLUGIN_FUNCTION));
  *token = profkit::scope_token::current();
}

extern "C" __attribute__((visibility("default"))) void JOIN(PLUGIN_FUNCTION, _adopt)(profkit::scope_token const* token) {
  PROF_ADOPT_SCOPE("work in " STRING(PLUGIN_FUNCTION), *token);
}
