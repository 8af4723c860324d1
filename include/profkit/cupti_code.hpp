// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The implementation of `cupti_kernels`. One file of a program includes this header, which needs the headers of CUPTI. The CMake
/// target `profkit::cupti` does this for you.
///
///     #include <profkit/cupti_code.hpp>   // in one file

#include "impl/collect/cupti_collection.hpp"
