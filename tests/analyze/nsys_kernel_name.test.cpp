// SPDX-License-Identifier: Apache-2.0
//
// Compares kernel names with the output of NVIDIA's demangler: tests/data/kernel_names.tsv.

#include "../support/testing.hpp"
#include "nsys/nsys_ranges.hpp"

namespace {

/// As the collector stores it: without a mangled name if the C++ runtime cannot demangle it.
std::string name_of(std::string const& mangled, std::string const& demangled) {
  return profkit::nsys_kernel_name({demangled, demangled == mangled ? "" : mangled});
}

std::string repeated(std::string const& text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

}  // namespace

TEST_CASE("a kernel has the name that NVIDIA's demangler gives it", "[nsys_kernel_name]") {
  std::ifstream table{TEST_DATA "/kernel_names.tsv"};
  std::string line;
  std::size_t names = 0;
  while (std::getline(table, line)) {
    std::size_t const tab = line.find('\t');
    REQUIRE(tab != std::string::npos);
    std::string const mangled = line.substr(0, tab);
    INFO(mangled);
    CHECK(name_of(mangled, "of the C++ runtime") == line.substr(tab + 1));
    CHECK(name_of(mangled, mangled) == line.substr(tab + 1));
    ++names;
  }
  CHECK(names > 400);
}

TEST_CASE("a name that is not mangled stays as it is", "[nsys_kernel_name]") {
  for (char const* name : {"[CUDA memset]", "nvjet_hsh_64x64_64x16_4x1_v_bz_splitK_TNN", "_ZIP_kernel", "unknown kernel", "", "_", "_Z"}) {
    CHECK(name_of(name, name) == name);
  }
}

TEST_CASE("a mangled name that ends early stays mangled", "[nsys_kernel_name]") {
  std::string const whole =
      "_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastINS0_15CUDAFunctor_addIfEEEEvRNS_18TensorIteratorBaseERKT_"
      "EUli"
      "E_EEviT1_";
  for (std::size_t length = 2; length + 5 < whole.size(); ++length) {
    std::string const part = whole.substr(0, length);
    CHECK(name_of(part, "") == part);
  }
}

TEST_CASE("names made to cost a lot of memory or stack stay mangled", "[nsys_kernel_name]") {
  // Each argument has the text of the one before it twice.
  std::string const positions = "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  auto const doubled = [&](std::size_t times) {
    std::string name = "_Z1f1aI1bE";
    for (std::size_t i = 0; i < times; ++i) name += std::string{"S_IS"} + positions[i] + "_S" + positions[i] + "_E";
    return name;
  };
  std::size_t const length = name_of(doubled(10), "").size();
  CHECK(length > 1000 * std::string{"a<b>"}.size());
  for (std::string const& name :
       {doubled(positions.size()), "_Z1f" + repeated("P", 100000) + "i", "_Z1fI" + repeated("1aI", 30000), repeated("_ZZ", 30000),
        "_Z1fIX" + repeated("pl", 30000) + "E", "_Z1fN1bI" + repeated("S_", 1000) + "E" + repeated("1a", 40000) + "Ev",
        "_Z" + repeated("9", 60) + "a", "_Z1fS" + repeated("Z", 60) + "_", "_Z1f" + repeated("P", 1'000'000) + "i",
        "_Z1fI" + repeated("J", 1'000'000) + repeated("E", 1'000'000) + "EvT_", "_Z1f" + repeated("M1aF", 1'000'000) + "v",
        "_Z1fIiEv1aIX" + repeated("cvi", 1'000'000) + "T_EE"}) {
    bool const is_mangled = name_of(name, "") == name;
    INFO(name.substr(0, 40));
    CHECK(is_mangled);
  }
}
