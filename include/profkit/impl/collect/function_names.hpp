// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "../../profile_builder.hpp"
#include "../profile/own_containers.hpp"
#include "code_modules.hpp"
#include "elf_symbols.hpp"
#include "function_label.hpp"
#include "source_lines.hpp"

namespace profkit::detail {

/// Names the functions of code addresses. Reads the symbol tables of the modules while the program runs. So the names of code that is
/// unloaded later are known, and a journal contains them.
class function_names {
 public:
  function_names() = default;
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
        known->position = into.position_of(function_record{known->name, known->module, {}, known->place.file, known->place.line});
      return *known->position;
    }
    return into.position_of(function_record{{}, known->module, named_caller(callers)});
  }

 private:
  struct known_function {
    std::string name;
    std::string module;
    source_lines::place place;              ///< source position of its beginning
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
      source_lines::place const place = each.name.empty() || is_part ? source_lines::place{} : lines_.find(symbols.file(), each.address);
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

  dwarf_library debug_;
  source_lines lines_{debug_};
  code_modules modules_;
  own_hash_map<std::uint64_t, known_function> names_;  ///< by address
  bool are_of_change_ = false;                         ///< `names_` is for samples taken while modules changed
};

}  // namespace profkit::detail
