// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "profile/error.hpp"
#include "profile/journal_encoder.hpp"
#include "profile/write_signals.hpp"
#include "record/own_thread.hpp"
#include "report/process_path.hpp"

namespace profkit::detail {

/// @return locked, unless the mutex was held all that time.
template <class Mutex>
std::unique_lock<Mutex> lock_within(Mutex& mutex, std::chrono::milliseconds longest) {
  std::unique_lock<Mutex> lock{mutex, std::try_to_lock};
  auto const deadline = std::chrono::steady_clock::now() + longest;
  while (!lock.owns_lock() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::microseconds{100});
    static_cast<void>(lock.try_lock());
  }
  return lock;
}

/// The file of `PROFKIT=journal=FILE` and the thread that writes it. What `write(2)` has taken outlives the process, however that ends; not
/// the machine: nothing is forced to the disk.
///
/// A failure to write ends the journal, not the program: `failure` says why.
class session_journal {
 public:
  /// Appends what is new; called on the journal's thread. `last`: the journal ends, or the program does.
  using source = std::function<void(bool last, std::string& to)>;

  /// So that all but the last 100 ms are in the file: it takes two rounds until a kernel is there, and the thread may wake late.
  static constexpr std::chrono::milliseconds period{25};

  /// Makes the file. One with that name that holds something is kept as `FILE.before`.
  /// @param file "%p" in it is the number of the process.
  /// @throws profkit::error that names the file and says why it cannot be made.
  explicit session_journal(std::string const& file) : file_{process_path(file)} {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(file_, ignored) && std::filesystem::file_size(file_, ignored) > 0) {
      std::filesystem::rename(file_, file_ + ".before", ignored);
    }
    std::filesystem::file_status const there = std::filesystem::status(file_, ignored);
    if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {  // a pipe would stop the program
      throw error{"PROFKIT: cannot make the journal " + file_ + ": it is there and is not a regular file"};
    }
    constexpr mode_t mode = 0666;  // less the umask
    descriptor_ = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NONBLOCK, mode);
    if (descriptor_ >= 0 && descriptor_ <= STDERR_FILENO) {  // a closed stdout must not become the journal
      int const higher = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
      ::close(std::exchange(descriptor_, higher));
    }
    if (descriptor_ < 0) throw error{"PROFKIT: cannot make the journal " + file_ + ": " + std::generic_category().message(errno), errno};
  }

  session_journal(session_journal const&) = delete;
  session_journal& operator=(session_journal const&) = delete;

  /// To be called in the process that made it.
  ~session_journal() {
    {
      std::lock_guard<std::mutex> const lock{at_exit().mutex};
      if (at_exit().running == this) at_exit().running = nullptr;
    }
    finish();
    ::close(descriptor_);
  }

  /// Starts the thread, and waits until it has written what there is.
  void start(source next) {
    next_ = std::move(next);
    try {
      thread_ = start_own_thread("profkit-journal", [this] { run(); });
    } catch (std::exception const& reason) {
      fail(reason.what());
      return;
    }
    finish_at_exit();
    catch_up();
  }

  /// Waits until all that is there by now is written.
  void catch_up() {
    std::unique_lock<std::mutex> lock{mutex_};
    std::uint64_t const wanted = rounds_begun_ + 1;
    is_hurried_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return rounds_ended_ >= wanted || has_ended_ || thread_ == nullptr; });
  }

  /// Writes what there is, and ends the thread.
  void finish() noexcept {
    {
      std::lock_guard<std::mutex> const lock{mutex_};
      is_finishing_ = true;
    }
    changed_.notify_all();
    std::lock_guard<std::mutex> const lock{joining_};
    if (thread_ != nullptr && thread_->joinable()) thread_->join();
  }

  [[nodiscard]] std::string const& file() const noexcept { return file_; }

  /// Why the file does not grow any more; empty if it does.
  [[nodiscard]] std::string failure() {
    std::lock_guard<std::mutex> const lock{mutex_};
    return failure_;
  }

  /// Whether this is the child of a `fork`: there the thread does not run, and what it was at may be half done.
  [[nodiscard]] bool is_of_parent() const noexcept { return ::getpid() != process_; }

 private:
  struct exit_state {
    std::mutex mutex;
    session_journal* running = nullptr;
  };

  static exit_state& at_exit() {
    static exit_state value;
    return value;
  }

  /// A program may end with `exit` and never destroy its session. Then the thread has to stop before what it uses is taken down, such as
  /// the CUDA driver.
  void finish_at_exit() {
    {
      std::lock_guard<std::mutex> const lock{at_exit().mutex};
      at_exit().running = this;
    }
    static int const registered = std::atexit([] {
      std::lock_guard<std::mutex> const lock{at_exit().mutex};
      if (at_exit().running != nullptr && !at_exit().running->is_of_parent()) at_exit().running->finish();
    });
    static_cast<void>(registered);
  }

  void run() {
    std::string bytes = journal_encoder::beginning();
    bool is_last = false;
    while (!is_last) {
      is_last = begin_round();
      try {
        next_(is_last, bytes);
        write(bytes);
      } catch (std::exception const& reason) {
        fail(reason.what());
      }
      bytes.clear();
      constexpr std::size_t kept = std::size_t{8} << 20U;
      if (bytes.capacity() > kept) bytes.shrink_to_fit();
      if (!failure().empty()) break;
      end_round();
      if (!is_last) wait();
    }
    std::lock_guard<std::mutex> const lock{mutex_};
    has_ended_ = true;
    changed_.notify_all();
  }

  [[nodiscard]] bool begin_round() {
    std::lock_guard<std::mutex> const lock{mutex_};
    ++rounds_begun_;
    is_hurried_ = false;
    return is_finishing_;
  }

  void end_round() {
    std::lock_guard<std::mutex> const lock{mutex_};
    rounds_ended_ = rounds_begun_;
    changed_.notify_all();
  }

  void wait() {
    std::unique_lock<std::mutex> lock{mutex_};
    changed_.wait_for(lock, period, [this] { return is_finishing_ || is_hurried_; });
  }

  void write(std::string_view bytes) {
    write_signals_blocked const no_signals;
    while (!bytes.empty()) {
      ssize_t const written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) {
        throw error{"cannot write " + file_ + ": " + std::generic_category().message(errno) + "; it holds what came before", errno};
      }
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  void fail(char const* reason) {
    std::lock_guard<std::mutex> const lock{mutex_};
    failure_ = reason;
  }

  std::string file_;
  pid_t const process_ = ::getpid();
  int descriptor_ = -1;
  source next_;
  std::unique_ptr<std::thread> thread_;
  std::mutex joining_;  ///< of `thread_`
  std::mutex mutex_;    ///< of what follows
  std::condition_variable changed_;
  std::string failure_;
  std::uint64_t rounds_begun_ = 0;
  std::uint64_t rounds_ended_ = 0;
  bool is_hurried_ = false;
  bool is_finishing_ = false;
  bool has_ended_ = false;
};

}  // namespace profkit::detail
