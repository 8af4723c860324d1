// SPDX-License-Identifier: Apache-2.0
//
// The only unit of the trainer that compiles the code of profkit's sessions and reports; the others define PROFKIT_CODE_ELSEWHERE.
#include <profkit/code.hpp>

#ifdef TRAINER_WITH_PERFETTO
#include <profkit/perfetto.hpp>
#endif
