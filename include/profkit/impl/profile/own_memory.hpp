// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../version.hpp"

// Memory of containers that grow with what is recorded or printed.
//
// Their large blocks come from mappings of their own, never from the heap of the program: when a program frees a large block, glibc raises
// the thresholds above which it maps blocks and returns memory to the system, for the whole process. With profkit's blocks in that heap,
// the program would have fewer page faults than without profkit, and other times. (Source: mallopt(3), M_MMAP_THRESHOLD.)

// Functions of LeakSanitizer, null without it: it searches a mapping for pointers only after the first one, and until the second one.
extern "C" __attribute__((weak)) void __lsan_register_root_region(void const* memory, std::size_t bytes);
extern "C" __attribute__((weak)) void __lsan_unregister_root_region(void const* memory, std::size_t bytes);

namespace PROFKIT_NAMESPACE::detail {

/// Smaller blocks come from the heap: they cannot reach glibc's threshold for mapping, which is at least 128 KiB.
inline constexpr std::size_t min_mapped_bytes = std::size_t{64} << 10U;

/// Freed mappings that the next blocks of the same size reuse, because a new mapping has a page fault for each page. An element is the
/// address of a mapping plus its `size_class`; 0: none. They are a cache of the process and survive sessions.
inline constexpr std::size_t max_kept_blocks = 32;
inline constexpr std::size_t max_bytes_of_kept_blocks = std::size_t{16} << 20U;  ///< maximum sum of their sizes
inline constexpr std::size_t max_bytes_of_kept_block = std::size_t{4} << 20U;
inline std::uintptr_t kept_blocks[max_kept_blocks] = {};
inline std::size_t kept_bytes = 0;

/// The size of a mapping: rounded up to a power of two or one of three sizes between two of them, so that freed mappings are reusable.
/// Pages beyond the wanted size are never touched.
struct size_class {
  std::size_t bytes = 0;
  std::uintptr_t number = 0;  ///< not 0, less than a page

