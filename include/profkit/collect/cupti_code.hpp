// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "../profile/code_elsewhere.hpp"
#include "collector.hpp"

namespace profkit {

struct kernel_options;

namespace detail {

/// Declares the implementation of `cupti_kernels`; `cupti_collection.hpp` defines it. A template for the same reasons as `report_code`.
/// With `PROFKIT_CUPTI_CODE_ELSEWHERE`, another translation unit compiles it: the target profkit_cupti_code.
template <class>
struct cupti_code {
  static std::unique_ptr<collector> collect_kernels(kernel_options const& wanted);
};

#ifdef PROFKIT_CUPTI_CODE_ELSEWHERE
extern template struct cupti_code<void>;
#endif

}  // namespace detail

}  // namespace profkit
