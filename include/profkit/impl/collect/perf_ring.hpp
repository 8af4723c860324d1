// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <string>
#include <system_error>
#include <utility>

#include "../../profile_builder.hpp"
#include "../../time.hpp"
#include "../profile/own_memory.hpp"
#include "../record/process_identity.hpp"
#include "../record/thread_log.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// One sample of a thread, as addresses.
struct code_sample {
  std::int64_t monotonic_ns = 0;        ///< CLOCK_MONOTONIC
  std::uint64_t leaf = 0;               ///< the address that the thread executed
  own_vector<std::uint64_t> callers{};  ///< addresses in its callers, nearest first; some may not be code addresses
  std::uint64_t weight_ns = 0;          ///< processor time that the sample represents
};

/// A sample of a thread whose scope is not known yet.
struct raw_sample {
  timestamp time;
  std::uint32_t function = 0;  ///< position in `profile::functions`
  std::uint32_t weight = 0;    ///< in nanoseconds
};

/// The samples of a thread, in time order, until the reader of its log takes them.
class waiting_samples {
 public:
  void add(raw_sample const& sample) { list_.push_back(sample); }

  [[nodiscard]] bool empty() const noexcept { return next_ == list_.size(); }

  /// Whether the oldest sample was taken before a moment.
  [[nodiscard]] bool has_before(timestamp moment) const noexcept { return !empty() && list_[next_].time < moment; }

  /// The oldest sample. There must be one.
  [[nodiscard]] raw_sample const& oldest() const noexcept { return list_[next_]; }

  /// Removes the oldest sample. There must be one.
  void pop() noexcept {
    ++next_;
    if (!empty()) return;
    next_ = 0;
    list_.clear();
  }

 private:
  own_vector<raw_sample> list_;
  std::size_t next_ = 0;  ///< position of the oldest sample that is still in the list
};

/// A collector of samples of threads. The drain of the logs charges each sample to the scope that was open on its thread at that time.
/// All functions are called on the thread that drains the logs.
class sample_source {
 public:
  sample_source() = default;
  sample_source(sample_source&&) = default;
  sample_source& operator=(sample_source&&) = default;
  virtual ~sample_source() = default;

  /// Starts to sample threads with logs that are not sampled yet, and reads the samples so far.
  virtual void read(profile_builder& into) = 0;

  /// The samples of the thread that owns a log, or of its last owner if the log is free; null if there are none.
  [[nodiscard]] virtual waiting_samples* samples_of(thread_log const& log) = 0;
};

/// Samples of one thread from the kernel: `perf_event_open` with the software task clock, which needs no hardware counters. The kernel
/// writes the samples to a ring buffer; no signal interrupts the program.
///
/// The clock counts the processor time of the thread. `exclude_kernel` drops samples inside the kernel, because these need a privilege.
class perf_ring {
 public:
  perf_ring() = default;
  perf_ring(perf_ring const&) = delete;
  perf_ring& operator=(perf_ring const&) = delete;
  ~perf_ring() { close(); }

