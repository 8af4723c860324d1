// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "../profile/error.hpp"
#include "../profile/journal_encoder.hpp"
#include "../profile/write_signals.hpp"
#include "../report/process_path.hpp"
#include "console.hpp"

namespace profkit::detail {

/// The file of `PROFKIT=journal=FILE`. What `write(2)` has taken outlives the process, however that ends; not the machine: nothing is
/// forced to the disk. Not thread-safe.
///
/// A failure to write ends the journal, not the program: `failure` says why.
///
/// The open file is locked (`flock`) while this process lives; the kernel releases the lock when it ends. A process that inherited the
/// option finds the file locked, and takes FILE with its process id appended. Where the file system has no locks, the file counts as free.
class session_journal {
 public:
  /// Makes the file. One with that name that holds something, and that nobody writes, is kept as `FILE.before`.
  /// @param file "%p" in it is the process id.
  /// @throws profkit::error that names the file and says why it cannot be made.
  explicit session_journal(std::string const& file) : file_{process_path(file)} {
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

  /// Encodes what the profile has that the file has not. @param last the session has ended.
  void append(profile const& so_far, bool last) { encoder_.append(so_far, last, bytes_); }

  /// Writes what `append` made. A limit of the file's size is a failure like others: its signal does not reach the program.
  void write() noexcept {
    write_signals_blocked const no_signals;
    std::string_view left = bytes_;
    if (!left.empty() && failure_.empty() && !is_still_open()) fail("the program closed " + file_ + "; it holds what came before");
    while (failure_.empty() && !left.empty()) {
      ssize_t const written = ::write(descriptor_, left.data(), left.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) {
        fail("cannot write " + file_ + ": " + std::generic_category().message(errno) + "; it holds what came before");
        break;
      }
      left.remove_prefix(static_cast<std::size_t>(written));
    }
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
    descriptor_ = ::open(file_.c_str(), open_flags, file_mode);
    if (descriptor_ >= 0 && descriptor_ <= STDERR_FILENO) {  // a closed stdout must not become the journal
      int const higher = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
      ::close(std::exchange(descriptor_, higher));
    }
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
    if (is_named && ::rename(file_.c_str(), (file_ + ".before").c_str()) != 0) {
      if (::ftruncate(descriptor_, 0) != 0) cannot_make();
      return true;
    }
    ::close(descriptor_);
    return false;
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
};

}  // namespace profkit::detail
