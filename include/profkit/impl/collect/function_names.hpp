// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cxxabi.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "../../profile_builder.hpp"
#include "../profile/own_containers.hpp"
#include "../profile/own_memory.hpp"
#include "../record/function_name.hpp"
#include "code_modules.hpp"
#include "opened_libraries.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The C++ name of a symbol, by the C++ runtime: "foo(int)" for `_Z3fooi`; nothing if the symbol is not a mangled name.
///
/// Demangling is recursive, and names can come from any library. So names longer than `max_length` are not demangled. (libstdc++ itself
/// refuses names of more than 1,024 characters; other runtimes have no limit.)
inline std::optional<std::string> demangled_by_runtime(char const* mangled) {
  constexpr std::size_t max_length = 2048;
  if (std::strlen(mangled) > max_length) return std::nullopt;
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> const text{abi::__cxa_demangle(mangled, nullptr, nullptr, &status), std::free};
  if (status != 0 || text == nullptr) return std::nullopt;
  return text.get();
}

/// The qualified name of a function without result, parameters and template arguments: "layer::exp_loop" for "_ZN5layer8exp_loopEPfi".
/// Overloads and instances of a template have the same label.
/// @param mangled the name of its symbol; names of other languages are returned unchanged.
inline std::string function_label(std::string const& mangled) {
  std::optional<std::string> const demangled = demangled_by_runtime(mangled.c_str());
  if (!demangled) {
    std::size_t const suffix = mangled.find('.', 1);  // suffix of a part that the compiler split off, such as ".cold" or ".part.0"
    return suffix == std::string::npos ? mangled : mangled.substr(0, suffix);
  }
  std::string text = *demangled;
  std::size_t const clone = text.find(" [clone ");
  if (clone != std::string::npos) text.resize(clone);
  if (text.find("operator") != std::string::npos) return text;
  char const* const all = text.c_str();
  char const* const end = end_of_name(all, all + text.size());
  char const* begin = end;
  int depth = 0;
  for (; begin != all && !(depth == 0 && begin[-1] == ' '); --begin) depth += closes(begin[-1]) ? 1 : opens(begin[-1]) ? -1 : 0;
  return begin == end ? text : std::string(begin, end);
}

/// The functions of libdw (elfutils) that profkit needs to read DWARF debug information. Opened at run time, so that programs do not depend
/// on it. Declared here, because its headers are seldom installed. Source: `elfutils/libdw.h`, whose symbols are versioned and stay
/// compatible.
class dwarf_library {
  void* library_;
  std::string why_not_ = library_ == nullptr ? "libdw.so.1 (elfutils) cannot be opened" : "";

 public:
  using dwarf = void;  ///< Dwarf
  using line = void;   ///< Dwarf_Line
  using lines = void;  ///< Dwarf_Lines
  /// Dwarf_Die
  struct die {
    void* address;
    void* unit;
    void* abbreviation;
    long padding;
  };

  /// @param library the result of `dlopen`; never closed.
  explicit dwarf_library(void* library = ::dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL)) : library_{library} {}

  // The functions, named as in libdw.h without `dwarf_`.
  dwarf* (*begin)(int file, int command) = function("dwarf_begin");
  int (*end)(dwarf*) = function("dwarf_end");
  int (*nextcu)(dwarf*, std::uint64_t offset, std::uint64_t* next, std::size_t* header_bytes, std::uint64_t* abbreviations,
                std::uint8_t* address_bytes, std::uint8_t* offset_bytes) = function("dwarf_nextcu");
  die* (*offdie)(dwarf*, std::uint64_t offset, die*) = function("dwarf_offdie");
  std::ptrdiff_t (*ranges)(die*, std::ptrdiff_t offset, std::uint64_t* base, std::uint64_t* begin,
                           std::uint64_t* end) = function("dwarf_ranges");
  int (*getsrclines)(die* unit, lines**, std::size_t* count) = function("dwarf_getsrclines");
  line* (*onesrcline)(lines*, std::size_t) = function("dwarf_onesrcline");
  int (*lineaddr)(line*, std::uint64_t* address) = function("dwarf_lineaddr");
  int (*lineendsequence)(line*, bool*) = function("dwarf_lineendsequence");
  int (*lineno)(line*, int* number) = function("dwarf_lineno");
  char const* (*linesrc)(line*, std::uint64_t* modified, std::uint64_t* bytes) = function("dwarf_linesrc");

  /// Why the library cannot be used; empty if it can.
  [[nodiscard]] std::string const& why_not() const noexcept { return why_not_; }

 private:
  library_function function(char const* name) {
    library_function const result{library_, name};
    if (library_ != nullptr && !result) why_not_ = std::string{"libdw.so.1 has no "} + name;
    return result;
  }
};

/// Finds source lines of functions and instructions, in the debug information of a program or library (`-g` or `-g1`). Separate debug files
/// are not searched.
///
/// Keeps files with debug information open, because reading a list of compilation units takes some microseconds per unit. Not thread-safe.
class source_lines {
 public:
  struct place {
    std::string file;        ///< as it was passed to the compiler; empty if unknown
    std::uint32_t line = 0;  ///< from 1; 0 if unknown
  };

