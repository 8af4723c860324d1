// SPDX-License-Identifier: Apache-2.0
#include <profkit/scope.hpp>

#ifdef NVTX_VERSION
#error "scope.hpp includes an NVTX header"
#endif

void open_scope_of_light_unit() { PROF_SCOPE("light"); }
