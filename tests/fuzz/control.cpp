// SPDX-License-Identifier: Apache-2.0
//
// The input is a line that a client sends to the control socket of a session, and a value of its answer.
#include <profkit/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "control/control_client.hpp"
#include "require.hpp"

namespace {

using profkit::detail::control_request;

/// The line of a request.
std::string line_of(control_request const& request) {
  std::string const line{profkit::detail::control_protocol};
  if (request.what == control_request::kind::status) return line + "status";
  if (request.what == control_request::kind::snapshot) return line + (request.wants_profile ? "snapshot profile" : "snapshot");
  std::string result = line + "capture steps=" + std::to_string(request.steps);
  if (request.from > 0) result += " from=" + std::to_string(request.from);
  if (request.wants_kernels) result += " kernels";
  if (request.samples_per_second > 0) result += " samples=" + std::to_string(request.samples_per_second);
  return result;
}

std::optional<control_request> parse(std::string_view line) {
  try {
    return profkit::detail::parse_control_request(line);
  } catch (profkit::error const& failure) {
    require(std::string_view{failure.what()}.find('\n') == std::string_view::npos, "the reason is one line");
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  // A copy of exact size, so that reading beyond its end is detected.
  std::string const copy{reinterpret_cast<char const*>(data), size};
  std::optional<control_request> const request = parse(copy);
  require(!request || line_of(*request) == copy, "a request that is understood has one line");
  std::string const word = profkit::detail::control_word(copy);
  require(word.find_first_of(" \n") == std::string::npos, "a value is one word");
  require(profkit_program::plain_word(word) == copy, "a value is read as it was written");
  static_cast<void>(profkit_program::plain_word(copy));
  return 0;
}
