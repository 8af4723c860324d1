// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "../../error.hpp"
#include "../../find_rank.hpp"
#include "../../options.hpp"
#include "../../work.hpp"
#include "../profile/own_memory.hpp"
#include "console.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The minimum number of letters to insert, remove or replace to turn one word into the other. Source: Wagner and Fischer, "The
/// String-to-String Correction Problem", 1974.
[[nodiscard]] inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  own_vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      std::size_t const above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] == b[j] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

/// The first word of a list such as "off, steps=N|auto, nvtx=on|off" that is close to a misspelt word; empty if none is.
/// @param list the text after "=" is not part of a word.
[[nodiscard]] inline std::string_view closest_word(std::string_view misspelt, std::string_view list) {
  constexpr std::size_t max_length = 32;  // longer than every word
  std::size_t least = misspelt.size() > max_length ? 0 : misspelt.size() / 3 + 2;
  std::string_view closest;
  while (!list.empty()) {
    std::size_t const end = std::min(list.find(", "), list.size());
    std::string_view const word = list.substr(0, std::min(list.find('='), end));
    std::size_t const distance = edit_distance(misspelt.substr(0, max_length), word);
    if (distance < least && distance < word.size()) {
      least = distance;
      closest = word;
    }
    list.remove_prefix(std::min(end + 2, list.size()));
  }
  return closest;
}

/// Sets the options that the items of `PROFKIT` name.
class options_parser : private options {
 public:
  /// @param item such as "warmup=3".
  void set(std::string_view item) {
    if (item.empty()) return;
    std::size_t const equals = item.find('=');
    std::string_view const key = item.substr(0, equals);
    std::string_view const value = equals == std::string_view::npos ? std::string_view{} : item.substr(equals + 1);
    bool const has_value = equals != std::string_view::npos;
    if (key == "off" && !has_value) {
      enabled = false;
    } else if (key == "report" && !has_value) {
      print_report = true;
    } else if (key == "report" && value == "full") {
      full_report = true;
    } else if (key == "report") {
      set_report_every(item, value);
    } else if (key == "warmup") {
      warmup_steps = number(item, value);
    } else if (key == "steps") {
      set_steps(item, value);
    } else if (key == "out") {
      if (value.empty()) bad_value(item, "a directory");
      output_directory = value;
    } else if (key == "journal") {
      if (value.empty()) bad_value(item, "a file");
      journal = value;
    } else if (key == "journal_size") {
      journal_bytes = bytes(item, value);
      if (journal_bytes < std::uint64_t{1} << 20U) bad_value(item, "a size from 1MiB to 1024GiB, as in 64MiB");
    } else if (key == "metrics") {
      if (value.empty()) bad_value(item, "a file");
      metrics = value;
    } else if (key == "signals") {
      if (value != "report" && value != "default") bad_value(item, "report or default");
      report_on_signals = value == "report";
    } else if (key == "control" && !has_value) {
      control = true;
    } else if (key == "trace") {
      trace = true;
      if (has_value) trace_steps = number(item, value, 1);
    } else if (key == "kernels") {
      set_kernels(item, value);
    } else if (key == "records") {
      max_records = number(item, value, 1);
    } else if (key == "keep") {
      set_keep(item, value);
    } else if (key == "log") {
      log_slots_per_thread = bytes(item, value) / sizeof(std::uint64_t);
    } else if (key == "drain") {
      auto const share = percent(value);
      if (!share) bad_value(item, "a share of one core, as in drain=25%");
      drain_share = *share;
    } else if (key == "nvtx") {
      nvtx = on_or_off(item, value);
    } else if (key == "rank") {
      use_rank = on_or_off(item, value);
    } else if (key == "utilization") {
      gpu_utilization = on_or_off(item, value);
    } else if (key == "energy" && !has_value) {
      energy = true;
    } else if (key == "unified_memory" && !has_value) {
      unified_memory = true;
    } else if (key == "samples") {
      samples_per_second = frequency(item, value);
    } else if (key == "memory") {
      if (value != "steps" && value != "scopes") bad_value(item, "steps or scopes");
      memory_at_scopes = value == "scopes";
    } else if (key == "precision") {
      precision = precision_named(value);
      if (precision == profkit::precision::unknown) bad_value(item, "fp64, fp32, tf32, fp16, bf16 or fp8");
    } else {
      unknown_key(item, key);
    }
  }

