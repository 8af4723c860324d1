// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/collect/function_names.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <profkit/profile_builder.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace named {

__attribute__((noinline)) int some_function(int value) {
  asm volatile("" : "+r"(value));
  return value + 1;
}

}  // namespace named

namespace {

template <class Function>
std::uint64_t inside(Function* function) {
  return reinterpret_cast<std::uintptr_t>(function) + 1;
}

struct named_functions {
  explicit named_functions(bool has_lines = false) : names{has_lines} {}

  profkit::profile_builder into;
  profkit::detail::function_names names;
};

profkit::function_record function_at(named_functions& named, std::uint64_t address, std::vector<std::uint64_t> const& callers = {}) {
  std::vector<std::uint64_t> all = callers;
  all.push_back(address);
  named.names.learn(all);
  return named.into.so_far().functions.at(named.names.function_of(address, callers, named.into));
}

}  // namespace

TEST_CASE("functions have qualified names without results, parameters and template arguments", "[function_names]") {
  using profkit::detail::function_label;
  CHECK(function_label("_ZN5layer8exp_loopEPfi") == "layer::exp_loop");
  CHECK(function_label("_ZNK5layer8exp_loopEv") == "layer::exp_loop");
  CHECK(function_label("_ZN5layer5thirdIiEEvT_") == "layer::third");
  CHECK(function_label("_ZN12_GLOBAL__N_13runEv") == "(anonymous namespace)::run");
  CHECK(function_label("_ZN12_GLOBAL__N_13runEv.constprop.0") == "(anonymous namespace)::run");
  CHECK(function_label("_ZZ4mainENKUlvE_clEv") == "main::{lambda()#1}::operator()() const");
  CHECK(function_label("_Znwm") == "operator new(unsigned long)");
  CHECK(function_label("memcpy") == "memcpy");
  CHECK(function_label("loop.cold") == "loop");
  CHECK(function_label("_ZTV") == "_ZTV");
  std::string const deep = "_Z1f" + std::string(1'000'000, 'P') + "i";  // a pointer to a pointer to ...
  CHECK((function_label(deep) == deep));
  CHECK(function_label("") == "");
}

TEST_CASE("functions of a module with debug information have the line where they begin", "[function_names]") {
  void* const library = ::dlopen(SAMPLED_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  named_functions names;
  profkit::function_record const first = function_at(names, reinterpret_cast<std::uintptr_t>(::dlsym(library, "sampled_first")) + 1);
  profkit::function_record const second = function_at(names, reinterpret_cast<std::uintptr_t>(::dlsym(library, "sampled_second")) + 1);
  ::dlclose(library);
  if (!names.names.why_no_lines().empty()) SKIP(names.names.why_no_lines());
  CHECK(std::filesystem::path{first.file}.filename() == "sampled_library.cpp");
  CHECK(first.line == 10);
  CHECK(second.line == 15);
  CHECK(function_at(names, reinterpret_cast<std::uintptr_t>(::dlsym(RTLD_DEFAULT, "getenv")) + 1).line == 0);
}

TEST_CASE("an instruction has its own line, inside its function", "[function_names]") {
  void* const library = ::dlopen(SAMPLED_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  named_functions names{true};
  std::set<std::uint32_t> lines;
  std::size_t known = 0;
  std::size_t unknown = 0;  // line 0: compilers add instructions, such as those of sanitizers
  auto const begin = reinterpret_cast<std::uintptr_t>(::dlsym(library, "sampled_first"));
  for (std::uintptr_t offset = 0; offset < 4096; ++offset) {
    profkit::function_record const found = function_at(names, begin + offset);
    if (found.name != "sampled_first") break;
    ++(found.line == 0 ? unknown : known);
    if (found.line != 0) lines.insert(found.line);
  }
  ::dlclose(library);
  if (!names.names.why_no_lines().empty()) SKIP(names.names.why_no_lines());
  CHECK(unknown < known);
  CHECK(lines.size() > 1);
  CHECK(*lines.begin() == 10);
  CHECK(*lines.rbegin() <= 13);
}

TEST_CASE("without libdw there are no source lines, and the reason is known", "[function_names]") {
  profkit::detail::dwarf_library const none{nullptr};
  CHECK(none.why_not() == "libdw.so.1 (elfutils) cannot be opened");
  profkit::detail::dwarf_library const another{::dlopen("libc.so.6", RTLD_NOW | RTLD_LOCAL)};
  CHECK(another.why_not().find("libdw.so.1 has no dwarf_") == 0);
  profkit::detail::source_lines lines{none};
  CHECK(lines.find(0, 4096).file.empty());
}

TEST_CASE("files without debug information, and addresses outside any unit, have no source line", "[function_names]") {
  profkit::detail::dwarf_library const library;
  if (!library.why_not().empty()) SKIP(library.why_not());
  profkit::detail::source_lines lines{library};
  profkit::detail::elf_symbols const symbols{SAMPLED_LIBRARY};
  CHECK(lines.find(symbols.file(), 0).line == 0);
  CHECK(lines.find(symbols.file(), ~std::uint64_t{0}).line == 0);
  CHECK(lines.find(-1, 4096).line == 0);
  int const no_elf = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  CHECK(lines.find(no_elf, 4096).line == 0);
  ::close(no_elf);
}

TEST_CASE("code without a name gets its module and the nearest named caller", "[function_names]") {
  named_functions names;
  static int const no_code = 0;
  std::uint64_t const nowhere = reinterpret_cast<std::uintptr_t>(&no_code);
  std::uint64_t const on_stack = reinterpret_cast<std::uintptr_t>(&names);
  profkit::function_record const unknown = function_at(names, on_stack, {nowhere, 1, inside(&named::some_function), inside(&std::abort)});
  CHECK(unknown.name.empty());
  CHECK(unknown.module.empty());
  CHECK(unknown.caller == "named::some_function");
}

TEST_CASE("a damaged symbol table gives names or none, and a file that was replaced gives none", "[function_names]") {
  void* const library = ::dlopen(SAMPLED_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  Dl_info where{};
  REQUIRE(::dladdr(::dlsym(library, "sampled_first"), &where) != 0);
  std::uint64_t const address = reinterpret_cast<std::uintptr_t>(where.dli_saddr) - reinterpret_cast<std::uintptr_t>(where.dli_fbase);
  std::ifstream from{where.dli_fname, std::ios::binary};
  std::string const bytes{std::istreambuf_iterator<char>{from}, {}};
  ::dlclose(library);
  std::string const file = std::filesystem::temp_directory_path() / ("profkit_damaged_" + std::to_string(::getpid()));
  auto const find = [&](std::string const& content) {
    std::ofstream{file, std::ios::binary} << content;
    profkit::detail::elf_symbols const symbols{file};
    CHECK_FALSE(symbols.has_headers({Elf64_Phdr{}}));
    return symbols.find({address}).at(0).name;
  };
  CHECK(find(bytes) == "sampled_first");
  CHECK(find("").empty());
  CHECK(find(bytes.substr(0, 70)).empty());
  std::minstd_rand random{1};
  std::size_t const tail = bytes.size() - 64 * 40;  // the section headers
  for (int i = 0; i < 300; ++i) {
    std::string damaged = bytes;
    for (int k = 0; k < 4; ++k) damaged[i % 2 == 0 ? random() % 64 : tail + random() % (64 * 40)] = static_cast<char>(random());
    static_cast<void>(find(damaged));
  }
  std::filesystem::remove(file);
}
