// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <profkit/impl/profile/own_memory.hpp>
#include <protozero/basic_pbf_writer.hpp>
#include <protozero/buffer_tmpl.hpp>

namespace profkit::detail {

using pftrace_writer = protozero::basic_pbf_writer<own_string>;

}  // namespace profkit::detail

/// @cond
// How protozero writes into an `own_string`, as into a `std::string` (`protozero/buffer_string.hpp`).
template <>
struct protozero::buffer_customization<profkit::detail::own_string> {
  using buffer = profkit::detail::own_string;

  static std::size_t size(buffer const* to) noexcept { return to->size(); }
  static void append(buffer* to, char const* bytes, std::size_t count) { to->append(bytes, count); }
  static void append_zeros(buffer* to, std::size_t count) { to->append(count, '\0'); }
  static void resize(buffer* to, std::size_t size) { to->resize(size); }
  static void reserve_additional(buffer* to, std::size_t count) { to->reserve(to->size() + count); }
  static void erase_range(buffer* to, std::size_t from, std::size_t end) { to->erase(from, end - from); }
  static char* at_pos(buffer* to, std::size_t position) { return to->data() + position; }
  static void push_back(buffer* to, char byte) { to->push_back(byte); }
};
/// @endcond
