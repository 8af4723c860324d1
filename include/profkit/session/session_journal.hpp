// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "../profile/error.hpp"
#include "../profile/journal_encoder.hpp"
#include "../profile/journal_format.hpp"
#include "../profile/profile.hpp"
#include "../profile/write_signals.hpp"
#include "console.hpp"

namespace profkit::detail {

/// Writes the file of `PROFKIT=journal=FILE`. Written data survives the end of the process, however it ends, but not a crash of the
/// machine, because nothing is synced to the disk. Not thread-safe.
///
/// The journal consists of FILE and the previous file, FILE.1: see `begin_next_file`.
///
/// A failed write ends the journal, not the program: see `failure`.
///
/// The open file is locked with `flock` while this process lives; the kernel releases the lock at its end. A process that inherited the
/// option finds the file locked and appends its process id to the name. On file systems without locks, the file counts as free.
class session_journal {
 public:
  /// Creates the file. A non-empty file with that name is kept as `FILE.before`, unless another process writes it.
  /// @param file the name.
  /// @param max_bytes maximum size of both files together; exceeded if the head of a file takes more than half of it.
  /// @throws profkit::error that names the file and states why it cannot be created.
  session_journal(std::string const& file, std::uint64_t max_bytes) : file_{file}, max_file_bytes_{max_bytes / 2} {
    constexpr int max_tries = 100;
    for (int tries = 0; !take_file(); ++tries) {
      if (tries == max_tries) throw error{"PROFKIT: cannot create the journal " + file_ + ": other processes keep replacing it"};
    }
    bytes_ = journal_encoder::beginning();
    close_in_children();
  }

  session_journal(session_journal const&) = delete;
  session_journal& operator=(session_journal const&) = delete;
  ~session_journal() { close(); }

  /// Encodes everything in the profile that is not in the file yet.
  /// @param rest records that follow those of the profile.
  /// @param last the session has ended.
  void append(profile const& so_far, profile const& rest, bool last) { encoder_.append(so_far, last, bytes_, rest); }

  /// To be called when the rest was moved elsewhere and starts empty again.
  void forget_rest() noexcept { encoder_.forget_rest(); }

  /// Whether to begin the next file. A file contains at least as many bytes of records as its head has.
  [[nodiscard]] bool is_full() const noexcept { return failure_.empty() && written_ >= std::max(max_file_bytes_, 2 * head_bytes_); }

  /// Renames FILE to FILE.1, replacing an older FILE.1, and continues in a new FILE. A file with the name FILE exists at every moment. To
  /// be called after `write`, when the file contains all records that the head summarises.
  void begin_next_file(journal_head& head) noexcept {
    if (!failure_.empty()) return;
    write_signals_blocked const no_signals;
    try {
      head.number = ++number_;
      std::string beginning = journal_encoder::beginning();
      encoder_.append(head, beginning);
      replace_file(beginning);
      written_ = head_bytes_ = beginning.size();
    } catch (std::exception const& problem) {
      fail(std::string{problem.what()} + "; it holds what came before");
    }
  }

  /// Writes the encoded bytes. A file size limit is an ordinary failure: its signal does not reach the program.
  void write() noexcept {
    write_signals_blocked const no_signals;
    if (!bytes_.empty() && failure_.empty() && !is_still_open()) fail("the program closed " + file_ + "; it holds what came before");
    if (failure_.empty() && !write_all(descriptor_, bytes_)) {
      fail("cannot write " + file_ + ": " + std::generic_category().message(errno) + "; it holds what came before");
    }
    written_ += bytes_.size();
    bytes_.clear();
    constexpr std::size_t kept = std::size_t{8} << 20U;
    if (bytes_.capacity() > kept) bytes_.shrink_to_fit();
  }

  /// Ends the journal and releases the lock.
  void close() noexcept {
    open_file().store(nullptr);
    if (descriptor_ >= 0 && is_still_open()) ::close(descriptor_);
    descriptor_ = -1;
  }

  [[nodiscard]] std::string const& file() const noexcept { return file_; }

  /// Why the journal ended; empty while it is written.
  [[nodiscard]] std::string const& failure() const noexcept { return failure_; }

 private:
  /// O_NONBLOCK, so that opening a pipe does not wait for its reader.
  static constexpr int open_flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK;
  static constexpr ::mode_t file_mode = 0666;  // reduced by the umask

  [[noreturn]] void cannot_make() const {
    throw error{"PROFKIT: cannot create the journal " + file_ + ": " + std::generic_category().message(errno), errno};
  }

  void fail(std::string reason) { failure_ = std::move(reason); }

