// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Classes of kernels, such as matmul, by the names of the kernels.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "impl/profile/own_memory.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief A rule for kernel classes: a kernel whose name contains one of the patterns belongs to the class.
struct kernel_class_rule {
  std::string kernel_class;                  ///< such as "matmul"
  detail::own_vector<std::string> patterns;  ///< parts of demangled kernel names; case is ignored, and there are no wildcards
};

/// @brief Rules in order; the first match decides. To add rules, put them before those of `default_kernel_classes`:
///
///     profkit::analyze_options options;
///     options.kernel_classes.insert(options.kernel_classes.begin(), profkit::kernel_class_rule{"attention", {"paged_kv"}});
///     profkit::summary summary = profkit::analyze(profile, options);
///
/// Kernels of the class "communication" are collectives: the step budget counts them as `budget_summary::communication`. Every
/// other class name only groups kernels.
using kernel_class_rules = detail::own_vector<kernel_class_rule>;

/// @brief Rules for kernels of PyTorch, cuBLAS, cuDNN, CUTLASS, CUB, NCCL and Triton. A name also contains its template arguments, so rules
/// for the operation (copy, norm) precede rules for its form (elementwise, reduction). Thread-safe.
/// @return a new list, with rules for the classes that docs/kernels.md lists.
[[nodiscard]] inline kernel_class_rules default_kernel_classes() {
  return {
      // Before "reduction", because names of collectives contain "reduce".
      {"communication", {"nccl", "nvshmem", "all_reduce", "allreduce", "cross_device_reduce"}},
      {"optimizer", {"multi_tensor_apply", "adam", "adagrad", "sgd", "amp_update_scale"}},
      {"attention", {"attention", "flash", "fmha", "sdpa", "mem_eff", "compute_dot_do_o", "convert_dq"}},
      // `fprop`, `dgrad` and `wgrad` are cuDNN's names of the forward pass and of the gradients of data and weights.
      {"convolution", {"convolve", "conv2d", "conv3d", "conv_", "fprop", "dgrad", "wgrad", "winograd", "im2col", "col2im"}},
      // `nvjet` and `xmma` name kernels of NVIDIA's libraries; `triton_tem` and `triton_mm` are templates of PyTorch's compiler.
      {"matmul", {"gemm", "gemv", "cutlass", "nvjet", "xmma", "cublas", "splitkreduce", "dot_kernel", "matmul", "triton_tem", "triton_mm"}},
      {"softmax", {"softmax", "cross_entropy"}},
      // The last patterns are parts of layer and group norm in PyTorch.
      {"norm",
       {"layer_norm", "layernorm", "rms_norm", "rmsnorm", "batch_norm", "batchnorm", "bn_fw", "bn_bw", "group_norm", "groupnorm",
        "instance_norm", "instancenorm", "weight_norm", "rowwisemoments", "gammabeta", "computeinternalgradients", "computefusedparams"}},
      {"embedding/index",
       {"embedding",
        "indexselect",
        "index_select",
        "indexfunc",
        "index_elementwise",
        "index_kernel",
        "index_put",
        "indexing_backward",
        "gather",
        "scatter",
        "compute_grad_weight",
        "partial_segment",
        "partials_per_segment",
        "num_of_segments",
        "sort",
        "radix",
        "unique_by_key",
        "uniquebykey",
        "reverse_indices",
        "deviceselect",
        "devicecompact",
        "nonzero",
        "topk"}},
      {"copy/cast",
       {"copy_kernel", "batchedcopy", "batched_copy", "catarray", "split_with_sizes", "chunk_cat", "transpose", "permute", "memcpy",
        "nchwtonhwc", "nhwctonchw"}},
      // Before "reduction": a template argument of an elementwise kernel may contain one of its patterns.
      {"elementwise", {"elementwise_kernel", "nll_loss_backward", "nll_loss2d_backward"}},
      {"reduction",
       {"reduce", "reduction", "nll_loss_forward", "nll_loss2d_forward", "scan", "cumsum", "histogram", "argmax", "triton_red",
        "triton_per"}},
      // Kernels that apply a function to each element; `triton_poi` is a pointwise kernel of PyTorch's compiler.
      {"elementwise", {"elementwise", "pointwise", "triton_poi", "triu_tril", "distribution", "dropout", "arange",      "linspace",
                       "fill",        "memset",    "gelu",       "relu",      "silu",         "masked",  "parallelfor", "parallel_for",
                       "for_each",    "transform", "philox",     "rope",      "rotary",       "foreach"}},
  };
}

namespace detail {

/// ASCII letters in lower case; other bytes stay.
inline std::string in_lower_case(std::string_view text) {
  std::string result{text};
  // Not std::tolower, which depends on the locale.
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

/// Rules with lower-case patterns, to classify many names.
class kernel_classifier {
 public:
  /// Converts the patterns once.
  explicit kernel_classifier(kernel_class_rules rules) : rules_{std::move(rules)} {
    for (kernel_class_rule& rule : rules_) {
      for (std::string& pattern : rule.patterns) pattern = in_lower_case(pattern);
    }
  }

  /// @return the class of the first matching rule, or "other".
  [[nodiscard]] std::string operator()(std::string_view demangled_name) const {
    std::string const name = in_lower_case(demangled_name);
    for (kernel_class_rule const& rule : rules_) {
      if (fits(rule, name)) return rule.kernel_class;
    }
    return "other";
  }

  /// Whether the class is "communication". Skips the rules after the last one of that class.
  [[nodiscard]] bool is_communication(std::string_view demangled_name) const {
    auto const is_rule_of_it = [&](std::size_t i) { return rules_[i].kernel_class == "communication"; };
    std::size_t end = rules_.size();
    while (end > 0 && !is_rule_of_it(end - 1)) --end;
    std::string const name = in_lower_case(demangled_name);
    for (std::size_t i = 0; i < end; ++i) {
      if (fits(rules_[i], name)) return is_rule_of_it(i);
    }
    return false;
  }

 private:
  /// @param name in lower case.
  static bool fits(kernel_class_rule const& rule, std::string const& name) {
    for (std::string const& pattern : rule.patterns) {
      if (name.find(pattern) != std::string::npos) return true;
    }
    return false;
  }

  kernel_class_rules rules_;  ///< patterns in lower case
};

}  // namespace detail

/// @brief The class of a kernel, such as "matmul" for `ampere_sgemm_128x64_nn`. Thread-safe.
///
/// Converts all patterns to lower case at each call, so use it for a few names.
/// @param demangled_name as in `kernel_summary::name`.
/// @param rules the first match decides.
/// @return the class of the first matching rule, or "other".
[[nodiscard]] inline std::string kernel_class_of(std::string_view demangled_name,
                                                 kernel_class_rules const& rules = default_kernel_classes()) {
  return detail::kernel_classifier{rules}(demangled_name);
}

}  // namespace PROFKIT_NAMESPACE
