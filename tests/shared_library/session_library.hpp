// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// What a session has recorded.
struct session_outcome {
  std::string error;                ///< why there was no session; empty: there was one
  std::string report;               ///< as text
  std::vector<std::string> scopes;  ///< their paths, sorted
  std::uint64_t untimed = 0;        ///< GPU scopes without a time
};

/// A library with scopes and the code of sessions. It does not depend on the version of profkit that it contains.
struct session_library {
  char const* scope;       ///< name of its scope
  std::string version;     ///< `profkit::version`
  std::string macros;      ///< the same from the macros: "0.1.0"
  std::string class_name;  ///< `profkit::session` as in symbols
  void (*open_scope)();
  /// Counts a GPU scope without a time.
  void (*lose_gpu_time)();
  /// How often a session took the GPU scopes of the library.
  std::uint64_t (*drains)();
  /// Runs a session of one step, which calls a function with an argument.
  session_outcome (*run)(void (*inside)(void*), void* argument);
};

/// The libraries of the test: one with this version of profkit, one with another.
__attribute__((visibility("default"))) session_library const& this_version();
__attribute__((visibility("default"))) session_library const& other_version();
