// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "../../error.hpp"
#include "../../profile.hpp"
#include "../../time.hpp"
#include "../../version.hpp"
#include "../analyze/gpu/attribution.hpp"
#include "../analyze/gpu/gpu_idle.hpp"
#include "../profile/atomic_file.hpp"
#include "../profile/file_access.hpp"
#include "../profile/numbers.hpp"
#include "../profile/own_memory.hpp"
#include "json_text.hpp"
#include "report_code.hpp"
#include "report_view.hpp"
#include "trace_content.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Writes a trace to a file in pieces, because it may be large. Without a file it keeps the whole text.
class trace_output {
 public:
  trace_output() = default;
  /// @throws profkit::error that names the file if it cannot be created.
  explicit trace_output(std::filesystem::path const& path) : file_{path} { text_.reserve(piece_bytes + piece_bytes / 4); }

  /// The buffer to append to.
  [[nodiscard]] own_string& text() noexcept { return text_; }

  /// Writes the buffer if it is large enough for a piece. To be called regularly.
  void pass_on() {
    if (file_ && text_.size() >= piece_bytes) write();
  }

  /// Completes the file.
  /// @throws profkit::error that names the file if a write failed; no file is left then.
  void close() {
    write();
    file_->finish();
  }

  /// The whole text, if there is no file.
  [[nodiscard]] own_string take() && { return std::move(text_); }

 private:
  static constexpr std::size_t piece_bytes = std::size_t{1} << 18U;

  void write() {
    file_->write(text_);
    text_.clear();
  }

  std::optional<atomic_file> file_;
  own_string text_;
};

}  // namespace PROFKIT_NAMESPACE::detail

namespace PROFKIT_NAMESPACE {

namespace detail {

/// A short text built on the stack, because appending to a string costs more than one copy.
class short_text {
 public:
  template <std::size_t Size>
  short_text& operator<<(char const (&literal)[Size]) {
    std::memcpy(end_, literal, Size - 1);
    end_ += Size - 1;
    return *this;
  }

  template <class Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
  short_text& operator<<(Integer number) {
    end_ = std::to_chars(end_, std::end(text_), number).ptr;
    return *this;
  }

  /// Microseconds with three decimals. Exact; relative to the beginning of the profile they fit into a double.
  short_text& operator<<(std::chrono::nanoseconds time) {
    auto ns = static_cast<std::uint64_t>(time.count());
    if (time.count() < 0) {
      *this << "-";
      ns = 0 - ns;
    }
    auto const rest = static_cast<unsigned>(ns % 1000);
    *this << ns / 1000;
    *end_++ = '.';
    *end_++ = static_cast<char>('0' + rest / 100);
    *end_++ = static_cast<char>('0' + rest / 10 % 10);
    *end_++ = static_cast<char>('0' + rest % 10);
    return *this;
  }

  short_text& operator<<(std::array<std::uint32_t, 3> const& numbers) {
    return *this << numbers[0] << "," << numbers[1] << "," << numbers[2];
  }

  void append_to(own_string& text) const { text.append(text_, static_cast<std::size_t>(end_ - text_)); }

 private:
  char text_[512];  // large enough for a few numbers of at most 20 digits
  char* end_ = text_;
};

/// Writes the events of a trace, one per line. Text that many events share is built once.
class json_trace_format {
 public:
  json_trace_format(trace_content const& content, trace_output& to)
      : content_{content}, profile_{content.recorded()}, to_{to}, text_{to.text()} {
    for (std::string const& name : content.scope_names()) {
      scope_ends_.push_back(fmt::format(R"(,"cat":"scope","name":{}}})", json_string(name)));
    }
    for (std::string const& path : content.scope_paths()) scope_arguments_.push_back(R"(,"scope":)" + json_string(path));
    for (std::string const& name : profile_.api_names) {
      call_ends_.push_back(fmt::format(R"(,"cat":"api","name":{},"args":{{"correlation":)", json_string(name)));
    }
    for (gpu_name_record const& each : profile_.gpu_names) gpu_names_.push_back(json_string(each.name));
    text_ += fmt::format(R"({{"displayTimeUnit": "ms", "otherData": {{"profkit": {}, "begin_unix_ns": "{}"}}, "traceEvents": [)",
                         json_string(version), profile_.time.begin.time_since_epoch().count());
    process(content.host(), process_track_name(profile_.environment), 0);
  }

  void finish() { text_ += "\n]}\n"; }

