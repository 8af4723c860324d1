// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../../../profile.hpp"
#include "../../profile/validate.hpp"

namespace profkit::detail {

/// The single values of a profile, from the last window of a session.
class session_header {
 public:
  /// @param records the last window.
  void set(profile const& records) {
    profile_.environment = records.environment;
    profile_.time = records.time;
    profile_.precision = records.precision;
    profile_.measured_roofs = records.measured_roofs;
    profile_.item_name = records.item_name;
    profile_.collectors = records.collectors;
    profile_.quality = records.quality;
    profile_.stop = records.stop;
    profile_.sampling = records.sampling;
  }

  /// @return a profile with the single values, without records and tables.
  [[nodiscard]] profile const& operator()() const noexcept { return profile_; }

 private:
  template <class Archive>
  friend void fields(Archive& archive, session_header& state) {
    archive(state.profile_.environment), archive(state.profile_.time), archive(state.profile_.precision),
        archive(state.profile_.measured_roofs), archive(state.profile_.item_name);
    archive(state.profile_.collectors), archive(state.profile_.quality), archive(state.profile_.stop), archive(state.profile_.sampling);
    if constexpr (Archive::is_reader) record_check{}.tables(state.profile_);
  }

  profile profile_;
};

}  // namespace profkit::detail
