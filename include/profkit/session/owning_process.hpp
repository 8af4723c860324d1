// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "../collect/host_environment.hpp"
#include "../profile/profile.hpp"
#include "../record/process_identity.hpp"
#include "../report/report.hpp"

namespace profkit::detail {

/// The process that created a session. The session must not be used in the child of a `fork`: threads that exist only in the parent may
/// have left it in an inconsistent state.
class owning_process {
 public:
  /// Whether the calling process is a child of the process that created the session.
  [[nodiscard]] bool is_parent() const noexcept { return !is_process(number_); }

  /// Whether that process has ended; to be called in a child.
  [[nodiscard]] bool has_ended() const noexcept { return ::kill(id_, 0) != 0 && errno == ESRCH; }

  [[nodiscard]] ::pid_t id() const noexcept { return id_; }

  [[nodiscard]] std::string why_not_in_child() const {
    return "the session belongs to process " + std::to_string(id_) +
           ", the parent of this one, and stopped recording here at the fork; make the session after fork() or daemon()";
  }

  /// A report without data, for a child.
  [[nodiscard]] report report_in_child() const {
    auto nothing = std::make_shared<profile>();
    nothing->environment = describe_host();
    nothing->quality.not_recorded = why_not_in_child();
    return report{std::move(nothing)};
  }

 private:
  std::uint64_t number_ = identify_process();
  ::pid_t id_ = ::getpid();  ///< no identity in a PID namespace, so for messages only
};

}  // namespace profkit::detail
