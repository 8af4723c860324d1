// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief nvcc parses a file once for the host and once for each device architecture. Sessions and reports are host code. So the device
/// passes only declare that code, as if another translation unit compiled it, which halves the time.

#if defined(__CUDA_ARCH__) && !defined(PROFKIT_CODE_ELSEWHERE)
/// @brief This translation unit only declares sessions and reports; another one includes `code.hpp`.
#define PROFKIT_CODE_ELSEWHERE
#endif
#if defined(__CUDA_ARCH__) && !defined(PROFKIT_CUPTI_CODE_ELSEWHERE)
/// @brief This translation unit only declares the CUPTI collector; another one includes its code.
#define PROFKIT_CUPTI_CODE_ELSEWHERE
#endif
