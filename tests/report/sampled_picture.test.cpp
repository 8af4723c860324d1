// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/report/picture_section.hpp>

#include "../support/made_kinds.hpp"
#include "../support/profile_with_samples.hpp"
#include "../support/random_profiles.hpp"
#include "../support/random_samples.hpp"
#include "../support/testing.hpp"

namespace {

using profkit::detail::icicle_figure;
using box_kind = icicle_figure::box_kind;

std::vector<icicle_figure> pictures_of(profkit::summary const& summary) {
  std::vector<icicle_figure> result;
  auto const picture = profkit::detail::picture_section(profkit::detail::report_view{summary});
  if (!picture) return result;
  for (profkit::detail::block const& each : picture->blocks) {
    if (auto const* const figure = std::get_if<profkit::detail::figure>(&each)) {
      if (auto const* const icicle = std::get_if<icicle_figure>(&figure->content)) result.push_back(*icicle);
    }
  }
  return result;
}

void check_box(icicle_figure::box const& found, std::string const& name, std::uint32_t depth, double begin, double time, box_kind kind) {
  INFO(name);
  CHECK(found.name == name);
  CHECK(found.depth == depth);
  CHECK(found.begin == Approx(begin).margin(1e-9));
  CHECK(found.time == Approx(time));
  CHECK(found.kind == kind);
}

/// Each box of a function begins where the previous one ends, or after boxes that are too narrow, and is inside the box above it. The time
/// of scopes on several threads can exceed that of the scope above.
void check_nested(icicle_figure const& figure) {
  std::vector<double> end_at(1, 0.0);              // of the last box at each depth
  std::vector<double> end_above(1, figure.total);  // where the box above that depth ends
  for (icicle_figure::box const& each : figure.boxes) {
    INFO(each.name << " at depth " << each.depth);
    REQUIRE(each.depth < end_at.size());
    end_at.resize(each.depth + 1);
    end_above.resize(each.depth + 1);
    if (each.kind != box_kind::scope) {
      CHECK(each.begin >= end_at.back() - 1e-9 * figure.total);
      CHECK(each.begin + each.time <= end_above.back() + 1e-9 * figure.total);
    }
    end_at.back() = each.begin + each.time;
    end_at.push_back(each.begin);
    end_above.push_back(each.begin + each.time);
  }
}

}  // namespace

TEST_CASE("the picture of a step with host samples has functions after the children of their scope, and waiting last", "[picture]") {
  std::vector<icicle_figure> const pictures = pictures_of(profkit::analyze(profile_with_samples()));
  REQUIRE(pictures.size() == 1);
  icicle_figure const& picture = pictures.front();
  CHECK(picture.is_host);
  CHECK(picture.total == Approx(100.0));
  REQUIRE(picture.boxes.size() == 9);
  check_box(picture.boxes[0], "softmax", 0, 0.0, 60.0, box_kind::scope);
  check_box(picture.boxes[1], "inner", 1, 0.0, 20.0, box_kind::scope);
  check_box(picture.boxes[2], "exp_loop", 2, 0.0, 20.0, box_kind::function);
  check_box(picture.boxes[3], "exp_loop", 1, 20.0, 20.0, box_kind::function);
  check_box(picture.boxes[4], "libc.so.6, called by load", 1, 40.0, 8.0, box_kind::function);
  check_box(picture.boxes[5], "waiting or in the kernel", 1, 48.0, 12.0, box_kind::waiting);
  check_box(picture.boxes[6], "wait", 0, 60.0, 20.0, box_kind::scope);
  check_box(picture.boxes[7], "waiting or in the kernel", 1, 60.0, 20.0, box_kind::waiting);
  check_box(picture.boxes[8], "waiting or in the kernel", 0, 80.0, 20.0, box_kind::waiting);
  CHECK(picture.boxes[3].more.rfind("50", 0) == 0);
  CHECK(picture.boxes[3].more.find("15) of the scope's own time") != std::string::npos);
  check_nested(picture);
}

TEST_CASE("functions that are too narrow to be visible are one box, and so are those without a row", "[picture]") {
  profkit::summary summary = profkit::analyze(profile_with_samples());
  profkit::sampled_scope_summary& softmax = summary.host_samples->scopes.front();
  softmax.functions[1].time = profkit::milliseconds{0.1};
  softmax.other_functions = 3;
  softmax.other_time = profkit::milliseconds{7.9};
  icicle_figure const picture = pictures_of(summary).front();
  check_box(picture.boxes[4], "4 more functions", 1, 40.0, 8.0, box_kind::function);
}

TEST_CASE("boxes of functions are inside their scopes, for any profile", "[picture]") {
  std::size_t functions = 0;
  for_each_made_profile(20, [&](profkit::profile const& profile, std::uint64_t seed) {
    profkit::summary const summary = profkit::analyze(with_random_samples(profile, seed));
    std::vector<icicle_figure> const pictures = pictures_of(summary);
    for (icicle_figure const& each : pictures) {
      if (!each.is_host) continue;
      check_nested(each);
      for (icicle_figure::box const& box : each.boxes) functions += box.kind == box_kind::function ? 1 : 0;
    }
  });
  CHECK(functions > 10);
}

TEST_CASE("each kind of step has a picture of GPU time and one of host time", "[picture]") {
  profkit::summary const summary = profkit::analyze(training_with_one_validation());
  std::vector<icicle_figure> const pictures = pictures_of(summary);
  REQUIRE(pictures.size() == 4);
  for (std::size_t i = 0; i < pictures.size(); i += 2) {
    CHECK_FALSE(pictures[i].is_host);
    CHECK(pictures[i + 1].is_host);
    CHECK(pictures[i + 1].title.find("on the host") != std::string::npos);
    // The host is in the same scopes, in the same order.
    std::vector<std::string> on_gpu;
    std::vector<std::string> on_host;
    double time = 0.0;
    for (icicle_figure::box const& each : pictures[i].boxes) {
      if (each.depth == 0) on_gpu.push_back(each.name);
    }
    for (icicle_figure::box const& each : pictures[i + 1].boxes) {
      CHECK(each.idle == 0.0);
      if (each.depth == 0) on_host.push_back(each.name);
      if (each.depth == 0) time += each.time;
    }
    CHECK(on_gpu == on_host);
    CHECK(time <= pictures[i + 1].total * (1.0 + 1e-9));
    CHECK(time > 0.9 * pictures[i + 1].total);
    check_nested(pictures[i + 1]);
  }
}
