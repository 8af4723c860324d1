// SPDX-License-Identifier: Apache-2.0
//
// The target profkit::code: the code of sessions and reports, compiled once for a program of many units.
#include <profkit/code.hpp>
