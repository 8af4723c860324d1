// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "../../collector.hpp"
#include "../../error.hpp"
#include "../../profile_builder.hpp"
#include "../../time.hpp"
#include "../profile/own_containers.hpp"
#include "../profile/path_table.hpp"
#include "../record/clock.hpp"
#include "../record/handoff_queue.hpp"
#include "built_in_collectors.hpp"
#include "device_windows.hpp"
#include "opened_libraries.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The energy that a meter has counted, over time: straight lines between the moments at which its counter changed. A change is as exact
/// as the time between two readings, or between two changes if that is shorter.
class energy_curve {
 public:
  /// Adds a reading of the counter.
  void add(timestamp time, std::uint64_t microjoules) {
    ++readings_;
    if (last_reading_ != timestamp::min() && microjoules != last_value_) {
      timestamp const changed = time - (std::min)(time - last_reading_, period_) / 2;
      if (++changes_ == 1) first_change_ = changed;
      if (changes_ > 1) period_ = (std::min)(period_, changed - points_.back().time);
      points_.push_back({changed, static_cast<double>(microjoules)});
    }
    last_reading_ = time;
    last_value_ = microjoules;
  }

  /// Whether readings in close succession would tell how often the counter changes. A counter that does not change is no reason for many.
  [[nodiscard]] bool has_unknown_period() const noexcept { return changes_ < 3 && readings_ < 100; }

  /// Whether the energy is known from or until a moment: between the first and the last change.
  [[nodiscard]] bool begins_before(timestamp moment) const noexcept { return changes_ > 0 && first_change_ <= moment; }
  [[nodiscard]] bool reaches(timestamp moment) const noexcept { return !points_.empty() && moment <= points_.back().time; }

  /// In microjoules. The moment must be between the first and the last change.
  [[nodiscard]] double at(timestamp moment) const {
    auto const is_before = [](point const& each, timestamp at) { return each.time < at; };
    auto const after = std::lower_bound(points_.begin(), points_.end(), moment, is_before);
    if (after == points_.begin()) return after->microjoules;
    point const& from = *(after - 1);
    double const share = std::chrono::duration<double>{moment - from.time} / std::chrono::duration<double>{after->time - from.time};
    return from.microjoules + share * (after->microjoules - from.microjoules);
  }

  /// Mean time between two changes; 0 before the second one.
  [[nodiscard]] std::chrono::nanoseconds resolution() const noexcept {
    return changes_ < 2 ? std::chrono::nanoseconds{} : (points_.back().time - first_change_) / static_cast<std::int64_t>(changes_ - 1);
  }

  /// Forgets what only earlier moments need. Beyond some thousand points, longer lines replace those in the middle.
  void forget_before(timestamp moment) {
    constexpr std::ptrdiff_t max_points = 8192;
    while (points_.size() > 2 && points_[1].time <= moment) points_.pop_front();
    if (points_.size() > max_points) points_.erase(points_.begin() + max_points / 4, points_.end() - max_points / 4);
  }

 private:
  struct point {
    timestamp time;
    double microjoules;
  };

  own_deque<point> points_;
  std::chrono::nanoseconds period_ = std::chrono::nanoseconds::max();  ///< shortest time between two changes
  timestamp first_change_{};
  timestamp last_reading_ = timestamp::min();
  std::uint64_t last_value_ = 0;
  std::uint64_t changes_ = 0;
  std::uint64_t readings_ = 0;
};

/// Adds the energy of measured steps to a profile, as soon as its meter has passed their ends.
class energy_meter {
 public:
  /// @param read the energy since any moment, in microjoules. It throws profkit::error if the meter cannot be read.
  energy_meter(energy_meter_record named, std::function<std::uint64_t()> read) : named_{std::move(named)}, read_{std::move(read)} {}

  /// A measured step that ended.
  struct ended_step {
    interval time;
    std::uint64_t index = 0;
    std::uint64_t items = 0;
  };

  void read(timestamp now) { curve_.add(now, read_()); }
  void expect(ended_step const& step) {
    waiting_.push_back(step);
    if (has_own_energy(step.time.duration())) long_step_ = step;
  }

