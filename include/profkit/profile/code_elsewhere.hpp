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

#ifndef PROFKIT_CODE
#ifdef PROFKIT_CODE_ELSEWHERE
#define PROFKIT_CODE [[gnu::used]] inline
#else
/// @brief Before the definition of a function that everybody declares and a header of code defines. Where `code.hpp` is compiled, all
/// these functions are emitted, for units that only declare them.
#define PROFKIT_CODE inline
#endif
#endif
