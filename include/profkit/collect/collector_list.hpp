// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __has_include(<bits/cxxabi_forced.h>)
#include <cxxabi.h>
#endif

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../profile/profile_builder.hpp"
#include "../record/no_cancellation.hpp"
#include "collector.hpp"

namespace profkit::detail {

/// The collectors of a session. A collector that throws gets the reason as its status and is not called again. `add` must not run at the
/// same time as another function.
class collector_list {
 public:
  collector& add(std::unique_ptr<collector> taken) {
    all_.push_back(std::move(taken));
    return *all_.back();
  }

  /// Calls a function for each working collector.
  template <class Call>
  void for_each(Call&& call) {
    for (auto const& each : all_) {
      if (each->status().works) guarded(*each, call);
    }
  }

  /// Calls a function of a collector. The thread cannot be cancelled in it. If a collector ends the thread (`pthread_exit`), the unwinding
  /// goes on, because a handler that stopped it would abort the program.
  template <class Call>
  static void guarded(collector& each, Call&& call) {
    no_cancellation const not_cancelled;
    try {
      call(each);
#if __has_include(<bits/cxxabi_forced.h>)
    } catch (abi::__forced_unwind const&) {
      throw;
#endif
    } catch (std::exception const& failure) {
      each.fail(failure.what());
    } catch (...) {
      each.fail("it threw an exception that is not a std::exception");
    }
  }

  /// Drains all working collectors.
  /// @param flushes whether to call `collector::flush` too.
  void drain(profile_builder& into, bool last, bool flushes) {
    for_each([&](collector& each) {
      each.drain(into, last);
      if (flushes) each.flush();
    });
  }

  /// Whether a working collector adds GPU step times.
  [[nodiscard]] bool time_steps() const noexcept {
    return std::any_of(all_.begin(), all_.end(), [](auto const& each) { return each->status().works && each->times_steps(); });
  }

  /// The outcome of each collector.
  [[nodiscard]] std::vector<collector_record> describe() const {
    std::vector<collector_record> result;
    for (auto const& each : all_) {
      collector_status const& status = each->status();
      result.push_back({std::string{each->name()}, status.works ? "collected" : "not collected", status.reason, each->kind()});
    }
    return result;
  }

 private:
  std::vector<std::unique_ptr<collector>> all_;
};

}  // namespace profkit::detail
