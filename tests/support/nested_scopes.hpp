// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/scope.hpp>

#include <cstddef>
#include <new>
#include <vector>

/// Open scopes inside one another, of any depth, without recursion.
class nested_scopes {
 public:
  explicit nested_scopes(std::size_t depth) : places_(depth) {
    for (place& each : places_) ::new (each.bytes) profkit::scope{where};
  }
  ~nested_scopes() { close(0); }
  nested_scopes(nested_scopes const&) = delete;
  nested_scopes& operator=(nested_scopes const&) = delete;

  /// Ends the scopes deeper than a depth, innermost first.
  void close(std::size_t depth) {
    for (; places_.size() > depth; places_.pop_back()) std::launder(reinterpret_cast<profkit::scope*>(places_.back().bytes))->~scope();
  }

  /// Ends the scope at this depth, and thereby those inside it, whose destructors do not run.
  void leave(std::size_t depth) {
    places_.resize(depth);
    close(depth - 1);
  }

 private:
  struct place {
    alignas(profkit::scope) unsigned char bytes[sizeof(profkit::scope)];
  };

  static inline profkit::site where{"level", "nested_scopes.hpp", 1};
  std::vector<place> places_;
};
