// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "../../profile/profile.hpp"
#include "nvidia_demangler.hpp"
#include "nvidia_demangler_expressions.hpp"
#include "nvidia_demangler_names.hpp"
#include "nvidia_demangler_types.hpp"

namespace profkit {

/// @brief The kernel name exactly as Nsight Systems prints it. Names that NVIDIA's demangler cannot read stay mangled.
/// @param name a kernel; for copies and memsets the profile already has the name.
/// @return the name.
[[nodiscard]] inline std::string nsys_kernel_name(gpu_name_record const& name) {
  std::string const& mangled = name.mangled.empty() ? name.name : name.mangled;  // equal if the C++ runtime could not demangle it
  return detail::nvidia_demangler{mangled}().value_or(mangled);
}

}  // namespace profkit
