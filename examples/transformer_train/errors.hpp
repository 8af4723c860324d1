// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace trainer {

/// The exit codes of the program.
enum class exit_code : int { success = 0, failure = 1, bad_input = 2, out_of_memory = 3 };

/// An unusable argument or file. `what()` is one line that names it and says what would be valid.
class input_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The model, its gradients or its activations do not fit into the memory of the device. `what()` is one line.
class out_of_memory : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The first line of a LibTorch error; the rest is a backtrace.
[[nodiscard]] inline std::string first_line(std::string const& text) { return text.substr(0, text.find('\n')); }

}  // namespace trainer
