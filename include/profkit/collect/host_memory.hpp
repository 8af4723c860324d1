// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "../profile/error.hpp"
#include "memory_source.hpp"

namespace profkit {

/// Resident memory of this process. Sources: `/proc/self/statm` and `getrusage` (`ru_maxrss`).
class host_memory final : public memory_source {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "host"; }

  /// @throws profkit::error if `/proc/self/statm` cannot be read.
  [[nodiscard]] std::vector<memory_reading> read() override {
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

  /// Costs a scope two system calls, about four microseconds.
  [[nodiscard]] polled_allocator at_scopes() const noexcept override {
    static site source{"host", __FILE__, __LINE__};
    return {&source, resident_bytes};
  }

 private:
  /// 0 if it cannot be read. The file stays open.
  static std::uint64_t resident_bytes() noexcept {
    static int const file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    static auto const page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    char text[128];
    ::ssize_t const length = ::pread(file, text, sizeof text - 1, 0);
    if (length <= 0) return 0;
    text[length] = '\0';
    unsigned long long pages = 0;
    // NOLINTNEXTLINE(cert-err34-c): the kernel writes these numbers, and they fit
    return std::sscanf(text, "%*u %llu", &pages) == 1 ? pages * page : 0;
  }
};

}  // namespace profkit