  /// Opens and locks the file.
  /// @return false if the name must be tried again, because another process has the file or changed what the name refers to.
  [[nodiscard]] bool take_file() {
    if (::stat(file_.c_str(), &opened_) == 0 && !S_ISREG(opened_.st_mode)) {  // writing to a pipe could block the program
      throw error{"PROFKIT: cannot create the journal " + file_ + ": it exists and is not a regular file"};
    }
    descriptor_ = open_file_named(file_);
    if (descriptor_ < 0 || ::fstat(descriptor_, &opened_) != 0) cannot_make();
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(descriptor_);
      std::string const taken = file_;
      file_ += "." + std::to_string(::getpid());
      warn("another process writes the journal " + taken + "; this one writes " + file_);
      return false;
    }
    struct ::stat named {};
    bool const is_named = ::stat(file_.c_str(), &named) == 0 && is_same(named, opened_) && ::fstat(descriptor_, &opened_) == 0;
    if (is_named && opened_.st_size == 0) return true;
    // The owner of the lock may rename the file. If the directory does not permit it, the old journal is lost.
    if (is_named && !keep_old_journal()) {
      if (::ftruncate(descriptor_, 0) != 0) cannot_make();
      return true;
    }
    ::close(descriptor_);
    return false;
  }

  /// Renames it to FILE.before, and the previous file to FILE.before.1.
  [[nodiscard]] bool keep_old_journal() const noexcept {
    std::string const kept = file_ + ".before";
    if (::rename(file_.c_str(), kept.c_str()) != 0) return false;
    if (::rename(earlier_journal(file_).c_str(), earlier_journal(kept).c_str()) != 0) ::unlink(earlier_journal(kept).c_str());
    return true;
  }

  /// @return a descriptor above that of stderr, because a closed stdout must not become the journal; -1 if the file cannot be opened.
  static int open_file_named(std::string const& file) noexcept {
    int const opened = ::open(file.c_str(), open_flags, file_mode);
    if (opened < 0 || opened > STDERR_FILENO) return opened;
    int const higher = ::fcntl(opened, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    ::close(opened);
    return higher;
  }

  static bool write_all(int descriptor, std::string_view bytes) noexcept {
    while (!bytes.empty()) {
      ssize_t const written = ::write(descriptor, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
  }

  /// @throws profkit::error that names the file that cannot be created; FILE is unchanged.
  void replace_file(std::string_view beginning) {
    std::string const next = file_ + ".next";
    struct ::stat opened {};
    if (::stat(next.c_str(), &opened) == 0 && !S_ISREG(opened.st_mode))
      throw error{"cannot create " + next + ": it exists and is not a regular file"};
    int const descriptor = open_file_named(next);
    bool const is_taken = descriptor >= 0 && ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    bool is_made = descriptor >= 0 && !is_taken && ::ftruncate(descriptor, 0) == 0 && write_all(descriptor, beginning) &&
                   ::fstat(descriptor, &opened) == 0;
    is_made = is_made && keep_as_earlier() && ::rename(next.c_str(), file_.c_str()) == 0;
    if (!is_made) {
      int const reason = errno;
      if (descriptor >= 0 && !is_taken) ::unlink(next.c_str());
      if (descriptor >= 0) ::close(descriptor);
      throw error{"cannot create " + next + ": " + std::generic_category().message(reason), reason};
    }
    if (is_still_open()) ::close(descriptor_);
    descriptor_ = descriptor;
    opened_ = opened;
  }

  /// Links the file to both names until the next file takes the first name. On file systems without links, FILE is missing for a moment.
  [[nodiscard]] bool keep_as_earlier() const noexcept {
    std::string const earlier = earlier_journal(file_);
    ::unlink(earlier.c_str());
    return ::link(file_.c_str(), earlier.c_str()) == 0 || ::rename(file_.c_str(), earlier.c_str()) == 0;
  }

  static bool is_same(struct ::stat const& a, struct ::stat const& b) noexcept { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

  /// Some programs close all unknown descriptors, so the number may refer to another file.
  [[nodiscard]] bool is_still_open() const noexcept {
    struct ::stat now {};
    return ::fstat(descriptor_, &now) == 0 && is_same(now, opened_);
  }

  static std::atomic<session_journal const*>& open_file() noexcept {
    static std::atomic<session_journal const*> value{nullptr};
    return value;
  }

  /// A child of a `fork` that outlives this process must not hold the lock.
  void close_in_children() const noexcept {
    open_file().store(this);
    static int const registered = ::pthread_atfork(nullptr, nullptr, [] {
      session_journal const* const of_parent = open_file().exchange(nullptr);
      if (of_parent != nullptr && of_parent->is_still_open()) ::close(of_parent->descriptor_);
    });
    static_cast<void>(registered);
  }

  std::string file_;
  int descriptor_ = -1;
  struct ::stat opened_ {};
  journal_encoder encoder_;
  std::string bytes_;
  std::string failure_;
  std::uint64_t max_file_bytes_;
  std::uint64_t written_ = 0;     ///< size of the file in bytes
  std::uint64_t head_bytes_ = 0;  ///< size of its head in bytes
  std::uint64_t number_ = 0;      ///< `journal_head::number` of the file
};

}  // namespace profkit::detail
