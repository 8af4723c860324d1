// SPDX-License-Identifier: Apache-2.0
#include "model/compiled_forward.hpp"

#include <ATen/ops/imag.h>
#include <ATen/ops/real.h>
#include <c10/util/Exception.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <new>
#include <profkit/scope.hpp>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "errors.hpp"
#include "training/memory_errors.hpp"

#if __has_include(<torch/csrc/inductor/aoti_package/model_package_loader.h>)
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#define TRAINER_WITH_PACKAGES 1
#else
#define TRAINER_WITH_PACKAGES 0
#endif

#if !TRAINER_WITH_PACKAGES
namespace torch::inductor {
class AOTIModelPackageLoader {};
}  // namespace torch::inductor
#endif

namespace trainer {

namespace {

[[noreturn]] void refuse_package(std::string const& file, std::string const& reason) {
  throw input_error{"--package " + file + ": " + reason};
}

#if TRAINER_WITH_PACKAGES
constexpr char const* how_to_make_packages = "make one with reference/export_forward.py";

/// Calls `work`. Converts exceptions of LibTorch to `input_error`, except when memory runs out.
template <class Work>
decltype(auto) with_package_errors(std::string const& file, char const* what, Work&& work) {
  std::string reason;
  try {
    return std::forward<Work>(work)();
  } catch (c10::Error const& error) {
    if (is_out_of_memory(error)) throw;
    reason = error.what_without_backtrace();
  } catch (std::bad_alloc const&) {
    throw;
  } catch (std::exception const& error) {
    reason = error.what();
  }
  refuse_package(file, std::string{what} + " (" + first_line(reason) + "); " + how_to_make_packages);
}

void check_readable(std::string const& file) {
  if (std::filesystem::is_directory(file)) refuse_package(file, std::string{"is a directory; "} + how_to_make_packages);
  if (!std::ifstream{file}) refuse_package(file, std::string{"cannot be read; "} + how_to_make_packages);
}

/// A package fits one configuration only: shapes, types and the device are compiled into it.
void check_configuration(std::string const& file, std::unordered_map<std::string, std::string> const& metadata, run_config const& config,
                         c10::Device device) {
  auto const maker = metadata.find("made_for");
  if (maker == metadata.end() || maker->second != "transformer_train") {
    refuse_package(file, std::string{"was not made for this program; "} + how_to_make_packages);
  }
  std::pair<char const*, std::string> const wanted[] = {
      {"size", std::string{config.size.name}},
      {"ctx", std::to_string(config.ctx)},
      {"batch", std::to_string(config.batch)},
      {"precision", std::string{name_of(precisions, config.precision)}},
      {"attention", std::string{name_of(attentions, config.attention)}},
      {"device", device.is_cuda() ? "cuda" : "cpu"},
  };
  std::string made_for;
  std::string run_has;
  for (auto const& [option, value] : wanted) {
    auto const found = metadata.find(option);
    std::string const made = found == metadata.end() ? "?" : found->second;
    if (made == value) continue;
    made_for += " --" + std::string{option} + " " + made;
    run_has += " --" + std::string{option} + " " + value;
  }
  if (!made_for.empty()) {
    refuse_package(file, "was made for" + made_for + ", and this run has" + run_has + "; make another package, or change the options");
  }
}

/// The parameters of the model by name, which are those of `reference/model.py`, and the tables that Python calls buffers.
class package_constants {
 public:
  explicit package_constants(transformer const& model) {
    for (named_parameter const& parameter : model.parameters()) parameters_.emplace(parameter.name, parameter.tensor.detach());
    at::Tensor const rotation = model.rotation().squeeze(1);
    tables_ = {{"rope.cos", at::real(rotation).contiguous()}, {"rope.sin", at::imag(rotation).contiguous()}, {"future", model.mask()}};
  }

  /// An undefined tensor if there is none of this name.
  [[nodiscard]] at::Tensor find(std::string const& name) const {
    if (auto const found = parameters_.find(name); found != parameters_.end()) return found->second;
    // All layers use the same tables.
    constexpr std::string_view in_layer = ".attention.";
    std::size_t const at = name.find(in_layer);
    if (at == std::string::npos) return {};
    auto const table = tables_.find(name.substr(at + in_layer.size()));
    return table == tables_.end() ? at::Tensor{} : table->second;
  }

 private:
  std::unordered_map<std::string, at::Tensor> parameters_;
  std::unordered_map<std::string, at::Tensor> tables_;
};

/// Compiled kernels assume inputs at multiples of 16 bytes. The targets follow the tokens in memory, so an odd number of tokens moves them.
at::Tensor aligned(at::Tensor const& input) {
  return reinterpret_cast<std::uintptr_t>(input.const_data_ptr()) % 16 == 0 ? input : input.clone();
}
#endif

}  // namespace

compiled_forward::~compiled_forward() = default;

#if TRAINER_WITH_PACKAGES
compiled_forward::compiled_forward(run_config const& config, c10::Device device) : file_{config.package_file} {
  using torch::inductor::AOTIModelPackageLoader;
  check_readable(file_);
  check_configuration(file_,
                      with_package_errors(file_, "is not a package of AOTInductor",
                                          [&] { return AOTIModelPackageLoader::load_metadata_from_package(file_, "model"); }),
                      config, device);
  loader_ = with_package_errors(file_, "cannot be loaded", [&] {
    // One thread runs it. Otherwise each run would wait until the GPU has finished the previous one.
    constexpr bool single_threaded = true;
    return std::make_unique<AOTIModelPackageLoader>(file_, "model", single_threaded, /*num_runners=*/1, device.index());
  });
}

void compiled_forward::use(transformer const& model) {
  package_constants const known{model};
  std::unordered_map<std::string, at::Tensor> constants;
  for (std::string const& name : loader_->get_constant_fqns()) {
    at::Tensor tensor = known.find(name);
    if (!tensor.defined()) refuse_package(file_, "needs " + name + ", which this model does not have; " + how_to_make_packages);
    constants.emplace(name, std::move(tensor));
  }
  with_package_errors(file_, "does not take the parameters of the model", [&] {
    loader_->load_constants(constants, /*use_inactive=*/false, /*check_full_update=*/true, /*user_managed=*/true);
  });
}

at::Tensor compiled_forward::loss(at::Tensor const& tokens, at::Tensor const& targets) const {
  PROF_SCOPE("compiled forward");
  std::vector<at::Tensor> const inputs{aligned(tokens), aligned(targets)};
  try {
    return loader_->run(inputs).at(0);
  } catch (std::exception const& error) {  // the package printed the reason, which is not in this exception
    throw std::runtime_error{"--package " + file_ + ": failed, for the reason above (" + first_line(error.what()) + ")"};
  }
}
#else
compiled_forward::compiled_forward(run_config const& config, c10::Device) : file_{config.package_file} {
  refuse_package(file_, "this LibTorch cannot load packages of AOTInductor; build the program with LibTorch 2.11 or later, or remove it");
}

void compiled_forward::use(transformer const&) {}

at::Tensor compiled_forward::loss(at::Tensor const&, at::Tensor const&) const { return {}; }
#endif

}  // namespace trainer
