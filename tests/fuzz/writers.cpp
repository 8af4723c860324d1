// SPDX-License-Identifier: Apache-2.0
//
// The input is a profile that a session could have recorded, with arbitrary names and numbers. All outputs must be well-formed.
#include <fuzzer/FuzzedDataProvider.h>
#include <profkit/error.hpp>
#include <profkit/save_load.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "../support/html_fault.hpp"
#include "../support/is_utf8.hpp"
#include "../support/read_csv.hpp"
#include "loaded.hpp"
#include "profile_maker.hpp"
#include "require.hpp"

namespace {

bool has_control_characters(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) < 0x20U && c != '\n') || c == '\x7f'; });
}

bool is_rectangle(std::string const& csv) {
  try {
    auto const records = read_csv(csv);
    auto const is_as_wide = [&](auto const& each) { return each.size() == records.front().size(); };
    return !records.empty() && std::all_of(records.begin(), records.end(), is_as_wide);
  } catch (std::exception const&) {
    return false;
  }
}

/// Whether the profile can also be loaded: impossible times are rejected.
bool is_loadable(profkit::profile const& made) {
  static memory_file const file;
  file.write(saved(made));
  try {
    static_cast<void>(profkit::load(file.path()));
  } catch (profkit::error const&) {
    return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  FuzzedDataProvider from{data, size};
  profkit::profile const made = profile_maker{from}.make();
  if (!is_loadable(made)) return 0;
  for (profkit::detail::named_csv const& file : written(made)) {
    char const* const name = file.name.c_str();
    require(is_utf8(file.content), "what is written is UTF-8:", name);
    std::string const extension = file.name.substr(file.name.rfind('.'));
    if (extension == ".json") require(nlohmann::json::accept(file.content), "JSON can be parsed:", name);
    if (extension == ".csv") require(is_rectangle(file.content), "each row of CSV has as many fields:", name);
    if (extension == ".html") {
      std::string const fault = html_fault(file.content);
      require(fault.empty(), "a page is well-formed:", fault.c_str());
    }
    if (extension == ".txt" || extension == ".md") require(!has_control_characters(file.content), "a text is what a terminal shows:", name);
  }
  return 0;
}
