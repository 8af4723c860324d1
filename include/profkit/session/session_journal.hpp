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
#include "../report/process_path.hpp"
#include "console.hpp"

namespace profkit::detail {

/// The file of `PROFKIT=journal=FILE`. What `write(2)` has taken outlives the process, however that ends; not the machine: nothing is
/// forced to the disk. Not thread-safe.
///
/// The journal is FILE and the file before it, FILE.1: `begin_next_file`.
///
/// A failure to write ends the journal, not the program: `failure` says why.
///
/// The open file is locked (`flock`) while this process lives; the kernel releases the lock when it ends. A process that inherited the
/// option finds the file locked, and takes FILE with its process id appended. Where the file system has no locks, the file counts as free.
class session_journal {
 public:
  /// Makes the file. One with that name that holds something, and that nobody writes, is kept as `FILE.before`.
  /// @param file "%p" in it is the process id.
  /// @param max_bytes of both files; more where what a file begins with takes more than half of it.
  /// @throws profkit::error that names the file and says why it cannot be made.
  session_journal(std::string const& file, std::uint64_t max_bytes) : file_{process_path(file)}, max_file_bytes_{max_bytes / 2} {
    constexpr int max_tries = 100;
    for (int tries = 0; !take_file(); ++tries) {
      if (tries == max_tries) throw error{"PROFKIT: cannot make the journal " + file_ + ": other processes keep replacing it"};
    }
    bytes_ = journal_encoder::beginning();
    close_in_children();
  }

  session_journal(session_journal const&) = delete;
  session_journal& operator=(session_journal const&) = delete;
  ~session_journal() { close(); }

  /// Encodes what the profile has that the file has not.
  /// @param rest records that come behind those of the profile.
  /// @param last the session has ended.
  void append(profile const& so_far, profile const& rest, bool last) { encoder_.append(so_far, last, bytes_, rest); }

  /// The rest is empty from here on.
  void forget_rest() noexcept { encoder_.forget_rest(); }

  /// Whether the next file should begin. A file has at least as much as its head again.
  [[nodiscard]] bool is_full() const noexcept { return failure_.empty() && written_ >= std::max(max_file_bytes_, 2 * head_bytes_); }

  /// FILE becomes FILE.1, in the place of an older one, and the journal goes on in a new FILE. There is a FILE at every moment. To be
  /// called after `write`, when the file has all that the head stands for.
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

  /// Writes what `append` made. A limit of the file's size is a failure like others: its signal does not reach the program.
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

  /// The journal has ended: the next one may have the file.
  void close() noexcept {
    open_file().store(nullptr);
    if (descriptor_ >= 0 && is_still_open()) ::close(descriptor_);
    descriptor_ = -1;
  }

  [[nodiscard]] std::string const& file() const noexcept { return file_; }

  /// Why the file does not grow any more; empty if it does.
  [[nodiscard]] std::string const& failure() const noexcept { return failure_; }

 private:
  /// So that opening a pipe does not wait for its reader.
  static constexpr int open_flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK;
  static constexpr ::mode_t file_mode = 0666;  // less the umask

  [[noreturn]] void cannot_make() const {
    throw error{"PROFKIT: cannot make the journal " + file_ + ": " + std::generic_category().message(errno), errno};
  }

  void fail(std::string reason) { failure_ = std::move(reason); }

  /// Opens and locks the file.
  /// @return false: the name has to be looked at again, as it is another's, or another process changed what it names.
  [[nodiscard]] bool take_file() {
    if (::stat(file_.c_str(), &opened_) == 0 && !S_ISREG(opened_.st_mode)) {  // a pipe would stop the program
      throw error{"PROFKIT: cannot make the journal " + file_ + ": it is there and is not a regular file"};
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
    // Who has the lock may rename; if the folder does not let it, the old journal is lost.
    if (is_named && !keep_old_journal()) {
      if (::ftruncate(descriptor_, 0) != 0) cannot_make();
      return true;
    }
    ::close(descriptor_);
    return false;
  }

  /// As FILE.before, and the file before it as FILE.before.1.
  [[nodiscard]] bool keep_old_journal() const noexcept {
    std::string const kept = file_ + ".before";
    if (::rename(file_.c_str(), kept.c_str()) != 0) return false;
    if (::rename(earlier_journal(file_).c_str(), earlier_journal(kept).c_str()) != 0) ::unlink(earlier_journal(kept).c_str());
    return true;
  }

  /// @return a descriptor above that of stderr: a closed stdout must not become the journal. -1 if the file cannot be opened.
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

  /// @throws profkit::error that names the file that cannot be made; FILE is as it was.
  void replace_file(std::string_view beginning) {
    std::string const next = file_ + ".next";
    struct ::stat opened {};
    if (::stat(next.c_str(), &opened) == 0 && !S_ISREG(opened.st_mode))
      throw error{"cannot make " + next + ": it is there and is not a regular file"};
    int const descriptor = open_file_named(next);
    bool const is_taken = descriptor >= 0 && ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    bool is_made = descriptor >= 0 && !is_taken && ::ftruncate(descriptor, 0) == 0 && write_all(descriptor, beginning) &&
                   ::fstat(descriptor, &opened) == 0;
    is_made = is_made && keep_as_earlier() && ::rename(next.c_str(), file_.c_str()) == 0;
    if (!is_made) {
      int const reason = errno;
      if (descriptor >= 0 && !is_taken) ::unlink(next.c_str());
      if (descriptor >= 0) ::close(descriptor);
      throw error{"cannot make " + next + ": " + std::generic_category().message(reason), reason};
    }
    if (is_still_open()) ::close(descriptor_);
    descriptor_ = descriptor;
    opened_ = opened;
  }

  /// The file has both names until the next one takes the first. Where the file system has no links, there is none for a moment.
  [[nodiscard]] bool keep_as_earlier() const noexcept {
    std::string const earlier = earlier_journal(file_);
    ::unlink(earlier.c_str());
    return ::link(file_.c_str(), earlier.c_str()) == 0 || ::rename(file_.c_str(), earlier.c_str()) == 0;
  }

  static bool is_same(struct ::stat const& a, struct ::stat const& b) noexcept { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

  /// Some programs close all descriptors that they do not know; the number may then be of another file.
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
  std::uint64_t written_ = 0;     ///< bytes of the file
  std::uint64_t head_bytes_ = 0;  ///< of these: what it began with
  std::uint64_t number_ = 0;      ///< of the file: `journal_head::number`
};

}  // namespace profkit::detail