  /// @param library must outlive this.
  explicit source_lines(dwarf_library const& library) : library_{library} {}
  source_lines(source_lines const&) = delete;
  source_lines& operator=(source_lines const&) = delete;

  /// @param file an open ELF file.
  /// @param address beginning of a function, or any instruction, relative to the load address of the module.
  [[nodiscard]] place find(int file, std::uint64_t address, bool is_beginning = true) {
    if (!library_.why_not().empty()) return {};
    module const* const found = module_of(file);
    return found == nullptr ? place{} : found->find(address, is_beginning);
  }

 private:
  class module {
   public:
    /// @param file remains owned by the caller.
    module(dwarf_library const& library, int file, struct stat const& identity) :library_{library}, identity_{identity},
        file_{::fcntl(file, F_DUPFD_CLOEXEC, 0)}, debug_{file_ < 0 ? nullptr : library.begin(file_, 0)} {
      if (debug_ != nullptr) list_units();
      if (units_.empty()) close();
    }
    module(module const&) = delete;
    module& operator=(module const&) = delete;
    ~module() { close(); }

    [[nodiscard]] bool is_of(struct stat const& file) const noexcept {
      return identity_.st_dev == file.st_dev && identity_.st_ino == file.st_ino && identity_.st_size == file.st_size &&
             identity_.st_mtim.tv_sec == file.st_mtim.tv_sec && identity_.st_mtim.tv_nsec == file.st_mtim.tv_nsec;
    }

    [[nodiscard]] place find(std::uint64_t address, bool is_beginning) const {
      auto at = std::upper_bound(units_.begin(), units_.end(), address,
                                 [](std::uint64_t wanted, range const& each) { return wanted < each.begin; });
      if (at == units_.begin() || address >= (--at)->end) return {};
      dwarf_library::die unit{};
      if (library_.offdie(debug_, at->unit, &unit) == nullptr) return {};
      dwarf_library::line* const line = line_at(unit, address, is_beginning);
      int number = 0;
      if (line == nullptr || library_.lineno(line, &number) != 0 || number <= 0) return {};
      char const* const file = library_.linesrc(line, nullptr, nullptr);
      return file == nullptr ? place{} : place{file, static_cast<std::uint32_t>(number)};
    }

   private:
    /// An address may have several lines. The first line belongs to the function, the others to functions inlined at its beginning. So an
    /// instruction has the last line.
    [[nodiscard]] dwarf_library::line* line_at(dwarf_library::die& unit, std::uint64_t address, bool is_beginning) const {
      dwarf_library::lines* all = nullptr;
      std::size_t count = 0;
      if (library_.getsrclines(&unit, &all, &count) != 0) return nullptr;
      std::uint64_t found = 0;
      std::size_t begin = 0;  // first line at the beginning or after it, or after the instruction; lines are sorted
      for (std::size_t end = count; begin < end;) {
        std::size_t const middle = begin + (end - begin) / 2;
        if (library_.lineaddr(library_.onesrcline(all, middle), &found) != 0) return nullptr;
        bool const is_before = is_beginning ? found < address : found <= address;
        (is_before ? begin : end) = is_before ? middle + 1 : middle;
      }
      if (!is_beginning && begin > 0 && library_.lineaddr(library_.onesrcline(all, --begin), &address) != 0) return nullptr;
      for (; begin < count; ++begin) {
        dwarf_library::line* const line = library_.onesrcline(all, begin);
        bool is_end = false;  // end of the preceding code
        if (library_.lineaddr(line, &found) != 0 || found != address) return nullptr;
        if (library_.lineendsequence(line, &is_end) == 0 && !is_end) return line;
      }
      return nullptr;
    }

    /// A code range of a compilation unit.
    struct range {
      std::uint64_t begin;
      std::uint64_t end;
      std::uint64_t unit;  ///< offset of the unit's description
    };

    void close() noexcept {
      if (debug_ != nullptr) library_.end(debug_);
      if (file_ >= 0) ::close(file_);
      debug_ = nullptr;
      file_ = -1;
    }

    void list_units() {
      std::uint64_t next = 0;
      std::size_t header_bytes = 0;
      for (std::uint64_t at = 0; library_.nextcu(debug_, at, &next, &header_bytes, nullptr, nullptr, nullptr) == 0 && next > at;
           at = next) {
        dwarf_library::die unit{};
        if (library_.offdie(debug_, at + header_bytes, &unit) == nullptr) continue;
        range each{0, 0, at + header_bytes};
        std::uint64_t base = 0;
        for (std::ptrdiff_t k = 0; (k = library_.ranges(&unit, k, &base, &each.begin, &each.end)) > 0;) {
          if (each.begin < each.end && each.begin != 0) units_.push_back(each);  // 0: the linker has removed the code
        }
      }
      std::sort(units_.begin(), units_.end(), [](range const& a, range const& b) { return a.begin < b.begin; });
    }

