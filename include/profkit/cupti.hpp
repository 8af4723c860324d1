// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// What needs CUPTI: the kernels that the devices ran. Link `profkit::cupti`; libcupti itself is opened at run time.
///
///     session.collect(profkit::cupti_kernels());

#include "collect/cupti_kernels.hpp"
