// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include "../../error.hpp"
#include "../../memory_source.hpp"
#include "../profile/own_memory.hpp"
#include "../record/log_memory.hpp"
#include "../record/process_identity.hpp"
#include "../record/quiet_thread.hpp"
#include "built_in_collectors.hpp"
#include "device_windows.hpp"
#include "energy_meters.hpp"
#include "host_sampling.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// A small file of `/proc/self` that is read often. It stays open, because opening it takes four times as long as reading it. Constant-
/// initialised and never destroyed. Any thread may read it at any time.
///
/// The program may close all descriptors, and then its own file may have the number. A child has the descriptor of its parent, and it shows
/// the parent. So each reading checks that this process has opened the file and that the descriptor still refers to it.
class kept_file {
 public:
  explicit constexpr kept_file(char const* path) noexcept : path_{path} {}

  /// Reads the file from its beginning. @return the number of bytes; 0 or less if it cannot be read.
  ::ssize_t read(char* into, std::size_t bytes) noexcept {
    errno_keeper const keeper;
    no_cancellation const not_cancelled;
    ::ssize_t length = read_kept(into, bytes);
    if (length > 0 || __atomic_exchange_n(&is_opening_, true, __ATOMIC_ACQUIRE)) return length > 0 ? length : read_once(into, bytes);
    open_again();
    length = read_kept(into, bytes);
    __atomic_store_n(&is_opening_, false, __ATOMIC_RELEASE);
    return length;
  }

 private:
  /// Whether a descriptor refers to the file that `open_again` opened. Its file system and number identify an open file.
  [[nodiscard]] bool is_ours(int file) const noexcept {
    struct ::stat now {};
    return file >= 0 && ::fstat(file, &now) == 0 && now.st_dev == __atomic_load_n(&device_, __ATOMIC_RELAXED) &&
           now.st_ino == __atomic_load_n(&number_, __ATOMIC_RELAXED);
  }

  ::ssize_t read_kept(char* into, std::size_t bytes) const noexcept {
    int const file = __atomic_load_n(&file_, __ATOMIC_ACQUIRE);
    if (!is_process(__atomic_load_n(&process_, __ATOMIC_RELAXED)) || !is_ours(file)) return -1;
    return ::pread(file, into, bytes, 0);
  }

  ::ssize_t read_once(char* into, std::size_t bytes) const noexcept {
    int const file = ::open(path_, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ::ssize_t const length = ::read(file, into, bytes);
    ::close(file);
    return length;
  }

  void open_again() noexcept {
    int const before = __atomic_exchange_n(&file_, -1, __ATOMIC_ACQ_REL);
    if (is_ours(before)) ::close(before);  // inherited from the parent
    int const file = ::open(path_, O_RDONLY | O_CLOEXEC);
    struct ::stat opened {};
    if (file < 0 || ::fstat(file, &opened) != 0) return;
    __atomic_store_n(&device_, opened.st_dev, __ATOMIC_RELAXED);
    __atomic_store_n(&number_, opened.st_ino, __ATOMIC_RELAXED);
    __atomic_store_n(&process_, identify_process(), __ATOMIC_RELAXED);
    __atomic_store_n(&file_, file, __ATOMIC_RELEASE);
  }

  char const* path_;
  int file_ = -1;
  ::dev_t device_ = 0;
  ::ino_t number_ = 0;
  std::uint64_t process_ = 0;  ///< number of the process that opened the file
  bool is_opening_ = false;
};

[[gnu::used]] inline std::unique_ptr<collector> sample_host(host_sample_options const& wanted) {
  return std::make_unique<host_sampling>(wanted);
}

[[gnu::used]] inline std::unique_ptr<collector> measure_utilization(utilization_times const& times) {
  return std::make_unique<utilization_measurement>(times);
}

[[gnu::used]] inline std::unique_ptr<collector> measure_energy(std::string powercap) {
  return std::make_unique<energy_measurement>(std::move(powercap));
}

[[gnu::used]] inline std::vector<memory_reading> read_host_memory() {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) throw error{"cannot open /proc/self/statm", errno};
  unsigned long long total_pages = 0;
  unsigned long long resident_pages = 0;
  // NOLINTNEXTLINE(cert-err34-c): the kernel writes these numbers, and they fit
  int const fields = std::fscanf(file, "%llu %llu", &total_pages, &resident_pages);
  static_cast<void>(std::fclose(file));
  if (fields != 2) throw error{"cannot read two numbers from /proc/self/statm"};
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return {{"resident", resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)),
           static_cast<std::uint64_t>(usage.ru_maxrss) * 1024U, "since the process began"}};
}

[[gnu::used]] inline std::uint64_t resident_bytes() noexcept {
  static kept_file file{"/proc/self/statm"};
  static auto const page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  char text[128];
  ::ssize_t const length = file.read(text, sizeof text - 1);
  if (length <= 0) return polled_allocator::unknown;
  text[length] = '\0';
  unsigned long long pages = 0;
  // NOLINTNEXTLINE(cert-err34-c): the kernel writes these numbers, and they fit
  return std::sscanf(text, "%*u %llu", &pages) == 1 ? pages * page : polled_allocator::unknown;
}

}  // namespace PROFKIT_NAMESPACE::detail