  explicit constexpr size_class(std::size_t wanted) noexcept {
    auto const log2 = static_cast<std::size_t>(63 - __builtin_clzll(wanted - 1));  // wanted > 2^log2
    std::size_t const quarter = std::size_t{1} << (log2 - 2);
    bytes = (wanted + quarter - 1) / quarter * quarter;
    number = 4 * log2 + (bytes >> (log2 - 2)) - 4;
  }
};

/// @return a kept mapping; null if there is none of this size.
[[nodiscard]] inline void* take_kept_block(size_class const& wanted) noexcept {
  if (__atomic_load_n(&kept_bytes, __ATOMIC_RELAXED) < wanted.bytes) return nullptr;
  for (std::uintptr_t& each : kept_blocks) {
    std::uintptr_t known = __atomic_load_n(&each, __ATOMIC_RELAXED);
    if (known % 4096 != wanted.number) continue;
    if (!__atomic_compare_exchange_n(&each, &known, std::uintptr_t{0}, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) continue;
    __atomic_fetch_sub(&kept_bytes, wanted.bytes, __ATOMIC_RELAXED);
    return reinterpret_cast<void*>(known - wanted.number);
  }
  return nullptr;
}

[[nodiscard]] inline bool keep_block(void* memory, size_class const& mapped) noexcept {
  if (mapped.bytes > max_bytes_of_kept_block) return false;
  if (__atomic_add_fetch(&kept_bytes, mapped.bytes, __ATOMIC_RELAXED) <= max_bytes_of_kept_blocks) {
    for (std::uintptr_t& each : kept_blocks) {
      std::uintptr_t none = 0;
      std::uintptr_t const word = reinterpret_cast<std::uintptr_t>(memory) + mapped.number;
      if (__atomic_compare_exchange_n(&each, &none, word, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) return true;
    }
  }
  __atomic_fetch_sub(&kept_bytes, mapped.bytes, __ATOMIC_RELAXED);
  return false;
}

/// @param bytes at least `min_mapped_bytes`.
/// @throws std::bad_alloc if the system has no memory, or the process has reached a limit.
[[nodiscard]] inline void* map_block(std::size_t bytes) {
  size_class const wanted{bytes};
  void* memory = take_kept_block(wanted);
  if (memory == nullptr) memory = ::mmap(nullptr, wanted.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc{};
  if (__lsan_register_root_region != nullptr) __lsan_register_root_region(memory, wanted.bytes);
  return memory;
}

/// @param bytes as passed to `map_block`.
inline void unmap_block(void* memory, std::size_t bytes) noexcept {
  size_class const mapped{bytes};
  if (__lsan_unregister_root_region != nullptr) __lsan_unregister_root_region(memory, mapped.bytes);
  if (!keep_block(memory, mapped)) ::munmap(memory, mapped.bytes);
}

inline constexpr std::size_t max_bytes_of_block = PTRDIFF_MAX;

/// Allocates blocks of `min_mapped_bytes` and more as mappings, and smaller ones from the heap.
template <class T>
class block_allocator {
 public:
  using value_type = T;
  using is_always_equal = std::true_type;

  constexpr block_allocator() noexcept = default;
  template <class U>
  constexpr block_allocator(block_allocator<U> const&) noexcept {}

  /// @throws std::bad_alloc
  [[nodiscard]] T* allocate(std::size_t count) {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    if (count > max_bytes_of_block / bytes_of(1)) throw std::bad_alloc{};
    std::size_t const bytes = bytes_of(count);
    if (bytes >= min_mapped_bytes) return static_cast<T*>(map_block(bytes));
    return static_cast<T*>(::operator new(bytes));
  }

  void deallocate(T* memory, std::size_t count) noexcept {
    if (std::size_t const bytes = bytes_of(count); bytes >= min_mapped_bytes) {
      unmap_block(memory, bytes);
    } else {
      ::operator delete(memory);
    }
  }

  template <class U>
  friend constexpr bool operator==(block_allocator const&, block_allocator<U> const&) noexcept {
    return true;
  }
  template <class U>
  friend constexpr bool operator!=(block_allocator const&, block_allocator<U> const&) noexcept {
    return false;
  }

 private:
  // NOLINTNEXTLINE(bugprone-sizeof-expression): also of pointers
  static constexpr std::size_t bytes_of(std::size_t count) noexcept { return count * sizeof(T); }
};

/// A vector whose large blocks are mappings. Programs may read and fill it as a `std::vector<T>`, into which it converts by copying.
template <class T>
class own_vector : public std::vector<T, block_allocator<T>> {
  using base = std::vector<T, block_allocator<T>>;
  using of_program = std::vector<T>;

 public:
  using base::base;
  own_vector() = default;
  own_vector(of_program list) : base(std::make_move_iterator(list.begin()), std::make_move_iterator(list.end())) {}
  operator of_program() const { return of_program(this->begin(), this->end()); }

  friend bool operator==(own_vector const& a, own_vector const& b) { return static_cast<base const&>(a) == static_cast<base const&>(b); }
  friend bool operator!=(own_vector const& a, own_vector const& b) { return !(a == b); }
  friend bool operator==(own_vector const& a, of_program const& b) { return a == own_vector(b); }
  friend bool operator!=(own_vector const& a, of_program const& b) { return !(a == b); }
  friend bool operator==(of_program const& a, own_vector const& b) { return b == a; }
  friend bool operator!=(of_program const& a, own_vector const& b) { return !(b == a); }
};

/// Makes room for one more element, so that the next `push_back` does not allocate. For lists that have to stay as long as another one.
template <class T>
void make_room_for_one(own_vector<T>& list) {
  if (list.size() == list.capacity()) list.reserve(2 * list.size() + 8);
}

/// A string whose large blocks are mappings, for what is written or printed. It converts into `std::string` by copying.
class own_string : public std::basic_string<char, std::char_traits<char>, block_allocator<char>> {
  using base = std::basic_string<char, std::char_traits<char>, block_allocator<char>>;
  template <class Text>
  using if_other = std::enable_if_t<!std::is_base_of_v<base, Text>, int>;

 public:
  using base::base;
  own_string() = default;
  own_string(base text) : base(std::move(text)) {}
  own_string(std::string const& text) : base(text) {}
  operator std::string() const { return std::string(data(), size()); }
  [[nodiscard]] own_string substr(std::size_t begin = 0, std::size_t count = npos) const { return base::substr(begin, count); }

  template <class Text>
  friend own_string operator+(own_string a, Text const& b) {
    a += b;
    return a;
  }
  template <class Text, if_other<Text> = 0>
  friend own_string operator+(Text const& a, own_string const& b) {
    own_string result;
    result += a;
    result += b;
    return result;
  }

  template <class Text, std::enable_if_t<std::is_same_v<Text, std::string>, int> = 0>
  friend bool operator==(own_string const& a, Text const& b) {
    return std::string_view{a} == b;
  }
  template <class Text, std::enable_if_t<std::is_same_v<Text, std::string>, int> = 0>
  friend bool operator==(Text const& a, own_string const& b) {
    return std::string_view{b} == a;
  }
};

}  // namespace PROFKIT_NAMESPACE::detail
