// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "../profile/own_memory.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Finds functions in the symbol table of a 64-bit ELF file.
///
/// Reads the table in pieces and stores none of it, because the tables of large libraries have 100 MB. So a search takes time proportional
/// to the table, about 5 ns per symbol: search for many addresses at once. Validates all numbers in the file.
class elf_symbols {
 public:
  struct function {
    std::string name;           ///< mangled; empty if unknown
    std::uint64_t address = 0;  ///< its beginning, relative to the load address of the module
  };

  /// @param path must contain a slash; otherwise it does not name a file, as for the vDSO.
  explicit elf_symbols(std::string const& path)
      : file_{path.find('/') == std::string::npos ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)} {
    if (file_ < 0) return;
    is_elf_ = read(0, &header_, sizeof header_) && std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 &&
              header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_ident[EI_DATA] == ELFDATA2LSB;
  }
  ~elf_symbols() {
    if (file_ >= 0) ::close(file_);
  }
  elf_symbols(elf_symbols const&) = delete;
  elf_symbols& operator=(elf_symbols const&) = delete;

  /// The descriptor of the open file; negative if it could not be opened.
  [[nodiscard]] int file() const noexcept { return file_; }

  /// Whether the file has these program headers. They differ if the file was replaced since it was loaded.
  [[nodiscard]] bool has_headers(own_vector<Elf64_Phdr> const& loaded) const {
    if (!is_elf_ || header_.e_phnum != loaded.size() || header_.e_phentsize != sizeof(Elf64_Phdr)) return false;
    own_vector<Elf64_Phdr> own(loaded.size());
    return read(header_.e_phoff, own.data(), own.size() * sizeof(Elf64_Phdr)) &&
           std::memcmp(own.data(), loaded.data(), own.size() * sizeof(Elf64_Phdr)) == 0;
  }

  /// Finds the functions that contain addresses, in `.symtab`, or in `.dynsym` if `.symtab` was stripped.
  /// @param addresses relative to the load address of the module, in ascending order.
  /// @return by address.
  [[nodiscard]] own_vector<function> find(own_vector<std::uint64_t> const& addresses) const {
    own_vector<function> result(addresses.size());
    if (!is_elf_ || header_.e_shentsize != sizeof(Elf64_Shdr)) return result;
    own_vector<Elf64_Shdr> sections(header_.e_shnum);
    if (!read(header_.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr))) return result;
    for (std::uint32_t const kind : {std::uint32_t{SHT_SYMTAB}, std::uint32_t{SHT_DYNSYM}}) {
      auto const table =
          std::find_if(sections.begin(), sections.end(), [&](Elf64_Shdr const& each) { return each.sh_type == kind && each.sh_size > 0; });
      if (table == sections.end() || table->sh_link >= sections.size()) continue;
      search(*table, sections[table->sh_link], addresses, result);
      return result;
    }
    return result;
  }

 private:
  struct found {
    Elf64_Sym symbol{};
    std::string name{};
  };

  void search(Elf64_Shdr const& table, Elf64_Shdr const& names, own_vector<std::uint64_t> const& addresses,
              own_vector<function>& result) const {
    own_vector<found> best(addresses.size());
    own_vector<Elf64_Sym> piece;
    std::uint64_t const count = table.sh_size / sizeof(Elf64_Sym);
    constexpr std::uint64_t max_symbols = 4096;  // read at a time
    for (std::uint64_t i = 0; i < count; i += max_symbols) {
      piece.resize(static_cast<std::size_t>(std::min(max_symbols, count - i)));
      if (!read(table.sh_offset + i * sizeof(Elf64_Sym), piece.data(), piece.size() * sizeof(Elf64_Sym))) return;
      for (Elf64_Sym const& each : piece) {
        if (!is_function(each)) continue;
        auto at = std::lower_bound(addresses.begin(), addresses.end(), each.st_value);
        if (at == addresses.end() || *at - each.st_value >= each.st_size) continue;
        std::string const name = name_at(names, each.st_name);
        for (; at != addresses.end() && *at - each.st_value < each.st_size; ++at) {
          found& known = best[static_cast<std::size_t>(at - addresses.begin())];
          if (!name.empty() && is_better(each, name, known)) known = {each, name};
        }
      }
    }
    for (std::size_t i = 0; i < best.size(); ++i) result[i] = {best[i].name, best[i].symbol.st_value};
  }

  static bool is_function(Elf64_Sym const& symbol) noexcept {
    unsigned const type = ELF64_ST_TYPE(symbol.st_info);
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF && symbol.st_size > 0;
  }

  /// Chooses among the symbols at an address, independently of their order: the innermost one, then an exported one, then the shortest
  /// name, which has no decoration.
  static bool is_better(Elf64_Sym const& symbol, std::string const& name, found const& known) {
    if (known.name.empty()) return true;
    if (symbol.st_value != known.symbol.st_value) return symbol.st_value > known.symbol.st_value;
    auto const rank = [](Elf64_Sym const& each) {
      unsigned const bind = ELF64_ST_BIND(each.st_info);
      return bind == STB_GLOBAL ? 2 : bind == STB_WEAK ? 1 : 0;
    };
    if (rank(symbol) != rank(known.symbol)) return rank(symbol) > rank(known.symbol);
    if (name.size() != known.name.size()) return name.size() < known.name.size();
    return name < known.name;
  }

  /// @return empty if the name lies outside the table, or is longer than 4 KiB.
  [[nodiscard]] std::string name_at(Elf64_Shdr const& names, std::uint64_t offset) const {
    constexpr std::size_t longest = 4096;
    if (offset >= names.sh_size) return {};
    std::string text(static_cast<std::size_t>(std::min<std::uint64_t>(longest, names.sh_size - offset)), '\0');
    if (!read(names.sh_offset + offset, &text[0], text.size())) return {};
    std::size_t const end = text.find('\0');
    return end == std::string::npos ? std::string{} : text.substr(0, end);
  }

  /// @return false if the file is too short.
  bool read(std::uint64_t offset, void* to, std::size_t bytes) const {
    if (offset > static_cast<std::uint64_t>(INT64_MAX) - bytes) return false;
    auto* at = static_cast<char*>(to);
    while (bytes > 0) {
      ::ssize_t const got = ::pread(file_, at, bytes, static_cast<::off_t>(offset));
      if (got <= 0) return false;
      at += got;
      offset += static_cast<std::uint64_t>(got);
      bytes -= static_cast<std::size_t>(got);
    }
    return true;
  }

  int file_;
  bool is_elf_ = false;
  Elf64_Ehdr header_{};
};

