// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
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
class string_output final : public byte_output {
 public:
  explicit string_output(std::string& to) noexcept : to_{&to} {}
  void write(std::string_view bytes) override { to_->append(bytes); }

 private:
  std::string* to_;
};

}  // namespace profkit::detail
