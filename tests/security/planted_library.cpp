// SPDX-License-Identifier: Apache-2.0
//
// A library that must not be loaded. Loading it creates a file with its name in the folder named by PLANTED_MARKS.
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace {

__attribute__((constructor)) void leave_mark() {
  ::Dl_info self{};
  char const* const folder = std::getenv("PLANTED_MARKS");
  if (folder == nullptr || ::dladdr(reinterpret_cast<void*>(&leave_mark), &self) == 0) return;
  std::ofstream{std::filesystem::path{folder} / std::filesystem::path{self.dli_fname}.filename()} << "opened\n";
}

}  // namespace
