// SPDX-License-Identifier: Apache-2.0

/// Checks of the model, and its values for the Python tests.
///     torch_checks model parameter_counts                  prints the number of parameters of each size
///     torch_checks model values INPUT OUTPUT naive|sdpa    reads a configuration, weights and a batch; writes logits, loss and gradients
///     torch_checks model train INPUT OUTPUT PRECISION OPTIMIZER  trains on the batch; writes the weights, and the scales of a scaled loss
///     torch_checks model clip INPUT OUTPUT                 reads gradients and their maximum norm; writes the clipped gradients
///     torch_checks model autocast                          checks autocast guards
///     torch_checks model parts TEXT                        checks how three ranks split a batch
///     torch_checks model ranks cpu|cuda                    one of any number of ranks: checks their common results

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config.hpp"
#include "device.hpp"
#include "measure/time_mark.hpp"
#include "model/model.hpp"
#include "model/precision.hpp"
#include "named_check.hpp"
#include "ranks/data_parallel.hpp"
#include "ranks/launcher_ranks.hpp"
#include "training/batches.hpp"
#include "training/optimizer.hpp"
#include "training/text.hpp"
#include "training/weight_update.hpp"

namespace model_check {

namespace {

using namespace trainer;

/// Tensors by name. File format of each tensor: length of the name, name, 'f' for float or 'l' for int64, number of dimensions, dimensions,
/// elements; integers are int64. `tensor_file.py` reads and writes the same.
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

transformer make_model(std::map<std::string, at::Tensor> const& given, attention_kind attention, at::ScalarType type) {
  auto const setting = [&](char const* name) { return given.at(name).item<std::int64_t>(); };
  model_size const size{"test", setting("d_model"), setting("d_ff"), setting("layers"), setting("heads")};
  transformer model{size, setting("ctx"), attention, type, c10::Device{c10::kCPU}};
  c10::NoGradGuard const no_grad;
  for (named_parameter const& parameter : model.parameters()) parameter.tensor.copy_(given.at(parameter.name));
  return model;
}

void write_values(std::string const& input, std::string const& output, attention_kind attention) {
  auto const given = tensor_file::read(input);
  transformer const model = make_model(given, attention, at::kFloat);
  at::Tensor const logits = model.forward(given.at("tokens"));
  at::Tensor const loss = cross_entropy(logits, given.at("targets"));
  loss.backward();

  tensor_file file{output};
  file.write("logits", logits);
  file.write("loss", loss);
  for (named_parameter const& parameter : model.parameters()) file.write("gradient of " + parameter.name, parameter.tensor.grad());
  file.close();
}

/// Uses fused attention, whose gradients equal PyTorch's bit by bit, because AdamW turns rounding errors into full-size steps. Each of
/// `loss factors` is a step whose loss is multiplied by it; an infinite factor makes the gradients overflow. An initial `scale` enables
/// loss scaling, in any precision.
void train(std::string const& input, std::string const& output, precision_kind precision, optimizer_kind kind) {
  auto const given = tensor_file::read(input);
  auto const setting = [&](char const* name) { return given.at(name).item<double>(); };
  c10::Device const device{c10::kCPU};
  transformer const model = make_model(given, attention_kind::sdpa, compute_type(precision));
  std::vector<at::Tensor> parameters;
  for (named_parameter const& parameter : model.parameters()) parameters.push_back(parameter.tensor);
  std::optional<loss_scaler> scaler;
  if (given.contains("scale")) {
    scaler.emplace(
        device, loss_scaler::settings{.scale = setting("scale"), .growth_interval = static_cast<std::int64_t>(setting("growth interval"))});
  }
  weight_update update{parameters, make_optimizer(kind, parameters, setting("learning rate")), std::move(scaler), setting("largest norm")};

  std::vector<at::Tensor> scales;
  for (at::Tensor const& factor : given.at("loss factors").unbind()) {
    at::Tensor loss;
    {
      autocast_guard const autocast{device.type(), precision};
      loss = cross_entropy(model.forward(given.at("tokens")), given.at("targets")) * factor;
    }
    update.backward(loss);
    update.apply();
    if (update.scaler()) scales.push_back(update.scaler()->scale().clone());
  }
  tensor_file file{output};
  for (named_parameter const& parameter : model.parameters()) file.write(parameter.name, parameter.tensor);
  if (update.scaler()) {
    file.write("scales", at::stack(scales));
    file.write("skipped steps", at::empty({}).fill_(static_cast<double>(update.scaler()->skipped_steps())));
  }
  file.close();
}

void clip(std::string const& input, std::string const& output) {
  auto given = tensor_file::read(input);
  double const max_norm = given.extract("largest norm").mapped().item<double>();
  std::vector<at::Tensor> gradients;
  for (auto const& [name, gradient] : given) gradients.push_back(gradient);
  clip_gradients(gradients, max_norm);
  tensor_file file{output};
  for (auto const& [name, gradient] : given) file.write(name, gradient);
  file.close();
}

void check(bool holds, char const* what) {
  if (!holds) throw std::runtime_error{what};
}

void check_autocast() {
  constexpr c10::DeviceType cpu = c10::kCPU;
  at::Tensor const x = at::ones({2, 4});
  // A parameter, because autocast caches casts of parameters.
  at::Tensor const weight = at::ones({3, 4}).requires_grad_();
  auto const type = [&] { return at::linear(x, weight).scalar_type(); };
  at::ScalarType const type_before = at::autocast::get_autocast_dtype(cpu);
  try {
    autocast_guard const outer{cpu, precision_kind::bf16};
    check(type() == at::kBFloat16, "bf16 computes in something else");
    {
      autocast_guard const inner{cpu, precision_kind::fp16_scaled};
      check(type() == at::kHalf, "fp16_scaled inside bf16 does not compute in fp16");
      {
        autocast_guard const innermost{cpu, precision_kind::fp32};
        check(type() == at::kFloat, "fp32 inside fp16 does not compute in fp32");
      }
      check(type() == at::kHalf, "fp32 leaves something behind");
    }
    check(type() == at::kBFloat16, "fp16_scaled leaves something behind");
    autocast_guard const thrown_through{cpu, precision_kind::fp16};
    throw std::out_of_range{"out of the guards"};
  } catch (std::out_of_range const&) {
  }
  check(!at::autocast::is_autocast_enabled(cpu), "autocast stays on after an exception");
  check(at::autocast::get_autocast_dtype(cpu) == type_before, "the type of autocast stays after an exception");
  check(type() == at::kFloat, "computes in something else than fp32 after an exception");
}

/// Three ranks get the parts of the batch of one process, with random tokens and with a text.
void check_parts(std::string const& file) {
  constexpr std::int64_t ctx = 7;
  for (bool const has_text : {false, true}) {
    auto const source = [&](rank_layout const& ranks, std::int64_t batch) {
      run_config config;
      config.ctx = ctx;
      config.batch = batch;
      config.ranks = ranks;
      std::optional<text> data;
      if (has_text) data.emplace(file, ctx);
      return batch_source{config, std::move(data), c10::Device{c10::kCPU}};
    };
    batch_source whole = source({}, 6);
    std::vector<batch_source> parts;
    for (std::uint32_t rank = 0; rank < 3; ++rank) parts.push_back(source({rank, 3, rank}, 2));
    for (int step = 0; step < 3; ++step) {
      batch const all = whole.next();
      for (std::int64_t rank = 0; rank < 3; ++rank) {
        batch const part = parts[static_cast<std::size_t>(rank)].next();
        check(part.tokens.equal(all.tokens.narrow(0, 2 * rank, 2)), "the tokens of a rank are not its part of the batch");
        check(part.targets.equal(all.targets.narrow(0, 2 * rank, 2)), "the targets of a rank are not its part of the batch");
      }
    }
  }
}

/// A GPU delay takes the requested time.
void check_spin(compute_device const& device) {
  double const cycles = device.cycles_per_millisecond();
  time_mark begin{device};
  time_mark end{device};
  begin.record();
  device.spin(static_cast<std::int64_t>(5.0 * cycles));
  end.record();
  double const time = between(begin, end).value().count();
  check(time > 4.5 && time < 5.5, "a delay of 5 ms does not take 5 ms");
}

/// The mean of gradients, with several buckets and over several steps.
void check_gradients(data_parallel& others, std::vector<at::Tensor> const& parameters, rank_layout const& ranks) {
  for (int step = 0; step < 3; ++step) {
    others.begin_forward();
    at::Tensor loss;
    for (at::Tensor const& parameter : parameters) {
      at::Tensor const part = (parameter * static_cast<double>(ranks.rank + step + 1)).sum();
      loss = loss.defined() ? loss + part : part;
    }
    others.begin_backward(loss);
    loss.backward();
    others.finish_gradients();
    double const mean = static_cast<double>(ranks.size - 1) / 2.0 + step + 1;
    for (at::Tensor const& parameter : parameters) {
      check(parameter.grad().eq(mean).all().item<bool>(), "a gradient is not the mean of those of all ranks");
      parameter.mutable_grad().reset();
    }
  }
}

/// One of several ranks started by a launcher, or the only rank without a launcher.
void check_ranks(device_kind kind) {
  rank_layout const ranks = ranks_of_launcher(profkit::options{});
  compute_device const device{kind, /*captures=*/false, ranks.local_rank};
  c10::Device const place = device.is_cuda() ? c10::Device{c10::kCUDA, device.index()} : c10::Device{c10::kCPU};
  at::TensorOptions const options = at::TensorOptions{place}.dtype(at::kFloat);
  std::vector<at::Tensor> const parameters{at::full({3}, static_cast<double>(ranks.rank), options), at::zeros({2, 2}, options),
                                           at::ones({5}, options), at::ones({1024, 1024}, options)};
  for (at::Tensor const& parameter : parameters) parameter.set_requires_grad(true);
  data_parallel others{ranks, place, parameters, /*has_gradients=*/true};
  check(others.different_parameters().empty(), "the ranks do not begin with the same parameters");
  check(parameters[0][1].item<double>() == 0.0, "the parameters are not those of rank 0");
  check_gradients(others, parameters, ranks);
  if (ranks.rank == 1) {
    c10::NoGradGuard const no_grad;
    parameters[1].neg_();  // -0 is equal to 0, but has another bit
    parameters[2][4] = 1.0F + std::numeric_limits<float>::epsilon();
  }
  std::vector<std::size_t> const different = ranks.has_others() ? std::vector<std::size_t>{1, 2} : std::vector<std::size_t>{};
  check(others.different_parameters() == different, "the parameters that differ in a bit are not exactly those found");
  float const mean_rank = static_cast<float>(ranks.size - 1) / 2.0F;
  check(others.mean({static_cast<float>(ranks.rank), 3.0F}) == std::vector<float>{mean_rank, 3.0F}, "the mean over the ranks is wrong");
  if (device.is_cuda()) check_spin(device);
}

int run(int argc, char** argv) {
  try {
    std::vector<std::string> const arguments(argv + 1, argv + argc);
    if (arguments.size() == 1 && arguments[0] == "parameter_counts") {
      print_parameter_counts();
    } else if (arguments.size() == 4 && arguments[0] == "values" && value_of(attentions, arguments[3])) {
      write_values(arguments[1], arguments[2], *value_of(attentions, arguments[3]));
    } else if (arguments.size() == 5 && arguments[0] == "train" && value_of(precisions, arguments[3]) &&
               value_of(optimizers, arguments[4])) {
      train(arguments[1], arguments[2], *value_of(precisions, arguments[3]), *value_of(optimizers, arguments[4]));
    } else if (arguments.size() == 3 && arguments[0] == "clip") {
      clip(arguments[1], arguments[2]);
    } else if (arguments.size() == 1 && arguments[0] == "autocast") {
      check_autocast();
    } else if (arguments.size() == 2 && arguments[0] == "ranks" && value_of(devices, arguments[1])) {
      check_ranks(*value_of(devices, arguments[1]));
    } else if (arguments.size() == 2 && arguments[0] == "parts") {
      check_parts(arguments[1]);
    } else {
      throw std::runtime_error{"wrong arguments; see the beginning of model_check.cpp"};
    }
    return 0;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "model: %s\n", error.what());
    return 1;
  }
}

checks::named_check const registered{"model", run};

}  // namespace

}  // namespace model_check
