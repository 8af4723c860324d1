// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

#include "memory/memory_timeline.hpp"

namespace trainer {

namespace {

/// A time since the beginning of the step, and the bytes from then on.
struct point {
  double ms = 0.0;
  std::uint64_t bytes = 0;
};

/// Keeps the first, the lowest, the highest and the last point of each of 500 slices of time; other points would not be visible.
std::vector<point> thinned(std::vector<point> const& points, double whole_ms) {
  constexpr double slices = 500.0;
  if (static_cast<double>(points.size()) <= 4.0 * slices) return points;
  auto const slice = [&](point const& point) { return std::floor(point.ms / whole_ms * slices); };
  auto const is_lower = [](point const& a, point const& b) { return a.bytes < b.bytes; };
  std::vector<point> kept;
  for (auto first = points.begin(); first != points.end();) {
    auto const end = std::find_if(first, points.end(), [&](point const& each) { return slice(each) != slice(*first); });
    std::array chosen{first, std::min_element(first, end, is_lower), std::max_element(first, end, is_lower), end - 1};
    std::sort(chosen.begin(), chosen.end());
    auto const last = std::unique(chosen.begin(), chosen.end());
    for (auto at = chosen.begin(); at != last; ++at) kept.push_back(**at);
    first = end;
  }
  return kept;
}

/// The smallest step of the form 1, 2 or 5 times a power of ten that gives at most `most` ticks.
double tick_step(double range, double most) {
  double const rough = range / most;
  double const power = std::pow(10.0, std::floor(std::log10(rough)));
  for (double const factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10.0 * power;
}

int decimals_of(double step) { return std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9))); }

struct byte_unit {
  std::string_view name;
  double bytes;
};

byte_unit unit_for(std::uint64_t bytes) {
  if (bytes >= std::uint64_t{1} << 30U) return {"GiB", 0x1p30};
  if (bytes >= std::uint64_t{1} << 20U) return {"MiB", 0x1p20};
  return {"KiB", 0x1p10};
}

