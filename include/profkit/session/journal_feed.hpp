// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "../profile/journal_format.hpp"
#include "../profile/profile_builder.hpp"
#include "session_journal.hpp"

namespace profkit::detail {

/// Passes the records of a running session to its journal. Does nothing without a journal. Not thread-safe: `append`, `append_last` and
/// `forget_rest` also need the content lock.
class journal_feed {
 public:
  /// @param content borrowed.
  explicit journal_feed(profile_builder& content) noexcept : content_{content} {}

  /// @param journal borrowed; null without a journal.
  void start(session_journal* journal) noexcept { journal_ = journal; }

  /// Null without a journal.
  [[nodiscard]] session_journal const* journal() const noexcept { return journal_; }
  [[nodiscard]] bool has_journal() const noexcept { return journal_ != nullptr; }
  [[nodiscard]] bool is_full() const noexcept { return has_journal() && journal_->is_full(); }

  /// Encodes all new records.
  /// @param open_scopes number of open scopes. Each frame contains it, because it may be the last one.
  void append(std::uint64_t open_scopes) {
    if (!has_journal()) return;
    std::uint64_t const left_open = content_.so_far().quality.open_scopes;
    content_.count(&quality_record::open_scopes, open_scopes);
    journal_->append(content_.so_far(), content_.rest(), false);
    content_.set(&quality_record::open_scopes, left_open);
  }

  /// Encodes the remaining records of an ended session.
  void append_last() {
    if (has_journal()) journal_->append(content_.so_far(), content_.rest(), true);
  }

  /// To be called after `profile_builder::take_rest`.
  void forget_rest() noexcept {
    if (has_journal()) journal_->forget_rest();
  }

  /// Writes the encoded bytes.
  void write() noexcept {
    if (has_journal()) journal_->write();
  }

  /// Continues in a new file if this one is full. To be called after `write`.
  /// @param head the state of the figures, without `number` and `forgotten`.
  /// @param records number of records that `head` covers.
  void begin_next_file(journal_head head, std::uint64_t records) noexcept {
    std::uint64_t const waiting = count_records(head.waiting);
    head.forgotten = records - std::min(records, waiting);
    journal_->begin_next_file(head);
  }

  void close() noexcept {
    if (has_journal()) journal_->close();
  }

 private:
  profile_builder& content_;
  session_journal* journal_ = nullptr;
};

}  // namespace profkit::detail