  /// @param scope a scope in a step that is open or has ended.
  void expect_scope(scope_record const& scope) {
    constexpr std::size_t max_scopes = 4096;
    if (has_own_energy(scope.time.duration()) && scopes_.size() < max_scopes) scopes_.push_back(scope);
  }
  [[nodiscard]] bool has_unknown_period() const noexcept { return curve_.has_unknown_period(); }
  [[nodiscard]] bool is_waiting() const { return !waiting_.empty() && curve_.begins_before(waiting_.back().time.begin); }
  [[nodiscard]] bool has_result() const noexcept { return position_.has_value(); }

  /// @param oldest an open step begins at this time or later.
  void settle(profile_builder& into, timestamp oldest, bool last) {
    settle_scopes(into, oldest);
    for (; !waiting_.empty() && curve_.reaches(waiting_.front().time.end); waiting_.pop_front()) {
      ended_step const& step = waiting_.front();
      if (!curve_.begins_before(step.time.begin)) continue;
      microjoules_ += curve_.at(step.time.end) - curve_.at(step.time.begin);
      sum_.time = step.time.end;
      sum_.duration += step.time.duration();
      sum_.step = step.index;
      ++sum_.steps;
      sum_.items += step.items;
      if (has_own_energy(sum_.duration)) put_sum(into);
    }
    if (last && sum_.steps > 1) put_sum(into);  // a single step is too short for a figure of its own
    if (!waiting_.empty()) oldest = (std::min)(oldest, waiting_.front().time.begin);
    curve_.forget_before(long_step_ ? (std::min)(oldest, long_step_->time.begin) : oldest);  // its scopes may be read later
  }

 private:
  /// Both ends of a time are known to about one change of the counter.
  [[nodiscard]] bool has_own_energy(std::chrono::nanoseconds time) const noexcept {
    constexpr int min_changes = 10;
    return curve_.resolution().count() > 0 && time >= min_changes * curve_.resolution();
  }

  void settle_scopes(profile_builder& into, timestamp oldest) {
    own_vector<scope_record> later;
    for (scope_record const& scope : scopes_) {
      bool const is_in_step = long_step_ && long_step_->time.begin <= scope.time.begin && scope.time.end <= long_step_->time.end;
      if (!is_in_step || !curve_.reaches(scope.time.end)) {
        if (is_in_step || scope.time.begin >= oldest) later.push_back(scope);
      } else if (curve_.begins_before(scope.time.begin)) {
        double const microjoules = curve_.at(scope.time.end) - curve_.at(scope.time.begin);
        put({scope.time.end, scope.time.duration(), long_step_->index, 0, 0, 0, {}, 0, scope.path}, microjoules, into);
      }
    }
    scopes_.swap(later);
  }

  void put_sum(profile_builder& into) { put(std::exchange(sum_, {}), std::exchange(microjoules_, 0.0), into); }

  void put(energy_record record, double microjoules, profile_builder& into) {
    if (!position_) {
      into.add(named_);
      position_ = static_cast<std::uint32_t>(into.so_far().energy_meters.size() - 1);
    }
    record.microjoules = static_cast<std::uint64_t>(std::llround((std::max)(0.0, microjoules)));
    record.resolution = curve_.resolution();
    record.meter = *position_;
    into.add(record);
  }

  energy_meter_record named_;
  std::function<std::uint64_t()> read_;
  energy_curve curve_;
  own_deque<ended_step> waiting_;        ///< steps whose energy is not known yet, in order
  std::optional<ended_step> long_step_;  ///< the last step that can have scopes with an energy of their own
  own_vector<scope_record> scopes_;      ///< scopes whose step or energy is not known yet
  energy_record sum_;                    ///< of the steps since the last record
  double microjoules_ = 0.0;             ///< of the same steps
  std::optional<std::uint32_t> position_;
};

/// The first line of a file. @throws profkit::error with the reason if it cannot be read.
inline std::string first_line_of(std::string const& file) {
  std::FILE* const opened = std::fopen(file.c_str(), "re");
  char text[64] = {};
  bool const has_text = opened != nullptr && std::fgets(text, sizeof text, opened) != nullptr;
  int const code = errno;
  if (opened != nullptr) static_cast<void>(std::fclose(opened));
  if (!has_text) throw error{"cannot read " + file + ": " + std::generic_category().message(code), code};
  std::string const line{text};
  return line.substr(0, line.find('\n'));
}

