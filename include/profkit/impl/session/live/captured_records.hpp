// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "../../../error.hpp"
#include "../../../profile.hpp"
#include "../../../profile_builder.hpp"
#include "../../profile/file_access.hpp"
#include "../../profile/journal_encoder.hpp"
#include "../../profile/own_memory.hpp"
#include "../../profile/record_fields.hpp"
#include "../../record/process_identity.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// A file in memory. @throws profkit::error if the system has no memory for it.
inline std::unique_ptr<own_descriptor> make_memory_file() {
  auto result = std::make_unique<own_descriptor>(above_standard_streams(::memfd_create("profkit", MFD_CLOEXEC)));
  if (result->number < 0) throw error{"cannot create a file in memory: " + std::generic_category().message(errno), errno};
  return result;
}

/// Appends to a file in memory. @throws profkit::error if the system has no memory for it.
inline void append_to(own_descriptor const& file, std::string_view bytes) {
  int const failure = file.is_own() ? write_all(file.number, bytes) : EBADF;
  if (failure != 0) throw error{"cannot write to a file in memory: " + std::generic_category().message(failure), failure};
}

/// The records of some steps of a running session, as a journal in memory.
class captured_records {
 public:
  /// Begins here: earlier records are left out. @throws profkit::error without memory.
  captured_records(profile const& so_far, profile const& rest)
      : file_{make_memory_file()}, bytes_{journal_encoder::beginning()}, before_{so_far.quality} {
    encoder_.skip_records(so_far, rest);
  }

  /// As that of `session_journal`. Without memory the capture is lost, and the session continues.
  void append(profile const& so_far, profile const& rest) noexcept {
    for (profile const* each : {&so_far, &rest}) {
      if (!each->steps.empty()) last_step_ = std::max(last_step_.value_or(0), each->steps.back().index);
    }
    try {
      if (!is_lost_) encoder_.append(so_far, false, bytes_, rest);
      write();
    } catch (std::exception const&) {
      is_lost_ = true;
      bytes_.clear();
    }
  }
  void forget_rest() noexcept { encoder_.forget_rest(); }

  /// Writes the last frame. Nothing may be appended afterwards.
  /// @param content values of its profile are changed during the call: counts are those since the beginning.
  /// @param others records for the capture alone. Positions of functions refer to its own table.
  /// @return the file; null if the capture is lost.
  std::unique_ptr<own_descriptor> finish(profile_builder& content, profile others) {
    append(content.so_far(), content.rest());
    if (is_lost_) return nullptr;
    encoder_.forget_rest();
    struct original_values {
      ~original_values() {
        content.set(&profile::quality, std::move(quality));
        content.set(&profile::sampling, std::move(sampling));
      }
      profile_builder& content;
      quality_record quality;
      std::optional<sampling_record> sampling;
    } original{content, content.so_far().quality, content.so_far().sampling};
    content.set(&profile::quality, since_beginning(original.quality));
    if (others.sampling) content.set(&profile::sampling, others.sampling);
    for (sample_record& each : others.samples) each.function += static_cast<std::uint32_t>(content.so_far().functions.size());
    encoder_.append(content.so_far(), true, bytes_, others);
    write();
    return std::move(file_);
  }

  /// The index of the latest step that has ended; n/a before the first one.
  [[nodiscard]] std::optional<std::uint64_t> last_step() const noexcept { return last_step_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return written_; }

 private:
  [[nodiscard]] quality_record since_beginning(quality_record now) const {
    members_of(described_type<quality_record>{})([&](auto const... member) {
      auto const subtract = [](auto& count, auto const& earlier) {
        if constexpr (std::is_same_v<std::decay_t<decltype(count)>, std::uint64_t>) count -= std::min(count, earlier);
      };
      (subtract(now.*member, before_.*member), ...);
    });
    now.bookkeeping -= before_.bookkeeping;
    now.clock_change -= before_.clock_change;
    own_vector<wrong_end_record> ends;
    for (std::size_t i = 0; i < now.wrong_ends.size(); ++i) {  // the list only grows
      std::uint64_t const earlier = i < before_.wrong_ends.size() ? before_.wrong_ends[i].count : 0;
      if (now.wrong_ends[i].count > earlier) ends.push_back({now.wrong_ends[i].what, now.wrong_ends[i].count - earlier});
    }
    now.wrong_ends = std::move(ends);
    now.untraced_records = 0;
    return now;
  }

  void write() {
    if (is_process(process_)) append_to(*file_, bytes_);  // a child in which a collector has forked shares the file with its parent
    written_ += bytes_.size();
    bytes_.clear();
  }

  std::uint64_t const process_ = identify_process();
  std::unique_ptr<own_descriptor> file_;
  journal_encoder encoder_;
  own_string bytes_;
  std::uint64_t written_ = 0;
  quality_record before_;
  std::optional<std::uint64_t> last_step_;
  bool is_lost_ = false;  ///< there was no memory
};

}  // namespace PROFKIT_NAMESPACE::detail
