// SPDX-License-Identifier: Apache-2.0
//
// The code of sessions and reports, compiled once for all targets that link profkit::profkit.
#include <profkit/code.hpp>
