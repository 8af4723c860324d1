// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "../profile/own_memory.hpp"
#include "../profile/profile.hpp"
#include "../record/recorder.hpp"
#include "../record/wrong_end.hpp"

namespace profkit::detail {

/// Such as "load (a.cpp:40)".
[[nodiscard]] inline std::string text_of(site const* where) {
  if (where == nullptr) return "a scope";
  return std::string{where->name} + " (" + where->file + ":" + std::to_string(where->line) + ")";
}

[[nodiscard]] inline std::string text_of(wrong_end const& entry) {
  std::string text = text_of(entry.where);
  switch (entry.kind) {
    case wrong_end_kind::on_another_thread:
      text += " ended on another thread than it began";
      return entry.other == nullptr ? text : text + ", inside " + text_of(entry.other);
    case wrong_end_kind::after_another:
      text += " ended after an outer scope had ended";
      return entry.other == nullptr ? text : text + ", inside " + text_of(entry.other);
    case wrong_end_kind::never:
      return text + " had not ended when " + text_of(entry.other) + " ended around it";
  }
  return text;
}

/// The wrong ends counted since the session began.
[[nodiscard]] inline own_vector<wrong_end_record> known_wrong_ends() {
  own_vector<wrong_end_record> result;
  for (wrong_end const& each : recorder.wrong_ends.entries) {
    if (__atomic_load_n(&each.state, __ATOMIC_ACQUIRE) == 2)
      result.push_back({text_of(each), __atomic_load_n(&each.count, __ATOMIC_RELAXED)});
  }
  return result;
}

}  // namespace profkit::detail
