// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "profile/error.hpp"
#include "profile/work.hpp"
#include "session/closest_word.hpp"
#include "session/console.hpp"

namespace profkit {

/// @brief The steps whose records a session keeps, for traces and for `report::profile()`. The figures always cover all steps.
struct kept_steps {
  /// @brief Which steps: all (within the record budget), the last `count`, or the `count` slowest measured steps.
  enum choice_of_steps : std::uint8_t { all = 0, last = 1, slowest = 2 };

  choice_of_steps choice = all;  ///< which steps
  std::uint64_t count = 0;       ///< number of steps; unused with `all`
};

/// @brief The options of a session. The environment variable `PROFKIT`, a comma-separated list of the keys below, sets them through
/// `from_env`.
///
/// A plain value: set the members before you create the session; later changes have no effect.
struct options {
  bool enabled = true;        ///< `off`: records nothing; steps still run
  bool print_report = false;  ///< `report`: print the first screen of the report when the session ends
  bool full_report = false;   ///< `report=full`: print all tables of the report when the session ends
  /// @brief `report=every:60s`: period of snapshots while the session runs. A snapshot replaces the files in `output_directory`; without a
  /// directory it prints one line on stderr. 0: no snapshots.
  std::chrono::milliseconds report_every{0};
  /// @brief `report=every:1000`: the same after every 1000th step, including warm-up. 0: no snapshots by steps.
  std::uint64_t report_every_steps = 0;

  std::uint64_t warmup_steps = 5;  ///< `warmup=N`: steps that are recorded but excluded from statistics
  /// @brief `steps=N`: number of measured steps in `for (profkit::step step : session)`. `steps=forever`: only `break`, an exception or the
  /// end of the program ends the loop.
  std::uint64_t measured_steps = 30;
  /// @brief `steps=auto`, `steps=auto:0.5%`: measures until the half-width of the 95 % interval of the mean step time is at most this share
  /// of the mean (0.005 for 0.5 %). Replaces `measured_steps`.
  std::optional<double> wanted_interval;
  std::uint64_t max_steps = 1000;     ///< maximum number of measured steps with `steps=auto`
  std::uint64_t items_per_step = 0;   ///< tokens, images, ... in a step; 0: not counted
  std::string item_name = "items";    ///< plural name of the items in reports
  double model_flops_per_step = 0.0;  ///< floating-point operations of the model per step; 0: the sum of declared work (`profkit::work`)
  profkit::precision precision = profkit::precision::unknown;  ///< `precision=NAME`: default for `work` without a precision
  /// @brief `samples=1000Hz`: host samples per second of processor time of each thread with scopes, from 1 to 10,000 (`host_samples`). 0:
  /// no samples.
  double samples_per_second = 0.0;
  bool memory_at_scopes = false;  ///< `memory=scopes`: polls the memory sources at both ends of every scope
  bool trace = false;             ///< `trace`: writes `trace.json` at the end, to `output_directory` or the current directory
  std::uint64_t trace_steps = 3;  ///< `trace=N`: the trace contains the last N measured steps
  /// @brief `out=DIR`: directory of the reports, which are written at the end. Placeholders: "%p" is the process id, "%r" the rank, "%h"
  /// the host name. In a run of several ranks the reports are in `DIR/rankN`, unless DIR contains "%p" or "%r".
  std::string output_directory;
  /// @brief `journal=FILE`: file to which records are written while the session runs, so that a kill loses at most the last 100 ms.
  /// Placeholders as in `out=DIR`. In a run of several ranks the file is `FILE.rankN`, unless FILE contains "%p" or "%r".
  std::string journal;
  /// @brief `journal_size=1GiB`: maximum size of the journal, at least 1 MiB. When FILE reaches half of it, FILE is renamed to FILE.1,
  /// which replaces an older FILE.1. The journal continues in a new FILE that begins with the figures of all earlier records.
  std::uint64_t journal_bytes = std::uint64_t{1} << 30U;
  /// @brief `signals=report`: on SIGINT and SIGTERM, the session ends and reports, as with `exit`, before the signal ends the program. No
  /// effect if the program handles or ignores the signal.
  bool report_on_signals = false;
  bool use_rank = true;  ///< `rank=off`: ignores the variables of launchers (`process_rank`), so that each process is its own run
  bool nvtx = true;      ///< `nvtx=off`: read before `main`, so only the environment variable has an effect
  bool kernels = true;   ///< `kernels=off`: ignores kernel collectors (`collector::kind`)
  /// @brief `kernels=every:N`: collects kernels only in the N-th, 2N-th, ... measured step.
  std::uint64_t kernels_every = 1;
  bool gpu_utilization = false;  ///< `utilization=on`: adds the collector `profkit::gpu_utilization`
  /// @brief `records=N`: record budget of the profile: scopes, GPU operations, API calls and others, of 24 to 120 bytes each. At most
  /// 65,536 steps are kept. Further records count in the figures, but the profile and traces do not contain them.
  std::uint64_t max_records = 1'000'000;
  /// @brief `keep=all`, `keep=last:N`, `keep=slowest:K`: the steps whose records are kept. Records from before the first step are always
  /// kept.
  kept_steps keep{};
  /// @brief `log=64MiB`: maximum size of a thread's log between two drains, in slots of 8 bytes. A scope takes 3 slots, a launch 4. Memory
  /// is mapped as needed.
  std::uint64_t log_slots_per_thread = std::uint64_t{1} << 24U;

