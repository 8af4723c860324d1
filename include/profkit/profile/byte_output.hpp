// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace profkit::detail {

/// Takes bytes, one piece after the other.
class byte_output {
 public:
  virtual void write(std::string_view bytes) = 0;

 protected:
  ~byte_output() = default;
};

}  // namespace profkit::detail
