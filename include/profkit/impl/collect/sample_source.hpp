// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "../../profile_builder.hpp"
#include "../../time.hpp"
#include "../profile/own_memory.hpp"
#include "../record/thread_log.hpp"

namespace profkit::detail {

/// One sample of a thread, as addresses.
struct code_sample {
  std::int64_t monotonic_ns = 0;        ///< CLOCK_MONOTONIC
  std::uint64_t leaf = 0;               ///< the address that the thread executed
  own_vector<std::uint64_t> callers{};  ///< addresses in its callers, nearest first; some may not be code addresses
  std::uint64_t weight_ns = 0;          ///< processor time that the sample represents
};

/// A sample of a thread whose scope is not known yet.
struct raw_sample {
  timestamp time;
  std::uint32_t function = 0;  ///< position in `profile::functions`
  std::uint32_t weight = 0;    ///< in nanoseconds
};

/// The samples of a thread, in time order, until the reader of its log takes them.
class waiting_samples {
 public:
  void add(raw_sample const& sample) { list_.push_back(sample); }

  [[nodiscard]] bool empty() const noexcept { return next_ == list_.size(); }

  /// Whether the oldest sample was taken before a moment.
  [[nodiscard]] bool has_before(timestamp moment) const noexcept { return !empty() && list_[next_].time < moment; }

  /// The oldest sample. There must be one.
  [[nodiscard]] raw_sample const& oldest() const noexcept { return list_[next_]; }

  /// Removes the oldest sample. There must be one.
  void pop() noexcept {
    ++next_;
    if (!empty()) return;
    next_ = 0;
    list_.clear();
  }

 private:
  own_vector<raw_sample> list_;
  std::size_t next_ = 0;  ///< position of the oldest sample that is still in the list
};

/// A collector of samples of threads. The drain of the logs charges each sample to the scope that was open on its thread at that time.
/// All functions are called on the thread that drains the logs.
class sample_source {
 public:
  sample_source() = default;
  sample_source(sample_source&&) = default;
  sample_source& operator=(sample_source&&) = default;
  virtual ~sample_source() = default;

  /// Starts to sample threads with logs that are not sampled yet, and reads the samples so far.
  virtual void read(profile_builder& into) = 0;

  /// The samples of the thread that owns a log, or of its last owner if the log is free; null if there are none.
  [[nodiscard]] virtual waiting_samples* samples_of(thread_log const& log) = 0;
};

}  // namespace profkit::detail