/// A program or library with executable code in this process.
struct code_module {
  std::string path;                  ///< path of its file
  std::string name;                  ///< file name
  std::uint64_t base = 0;            ///< load address; symbol addresses are relative to it
  std::uint64_t begin = 0;           ///< first address of its executable code
  std::uint64_t end = 0;             ///< end of its executable code
  own_vector<Elf64_Phdr> headers{};  ///< its program headers, to compare them with its file
  bool is_permanent = false;         ///< never unloaded while the program runs
  std::uint64_t unloaded_in = 0;     ///< number of the first scan that did not find it; 0: still loaded

  [[nodiscard]] bool contains(std::uint64_t address) const noexcept { return begin <= address && address < end; }

  /// Whether this module is still loaded and `other` has the same addresses and path.
  [[nodiscard]] bool is_same(code_module const& other) const {
    return unloaded_in == 0 && begin == other.begin && end == other.end && base == other.base && path == other.path;
  }
};

/// The modules of this process, and the modules that were unloaded since the previous round of samples.
///
/// Between a sample and its reading, a module can be unloaded and another one loaded at the same addresses. `find` therefore returns a
/// module only if exactly one module can have contained the address.
class code_modules {
 public:
  /// To be called before the samples of a round are read.
  void begin_round() {
    look();
    window_ = round_;
    round_ = now_;
    auto const is_gone = [&](code_module const& each) { return each.unloaded_in != 0 && each.unloaded_in <= window_.looks; };
    all_.erase(std::remove_if(all_.begin(), all_.end(), is_gone), all_.end());
  }