std::string escaped(std::string_view text) {
  std::string result;
  for (char const c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      // XML does not allow control characters, even escaped.
      default:
        result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

/// The approximate width of a text in pixels.
double width_of(std::string_view text, double font_size) { return 0.53 * font_size * static_cast<double>(text.size() + 1); }

/// Draws one timeline, from back to front.
class drawing {
 public:
  explicit drawing(memory_timeline const& timeline)
      : timeline_{timeline},
        samples_{timeline.history.samples},
        whole_ms_{std::max(1e-3, profkit::milliseconds{timeline.time.duration()}.count())} {
    for (memory_sample const& sample : samples_) max_bytes_ = std::max({max_bytes_, sample.allocated_bytes, sample.reserved_bytes});
    unit_ = unit_for(max_bytes_);
    // Room above the highest line for the labels of the phases and of the peak.
    y_range_ = 1.15 * static_cast<double>(std::max<std::uint64_t>(max_bytes_, 1024)) / unit_.bytes;
    for (memory_phase const& phase : timeline.phases) {
      if (std::find(names_.begin(), names_.end(), phase.name) == names_.end()) names_.push_back(phase.name);
    }
  }

  std::string svg() {
    add("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
        "font-family=\"system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', Arial, sans-serif\" font-size=\"13\" fill=\"#222222\">\n",
        width, height);
    add("<title>{}</title>\n", escaped(timeline_.title));
    add("<rect width=\"{}\" height=\"{}\" fill=\"#ffffff\"/>\n", width, height);
    text(left, 34, "start", timeline_.is_of_step ? "GPU memory over one step" : "GPU memory over the whole recording",
         "font-size=\"20\" font-weight=\"600\"");
    double const fitting = 13 * std::min(1.0, (right - left) / width_of(timeline_.title, 13));
    text(left, 58, "start", timeline_.title, fmt::format("font-size=\"{:.1f}\"", fitting));
    draw_phases();
    draw_axes();
    draw_line("reserved", "stroke=\"#8a8a8a\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\"", &memory_sample::reserved_bytes);
    draw_line("allocated", "stroke=\"#0b5394\" stroke-width=\"2\" stroke-linejoin=\"round\"", &memory_sample::allocated_bytes);
    draw_phase_names();
    draw_failure();
    draw_peak();
    draw_legend();
    add("</svg>\n");
    return std::move(svg_);
  }

 private:
  static constexpr double width = 1200, height = 660, left = 90, right = 1170, top = 80, bottom = 540;
  // Light colours that differ in hue and lightness, in the order in which the phases begin.
  static constexpr std::array<std::string_view, 6> colours{"#fff0b3", "#d3e6fb", "#fbd9d3", "#d5efd0", "#e6dcf5", "#d9d9d9"};

  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(svg_), format, std::forward<Values>(values)...);
  }

  void text(double x, double y, std::string_view anchor, std::string_view content, std::string_view attributes = "") {
    add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" {}>{}</text>\n", x, y, anchor, attributes, escaped(content));
  }

  [[nodiscard]] double ms_of(profkit::timestamp time) const { return profkit::milliseconds{time - timeline_.time.begin}.count(); }
  [[nodiscard]] double x_of(double ms) const { return left + (right - left) * std::clamp(ms / whole_ms_, 0.0, 1.0); }
  [[nodiscard]] double y_of(double in_units) const { return bottom - (bottom - top) * in_units / y_range_; }
  [[nodiscard]] double y_of(std::uint64_t bytes) const { return y_of(static_cast<double>(bytes) / unit_.bytes); }

  [[nodiscard]] std::string_view colour_of(std::string const& name) const {
    auto const at = static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
    return colours[at % colours.size()];
  }

  void draw_phases() {
    add("<g id=\"phases\">\n");
    for (memory_phase const& phase : timeline_.phases) {
      double const begin = x_of(ms_of(phase.time.begin));
      double const end = x_of(ms_of(phase.time.end));
      add("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"><title>{}: {:.3f} to {:.3f} ms</title></rect>\n",
          begin, top, end - begin, bottom - top, colour_of(phase.name), escaped(phase.name), ms_of(phase.time.begin),
          ms_of(phase.time.end));
    }
    add("</g>\n");
  }

  /// Labels where there is room; the legend has all of them.
  void draw_phase_names() {
    for (memory_phase const& phase : timeline_.phases) {
      double const begin = x_of(ms_of(phase.time.begin));
      double const end = x_of(ms_of(phase.time.end));
      if (end - begin > width_of(phase.name, 16) + 8) {
        text((begin + end) / 2, top + 20, "middle", phase.name, "font-size=\"14\" font-weight=\"600\" fill=\"#555555\"");
      }
    }
  }

  void draw_axes() {
    double const y_step = tick_step(y_range_, 8);
    add("<g id=\"y\">\n");
    for (double tick = 0; tick <= y_range_; tick += y_step) {
      double const y = y_of(tick);
      add("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.2f}\" y2=\"{2:.2f}\" stroke=\"#000000\" stroke-opacity=\"0.12\"/>\n", left, right, y);
      text(left - 10, y + 4.5, "end", fmt::format("{:.{}f}", tick, decimals_of(y_step)));
    }
    add("</g>\n");
    double const x_step = tick_step(whole_ms_, 10);
    add("<g id=\"x\">\n");
    for (double tick = 0; tick <= whole_ms_ * (1 + 1e-9); tick += x_step) {
      double const x = x_of(tick);
      add("<line x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#444444\"/>\n", x, bottom, bottom + 6);
      text(x, bottom + 22, "middle", fmt::format("{:.{}f}", tick, decimals_of(x_step)));
    }
    add("</g>\n");
    add("<path d=\"M{0} {1}V{2}H{3}\" fill=\"none\" stroke=\"#444444\"/>\n", left, top, bottom, right);
    text((left + right) / 2, bottom + 46, "middle", timeline_.is_of_step ? "host time since the step began, ms" : "host time, ms",
         "font-size=\"14\"");
    text(0, 0, "middle", fmt::format("memory, {}", unit_.name),
         fmt::format("font-size=\"14\" transform=\"translate(36 {}) rotate(-90)\"", (top + bottom) / 2));
  }

  void draw_line(std::string_view id, std::string_view style, std::uint64_t memory_sample::*quantity) {
    std::vector<point> points;
    for (memory_sample const& sample : samples_) {
      if (points.empty() || points.back().bytes != sample.*quantity) points.push_back({ms_of(sample.time), sample.*quantity});
    }
    if (points.empty()) return;
    points = thinned(points, whole_ms_);
    points.push_back({whole_ms_, points.back().bytes});
    add("<polyline id=\"{}\" fill=\"none\" {} points=\"", id, style);
    double y = y_of(points.front().bytes);
    for (point const& each : points) {
      double const x = x_of(each.ms);
      add("{:.2f},{:.3f} ", x, y);
      if (double const next = y_of(each.bytes); next != y) {
        y = next;
        add("{:.2f},{:.3f} ", x, y);
      }
    }
    add("\"/>\n");
  }

  void draw_peak() {
    if (samples_.empty()) {
      text((left + right) / 2, (top + bottom) / 2, "middle", "nothing was recorded", "font-size=\"16\"");
      return;
    }
    auto const lower = [](memory_sample const& a, memory_sample const& b) { return a.allocated_bytes < b.allocated_bytes; };
    memory_sample const& peak = *std::max_element(samples_.begin(), samples_.end(), lower);
    double const ms = ms_of(peak.time);
    double const x = x_of(ms);
    double const y = y_of(peak.allocated_bytes);
    std::string const label = fmt::format("peak {:.{}f} {} at {:.3f} ms", static_cast<double>(peak.allocated_bytes) / unit_.bytes,
                                          unit_.name == "GiB" ? 3 : 1, unit_.name, ms);
    // Above the peak, where no line is. The white background keeps it readable over the reserved line.
    double const label_width = width_of(label, 16) + 8;
    double const begin = std::clamp(x - label_width / 2, left + 4, right - label_width - 4);
    double const label_y = y - 36;
    add("<g id=\"peak\">\n<title>{} bytes</title>\n", peak.allocated_bytes);
    add("<circle cx=\"{:.2f}\" cy=\"{:.3f}\" r=\"5\" fill=\"#c00000\" stroke=\"#ffffff\" stroke-width=\"1.5\"/>\n", x, y);
    add("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"24\" rx=\"4\" fill=\"#ffffff\" fill-opacity=\"0.9\"/>\n", begin, label_y,
        label_width);
    text(begin + label_width / 2, label_y + 17, "middle", label, "font-size=\"14\" font-weight=\"600\" fill=\"#c00000\"");
    add("</g>\n");
  }

  void draw_failure() {
    if (!timeline_.history.failure) return;
    double const x = x_of(ms_of(timeline_.history.failure->time));
    byte_unit const unit = unit_for(timeline_.history.failure->bytes);
    std::string const label = fmt::format("out of memory: {:.1f} {} more did not fit",
                                          static_cast<double>(timeline_.history.failure->bytes) / unit.bytes, unit.name);
    add("<g id=\"failure\">\n<title>{} bytes</title>\n", timeline_.history.failure->bytes);
    add("<line x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#c00000\" stroke-width=\"2\" stroke-dasharray=\"3 3\"/>\n", x,
        top, bottom);
    bool const is_late = x > (left + right) / 2;
    text(is_late ? x - 8 : x + 8, bottom - 14, is_late ? "end" : "start", label, "font-size=\"14\" font-weight=\"600\" fill=\"#c00000\"");
    add("</g>\n");
  }

  void draw_legend() {
    double x = left;
    double y = bottom + 84;
    auto const entry = [&](std::string const& label, auto const& draw_swatch) {
      double const needed = 34 + width_of(label, 13) + 14;
      if (x + needed > right && x > left) {
        x = left;
        y += 22;
      }
      draw_swatch();
      text(x + 34, y, "start", label);
      x += needed;
    };
    auto const line = [&](std::string_view style) {
      add("<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" {3}/>\n", x, x + 26, y - 4.5, style);
    };
    add("<g id=\"legend\">\n");
    entry("allocated by tensors", [&] { line("stroke=\"#0b5394\" stroke-width=\"2\""); });
    entry("reserved by the allocator", [&] { line("stroke=\"#8a8a8a\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\""); });
    for (std::string const& name : names_) {
      profkit::milliseconds total{};
      for (memory_phase const& phase : timeline_.phases) {
        if (phase.name == name) total += phase.time.duration();
      }
      entry(fmt::format("{}, {:.3f} ms", name, total.count()), [&] {
        add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"26\" height=\"14\" fill=\"{}\" stroke=\"#999999\"/>\n", x, y - 12, colour_of(name));
      });
    }
    add("</g>\n");
  }

  memory_timeline const& timeline_;
  std::vector<memory_sample> const& samples_;
  double whole_ms_;
  std::uint64_t max_bytes_ = 0;
  byte_unit unit_{};
  double y_range_ = 1.0;  ///< in units
  std::vector<std::string> names_;
  std::string svg_;
};

}  // namespace

std::string to_svg(memory_timeline const& timeline) { return drawing{timeline}.svg(); }

}  // namespace trainer
