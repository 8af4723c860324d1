// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "../profile/error.hpp"

namespace profkit::detail {

/// Writes several files. If one file fails, the others are still written.
class file_attempts {
 public:
  /// @param write writes one file; may throw `profkit::error`.
  template <class Write>
  void operator()(Write&& write) {
    try {
      write();
    } catch (error const& failure) {
      if (failures_.empty()) code_ = failure.code();
      failures_ += (failures_.empty() ? "" : "; ") + std::string{failure.what()};
    }
  }

  /// Reports failures. To be called at the end.
  /// @throws profkit::error that names each file that could not be written; its code is the code of the first failure.
  void finish() const {
    if (!failures_.empty()) throw error{failures_, code_};
  }

 private:
  std::string failures_;
  int code_ = 0;
};

}  // namespace profkit::detail