  /// @brief `drain=25%`: maximum share of one core that the session's thread uses to drain the logs; above 0, at most 1. If logs fill up,
  /// it uses more, so that nothing is dropped.
  double drain_share = 0.25;

  /// @brief Maximum number of measured steps: `measured_steps`, or with `steps=auto` `max_steps`.
  [[nodiscard]] std::uint64_t max_measured_steps() const noexcept { return enabled && wanted_interval ? max_steps : measured_steps; }

  /// @brief Whether a kernel collector, if there is one, collects in a step.
  ///
  /// With `kernels_every` the last warm-up step is collected too, because the first collection has one-time costs. If fewer steps are
  /// measured than `kernels_every`, the last measured step is collected.
  /// @param step index from 0, including warm-up.
  [[nodiscard]] bool collects_kernels_in(std::uint64_t step) const noexcept {
    if (kernels_every <= 1) return true;
    if (step < warmup_steps) return step + 1 == warmup_steps;
    std::uint64_t const most = max_measured_steps();
    std::uint64_t const every = most > 0 && most < kernels_every ? most : kernels_every;
    return (step - warmup_steps + 1) % every == 0;
  }

  /// @brief Maximum number of steps, including warm-up.
  [[nodiscard]] std::uint64_t max_wanted_steps() const noexcept {
    std::uint64_t const sum = warmup_steps + max_measured_steps();
    return sum < warmup_steps ? ~std::uint64_t{0} : sum;
  }

