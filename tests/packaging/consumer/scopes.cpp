// SPDX-License-Identifier: Apache-2.0
#include <profkit/scope.hpp>

void work_in_library() { PROF_SCOPE("in the library"); }