    dwarf_library const& library_;
    struct stat identity_;
    int file_;
    dwarf_library::dwarf* debug_;
    own_vector<range> units_;  ///< by address
  };

  [[nodiscard]] module const* module_of(int file) {
    struct stat identity {};
    if (::fstat(file, &identity) != 0) return nullptr;
    for (auto const& each : modules_) {
      if (each->is_of(identity)) return each.get();
    }
    return modules_.emplace_back(std::make_unique<module>(library_, file, identity)).get();
  }

  dwarf_library const& library_;
  own_vector<std::unique_ptr<module>> modules_;
};

/// Names the functions of code addresses. Reads the symbol tables of the modules while the program runs. So the names of code that is
/// unloaded later are known, and a journal contains them.
class function_names {
 public:
  function_names() = default;
  /// @param has_lines functions have the line of the instruction instead of the line in which they begin.
  explicit function_names(bool has_lines) : has_lines_{has_lines} {}
  function_names(function_names const&) = delete;
  function_names& operator=(function_names const&) = delete;

  /// Why source lines cannot be found; empty if they can be found in modules with debug information.
  [[nodiscard]] std::string const& why_no_lines() const noexcept { return debug_.why_not(); }

  /// To be called before the samples of a round are read.
  void begin_round() { modules_.begin_round(); }

  /// To be called after the samples of a round were read, before their addresses are looked up.
  /// @param addresses all addresses of the samples, in any order.
  void learn(own_vector<std::uint64_t> addresses) {
    bool const have_changed = modules_.end_round();
    if (have_changed || are_of_change_ || names_.size() > max_known) names_.clear();
    are_of_change_ = have_changed;
    std::sort(addresses.begin(), addresses.end());
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    std::map<code_module const*, own_vector<std::uint64_t>> unknown;
    for (std::uint64_t const each : addresses) {
      if (names_.count(each) != 0) continue;
      code_module const* const module = modules_.find(each);
      if (module != nullptr) unknown[module].push_back(each);
      if (module == nullptr && modules_.is_uncertain(each)) names_[each] = {{}, replaced_module, {}, {}};
    }
    for (auto& [module, wanted] : unknown) learn(*module, wanted);
  }

  /// The function of a sample.
  /// @param leaf the address that the thread executed.
  /// @param callers addresses in its callers, nearest first; addresses that are not code are skipped.
  std::uint32_t function_of(std::uint64_t leaf, own_vector<std::uint64_t> const& callers, profile_builder& into) {
    known_function* const known = known_at(leaf);
    if (known == nullptr) return into.position_of(function_record{{}, {}, named_caller(callers)});
    if (!known->name.empty()) {
      if (!known->position)
        known->position =
            into.position_of(function_record{known->name, known->module, {}, known->place.file, known->place.line}, has_lines_);
      return *known->position;
    }
    return into.position_of(function_record{{}, known->module, named_caller(callers)});
  }

 private:
  struct known_function {
    std::string name;
    std::string module;
    source_lines::place place;              ///< source position of its beginning, or of the instruction
    std::optional<std::uint32_t> position;  ///< position in `profile::functions`
  };

  /// Shown in place of the name of a module.
  static constexpr char const* replaced_module = "a library that was unloaded or replaced";
  static constexpr std::size_t max_known = 65'536;  ///< maximum number of addresses; beyond it, the table is cleared

  void learn(code_module const& module, own_vector<std::uint64_t> const& wanted) {
    own_vector<std::uint64_t> relative;
    relative.reserve(wanted.size());
    for (std::uint64_t const each : wanted) relative.push_back(each - module.base);
    elf_symbols const symbols{module.path};
    own_vector<elf_symbols::function> found(wanted.size());
    if (symbols.has_headers(module.headers)) found = symbols.find(relative);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      elf_symbols::function const& each = found[i];
      bool const is_part = each.name.find(".cold") != std::string::npos || each.name.find(".part.") != std::string::npos;
      source_lines::place place;
      if (has_lines_ && !each.name.empty()) place = lines_.find(symbols.file(), relative[i], false);
      if (!has_lines_ && !each.name.empty() && !is_part) place = lines_.find(symbols.file(), each.address);
      names_[wanted[i]] = {each.name.empty() ? std::string{} : function_label(each.name), module.name, place, {}};
    }
  }

  [[nodiscard]] known_function* known_at(std::uint64_t address) {
    auto const found = names_.find(address);
    return found == names_.end() ? nullptr : &found->second;
  }

  [[nodiscard]] std::string named_caller(own_vector<std::uint64_t> const& callers) {
    for (std::uint64_t const each : callers) {
      known_function const* const known = known_at(each);
      if (known != nullptr && !known->name.empty()) return known->name;
    }
    return {};
  }

  bool has_lines_ = false;
  dwarf_library debug_;
  source_lines lines_{debug_};
  code_modules modules_;
  own_hash_map<std::uint64_t, known_function> names_;  ///< by address
  bool are_of_change_ = false;                         ///< `names_` is for samples taken while modules changed
};

}  // namespace PROFKIT_NAMESPACE::detail
