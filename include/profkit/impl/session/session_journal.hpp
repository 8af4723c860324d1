// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>

#include "../../error.hpp"
#include "../../profile.hpp"
#include "../../time.hpp"
#include "../profile/file_access.hpp"
#include "../profile/journal_encoder.hpp"
#include "../profile/journal_format.hpp"
#include "../profile/journal_output.hpp"
#include "../profile/own_memory.hpp"
#include "../record/process_identity.hpp"
#include "console.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Writes the file of `PROFKIT=journal=FILE`. Written data survives the end of the process, however it ends, but not a crash of the
/// machine, because nothing is synced to the disk. Not thread-safe.
///
/// A failed write, or a change of the file by others, ends the journal, not the program: see `failure`.
class session_journal {
 public:
  /// Creates the file: see `journal_output`. Says on stderr if it has another name, because another process writes FILE.
  /// @param file the name.
  /// @param max_bytes maximum size of both files together; exceeded if the head of a file takes more than half of it.
  /// @throws profkit::error that names the file and states why it cannot be created.
  session_journal(std::string const& file, std::uint64_t max_bytes)
      : output_{file}, bytes_{journal_encoder::beginning()}, max_file_bytes_{max_bytes / 2} {
    std::string const wanted = target_of_links(absolute_path(file)).string();
    if (output_.file() != wanted)
      warn("another process writes the journal " + shown_path(wanted) + "; this one writes " + shown_path(output_.file()));
  }

  /// Encodes everything in the profile that is not in the file yet.
  /// @param rest records that follow those of the profile.
  /// @param last the session has ended.
  void append(profile const& so_far, profile const& rest, bool last) { encoder_.append(so_far, last, bytes_, rest); }

  /// Whether a frame with what is open is due: at most one a second.
  [[nodiscard]] bool is_open_due() const noexcept { return std::chrono::steady_clock::now() >= next_open_; }

  /// Encodes what is open, if a range has been open for a second. While nothing changes, it does so again after a sixteenth of the time
  /// that the newest of these ranges has been open, at most a minute, so that the file shows until when the program lived. To be called
  /// after `append`.
  void append(journal_open const& open) {
    constexpr std::chrono::nanoseconds period = std::chrono::seconds{1};
    next_open_ = std::chrono::steady_clock::now() + period;
    std::uint64_t long_open = 0;
    timestamp newest{};
    for (open_range_record const& each : open.ranges) {
      if (open.time - each.begin < period) continue;
      newest = std::max(newest, each.begin);
      long_open = 31 * long_open + static_cast<std::uint64_t>(each.begin.time_since_epoch().count()) + each.path + each.thread;
    }
    if (long_open == 0) return;
    std::chrono::nanoseconds const pause = std::min<std::chrono::nanoseconds>((open.time - newest) / 16, std::chrono::minutes{1});
    if (long_open == long_open_ && open.time - open_time_ < pause) return;
    encoder_.append(open, bytes_);
    long_open_ = long_open;
    open_time_ = open.time;
  }

  /// To be called when the rest was moved elsewhere and starts empty again.
  void forget_rest() noexcept { encoder_.forget_rest(); }

  /// Whether to begin the next file. A file contains at least as many bytes of records as its head has.
  [[nodiscard]] bool is_full() const noexcept { return failure_.empty() && output_.size() >= std::max(max_file_bytes_, 2 * head_bytes_); }

  /// Continues in a new file. To be called after `write`, when the file contains all records that the head summarises.
  void begin_next_file(journal_head& head) noexcept {
    attempt([&] {
      head.number = ++number_;
      own_string beginning = journal_encoder::beginning();
      encoder_.append(head, beginning);
      output_.begin_next_file(beginning);
      head_bytes_ = beginning.size();
      long_open_ = 0;
    });
  }

  /// Writes the encoded bytes. A file size limit is an ordinary failure: its signal does not reach the program.
  void write() noexcept {
    if (!bytes_.empty()) attempt([&] { output_.write(bytes_); });
    bytes_.clear();
    constexpr std::size_t kept = std::size_t{8} << 20U;
    if (bytes_.capacity() > kept) bytes_.shrink_to_fit();
  }

  /// Ends the journal and releases the lock.
  void close() noexcept { output_.close(); }

  /// The name, as an absolute path.
  [[nodiscard]] std::string const& file() const noexcept { return output_.file(); }

  /// Why the journal ended; empty while it is written.
  [[nodiscard]] std::string const& failure() const noexcept { return failure_; }

 private:
  /// Runs one operation. If it fails, the journal ends.
  template <class Operation>
  void attempt(Operation&& operation) noexcept {
    // A collector may fork without running the fork handlers (`_Fork`, the system call). The open file is the parent's.
    if (!failure_.empty() || !is_process(process_)) return;
    try {
      try {
        operation();
      } catch (error const& problem) {
        failure_ = problem.what();
      }
    } catch (std::exception const&) {
      failure_ = "out of memory";  // short enough to need none
    }
  }

  std::uint64_t const process_ = identify_process();
  journal_output output_;
  journal_encoder encoder_;
  own_string bytes_;
  std::string failure_;
  std::uint64_t max_file_bytes_;
  std::uint64_t head_bytes_ = 0;  ///< size of the head of the file in bytes
  std::chrono::steady_clock::time_point next_open_{};
  std::uint64_t long_open_ = 0;  ///< identifies the ranges of the last `journal_open` that had been open for a second; 0: none
  timestamp open_time_{};        ///< `journal_open::time` of it
  std::uint64_t number_ = 0;     ///< `journal_head::number` of the file
};

}  // namespace PROFKIT_NAMESPACE::detail
