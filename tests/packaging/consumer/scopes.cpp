// SPDX-License-Identifier: Apache-2.0
#include <profkit/scope.hpp>

#ifdef PROFKIT_CODE_ELSEWHERE
#error "profkit::headers is headers alone"
#endif

void work_in_library() { PROF_SCOPE("in the library"); }
