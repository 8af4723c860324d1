// SPDX-License-Identifier: Apache-2.0
//
// The code of sessions and reports, compiled once for all tests.
#include <profkit/code.hpp>
