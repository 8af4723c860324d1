// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>

#include "../../options.hpp"
#include "../../step.hpp"
#include "../record/named_scope.hpp"
#include "console.hpp"
#include "session_factory.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The session of `profkit_step_begin`. Never destroyed: it ends with the process.
class c_session {
 public:
  static c_session& only() {
    static auto* const value = new c_session;
    return *value;
  }

  void begin_step() {
    step_.reset();
    step_.emplace(*session_);
  }

  void end_step() noexcept { step_.reset(); }

 private:
  std::unique_ptr<session_core> session_ = make_session(options::from_env());
  std::optional<step> step_;
};

inline bool has_c_session = false;  ///< steps are on one thread

}  // namespace PROFKIT_NAMESPACE::detail

// Declared in `profkit/c.h`.
extern "C" {

[[gnu::used]] inline std::uintptr_t profkit_begin(char const* name) { return profkit::detail::kept_scope::begin(name, nullptr); }

[[gnu::used]] inline std::uintptr_t profkit_begin_indexed(char const* name, std::int64_t index) {
  return profkit::detail::kept_scope::begin(name, &index);
}

[[gnu::used]] inline void profkit_end(std::uintptr_t scope) { profkit::detail::kept_scope::end(scope); }

[[gnu::used]] inline void profkit_counter(char const* name, double value) {
  if (profkit::detail::flags_with_what_is_installed() == 0) return;
  profkit::sample_counter(profkit::detail::sites_by_name.find(name), value);
}

[[gnu::used]] inline void profkit_step_begin() {
  static bool has_failed = false;
  if (has_failed) return;
  try {
    profkit::detail::c_session::only().begin_step();
    profkit::detail::has_c_session = true;
  } catch (std::exception const& failure) {
    has_failed = true;
    profkit::detail::warn("no steps: ", failure.what());
  }
}

[[gnu::used]] inline void profkit_step_end() {
  if (profkit::detail::has_c_session) profkit::detail::c_session::only().end_step();
}

}  // extern "C"
