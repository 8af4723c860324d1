// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace trainer {

/// What the program returns to the shell.
enum class exit_code : int { success = 0, failure = 1, bad_input = 2, out_of_memory = 3 };

/// An argument or a file that cannot be used. `what()` is one line: which one, and what would be right.
class input_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The model, its gradients or its activations do not fit the device. `what()` is one line.
class out_of_memory : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace trainer