  /// To be called after the samples of a round are read and before `find`. Takes the lock of the dynamic linker.
  /// @return true if modules were loaded or unloaded while these samples were taken. Pointers to modules are then invalid.
  bool end_round() {
    look();
    return now_.loaded != window_.loaded || now_.unloaded != window_.unloaded;
  }

  /// The module that contained an address when it was sampled. Null if there was none (generated code), or if it is ambiguous.
  [[nodiscard]] code_module const* find(std::uint64_t address) const {
    code_module const* result = nullptr;
    for (code_module const& each : all_) {
      if (!each.contains(address)) continue;
      if (result != nullptr) return nullptr;
      result = &each;
    }
    return result == nullptr || result->is_permanent || !has_hidden() ? result : nullptr;
  }

  /// Whether `find` returns null because the module is ambiguous.
  [[nodiscard]] bool is_uncertain(std::uint64_t address) const {
    return find(address) == nullptr && std::any_of(all_.begin(), all_.end(), [&](auto const& each) { return each.contains(address); });
  }

 private:
  /// The counters of the dynamic linker at one scan.
  struct moment {
    unsigned long long loaded = 0;    ///< number of modules loaded so far
    unsigned long long unloaded = 0;  ///< number of modules unloaded so far
    std::uint64_t seen = 0;           ///< number of unloaded modules that an earlier scan had found
    std::uint64_t looks = 0;          ///< number of scans so far
  };

  /// Whether a module was loaded and unloaded between two scans. Its addresses are unknown, so it may have overlapped another module.
  [[nodiscard]] bool has_hidden() const noexcept { return now_.unloaded - window_.unloaded > now_.seen - window_.seen; }

  /// Scans the modules again if some were loaded or unloaded since the previous scan. Counters and modules are of one moment.
  void look() {
    struct scan {
      moment const& before;
      moment now;
      own_vector<code_module> modules;
      [[nodiscard]] bool is_same() const { return before.looks != 0 && now.loaded == before.loaded && now.unloaded == before.unloaded; }
    } found{now_, now_, {}};
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* into) {
          auto& to = *static_cast<scan*>(into);
          to.now.loaded = info->dlpi_adds;
          to.now.unloaded = info->dlpi_subs;
          if (to.is_same()) return 1;
          add(*info, to.modules);
          return 0;
        },
        &found);
    if (found.is_same()) return;
    now_ = found.now;
    ++now_.looks;
    own_vector<code_module>& loaded = found.modules;
    mark_permanent(loaded);
    for (code_module& each : all_) {
      if (each.unloaded_in != 0) {
        loaded.push_back(std::move(each));
      } else if (std::none_of(loaded.begin(), loaded.end(), [&](code_module const& now) { return now.is_same(each); })) {
        ++now_.seen;
        each.unloaded_in = now_.looks;
        loaded.push_back(std::move(each));
      }
    }
    all_ = std::move(loaded);
    if (now_.looks == 1) window_ = round_ = now_;
  }

  /// Modules up to the dynamic linker were loaded with the program and are never unloaded. Later ones may be unloaded.
  static void mark_permanent(own_vector<code_module>& loaded) {
    std::uint64_t const linker = ::getauxval(AT_BASE);
    auto const last = std::find_if(loaded.begin(), loaded.end(), [&](code_module const& each) { return each.base == linker; });
    for (auto each = loaded.begin(); each != loaded.end() && (last != loaded.end() || each == loaded.begin()); ++each) {
      each->is_permanent = true;
      if (each == last) break;
    }
  }

  static void add(dl_phdr_info const& info, own_vector<code_module>& to) {
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

  moment now_{};
  moment round_{};   ///< counters at the start of the current round
  moment window_{};  ///< counters at the start of the previous round; the samples of this round were taken after it
  own_vector<code_module> all_;
};

}  // namespace PROFKIT_NAMESPACE::detail
