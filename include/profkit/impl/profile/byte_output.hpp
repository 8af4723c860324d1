// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace profkit::detail {

/// A destination for bytes.
class byte_output {
 public:
  virtual void write(std::string_view bytes) = 0;

 protected:
  ~byte_output() = default;
};

/// Appends bytes to a string.
template <class String>
class string_output final : public byte_output {
 public:
  explicit string_output(String& to) noexcept : to_{&to} {}
  void write(std::string_view bytes) override { to_->append(bytes); }

 private:
  String* to_;
};

}  // namespace profkit::detail