  void thread(std::uint64_t number, std::string_view name, std::size_t rank, timestamp) { track(content_.host(), number, name, rank); }
  void process_track(char const* name, std::uint64_t number, timestamp) { track(content_.host(), number, name, 0); }

  void device(std::int32_t number, std::string const& name) {
    device_ = content_.host() + 1 + static_cast<std::uint64_t>(number);
    process(device_, name, static_cast<std::size_t>(number) + 1);
  }

  void stream(std::string const& name, std::size_t rank, timestamp) {
    stream_ = rank;
    track(device_, rank, name, rank);
  }

  void scope(interval const& time, std::uint32_t path) {
    begin_slice(time).append_to(text_);
    text_ += scope_ends_[path];
    to_.pass_on();
  }

  void call(interval const& time, std::uint32_t position) {
    api_call_record const& call = profile_.api_calls[position];
    begin_slice(time).append_to(text_);
    text_ += call_ends_[call.name];
    (short_text{} << call.correlation << "}}").append_to(text_);
    to_.pass_on();
  }

  void step(step_record const& step) {
    (begin_slice(step.time) << R"(,"cat":"step","name":"step )" << step.index << R"(","args":{"items":)" << step.items << "}}")
        .append_to(text_);
    to_.pass_on();
  }

  void idle(charged_idle const& part) {
    begin_slice(part.time).append_to(text_);
    fmt::format_to(std::back_inserter(text_), R"(,"cat":"idle","name":"{}")", idle_cause_names[static_cast<std::size_t>(part.cause)]);
    if (part.path != attribution::none) {
      text_ += R"(,"args":{)";
      text_.append(scope_arguments_[part.path], 1);  // skip the comma
      text_ += "}";
    }
    text_ += "}";
    to_.pass_on();
  }

  void counter(counter_track const& track) {
    std::string const begin = fmt::format(R"(,{}{{"ph":"C","pid":{},"ts":)", '\n', content_.host());
    std::string const middle = fmt::format(R"(,"name":{},"args":{{"{}":)", json_string(track.name), track.is_bytes ? "bytes" : "value");
    for (auto const& [time, value] : track.values) {
      text_ += begin;
      (short_text{} << time - profile_.time.begin).append_to(text_);
      text_ += middle;
      fmt::format_to(std::back_inserter(text_), "{}}}}}", value);
      to_.pass_on();
    }
  }

  void operation(std::uint32_t position, launch_arrow const* from) {
    gpu_operation_record const& operation = profile_.gpu_operations[position];
    short_text times = begin_slice(operation.time);
    switch (operation.kind) {
      case gpu_operation_kind::kernel:
        times << R"(,"cat":"kernel","name":)";
        break;
      case gpu_operation_kind::copy:
        times << R"(,"cat":"copy","name":)";
        break;
      case gpu_operation_kind::set:
        times << R"(,"cat":"memset","name":)";
        break;
    }
    times.append_to(text_);
    text_ += gpu_names_[operation.name];
    short_text numbers;
    numbers << R"(,"args":{"correlation":)" << operation.correlation;
    if (operation.kind == gpu_operation_kind::kernel) {
      numbers << R"(,"grid":[)" << operation.grid << R"(],"block":[)" << operation.block << "]";
    } else {
      numbers << R"(,"bytes":)" << operation.bytes;
    }
    numbers.append_to(text_);
    std::uint32_t const path = content_.scope_path_of(position);
    if (path != attribution::none) text_ += scope_arguments_[path];
    text_ += "}}";
    if (from != nullptr) arrow(position, *from, operation.time.begin);
    to_.pass_on();
  }

 private:
  void line(std::string_view what) {
    text_ += is_first_ ? "\n" : ",\n";
    is_first_ = false;
    text_ += what;
  }

  void process(std::uint64_t number, std::string const& name, std::size_t rank) {
    line(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", number, json_string(name)));
    line(fmt::format(R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}}}})", number, rank));
  }