  /// @brief Reads the environment variable `PROFKIT` with `secure_getenv`. Does not throw: for an unknown key or a bad value it prints one
  /// message on stderr and returns the options of `PROFKIT=off`. Thread-safe, unless another thread changes the environment.
  [[nodiscard]] static options from_env() {
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

  /// @brief Parses the value of `PROFKIT`.
  /// @param text such as "off" or "report,warmup=3,steps=10,out=profile".
  /// @throws profkit::error that names the unknown key or bad value and lists the valid keys.
  [[nodiscard]] static options parse(std::string_view text) {
    options result;
    while (!text.empty()) {
      std::size_t const comma = text.find(',');
      result.set(text.substr(0, comma));
      text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    }
    return result;
  }

 private:
  static constexpr char const* valid_keys =
      "off, report, report=full, report=every:T, report=every:N, warmup=N, steps=N|forever|auto|auto:P%, out=DIR, journal=FILE, "
      "journal_size=SIZE, "
      "signals=default|report, trace, trace=N, kernels=on|off|every:N, nvtx=on|off, records=N, keep=all|last:N|slowest:K, log=SIZE, "
      "drain=P%, memory=steps|scopes, samples=NHz, rank=on|off, utilization=on|off, precision=fp64|fp32|tf32|fp16|bf16|fp8";

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
    } else if (key == "signals") {
      if (value != "report" && value != "default") bad_value(item, "report or default");
      report_on_signals = value == "report";
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

  void set_report_every(std::string_view item, std::string_view value) {
    constexpr std::string_view every = "every:";
    constexpr char const* wanted =
        "no value, full, every:T with a time from 1ms to 8760h in ms, s, m or h, as in every:60s, or every:N with a number of steps";
    constexpr std::uint64_t max_ms = std::uint64_t{8760} * 3'600'000;
    if (value.substr(0, every.size()) != every) bad_value(item, wanted);
    value.remove_prefix(every.size());
    std::uint64_t number = 0;
    auto const [end, status] = std::from_chars(value.data(), value.data() + value.size(), number);
    std::string_view const unit = value.substr(static_cast<std::size_t>(end - value.data()));
    if (status == std::errc{} && unit.empty() && number > 0) {
      report_every_steps = number;
      return;
    }
    std::uint64_t const ms = unit == "ms" ? 1 : unit == "s" ? 1000 : unit == "m" ? 60'000 : unit == "h" ? 3'600'000 : 0;
    if (status != std::errc{} || ms == 0 || number == 0 || number > max_ms / ms) bad_value(item, wanted);
    report_every = std::chrono::milliseconds{number * ms};
  }

  void set_kernels(std::string_view item, std::string_view value) {
    constexpr std::string_view some = "every:";
    constexpr char const* wanted = "on, off, or every:N with a whole number from 1, as in every:10";
    kernels = value != "off";
    kernels_every = 1;
    if (value == "on" || value == "off") return;
    if (value.substr(0, some.size()) != some) bad_value(item, wanted);
    value.remove_prefix(some.size());
    auto const [end, status] = std::from_chars(value.data(), value.data() + value.size(), kernels_every);
    if (status != std::errc{} || end != value.data() + value.size() || kernels_every == 0) bad_value(item, wanted);
  }

  void set_keep(std::string_view item, std::string_view value) {
    keep = {};
    if (value == "all") return;
    std::size_t const colon = value.find(':');
    std::string_view const choice = value.substr(0, colon);
    keep.choice = choice == "last" ? kept_steps::last : kept_steps::slowest;
    std::string_view const count = colon == std::string_view::npos ? std::string_view{} : value.substr(colon + 1);
    auto const [end, status] = std::from_chars(count.data(), count.data() + count.size(), keep.count);
    bool const is_number = status == std::errc{} && end == count.data() + count.size() && keep.count > 0;
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

  /// "0.5%" -> 0.005; nothing for values that are not above 0 % and at most 100 %.
  static std::optional<double> percent(std::string_view value) {
    double result = 0.0;
    auto const [end, status] = std::from_chars(value.data(), value.data() + value.size(), result);
    bool const is_percent = status == std::errc{} && end + 1 == value.data() + value.size() && *end == '%';
    if (!is_percent || !(result > 0.0 && result <= 100.0)) return std::nullopt;
    return result / 100.0;
  }

  [[noreturn]] static void unknown_key(std::string_view item, std::string_view key) {
    std::string_view const meant = detail::closest_word(key, valid_keys);
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
    std::uint64_t result = 0;
    auto const [end, status] = std::from_chars(value.data(), value.data() + value.size(), result);
    std::string_view const unit = value.substr(static_cast<std::size_t>(end - value.data()));
    unsigned const shift = unit == "KiB" ? 10 : unit == "MiB" ? 20 : unit == "GiB" ? 30 : 0;
    if (status != std::errc{} || shift == 0 || result == 0 || result > (std::uint64_t{1} << 40U) >> shift) {
      bad_value(item, "a size from 1KiB to 1024GiB, as in 64MiB");
    }
    return result << shift;
  }

  /// "1000Hz" -> 1000.
  static double frequency(std::string_view item, std::string_view value) {
    std::uint64_t result = 0;
    auto const [end, status] = std::from_chars(value.data(), value.data() + value.size(), result);
    bool const has_unit = std::string_view{end, static_cast<std::size_t>(value.data() + value.size() - end)} == "Hz";
    if (status != std::errc{} || !has_unit || result == 0 || result > 10'000)
      bad_value(item, "a rate from 1Hz to 10000Hz, as in samples=1000Hz");
    return static_cast<double>(result);
  }

  static bool on_or_off(std::string_view item, std::string_view value) {
    if (value != "on" && value != "off") bad_value(item, "on or off");
    return value == "on";
  }
};

}  // namespace profkit
