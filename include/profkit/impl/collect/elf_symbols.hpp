// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "../profile/own_memory.hpp"

namespace profkit::detail {

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

}  // namespace profkit::detail
