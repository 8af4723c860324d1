// SPDX-License-Identifier: Apache-2.0
#include "bench_session.hpp"

#include <profkit/impl/drain/log_reader.hpp>
#include <profkit/impl/record/thread_registry.hpp>
#include <profkit/profkit.hpp>

#include <mutex>

namespace bench {

struct recording::state {
  profkit::session session;
};

namespace {

profkit::options options_of(std::uint64_t log_bytes, std::uint64_t records = 0) {
  profkit::options result;
  result.max_records = records != 0 ? records : 1'000'000'000;  // kept records are counted at the end
  if (log_bytes != 0) result.log_slots_per_thread = log_bytes / sizeof(std::uint64_t);
  return result;
}

}  // namespace

undrained::undrained(std::uint64_t log_bytes) {
  profkit::options const options = options_of(log_bytes);
  profkit::profile_builder unused;
  profkit::detail::start_recording(options.log_slots_per_thread, unused);
  __atomic_fetch_or(&profkit::detail::recorder.flags, profkit::detail::recording, __ATOMIC_RELEASE);
}

undrained::~undrained() {
  __atomic_fetch_and(&profkit::detail::recorder.flags, ~profkit::detail::recording, __ATOMIC_RELEASE);
  forget_recorded();
}

recording::recording(std::uint64_t log_bytes, std::uint64_t records) : state_{new state{profkit::session{options_of(log_bytes, records)}}} {
  // Without an invariant counter of the processor, as under valgrind, times are wrong from here on. They are not used; the measured path
  // must be the one with a counter.
  __atomic_fetch_and(&profkit::detail::recorder.flags, ~profkit::detail::use_monotonic_clock, __ATOMIC_RELAXED);
}

recording::~recording() = default;

void recording::step() { profkit::step const one{state_->session}; }

recording::result recording::end() {
  profkit::profile const& profile = state_->session.report().profile();
  auto const steps = profile.steps.size();
  return {profile.scopes.size() - steps, profile.quality.dropped_events,
          profile.quality.discarded_records + profile.quality.untraced_records};
}

std::uint64_t log_position() {
  profkit::detail::thread_log const* const log = profkit::detail::this_thread_log();
  if (log == nullptr) return 0;
  std::uint64_t const headers = log->mapped_slots / log->chunk->slot_count * profkit::detail::chunk_header_slots;
  return (log->mapped_slots + headers - static_cast<std::uint64_t>(log->chunk->last() - log->next_slot)) * sizeof(std::uint64_t);
}

void forget_recorded() {
  static std::mutex one_reader;
  std::lock_guard<std::mutex> const lock{one_reader};
  profkit::detail::skip_logs();
}

}  // namespace bench
