// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "../profile/own_memory.hpp"
#include "../profile/profile.hpp"
#include "other_recorders.hpp"
#include "session_journal.hpp"

namespace profkit::detail {

/// Describes the session's own parts in the list of collectors: thread, journal, and recorders of other libraries.
class own_collectors {
 public:
  /// Sets the reason why the session has no journal although one was requested.
  void has_no_journal(std::string reason) { no_journal_ = std::move(reason); }

  /// Sets the reason why the session has no thread.
  void has_no_thread(std::string reason) { no_thread_ = std::move(reason); }

  [[nodiscard]] bool is_thread_there() const noexcept { return no_thread_.empty(); }

  /// @param journal null without a journal.
  void describe(session_journal const* journal, own_vector<collector_record>& into) const {
    describe_other_recorders(into);
    if (!no_thread_.empty()) into.push_back({"draining", "between steps only", no_thread_, {}});
    if (!no_journal_.empty()) into.push_back({"journal", "not written", no_journal_, collector_kind::journal});
    if (journal == nullptr) return;
    std::string const& failure = journal->failure();
    bool const is_written = failure.empty();
    into.push_back({"journal", is_written ? "written" : "not written", is_written ? journal->file() : failure, collector_kind::journal});
  }

 private:
  std::string no_journal_;
  std::string no_thread_;
};

}  // namespace profkit::detail