/// The implementation of `energy`.
class energy_measurement final : public collector {
 public:
  explicit energy_measurement(std::string powercap) : powercap_{std::move(powercap)} {}

  [[nodiscard]] std::string_view name() const noexcept override { return "energy"; }
  [[nodiscard]] collector_kind kind() const noexcept override { return collector_kind::energy; }

  void use_clock(calendar_clock& clock) override { clock_ = &clock; }

  /// @throws profkit::error with both reasons if there is neither NVML nor a RAPL counter that this process may read.
  void start(profile_builder&) override {
    try {
      nvml_ = std::make_unique<nvml_utilization>();
      total_energy_ = nvml_->nvml.needed("nvmlDeviceGetTotalEnergyConsumption");
    } catch (error const& failure) {
      nvml_.reset();
      why_no_gpu_ = failure.what();
    }
    find_packages();
    if (nvml_ == nullptr && meters_.empty()) throw error{"GPU: " + why_no_gpu_ + "; host: " + why_no_host_};
  }

  void before_step(step_record const& step) override { events_.push({clock_->now(), step, false}); }
  void after_step(step_record const& step) override { events_.push({clock_->now(), step, true}); }

  /// Reads the meters if a reading is due, and adds the energy of ended steps. The last call waits at most 300 ms for the counters to pass
  /// the end of the last step.
  /// @throws profkit::error if a meter stopped reporting.
  void drain(profile_builder& into, bool last) override {
    events_.take_all([this](step_event const& each) { take(each); });
    if (last || std::chrono::steady_clock::now() >= next_reading_) read_meters();
    auto const is_waiting = [](energy_meter const& each) { return each.is_waiting(); };
    for (int i = 0; last && i < 30 && std::any_of(meters_.begin(), meters_.end(), is_waiting); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
      read_meters();
    }
    take_scopes(into.so_far(), into.so_far().scopes, seen_);
    take_scopes(into.so_far(), into.rest().scopes, seen_of_rest_);
    for (energy_meter& each : meters_) each.settle(into, open_.value_or(clock_->now()), last);
    if (last) check_result();
  }

  void stop() override {
    meters_.clear();
    nvml_.reset();
  }

 private:
  struct step_event {
    timestamp time;
    step_record step;
    bool is_end;
  };

  void take(step_event const& event) {
    if (event.is_end && open_ && event.step.is_measured()) {
      had_step_ = true;
      for (energy_meter& each : meters_) each.expect({{*open_, event.time}, event.step.index, event.step.items});
    }
    open_ = event.is_end ? std::nullopt : std::optional{event.time};
  }

  /// Takes the scopes in steps that are new in a list. If the list was emptied and has grown again, it can miss some.
  void take_scopes(profile const& tables, own_vector<scope_record> const& scopes, std::size_t& seen) {
    for (seen = seen > scopes.size() ? 0 : seen; seen < scopes.size(); ++seen) {
      constexpr std::chrono::milliseconds min_duration{10};  // counters change at most every millisecond
      if (scopes[seen].time.duration() < min_duration) continue;
      std::uint32_t const root = root_of(tables.paths, scopes[seen].path);
      if (root == scopes[seen].path || !tables.paths[root].is_step) continue;
      for (energy_meter& each : meters_) each.expect_scope(scopes[seen]);
    }
  }

  /// Finds the RAPL counters of processor packages and of their memory. The cores of a package are a part of it, so they are no meters of
  /// their own. Source: Linux kernel, "Power Capping Framework".
  void find_packages() {
    why_no_host_ = "there is no RAPL counter in " + powercap_;
    for (int package = 0; package < 64; ++package) {
      std::string const folder = powercap_ + "/intel-rapl:" + std::to_string(package);
      try {
        std::string const name = first_line_of(folder + "/name");
        why_no_host_.clear();
        if (name.rfind("package", 0) == 0) add_rapl(folder, name);
        if (first_line_of(folder + ":0/name") == "dram") add_rapl(folder + ":0", "dram of " + name);
        if (first_line_of(folder + ":1/name") == "dram") add_rapl(folder + ":1", "dram of " + name);
      } catch (error const& failure) {
        if (why_no_host_.empty() && meters_.empty()) why_no_host_ = failure.what();
        if (!why_no_host_.empty()) return;
      }
    }
  }

