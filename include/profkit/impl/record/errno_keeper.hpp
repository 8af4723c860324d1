// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>

namespace profkit::detail {

/// Restores `errno` at the end of a block, because scopes must not change it.
class errno_keeper {
 public:
  errno_keeper() noexcept = default;
  ~errno_keeper() { errno = kept_; }
  errno_keeper(errno_keeper const&) = delete;
  errno_keeper& operator=(errno_keeper const&) = delete;

 private:
  int kept_ = errno;
};

}  // namespace profkit::detail