  /// Starts to sample a thread.
  /// @param thread `gettid` of a thread of this process.
  /// @param period_ns processor time between two samples.
  /// @param bytes size of the ring: a power of two, at least a page. If the system refuses it, smaller powers of two are tried.
  /// @return 0, or the error number of the failed call.
  int open(std::uint64_t thread, std::uint64_t period_ns, std::size_t bytes) noexcept {
    perf_event_attr wanted;
    std::memset(&wanted, 0, sizeof wanted);
    wanted.size = sizeof wanted;
    wanted.type = PERF_TYPE_SOFTWARE;
    wanted.config = PERF_COUNT_SW_TASK_CLOCK;
    wanted.sample_period = period_ns;
    wanted.sample_type = sample_type | PERF_SAMPLE_STACK_USER;
    wanted.sample_stack_user = sizeof(std::uint64_t);
    wanted.sample_max_stack = max_frames;
    wanted.exclude_kernel = 1;
    wanted.exclude_hv = 1;
    wanted.exclude_callchain_kernel = 1;
    wanted.use_clockid = 1;
    wanted.clockid = CLOCK_MONOTONIC;
    process_ = identify_process();
    file_ = call(wanted, thread);
    has_stack_ = file_ >= 0;
    if (file_ < 0 && (errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS)) {
      wanted.sample_type = sample_type;
      wanted.sample_stack_user = 0;
      file_ = call(wanted, thread);
    }
    if (file_ < 0) return errno;
    event_ = event_of(file_);
    auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    int failure = 0;
    for (bytes_ = bytes < page ? page : bytes; bytes_ >= page; bytes_ /= 2) {
      void* const memory = ::mmap(nullptr, page + bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
      if (memory != MAP_FAILED) {
        memory_ = static_cast<unsigned char*>(memory);
        return 0;
      }
      failure = errno;
      if (failure != EPERM && failure != ENOMEM) break;
    }
    close();
    return failure;
  }

  [[nodiscard]] bool is_open() const noexcept { return memory_ != nullptr; }

  /// Sets the time between the next samples. The kernel forgets the time since the last sample.
  void set_period(std::uint64_t period_ns) const noexcept {
    if (is_file_ours()) ::ioctl(file_, PERF_EVENT_IOC_PERIOD, &period_ns);
  }

  /// Reads and removes the samples so far.
  /// @param into receives the samples, oldest first.
  void read(own_vector<code_sample>& into) {
    auto& head = *reinterpret_cast<perf_event_mmap_page*>(memory_);
    std::uint64_t const end = __atomic_load_n(&head.data_head, __ATOMIC_ACQUIRE);
    std::uint64_t at = head.data_tail;
    while (end - at >= sizeof(perf_event_header)) {
      perf_event_header record{};
      copy(at, &record, sizeof record);
      if (record.size < sizeof record || record.size > end - at) break;
      if (record.type == PERF_RECORD_SAMPLE) read_sample(at + sizeof record, at + record.size, into);
      if (record.type == PERF_RECORD_LOST && record.size >= sizeof record + 2 * sizeof(std::uint64_t)) {
        lost_ += number_at(at + sizeof record + sizeof(std::uint64_t));
      }
      at += record.size;
    }
    __atomic_store_n(&head.data_tail, end, __ATOMIC_RELEASE);
  }

  /// Number of samples that did not fit into the ring, up to the last `read`.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }

  /// Why a thread is not sampled. @param failure the result of `open`.
  static std::string reason_of(int failure) {
    std::string what = "perf_event_open: " + std::generic_category().message(failure);
    switch (failure) {
      case EACCES:
      case EPERM:
        return what +
               ". Samples need kernel.perf_event_paranoid of at most 2, a container that permits perf_event_open, and for each thread 36 "
               "KiB of kernel.perf_event_mlock_kb";
      case ENOSYS:
        return what + ". The kernel or the container does not provide it";
      case EMFILE:
      case ENFILE:
        return what + ". Samples need a file descriptor for each thread";
      default:
        return what;
    }
  }

  /// Stops sampling.
  void close() noexcept {
    bool const is_own = is_process(process_);  // the child of a fork does not inherit the mapping, and must not change the parent's ring
    if (memory_ != nullptr && is_own) ::munmap(memory_, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + bytes_);
    memory_ = nullptr;
    if (file_ < 0) return;
    bool const is_ours = is_file_ours();
    if (is_ours && is_own) ::ioctl(file_, PERF_EVENT_IOC_DISABLE, 0);  // a child process may hold a copy of the file
    if (is_ours) ::close(file_);
    file_ = -1;
  }

 private:
  static constexpr std::uint64_t sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
  static constexpr std::uint16_t max_frames = 16;

  static int call(perf_event_attr& wanted, std::uint64_t thread) noexcept {
    return static_cast<int>(::syscall(SYS_perf_event_open, &wanted, static_cast<::pid_t>(thread), -1, -1, PERF_FLAG_FD_CLOEXEC));
  }

  /// The kernel's number of the event of a descriptor; 0 if it is not an event.
  static std::uint64_t event_of(int file) noexcept {
    std::uint64_t number = 0;
    return ::ioctl(file, PERF_EVENT_IOC_ID, &number) == 0 ? number : 0;
  }

  /// Whether the descriptor still refers to the event. The program may have closed it and opened a file of its own with this number.
  [[nodiscard]] bool is_file_ours() const noexcept { return file_ >= 0 && event_of(file_) == event_; }

  /// Copies bytes of the ring. They may wrap around to its beginning.
  void copy(std::uint64_t from, void* to, std::size_t count) const noexcept {
    unsigned char const* const data = memory_ + ::sysconf(_SC_PAGESIZE);
    std::size_t const begin = from & (bytes_ - 1);
    std::size_t const first = count < bytes_ - begin ? count : bytes_ - begin;
    std::memcpy(to, data + begin, first);
    std::memcpy(static_cast<unsigned char*>(to) + first, data, count - first);
  }

  [[nodiscard]] std::uint64_t number_at(std::uint64_t at) const noexcept {
    std::uint64_t result = 0;
    copy(at, &result, sizeof result);
    return result;
  }

  /// The members of a sample, in the order of `perf_event_open(2)`: address, process and thread, time, call chain, stack.
  void read_sample(std::uint64_t at, std::uint64_t end, own_vector<code_sample>& into) const {
    constexpr std::uint64_t word = sizeof(std::uint64_t);
    if (end - at < 4 * word) return;
    code_sample next;
    next.leaf = number_at(at);
    auto const process = static_cast<std::uint32_t>(number_at(at + word));
    if (process != static_cast<std::uint32_t>(::getpid())) return;  // the thread number was reused by another process
    next.monotonic_ns = static_cast<std::int64_t>(number_at(at + 2 * word));
    std::uint64_t const frames = number_at(at + 3 * word);
    at += 4 * word;
    if (frames > (end - at) / word) return;
    for (std::uint64_t i = 0; i < frames; ++i, at += word) {
      std::uint64_t const address = number_at(at);
      bool const is_mark = address >= static_cast<std::uint64_t>(-4095);  // such as PERF_CONTEXT_USER
      if (!is_mark && address != 0 && (address != next.leaf || !next.callers.empty())) next.callers.push_back(address - 1);
    }
    // The word at the stack pointer is the return address of a function without a frame. The chain lacks its caller.
    if (has_stack_ && end - at >= 2 * word && number_at(at) == word) next.callers.insert(next.callers.begin(), number_at(at + word) - 1);
    into.push_back(std::move(next));
  }

  int file_ = -1;
  std::uint64_t event_ = 0;          ///< the kernel's number of the event
  std::uint64_t process_ = 0;        ///< number of the process that opened the ring
  unsigned char* memory_ = nullptr;  ///< a page with the positions, followed by the ring
  std::size_t bytes_ = 0;            ///< size of the ring
  bool has_stack_ = false;           ///< samples contain the word at the stack pointer
  std::uint64_t lost_ = 0;
};

}  // namespace PROFKIT_NAMESPACE::detail
