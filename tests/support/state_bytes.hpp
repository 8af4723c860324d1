// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/impl/profile/archive_reader.hpp>
#include <profkit/impl/profile/archive_writer.hpp>

#include <sstream>
#include <string>

/// The bytes that `write_state` writes.
template <class State>
std::string state_of(State const& what) {
  std::string result;
  profkit::detail::string_output output{result};
  profkit::detail::archive_writer archive{output};
  profkit::detail::write_state(archive, what);
  archive.flush();
  return result;
}

/// Reads an object that must use all bytes.
template <class State>
void read_state_of(std::string const& bytes, State& into) {
  std::istringstream stream{bytes};
  profkit::detail::archive_reader archive{stream, bytes.size()};
  profkit::detail::read_state(archive, into);
  if (!archive.at_end()) throw profkit::error{"a state has unexpected bytes after its end"};
}
