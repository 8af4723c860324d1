// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "../../profile/validate.hpp"

namespace profkit::detail {

/// The single values of a profile, from the last window of a session.
class session_header {
 public:
  /// @param end the end of the window.
  void add(profile const& records, timestamp end) {
    if (end_ && end <= *end_) return;
    end_ = end;
    of_.environment = records.environment;
    of_.time = records.time;
    of_.precision = records.precision;
    of_.measured_roofs = records.measured_roofs;
    of_.item_name = records.item_name;
    of_.collectors = records.collectors;
    of_.quality = records.quality;
    of_.stop = records.stop;
    of_.sampling = records.sampling;
  }

  void add(session_header const& other) {
    if (other.end_) add(other.of_, *other.end_);
  }

  /// @return a profile with the single values, without records and tables.
  [[nodiscard]] profile const& operator()() const noexcept { return of_; }

 private:
  template <class Archive>
  friend void fields(Archive& archive, session_header& state) {
    archive(state.end_);
    archive(state.of_.environment), archive(state.of_.time), archive(state.of_.precision), archive(state.of_.measured_roofs),
        archive(state.of_.item_name);
    archive(state.of_.collectors), archive(state.of_.quality), archive(state.of_.stop), archive(state.of_.sampling);
    if constexpr (Archive::is_reader) record_check{}.tables(state.of_);
  }

  std::optional<timestamp> end_;
  profile of_;
};

}  // namespace profkit::detail
