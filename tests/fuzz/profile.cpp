// SPDX-License-Identifier: Apache-2.0
//
// The input is a saved profile.
#include <profkit/error.hpp>
#include <profkit/save_load.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "loaded.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static memory_file const file;
  file.write({reinterpret_cast<char const*>(data), size});
  std::optional<profkit::profile> loaded;
  try {
    allocation_limit const limit{size};
    loaded = profkit::load(file.path());
  } catch (profkit::error const&) {
    return 0;
  }
  require_sound(*loaded);
  return 0;
}
