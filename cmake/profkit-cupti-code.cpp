// SPDX-License-Identifier: Apache-2.0
//
// The code that collects kernels, compiled once for all targets that link profkit::cupti.
#include <profkit/cupti_code.hpp>
