// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "error.hpp"
#include "profile.hpp"

namespace profkit::detail {

/// Appends values to a text of bytes: numbers as they lie in memory (little endian, which every platform with CUDA is), a length
/// before texts and lists.
class archive_writer {
 public:
  template <class T>
  void operator()(T const& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      char bytes[sizeof value];
      std::memcpy(bytes, &value, sizeof value);
      bytes_.append(bytes, sizeof value);
    } else {
      fields(*this, const_cast<T&>(value));  // `fields` names the members for both directions
    }
  }
  void operator()(std::string const& text) {
    (*this)(static_cast<std::uint64_t>(text.size()));
    bytes_ += text;
  }
  void operator()(gpu_operation_kind const& value) { (*this)(static_cast<std::uint8_t>(value)); }
  void operator()(allocation_kind const& value) { (*this)(static_cast<std::uint8_t>(value)); }
  void operator()(precision const& value) { (*this)(static_cast<std::uint8_t>(value)); }
  template <class T, std::size_t N>
  void operator()(std::array<T, N> const& values) {
    for (T const& value : values) (*this)(value);
  }
  void operator()(timestamp const& value) { (*this)(static_cast<std::int64_t>(value.time_since_epoch().count())); }
  void operator()(std::chrono::nanoseconds const& value) { (*this)(static_cast<std::int64_t>(value.count())); }
  template <class T>
  void operator()(std::optional<T> const& value) {
    (*this)(value.has_value());
    if (value) (*this)(*value);
  }
  template <class T>
  void operator()(std::vector<T> const& values) {
    (*this)(static_cast<std::uint64_t>(values.size()));
    for (T const& value : values) (*this)(value);
  }

  [[nodiscard]] std::string const& bytes() const noexcept { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads what `archive_writer` wrote.
/// @throws profkit::error if the bytes end too early.
class archive_reader {
 public:
  explicit archive_reader(std::string_view bytes) : rest_{bytes} {}

  template <class T>
  void operator()(T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      std::string_view const bytes = take(sizeof value);
      std::memcpy(&value, bytes.data(), sizeof value);
    } else {
      fields(*this, value);
    }
  }
  void operator()(bool& value) {
    std::uint8_t byte = 0;
    (*this)(byte);
    if (byte > 1) throw error{"the profile is damaged: a truth value is " + std::to_string(byte)};
    value = byte == 1;
  }
  void operator()(gpu_operation_kind& value) { take(value, gpu_operation_kind::set, "kind of GPU operation"); }
  void operator()(allocation_kind& value) { take(value, allocation_kind::level, "kind of allocation"); }
  void operator()(precision& value) { take(value, precision::fp8, "precision"); }
  template <class T, std::size_t N>
  void operator()(std::array<T, N>& values) {
    for (T& value : values) (*this)(value);
  }
  void operator()(std::string& text) { text = take(length(1)); }
  void operator()(timestamp& value) { value = timestamp{ns()}; }
  void operator()(std::chrono::nanoseconds& value) { value = ns(); }
  template <class T>
  void operator()(std::optional<T>& value) {
    bool is_there = false;
    (*this)(is_there);
    value.reset();
    if (is_there) (*this)(value.emplace());
  }
  template <class T>
  void operator()(std::vector<T>& values) {
    values.clear();
    values.resize(length(1));
    for (T& value : values) (*this)(value);
  }

  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

 private:
  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) throw error{"the profile is cut off"};
    std::string_view const result = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(result.size());
    return result;
  }

  template <class Enum>
  void take(Enum& value, Enum last, char const* what) {
    std::uint8_t byte = 0;
    (*this)(byte);
    if (byte > static_cast<std::uint8_t>(last)) {
      throw error{std::string{"the profile is damaged: a "} + what + " is " + std::to_string(byte)};
    }
    value = static_cast<Enum>(byte);
  }

  /// A damaged length must not ask for more memory than the file could fill.
  std::size_t length(std::size_t least_bytes_each) {
    std::uint64_t count = 0;
    (*this)(count);
    if (count > rest_.size() / least_bytes_each) throw error{"the profile is cut off"};
    return static_cast<std::size_t>(count);
  }

  std::chrono::nanoseconds ns() {
    std::int64_t count = 0;
    (*this)(count);
    return std::chrono::nanoseconds{count};
  }

  std::string_view rest_;
};

