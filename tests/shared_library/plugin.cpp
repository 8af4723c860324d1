// SPDX-License-Identifier: Apache-2.0
//
// Built several times, with another name and with hidden visibility, as libraries that are linked or opened.
#include <profkit/scope.hpp>

#define STRING_2(text) #text
#define STRING(text) STRING_2(text)

extern "C" __attribute__((visibility("default"))) void* PLUGIN_FUNCTION() {
  PROF_SCOPE(STRING(PLUGIN_FUNCTION));
  return &profkit::detail::recorder;
}
