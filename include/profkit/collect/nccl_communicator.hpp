// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <new>

#include "../record/collective.hpp"

namespace profkit::detail {

/// Strings of NCCL that describe a collective. They are string literals of its library.
struct nccl_words {
  char const* function;
  char const* datatype;
  char const* algorithm;
  char const* protocol;
};

/// A communicator of NCCL. Never destroyed: logs point to it.
class nccl_communicator {
 public:
  nccl_communicator(char const* name, std::uint64_t id, int ranks, int rank) noexcept
      : group_{copy_of(name), id, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(ranks), 0} {}

  /// The kind of collective with these words. Thread-safe. Allocates for the first collective of a kind.
  /// @return null without memory.
  [[nodiscard]] reported_collective const* kind_of(nccl_words const& words, bool is_captured) noexcept {
    kind* first = __atomic_load_n(&kinds_, __ATOMIC_ACQUIRE);
    for (kind* each = first; each != nullptr; each = each->next) {
      reported_collective const& what = each->what;
      // Equal words of one library have equal addresses.
      if (what.function == words.function && what.datatype == words.datatype && what.algorithm == words.algorithm &&
          what.protocol == words.protocol && what.is_captured == is_captured) {
        return &what;
      }
    }
    auto* const added =
        new (std::nothrow) kind{{&group_, words.function, words.datatype, words.algorithm, words.protocol, is_captured}, first};
    if (added == nullptr) return nullptr;
    keep_library_of(words.function);
    // A thread may add the same kind twice, which changes nothing.
    while (!__atomic_compare_exchange_n(&kinds_, &added->next, added, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    return &added->what;
  }

  /// Adds the communicator to a list, at its head. Thread-safe.
  void put_into(nccl_communicator*& list) noexcept {
    next_ = __atomic_load_n(&list, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&list, &next_, this, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
  }

 private:
  struct kind {
    reported_collective what;
    kind* next;
  };

  static char const* copy_of(char const* name) noexcept {
    char const* const copy = name == nullptr ? nullptr : ::strdup(name);
    return copy == nullptr ? "" : copy;
  }

  /// Keeps the library of a string literal loaded after `dlclose`, because logs point to the literal.
  static void keep_library_of(char const* literal) noexcept {
    ::Dl_info found{};
    bool const is_found = ::dladdr(literal, &found) != 0;
    // For a name without a slash, `dlopen` would search folders.
    if (is_found && __builtin_strchr(found.dli_fname, '/') != nullptr) {
      static_cast<void>(::dlopen(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
    }
  }

  communicator group_;
  kind* kinds_ = nullptr;              ///< list; new elements are added at its head
  nccl_communicator* next_ = nullptr;  ///< next element in the list of all communicators
};

}  // namespace profkit::detail
