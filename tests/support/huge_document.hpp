// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/document.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "made_document.hpp"

/// A document that exceeds the limits of a page: thousands of rows, boxes, steps and points, with long names.
inline profkit::detail::document huge_document() {
  using namespace profkit::detail;
  document made = made_document();
  std::string const tail(300, 'n');
  for (section& part : made.sections) {
    for (block& each : part.blocks) {
      if (auto* const table = std::get_if<data_table>(&each)) {
        if (table->rows.empty()) continue;
        row const last = table->rows.back();
        for (std::size_t i = 0; i < 5000; ++i) {
          row next = last;
          next.is_total = false;
          next.cells.front() = {std::to_string(i) + tail, "complete: " + std::to_string(i) + tail};
          next.depth = static_cast<std::uint32_t>(last.depth + i % 40);
          table->rows.push_back(next);
        }
      }
      auto* const picture = std::get_if<figure>(&each);
      if (picture == nullptr) continue;
      if (auto* const steps = std::get_if<steps_figure>(&picture->content)) {
        for (std::uint64_t i = 41; i < 20'000; ++i) {
          steps->steps.push_back(
              {i, 46.0 + 0.001 * static_cast<double>(i % 700), i % 97 == 0 ? plotted_step::role::outlier : plotted_step::role::usual});
        }
      }
      if (auto* const icicle = std::get_if<icicle_figure>(&picture->content)) {
        for (std::uint32_t i = 0; i < 5000; ++i) icicle->boxes.push_back({std::to_string(i) + tail, i % 60, 0.1, 20.0, 3.0});
      }
      if (auto* const lines = std::get_if<lines_figure>(&picture->content)) {
        for (auto& line : lines->lines) {
          for (int i = 36; i < 100'000; ++i) {
            line.x.push_back(i);
            line.y.push_back(1e10 + i);
          }
        }
      }
      if (auto* const lanes = picture->other<lanes_figure>()) {
        for (int i = 0; i < 5000; ++i) {
          lanes->rows.push_back({std::to_string(i) + tail, {{0.001 * i, 9.0, colour::busy, tail}}, {}});
          lanes->rows.front().upper.push_back({0.001 * i, 0.001 * i + 0.0005, colour::busy, tail});
        }
      }
      if (auto* const roofline = std::get_if<roofline_figure>(&picture->content)) {
        for (int i = 1; i < 5000; ++i) roofline->points.push_back({std::to_string(i) + tail, 0.1 * i, 1e10 * i, 0.001});
      }
    }
  }
  return made;
}