  /// The counter wraps around; it must be read at least once in each round, which takes minutes.
  void add_rapl(std::string const& folder, std::string const& name) {
    auto const number_in = [](std::string const& file) { return std::strtoull(first_line_of(file).c_str(), nullptr, 10); };
    std::uint64_t const range = number_in(folder + "/max_energy_range_uj");
    meters_.emplace_back(energy_meter_record{name, -1}, [=, before = number_in(folder + "/energy_uj"), sum = std::uint64_t{}]() mutable {
      std::uint64_t const now = number_in(folder + "/energy_uj");
      sum += now >= before ? now - before : now + range - before;
      before = now;
      return sum;
    });
  }

  /// Adds a meter for each device that this process uses and that has none.
  void find_devices() {
    if (nvml_ == nullptr) return;
    for (auto const& [number, bus_id] : in_use_.find()) {
      if (!devices_.insert(number).second) continue;
      try {
        nvml_library::device device = nullptr;
        nvml_->nvml.check(nvml_->nvml.device_by_pci_bus_id(bus_id.c_str(), &device), "nvmlDeviceGetHandleByPciBusId_v2");
        if (nvml_->is_divided(device))
          throw error{"device " + std::to_string(number) + " is in MIG mode, and its energy is that of all instances"};
        auto const read = [this, device] {
          unsigned long long millijoules = 0;
          nvml_->nvml.check(total_energy_(device, &millijoules), "nvmlDeviceGetTotalEnergyConsumption");
          return std::uint64_t{millijoules} * 1000;
        };
        static_cast<void>(read());
        meters_.emplace_back(energy_meter_record{"GPU " + std::to_string(number), number}, read);
      } catch (error const& failure) {
        why_no_gpu_ = failure.what();
      }
    }
  }

  /// At most 1 % of the time, after some tenths of a second in which the periods of the counters are found.
  void read_meters() {
    auto const begin = std::chrono::steady_clock::now();
    find_devices();
    for (energy_meter& each : meters_) each.read(clock_->now());
    auto const end = std::chrono::steady_clock::now();
    bool const has_unknown_period = std::any_of(meters_.begin(), meters_.end(), [](auto const& each) { return each.has_unknown_period(); });
    next_reading_ =
        end + (std::max<std::chrono::steady_clock::duration>)(std::chrono::milliseconds{5}, (has_unknown_period ? 0 : 100) * (end - begin));
  }

  /// @throws profkit::error with the reason if nothing was measured.
  void check_result() const {
    if (std::any_of(meters_.begin(), meters_.end(), [](energy_meter const& each) { return each.has_result(); })) return;
    if (!had_step_) throw error{"no step was measured"};
    if (meters_.empty() && why_no_gpu_.empty()) throw error{"this process used no CUDA device; host: " + why_no_host_};
    if (meters_.empty()) throw error{"GPU: " + why_no_gpu_ + "; host: " + why_no_host_};
    throw error{"the measured steps were shorter than the time between two changes of the counters"};
  }

  std::string powercap_;
  calendar_clock const* clock_ = nullptr;
  handoff_queue<step_event> events_;  ///< from the step thread to the session's thread, which uses the other members
  std::unique_ptr<nvml_utilization> nvml_;
  int (*total_energy_)(nvml_library::device, unsigned long long*) = nullptr;
  devices_in_use in_use_;
  std::set<std::int32_t> devices_;  ///< devices that were found
  own_deque<energy_meter> meters_;
  std::optional<timestamp> open_;  ///< beginning of the running step
  std::size_t seen_ = 0;           ///< number of scopes of the profile that were taken
  std::size_t seen_of_rest_ = 0;
  std::chrono::steady_clock::time_point next_reading_{};
  bool had_step_ = false;
  std::string why_no_gpu_;
  std::string why_no_host_;
};

}  // namespace PROFKIT_NAMESPACE::detail