  /// The options so far.
  [[nodiscard]] options const& result() const noexcept { return *this; }

 private:
  static constexpr char const* valid_keys =
      "off, report, report=full, report=every:T, report=every:N, warmup=N, steps=N|forever|auto|auto:P%, out=DIR, journal=FILE, "
      "journal_size=SIZE, metrics=FILE, "
      "signals=default|report, control, trace, trace=N, kernels=on|off|capture|every:N, nvtx=on|off, records=N, keep=all|last:N|slowest:K, "
      "log=SIZE, "
      "drain=P%, memory=steps|scopes, samples=NHz, rank=on|off, utilization=on|off, energy, unified_memory, "
      "precision=fp64|fp32|tf32|fp16|bf16|fp8";

  void set_report_every(std::string_view item, std::string_view value) {
    constexpr std::string_view every = "every:";
    constexpr char const* wanted =
        "no value, full, every:T with a time from 1ms to 8760h in ms, s, m or h, as in every:60s, or every:N with a number of steps";
    constexpr std::uint64_t max_ms = std::uint64_t{8760} * 3'600'000;
    if (value.substr(0, every.size()) != every) bad_value(item, wanted);
    value.remove_prefix(every.size());
    auto const [number, unit] = number_and_unit(value);
    if (unit.empty() && number > 0) {
      report_every_steps = number;
      return;
    }
    std::uint64_t const ms = unit == "ms" ? 1 : unit == "s" ? 1000 : unit == "m" ? 60'000 : unit == "h" ? 3'600'000 : 0;
    if (ms == 0 || number == 0 || number > max_ms / ms) bad_value(item, wanted);
    report_every = std::chrono::milliseconds{number * ms};
  }

  void set_kernels(std::string_view item, std::string_view value) {
    constexpr std::string_view some = "every:";
    constexpr char const* wanted = "on, off, capture, or every:N with a whole number from 1, as in every:10";
    kernels = value != "off";
    kernels_every = 1;
    kernels_on_capture = value == "capture";
    if (value == "on" || value == "off" || kernels_on_capture) return;
    if (value.substr(0, some.size()) != some) bad_value(item, wanted);
    value.remove_prefix(some.size());
    auto const [count, unit] = number_and_unit(value);
    if (!unit.empty() || count == 0) bad_value(item, wanted);
    kernels_every = count;
  }

  void set_keep(std::string_view item, std::string_view value) {
    keep = {};
    if (value == "all") return;
    std::size_t const colon = value.find(':');
    std::string_view const choice = value.substr(0, colon);
    keep.choice = choice == "last" ? kept_steps::last : kept_steps::slowest;
    std::string_view const count = colon == std::string_view::npos ? std::string_view{} : value.substr(colon + 1);
    auto const [number, unit] = number_and_unit(count);
    bool const is_number = unit.empty() && number > 0;
    keep.count = number;
    if ((choice != "last" && choice != "slowest") || !is_number) bad_value(item, "all, last:N or slowest:K, as in keep=last:100");
  }

  void set_steps(std::string_view item, std::string_view value) {
    constexpr std::string_view automatic = "auto";
    constexpr double default_interval = 0.01;
    if (value.substr(0, automatic.size()) != automatic) {
      measured_steps = value == "forever" ? ~std::uint64_t{0} : number(item, value);
      wanted_interval.reset();
      return;
    }
    value.remove_prefix(automatic.size());
    std::optional<double> share = default_interval;
    if (!value.empty()) share = value.front() == ':' ? percent(value.substr(1)) : std::nullopt;
    if (!share) bad_value(item, "a whole number from 0, forever, auto, or auto:P% as in auto:0.5%");
    wanted_interval = share;
  }

