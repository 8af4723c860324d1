// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>
#include <link.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace profkit::detail {

/// A program or library with executable code in this process.
struct code_module {
  std::string path;         ///< of its file
  std::string name;         ///< the last part of the path
  std::uint64_t base = 0;   ///< load address: what the addresses of its symbols are relative to
  std::uint64_t begin = 0;  ///< of its executable code
  std::uint64_t end = 0;
  std::vector<Elf64_Phdr> headers{};  ///< its program headers, to compare them with its file

  [[nodiscard]] bool contains(std::uint64_t address) const noexcept { return begin <= address && address < end; }
};

/// The modules of this process, also those that were unloaded, as long as nothing else is loaded in their place.
class code_modules {
 public:
  /// Lists the modules again if some were loaded or unloaded since the last call. Takes the lock of the dynamic linker.
  /// @return whether the list has changed; positions of modules are then invalid.
  bool update() {
    std::pair<unsigned long long, unsigned long long> now{};
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* to) {
          *static_cast<decltype(now)*>(to) = {info->dlpi_adds, info->dlpi_subs};
          return 1;
        },
        &now);
    if (now == changes_) return false;
    changes_ = now;
    std::vector<code_module> loaded;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* to) {
          add(*info, *static_cast<std::vector<code_module>*>(to));
          return 0;
        },
        &loaded);
    std::size_t const now_loaded = loaded.size();
    for (code_module& before : all_) {
      auto const last = loaded.begin() + static_cast<std::ptrdiff_t>(now_loaded);
      auto const overlaps = [&](code_module const& each) { return each.begin < before.end && before.begin < each.end; };
      if (std::none_of(loaded.begin(), last, overlaps)) loaded.push_back(std::move(before));
    }
    std::sort(loaded.begin(), loaded.end(), [](code_module const& a, code_module const& b) { return a.begin < b.begin; });
    all_ = std::move(loaded);
    return true;
  }

  /// The module that contains an address; null if none does, as for code that the program generates.
  [[nodiscard]] code_module const* find(std::uint64_t address) const {
    auto const after =
        std::upper_bound(all_.begin(), all_.end(), address, [](std::uint64_t at, code_module const& each) { return at < each.begin; });
    if (after == all_.begin()) return nullptr;
    code_module const& found = *std::prev(after);
    return found.contains(address) ? &found : nullptr;
  }

 private:
  static void add(dl_phdr_info const& info, std::vector<code_module>& to) {
    code_module result;
    for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
      ElfW(Phdr) const& each = info.dlpi_phdr[i];
      if (each.p_type != PT_LOAD || (each.p_flags & PF_X) == 0) continue;
      std::uint64_t const begin = info.dlpi_addr + each.p_vaddr;
      result.begin = result.end == 0 ? begin : std::min(result.begin, begin);
      result.end = std::max(result.end, begin + each.p_memsz);
    }
    if (result.begin == result.end) return;
    if constexpr (std::is_same_v<ElfW(Phdr), Elf64_Phdr>) {
      auto const* const first = reinterpret_cast<Elf64_Phdr const*>(info.dlpi_phdr);
      result.headers.assign(first, first + info.dlpi_phnum);
    }
    result.base = info.dlpi_addr;
    std::string const path = info.dlpi_name == nullptr ? "" : info.dlpi_name;
    result.path = path.empty() ? own_program : path;
    std::string const file = path.empty() ? target_of(own_program) : path;
    result.name = file.substr(file.rfind('/') + 1);
    to.push_back(std::move(result));
  }

  static std::string target_of(char const* link) {
    char text[4096];
    ::ssize_t const length = ::readlink(link, text, sizeof text);
    return length <= 0 ? "program" : std::string(text, static_cast<std::size_t>(length));
  }

  static constexpr char const* own_program = "/proc/self/exe";

  std::pair<unsigned long long, unsigned long long> changes_{};  ///< numbers of modules loaded and unloaded so far
  std::vector<code_module> all_;                                 ///< by address
};

}  // namespace profkit::detail
