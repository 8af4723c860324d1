// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "../../profile/profile.hpp"
#include "nvidia_demangler.hpp"
#include "nvidia_demangler_expressions.hpp"
#include "nvidia_demangler_names.hpp"
#include "nvidia_demangler_types.hpp"

namespace profkit {

/// The name that Nsight Systems has for a kernel, character by character; of copies and memsets the profile has it already. A name that
/// NVIDIA's demangler does not read stays mangled.
[[nodiscard]] inline std::string nsys_kernel_name(gpu_name_record const& name) {
  std::string const& mangled = name.mangled.empty() ? name.name : name.mangled;  // the same where the runtime of C++ could not read it
  return detail::nvidia_demangler{mangled}().value_or(mangled);
}

}  // namespace profkit
