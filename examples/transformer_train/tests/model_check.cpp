// SPDX-License-Identifier: Apache-2.0

/// What the tests need from the model itself.
///     model_check parameter_counts                  prints the number of parameters of each size
///     model_check values INPUT OUTPUT naive|sdpa    reads a configuration, weights and a batch; writes logits, loss and gradients

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "config.hpp"
#include "model.hpp"

namespace {

using namespace trainer;

/// Tensors by name. In a file, one after the other: length of the name, name, 'f' for float or 'l' for int64, number of dimensions,
/// dimensions, elements; whole numbers are int64. `tensor_file.py` reads and writes the same.
class tensor_file {
 public:
  static std::map<std::string, at::Tensor> read(std::string const& path) {
    std::ifstream file{path, std::ios::binary};
    if (!file) throw std::runtime_error{"cannot read " + path};
    std::map<std::string, at::Tensor> tensors;
    while (file.peek() != std::ifstream::traits_type::eof()) {
      std::string name(static_cast<std::size_t>(number(file)), ' ');
      file.read(name.data(), static_cast<std::streamsize>(name.size()));
      at::ScalarType const type = file.get() == 'f' ? at::kFloat : at::kLong;
      std::vector<std::int64_t> dimensions(static_cast<std::size_t>(number(file)));
      for (std::int64_t& dimension : dimensions) dimension = number(file);
      at::Tensor const tensor = at::empty(dimensions, at::TensorOptions{}.dtype(type));
      file.read(static_cast<char*>(tensor.mutable_data_ptr()), static_cast<std::streamsize>(tensor.nbytes()));
      if (!file) throw std::runtime_error{path + " is cut off"};
      tensors[name] = tensor;
    }
    return tensors;
  }

  explicit tensor_file(std::string const& path) : file_{path, std::ios::binary} {}

  void write(std::string const& name, at::Tensor const& tensor) {
    at::Tensor const values = tensor.detach().to(at::kFloat).contiguous();
    put(static_cast<std::int64_t>(name.size()));
    file_ << name << 'f';
    put(values.dim());
    for (std::int64_t const dimension : values.sizes()) put(dimension);
    file_.write(static_cast<char const*>(values.const_data_ptr()), static_cast<std::streamsize>(values.nbytes()));
  }

  void close() {
    file_.close();
    if (!file_) throw std::runtime_error{"cannot write the output"};
  }

 private:
  static std::int64_t number(std::ifstream& file) {
    std::int64_t value = 0;
    file.read(reinterpret_cast<char*>(&value), sizeof value);
    return value;
  }

  void put(std::int64_t value) { file_.write(reinterpret_cast<char const*>(&value), sizeof value); }

  std::ofstream file_;
};

void print_parameter_counts() {
  for (model_size const& size : model_sizes) {
    transformer const model{size, 8, attention_kind::naive, at::kFloat, c10::Device{c10::kMeta}};
    std::int64_t made = 0;
    for (named_parameter const& parameter : model.parameters()) made += parameter.tensor.numel();
    std::printf("%s %lld %lld\n", std::string{size.name}.c_str(), static_cast<long long>(made),
                static_cast<long long>(parameter_count(size)));
  }
}

void write_values(std::string const& input, std::string const& output, attention_kind attention) {
  auto const given = tensor_file::read(input);
  auto const setting = [&](char const* name) { return given.at(name).item<std::int64_t>(); };
  model_size const size{"test", setting("d_model"), setting("d_ff"), setting("layers"), setting("heads")};
  transformer const model{size, setting("ctx"), attention, at::kFloat, c10::Device{c10::kCPU}};
  {
    c10::NoGradGuard const no_grad;
    for (named_parameter const& parameter : model.parameters()) parameter.tensor.copy_(given.at(parameter.name));
  }
  at::Tensor const logits = model.forward(given.at("tokens"));
  at::Tensor const loss = cross_entropy(logits, given.at("targets"));
  loss.backward();

  tensor_file file{output};
  file.write("logits", logits);
  file.write("loss", loss);
  for (named_parameter const& parameter : model.parameters()) file.write("gradient of " + parameter.name, parameter.tensor.grad());
  file.close();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<std::string> const arguments(argv + 1, argv + argc);
    if (arguments.size() == 1 && arguments[0] == "parameter_counts") {
      print_parameter_counts();
    } else if (arguments.size() == 4 && arguments[0] == "values" && value_of(attentions, arguments[3])) {
      write_values(arguments[1], arguments[2], *value_of(attentions, arguments[3]));
    } else {
      throw std::runtime_error{"usage: model_check parameter_counts | values INPUT OUTPUT naive|sdpa"};
    }
    return 0;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "model_check: %s\n", error.what());
    return 1;
  }
}