// The members of each record in the order of the file. A change here is a change of `profile_format`.
template <class Archive>
void fields(Archive& archive, interval& of) {
  archive(of.begin), archive(of.end);
}
template <class Archive>
void fields(Archive& archive, environment_record& of) {
  archive(of.host), archive(of.gpu), archive(of.driver), archive(of.cuda), archive(of.command), archive(of.process_id);
}
template <class Archive>
void fields(Archive& archive, path_record& of) {
  archive(of.parent), archive(of.name), archive(of.index), archive(of.file), archive(of.line);
  archive(of.adopted_from), archive(of.role);
}
template <class Archive>
void fields(Archive& archive, thread_record& of) {
  archive(of.system_id), archive(of.name), archive(of.rest_path);
}
template <class Archive>
void fields(Archive& archive, scope_record& of) {
  archive(of.time), archive(of.path), archive(of.thread);
}
template <class Archive>
void fields(Archive& archive, step_record& of) {
  archive(of.time), archive(of.index), archive(of.warmup), archive(of.items), archive(of.model_flops);
}
template <class Archive>
void fields(Archive& archive, work_record& of) {
  archive(of.begin), archive(of.path), archive(of.work.flops), archive(of.work.bytes), archive(of.work.precision),
      archive(of.work.backward);
}
template <class Archive>
void fields(Archive& archive, allocator_record& of) {
  archive(of.name), archive(of.bytes_at_start), archive(of.is_polled);
}
template <class Archive>
void fields(Archive& archive, allocation_record& of) {
  archive(of.time), archive(of.address), archive(of.bytes), archive(of.thread), archive(of.allocator), archive(of.kind);
}
template <class Archive>
void fields(Archive& archive, device_clock_record& of) {
  archive(of.time), archive(of.step), archive(of.device), archive(of.sm_mhz), archive(of.highest_sm_mhz), archive(of.reasons);
  archive(of.milliwatt), archive(of.celsius);
}
template <class Archive>
void fields(Archive& archive, measured_roof_record& of) {
  archive(of.precision), archive(of.flops_per_second), archive(of.bytes_per_second), archive(of.how);
}
template <class Archive>
void fields(Archive& archive, gpu_scope_record& of) {
  archive(of.path), archive(of.begin), archive(of.device), archive(of.duration);
}
template <class Archive>
void fields(Archive& archive, gpu_step_record& of) {
  archive(of.step), archive(of.device), archive(of.duration);
}
template <class Archive>
void fields(Archive& archive, gpu_name_record& of) {
  archive(of.name), archive(of.mangled);
}
template <class Archive>
void fields(Archive& archive, gpu_operation_record& of) {
  archive(of.time), archive(of.correlation), archive(of.bytes), archive(of.name), archive(of.device), archive(of.stream);
  archive(of.grid), archive(of.block), archive(of.kind), archive(of.graph_node);
}
template <class Archive>
void fields(Archive& archive, graph_node_record& of) {
  archive(of.node), archive(of.path);
}
template <class Archive>
void fields(Archive& archive, api_call_record& of) {
  archive(of.time), archive(of.correlation), archive(of.name), archive(of.thread);
}
template <class Archive>
void fields(Archive& archive, counter_record& of) {
  archive(of.time), archive(of.value), archive(of.counter), archive(of.thread);
}
template <class Archive>
void fields(Archive& archive, memory_record& of) {
  archive(of.source), archive(of.quantity), archive(of.step), archive(of.current_bytes), archive(of.peak_bytes), archive(of.peak_note);
}
template <class Archive>
void fields(Archive& archive, collector_record& of) {
  archive(of.name), archive(of.status), archive(of.reason);
}
template <class Archive>
void fields(Archive& archive, quality_record& of) {
  archive(of.dropped_events), archive(of.open_scopes), archive(of.abandoned_steps), archive(of.unread_gpu_times),
      archive(of.untimed_gpu_scopes);
  archive(of.dropped_operations), archive(of.invalid_operations);
  archive(of.clock_changes), archive(of.cost_of_1000_scopes), archive(of.bookkeeping), archive(of.clock);
}
template <class Archive>
void fields(Archive& archive, stop_record& of) {
  archive(of.wanted), archive(of.reached), archive(of.is_of_gpu), archive(of.most_steps);
}
template <class Archive>
void fields(Archive& archive, profile& of) {
  archive(of.environment), archive(of.item_name), archive(of.time), archive(of.paths), archive(of.threads), archive(of.scopes);
  archive(of.steps), archive(of.gpu_scopes), archive(of.gpu_steps), archive(of.gpu_names), archive(of.gpu_operations);
  archive(of.graph_nodes);
  archive(of.api_names), archive(of.api_calls), archive(of.has_all_api_calls), archive(of.counter_names), archive(of.counters);
  archive(of.memory), archive(of.allocators), archive(of.allocations), archive(of.work), archive(of.precision);
  archive(of.device_clocks), archive(of.measured_roofs), archive(of.collectors), archive(of.quality), archive(of.stop);
}

}  // namespace profkit::detail
