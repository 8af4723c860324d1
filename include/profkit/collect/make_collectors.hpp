// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include "../profile/error.hpp"
#include "../profile/own_memory.hpp"
#include "gpu_utilization.hpp"
#include "host_memory.hpp"
#include "host_samples.hpp"
#include "host_sampling.hpp"
#include "kept_file.hpp"
#include "memory_source.hpp"
#include "utilization_measurement.hpp"

namespace profkit::detail {

[[gnu::used]] inline std::unique_ptr<collector> sample_host(host_sample_options const& wanted) {
  return std::make_unique<host_sampling>(wanted);
}

[[gnu::used]] inline std::unique_ptr<collector> measure_utilization(utilization_times const& times) {
  return std::make_unique<utilization_measurement>(times);
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

}  // namespace profkit::detail
