// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Features that need CUPTI: the kernels that the devices ran. Link `profkit::cupti`. libcupti is opened at run time, so the program
/// also starts on a machine without it.
///
///     session.collect(profkit::cupti_kernels());

#include "collect/cupti_kernels.hpp"
