// SPDX-License-Identifier: Apache-2.0
//
// The other unit: scope.hpp alone, which needs neither exceptions nor RTTI. With EVERYTHING it includes all headers, like the first one.
#ifdef EVERYTHING
#include "all_headers.hpp"
#else
#include <profkit/scope.hpp>
#endif

void other_unit_with_scopes(int count);

void other_unit_with_scopes(int count) {
  for (int i = 0; i < count; ++i) {
    PROF_SCOPE_INDEXED("item", i);
    PROF_FUNCTION();
    PROF_SCOPE("work", profkit::work{1.0, 2.0});
  }
}