  void track(std::uint64_t process, std::uint64_t number, std::string_view name, std::size_t rank) {
    line(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})", process, number, json_string(name)));
    line(fmt::format(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", process, number, rank));
    slice_begin_ = fmt::format(R"(,{}{{"ph":"X","pid":{},"tid":{},"ts":)", '\n', process, number);
  }

  /// Begins a slice on the current track.
  [[nodiscard]] short_text begin_slice(interval const& time) {
    text_ += slice_begin_;
    short_text times;
    times << time.begin - profile_.time.begin << R"(,"dur":)" << time.duration();
    return times;
  }

  void arrow(std::uint32_t id, launch_arrow const& from, timestamp to) {
    short_text both;
    both << ",\n"
         << R"({"ph":"s","id":)" << id << R"(,"pid":)" << content_.host() << R"(,"tid":)" << from.thread << R"(,"ts":)"
         << from.begin - profile_.time.begin << R"(,"cat":"launch","name":"launch"})";
    both << ",\n"
         << R"({"ph":"f","bp":"e","id":)" << id << R"(,"pid":)" << device_ << R"(,"tid":)" << stream_ << R"(,"ts":)"
         << to - profile_.time.begin << R"(,"cat":"launch","name":"launch"})";
    both.append_to(text_);
  }

  trace_content const& content_;
  profile const& profile_;
  trace_output& to_;
  own_string& text_;
  detail::own_vector<own_string> scope_ends_;       ///< by path: the end of its slices as text
  detail::own_vector<own_string> scope_arguments_;  ///< by path: arguments of operations launched in it
  detail::own_vector<own_string> call_ends_;        ///< by name: the text after the times
  detail::own_vector<own_string> gpu_names_;        ///< by name, in JSON
  std::string slice_begin_;                         ///< beginning of a slice on the current track, as text
  std::uint64_t device_ = 0;                        ///< process id of the current device
  std::uint64_t stream_ = 0;                        ///< number of the current stream
  bool is_first_ = true;
};

inline void put_trace_json(profile const& profile, attribution const& launched, std::uint64_t steps, trace_output& to) {
  trace_content const content{profile, launched, steps};
  json_trace_format format{content, to};
  content.write_to(format);
  format.finish();
}

}  // namespace detail

/// @brief The last measured steps, or everything in a session without steps, in Chrome's trace event format for https://ui.perfetto.dev.
///
/// It has a track per thread with scopes and API calls, a track per stream with operations, and arrows from launches to operations. It also
/// has a track with the idle time of the GPUs by cause, counters and memory. Times are microseconds since the beginning of the session.
/// Source: "Trace Event Format", the Chromium project.
/// @param profile the profile.
/// @param launched `attribute(profile)`.
/// @param steps number of measured steps, counted from the end.
/// @return the JSON document.
[[nodiscard]] inline detail::own_string trace_json(profile const& profile, attribution const& launched, std::uint64_t steps) {
  detail::trace_output text;
  detail::put_trace_json(profile, launched, steps, text);
  return std::move(text).take();
}

/// @brief A trace of a profile; computes the attribution.
[[nodiscard]] inline detail::own_string trace_json(profile const& profile, std::uint64_t steps = 3) {
  return trace_json(profile, attribute(profile), steps);
}

namespace detail {

inline constexpr std::string_view trace_json_beginning = R"({"displayTimeUnit": "ms", "otherData": {"profkit": )";

/// Whether a file is a trace that profkit wrote; false for links, and if it cannot be read.
[[nodiscard]] inline bool is_trace_json(std::filesystem::path const& path) {
  return part_of_file(path, static_cast<::off_t>(trace_json_beginning.size())) == trace_json_beginning;
}

}  // namespace detail

/// @brief Writes the trace to a file, in pieces. The file is replaced atomically.
/// @throws profkit::error that names the file and the reason.
inline void write_trace_json(profile const& profile, attribution const& launched, std::uint64_t steps, std::filesystem::path const& path) {
  detail::trace_output file{path};
  detail::put_trace_json(profile, launched, steps, file);
  file.close();
}

namespace detail {

[[gnu::used]] inline void report_code::write_trace(profile const& profile, std::string const& path, std::uint64_t steps) {
  usual_arithmetic const arithmetic;
  write_trace_json(profile, attribute(profile), steps, absolute_path(path));
}

[[gnu::used]] inline void report_code::write_default_trace(profile const& profile, std::string const& path, std::uint64_t steps) {
  std::filesystem::path const place = absolute_path(path);
  std::error_code failure;
  std::filesystem::file_status const there = std::filesystem::symlink_status(place, failure);
  if (std::filesystem::exists(there) && !(is_trace_json(path) && std::filesystem::is_regular_file(there))) {
    throw error{"cannot write " + shown_path(place.string()) + ": it exists and is not a trace of profkit. Remove it, or use out=DIR",
                EEXIST};
  }
  write_trace_json(profile, attribute(profile), steps, place);
}

}  // namespace detail

}  // namespace PROFKIT_NAMESPACE
