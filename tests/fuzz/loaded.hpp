// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/save_load.hpp>

#include <sanitizer/allocator_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "require.hpp"
#include "written.hpp"

/// A file in memory with a path.
class memory_file {
 public:
  memory_file() : descriptor_{::memfd_create("profkit-fuzz", MFD_CLOEXEC)}, path_{"/proc/self/fd/" + std::to_string(descriptor_)} {
    require(descriptor_ >= 0, "a file in memory can be made");
  }
  memory_file(memory_file const&) = delete;
  memory_file& operator=(memory_file const&) = delete;
  ~memory_file() { ::close(descriptor_); }

  void write(std::string_view bytes) const {
    require(::ftruncate(descriptor_, 0) == 0, "a file in memory can be emptied");
    auto const count = ::pwrite(descriptor_, bytes.data(), bytes.size(), 0);
    require(count == static_cast<ssize_t>(bytes.size()), "a file in memory can be written");
  }

  [[nodiscard]] std::string const& path() const noexcept { return path_; }

 private:
  int descriptor_;
  std::string path_;
};

/// During its lifetime, an allocation that a file of this size cannot need is a finding, because it means that a length in the file was
/// trusted.
class allocation_limit {
 public:
  /// @param for_a_byte bytes of memory per byte of the file. Empty texts take 32 bytes, 8 in the file; lists double as they grow.
  explicit allocation_limit(std::size_t file_bytes, std::size_t for_a_byte = 16) {
    static bool const is_installed = __sanitizer_install_malloc_and_free_hooks(&check, &ignore) != 0;
    require(is_installed, "allocations can be watched");
    limit() = min_limit + file_bytes * for_a_byte;
  }
  allocation_limit(allocation_limit const&) = delete;
  allocation_limit& operator=(allocation_limit const&) = delete;
  ~allocation_limit() { limit() = std::numeric_limits<std::size_t>::max(); }

 private:
  static constexpr std::size_t min_limit = std::size_t{1} << 17U;  // files are read in chunks

  static std::size_t& limit() noexcept {
    static std::size_t bytes = std::numeric_limits<std::size_t>::max();
    return bytes;
  }
  static void check(void const volatile*, std::size_t bytes) {
    if (bytes <= limit()) return;
    limit() = std::numeric_limits<std::size_t>::max();  // a message may also need memory
    require(false, "no length in the file asks for more memory than the file could fill");
  }
  static void ignore(void const volatile*) {}
};

/// A loaded profile can be saved, loads again with equal content, and can be analysed and printed.
inline void require_sound(profkit::profile const& loaded) {
  static memory_file const again;
  std::string const bytes = saved(loaded);
  again.write(bytes);
  require(saved(profkit::load(again.path())) == bytes, "a profile that was loaded and saved loads as the same");
  require(!printed(loaded).empty(), "a profile that was loaded has a report");
}
