// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder.hpp"
#include "scope.hpp"

namespace PROFKIT_NAMESPACE {

namespace detail {

/// The sites of names that are known at run time only. Entries are never removed, because logs point to them. A lock-free hash table with
/// open addressing in zero-initialised memory: it never allocates. Two threads that add the same name at once may add it twice; the scopes
/// have the same path.
struct site_table {
  static constexpr std::uint64_t size = 1U << 14U;
  static constexpr std::uint64_t max_names = size / 2;
  static constexpr std::uint64_t text_bytes = std::uint64_t{1} << 20U;
  static constexpr std::size_t max_length = 1023;  ///< longer names are cut

  enum : std::uint32_t { is_free = 0, in_the_making = 1, is_made = 2 };

  struct entry {
    std::uint32_t state;
    std::uint32_t length;
    std::uint64_t hash;
    site where;
  };

  std::uint64_t names;
  std::uint64_t used_bytes;
  std::uint64_t refused;  ///< number of names, with repetitions, that found no room
  entry entries[size];
  char text[text_bytes];

  /// Mixes eight bytes at a time.
  [[nodiscard]] static std::uint64_t hash_of(char const* name, std::size_t length, std::uint64_t seed) noexcept {
    std::uint64_t hash = seed ^ length * 0x9e3779b97f4a7c15U;
    std::uint64_t word = 0;
    for (; length >= sizeof word; name += sizeof word, length -= sizeof word) {
      __builtin_memcpy(&word, name, sizeof word);
      hash = (hash ^ word) * 0xbf58476d1ce4e5b9U;
      hash ^= hash >> 32U;
    }
    word = 0;
    __builtin_memcpy(&word, name, length);
    hash = (hash ^ word) * 0xbf58476d1ce4e5b9U;
    return hash ^ hash >> 32U;
  }

  /// As below, for a text that ends with a zero. @param name null, which other languages may pass, is an empty one.
  [[nodiscard]] site& find(char const* name) noexcept { return name == nullptr ? find("", 0) : find(name, __builtin_strlen(name)); }

  /// Finds the site of a name or adds it. @param file shown as the place of the name; a string literal, or one that is never freed.
  /// @return the site of further names if there is no room.
  [[nodiscard]] site& find(char const* name, std::size_t length, char const* file = "") noexcept {
    if (__builtin_expect(length > max_length, 0)) length = max_length;
    std::uint64_t const hash = hash_of(name, length, reinterpret_cast<std::uintptr_t>(file));
    for (std::uint64_t probe = 0; probe < size; ++probe) {
      entry& each = entries[(hash + probe) % size];
      std::uint32_t const state = __atomic_load_n(&each.state, __ATOMIC_ACQUIRE);
      if (state == is_free) {
        if (site* const added = add(each, name, length, file, hash)) return *added;
        if (__atomic_load_n(&each.state, __ATOMIC_ACQUIRE) == is_free) break;  // there is no room
      } else if (state == is_made && each.hash == hash && each.length == length && each.where.file == file &&
                 __builtin_memcmp(each.where.name, name, length) == 0) {
        return each.where;
      }
    }
    __atomic_fetch_add(&refused, std::uint64_t{1}, __ATOMIC_RELAXED);
    static site further{"(further names)", "", 0};
    return further;
  }

 private:
  /// @return null if there is no room, or another thread has taken the entry.
  [[nodiscard]] site* add(entry& into, char const* name, std::size_t length, char const* file, std::uint64_t hash) noexcept {
    if (__atomic_load_n(&names, __ATOMIC_RELAXED) >= max_names) return nullptr;
    if (__atomic_load_n(&used_bytes, __ATOMIC_RELAXED) + length + 1 > text_bytes) return nullptr;
    std::uint32_t state = is_free;
    if (!__atomic_compare_exchange_n(&into.state, &state, std::uint32_t{in_the_making}, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return nullptr;
    std::uint64_t const at = __atomic_fetch_add(&used_bytes, length + 1, __ATOMIC_RELAXED);
    if (at + length + 1 > text_bytes) {  // another thread took the rest; the entry stays unused
      __atomic_store_n(&used_bytes, text_bytes, __ATOMIC_RELAXED);
      return nullptr;
    }
    __atomic_fetch_add(&names, std::uint64_t{1}, __ATOMIC_RELAXED);
    __builtin_memcpy(text + at, name, length);
    text[at + length] = '\0';
    into.hash = hash;
    into.length = static_cast<std::uint32_t>(length);
    into.where.name = length == 0 ? "(no name)" : text + at;
    into.where.file = file;
    __atomic_store_n(&into.state, std::uint32_t{is_made}, __ATOMIC_RELEASE);
    return &into.where;
  }
};

/// One for each module, as sites are.
inline site_table sites_by_name{};

/// A scope that another language, or a tool, keeps as a number.
class kept_scope : private scope {
 public:
  /// @return the word of the scope; 0 without a session.
  [[nodiscard]] static open_scope_word begin(site& where, std::int64_t const* index = nullptr) noexcept {
    std::uint32_t const flags = flags_with_what_is_installed();
    kept_scope opened;
    if (index == nullptr) {
      opened.scope::begin(flags, where);
    } else {
      opened.scope::begin(flags, where, event_kind::enter_indexed, static_cast<std::uint64_t>(*index));
    }
    return opened.release();
  }

  /// @param name null is an empty one.
  [[nodiscard]] static open_scope_word begin(char const* name, std::int64_t const* index) noexcept {
    return flags_with_what_is_installed() == 0 ? 0 : begin(sites_by_name.find(name), index);
  }

  static void end(open_scope_word open) noexcept {
    if (open != 0) scope::end(open);
  }

 private:
  kept_scope() = default;
};

}  // namespace detail

/// @brief A scope whose name is known at run time only: `profkit::named_scope scope{operator_name};`.
///
/// Costs a scope and a look-up in a hash table; without a session and a tool, one load and a branch. The name is copied at its first use.
/// Neither allocates nor locks. A process can have 8,192 such names, of 1 MiB in all; scopes with further names are in the row
/// "(further names)". A name that never changes belongs into `PROF_SCOPE`. Threads and errors: see `scope`. `PROFKIT_DISABLE` has no
/// effect on it, because it is no macro.
class named_scope : private scope {
 public:
  /// @brief Begins the scope.
  /// @param name ends with a zero; may be changed or freed afterwards.
  [[nodiscard]] explicit named_scope(char const* name) noexcept {
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_ACQUIRE);
    if (__builtin_expect(flags != 0, 0)) begin(flags, detail::sites_by_name.find(name, __builtin_strlen(name)));
  }

  /// @brief Begins a scope with an index, shown as `name_index`.
  /// @param name as above.
  /// @param index stored as a number.
  [[nodiscard]] named_scope(char const* name, std::int64_t index) noexcept {
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_ACQUIRE);
    if (__builtin_expect(flags != 0, 0)) {
      begin(flags, detail::sites_by_name.find(name, __builtin_strlen(name)), detail::event_kind::enter_indexed,
            static_cast<std::uint64_t>(index));
    }
  }

  /// @brief Begins the scope. @param name a string with `data` and `size`, such as `std::string` and `std::string_view`.
  template <class String, class = decltype(static_cast<char const*>(String{}.data()))>
  [[nodiscard]] explicit named_scope(String const& name) noexcept {
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_ACQUIRE);
    if (__builtin_expect(flags != 0, 0)) begin(flags, detail::sites_by_name.find(name.data(), name.size()));
  }
};

}  // namespace PROFKIT_NAMESPACE
