// SPDX-License-Identifier: Apache-2.0
//
// The input is the environment variable PROFKIT.
#include <profkit/error.hpp>
#include <profkit/options.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "require.hpp"

namespace {

using parsed = std::optional<profkit::options>;

/// @param message the reason if the value cannot be parsed.
parsed parse(std::string_view text, std::string& message) {
  try {
    return profkit::options::parse(text);
  } catch (profkit::error const& failure) {
    message = failure.what();
    return std::nullopt;
  }
}

/// Parses a text without commas.
bool is_good(std::string_view item) {
  std::string ignored;
  return parse(item, ignored).has_value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  // A copy of exact size, so that reading beyond its end is detected.
  std::string const copy{reinterpret_cast<char const*>(data), size};
  std::string_view const text = copy;
  std::string message;
  parsed const options = parse(text, message);
  std::string_view rest = text;
  std::string first_bad;
  bool has_bad = false;
  while (!rest.empty() && !has_bad) {
    std::string_view const item = rest.substr(0, rest.find(','));
    has_bad = !is_good(item);
    first_bad = item;
    rest.remove_prefix(item.size() < rest.size() ? item.size() + 1 : rest.size());
  }
  require(options.has_value() != has_bad, "a list can be parsed if each of its items can");
  if (!options) {
    // The message must be a text without an embedded zero.
    std::string const named = ('"' + first_bad).c_str();
    require(message.find(named) != std::string::npos, "the message names the first bad item");
    return 0;
  }
  if (!options->wanted_interval) return 0;
  require(*options->wanted_interval > 0.0 && *options->wanted_interval <= 1.0, "a wanted interval is a share");
  return 0;
}
