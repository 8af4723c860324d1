// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/util/Exception.h>

#include <new>
#include <string_view>
#include <utility>

#include "errors.hpp"

namespace trainer {

/// Whether the exception reports out of memory, from LibTorch's allocators, the C++ library or an NVIDIA library.
[[nodiscard]] inline bool is_out_of_memory(c10::Error const& error) {
  if (dynamic_cast<c10::OutOfMemoryError const*>(&error) != nullptr) return true;
  std::string_view const message = error.what_without_backtrace();
  auto const says = [&](std::string_view words) { return message.find(words) != std::string_view::npos; };
  return says("out of memory") || says("can't allocate memory") || says("ALLOC_FAILED");
}

/// Calls `work`. Converts any out-of-memory exception to `out_of_memory` with the text that `describe` returns.
template <class Work, class Describe>
decltype(auto) with_memory_errors(Work&& work, Describe&& describe) {
  try {
    return std::forward<Work>(work)();
  } catch (c10::Error const& error) {
    if (is_out_of_memory(error)) throw out_of_memory{describe()};
    throw;
  } catch (std::bad_alloc const&) {
    throw out_of_memory{describe()};
  }
}

}  // namespace trainer
