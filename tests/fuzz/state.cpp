// SPDX-License-Identifier: Apache-2.0
//
// The input is the state of an analysis, without its format.
#include <profkit/error.hpp>
#include <profkit/impl/analyze/analysis.hpp>
#include <profkit/impl/analyze/window.hpp>
#include <profkit/impl/profile/archive_reader.hpp>

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "../support/made_full_profile.hpp"
#include "../support/state_bytes.hpp"
#include "loaded.hpp"
#include "require.hpp"
#include "written.hpp"

namespace {

/// A figure without durations takes 60 times as many bytes in memory as in the file; lists double as they grow.
constexpr std::size_t bytes_for_a_byte = 128;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static profkit::profile const whole = profile_with_everything();
  static profkit::window const later{whole, {{whole.steps[0].time.end, profkit::timestamp::max()}, true, 0, {}, {}, {}}};
  std::string const bytes{reinterpret_cast<char const*>(data), size};
  profkit::analysis read;
  try {
    std::istringstream stream{bytes};
    allocation_limit const limit{size, bytes_for_a_byte};
    profkit::detail::archive_reader archive{stream, size};
    archive(read);
  } catch (profkit::error const&) {
    return 0;
  }
  require(!printed(read.finish()).empty(), "an analysis that was read has a report");
  profkit::analysis again;
  read_state_of(state_of(read), again);
  require(state_of(again) == state_of(read), "an analysis that was read and written is read as the same");
  if (later.frame.own.begin < read.until()) return 0;
  read.add(later);
  require(!printed(read.finish()).empty(), "an analysis that was read takes further windows");
  return 0;
}
