// SPDX-License-Identifier: Apache-2.0
//
// Every public header, and the code of sessions and reports, in one unit for clang-tidy.
#include "all_headers.hpp"

#include <profkit/code.hpp>
#if __has_include(<cupti.h>)
#include <profkit/impl/collect/cupti_collection.hpp>
#endif