  /// "64MiB" -> 64 and "MiB"; 0 if it does not begin with a whole number that fits.
  static std::pair<std::uint64_t, std::string_view> number_and_unit(std::string_view value) {
    std::uint64_t number = 0;
    auto const [end, status] = std::from_chars(value.data(), value.data() + value.size(), number);
    return {status == std::errc{} ? number : 0, value.substr(static_cast<std::size_t>(end - value.data()))};
  }

  /// "0.5%" -> 0.005; nothing for values that are not above 0 % and at most 100 %.
  static std::optional<double> percent(std::string_view value) {
    double result = 0.0;
    auto const [end, status] = std::from_chars(value.data(), value.data() + value.size(), result);
    bool const is_percent = status == std::errc{} && end + 1 == value.data() + value.size() && *end == '%';
    if (!is_percent || !(result > 0.0 && result <= 100.0)) return std::nullopt;
    return result / 100.0;
  }

  [[noreturn]] static void unknown_key(std::string_view item, std::string_view key) {
    std::string_view const meant = closest_word(key, valid_keys);
    std::string const hint = meant.empty() ? "" : "Did you mean \"" + std::string{meant} + "\"? ";
    throw error{"PROFKIT: unknown key \"" + std::string{item} + "\". " + hint + "Valid keys: " + valid_keys};
  }

  [[noreturn]] static void bad_value(std::string_view item, char const* wanted) {
    throw error{"PROFKIT: bad value in \"" + std::string{item} + "\": it takes " + wanted + ". Valid keys: " + valid_keys};
  }

  static std::uint64_t number(std::string_view item, std::string_view value, std::uint64_t least = 0) {
    std::uint64_t result = 0;
    auto const [end, status] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (status != std::errc{} || end != value.data() + value.size() || result < least) {
      bad_value(item, least == 0 ? "a whole number from 0" : "a whole number from 1");
    }
    return result;
  }

  static std::uint64_t bytes(std::string_view item, std::string_view value) {
    auto const [result, unit] = number_and_unit(value);
    unsigned const shift = unit == "KiB" ? 10 : unit == "MiB" ? 20 : unit == "GiB" ? 30 : 0;
    if (shift == 0 || result == 0 || result > (std::uint64_t{1} << 40U) >> shift) {
      bad_value(item, "a size from 1KiB to 1024GiB, as in 64MiB");
    }
    return result << shift;
  }

  /// "1000Hz" -> 1000.
  static double frequency(std::string_view item, std::string_view value) {
    auto const [result, unit] = number_and_unit(value);
    if (unit != "Hz" || result == 0 || result > 10'000) bad_value(item, "a rate from 1Hz to 10000Hz, as in samples=1000Hz");
    return static_cast<double>(result);
  }

  static bool on_or_off(std::string_view item, std::string_view value) {
    if (value != "on" && value != "off") bad_value(item, "on or off");
    return value == "on";
  }
};

}  // namespace PROFKIT_NAMESPACE::detail

namespace PROFKIT_NAMESPACE {

[[gnu::used]] inline options options::from_env() {
  char const* const text = ::secure_getenv("PROFKIT");
  try {
    return parse(text == nullptr ? "" : text);
  } catch (error const& failure) {
    static bool is_said = false;
    if (!__atomic_exchange_n(&is_said, true, __ATOMIC_RELAXED)) {
      detail::warn(std::string{failure.what()} + ". This program runs without profkit, as with PROFKIT=off");
    }
    options off;
    off.enabled = false;
    return off;
  }
}

[[gnu::used]] inline options options::parse(std::string_view text) {
  detail::options_parser parser;
  while (!text.empty()) {
    std::size_t const comma = text.find(',');
    parser.set(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return parser.result();
}

[[gnu::used]] inline std::optional<rank_record> process_rank() { return detail::find_rank().rank; }

}  // namespace PROFKIT_NAMESPACE
