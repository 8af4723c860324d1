// SPDX-License-Identifier: Apache-2.0
#include "tables/kernel_type.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace trainer {

namespace {

constexpr char const* unnamed = "unnamed";

bool contains_any(std::string_view name, std::initializer_list<std::string_view> patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](std::string_view pattern) { return name.find(pattern) != name.npos; });
}

bool is_part_of_word(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }

std::size_t find_word(std::string_view name, std::string_view word) {
  for (std::size_t at = name.find(word); at != name.npos; at = name.find(word, at + 1)) {
    std::size_t const end = at + word.size();
    if ((at == 0 || !is_part_of_word(name[at - 1])) && (end == name.size() || !is_part_of_word(name[end]))) return at;
  }
  return name.npos;
}

/// Template arguments begin with the type of the elements; types of sums, indices and scalars follow.
std::string first_type_named(std::string_view name) {
  struct named_type {
    std::string_view word;
    std::string_view type;
  };
  constexpr std::array types{named_type{"c10::complex<float>", "complex fp32"}, named_type{"float", "fp32"}, named_type{"double", "fp64"},
                             named_type{"long", "int64"}, named_type{"bool", "bool"}};
  std::string_view result = unnamed;
  std::size_t first = name.npos;
  for (named_type const& each : types) {
    // `find_word` does not find complex types, because they end with ">".
    std::size_t const at = each.word.back() == '>' ? name.find(each.word) : find_word(name, each.word);
    if (at >= first) continue;
    first = at;
    result = each.type;
  }
  return std::string{result};
}

/// cuBLAS kernels for Hopper: "nvjet_tst_...", "nvjet_sm90_hsh_..."; the first letter is the type of the first factor.
std::string type_of_nvjet(std::string_view name) {
  name.remove_prefix(name.find("nvjet_") + std::string_view{"nvjet_"}.size());
  if (name.starts_with("sm")) name.remove_prefix(std::min(name.find('_'), name.size() - 1) + 1);
  switch (name.empty() ? '\0' : name.front()) {
    case 't':
      return "bf16";
    case 'h':
      return "fp16";
    case 's':  // tensor cores read fp32 inputs as TF32
      return "tf32";
    default:
      return unnamed;
  }
}

}  // namespace

std::string kernel_type(std::string_view name) {
  if (contains_any(name, {"bfloat16_copy_kernel"})) return "bf16+fp32";
  if (contains_any(name, {"float16_copy_kernel"})) return "fp16+fp32";
  if (contains_any(name, {"nvjet_"})) return type_of_nvjet(name);
  // cuDNN also writes f16 for bf16: seen in a bf16 run on an H200.
  if (contains_any(name, {"cudnn_generated_fort_native_sdpa", "cudnn::fusion::"})) return "16 bits";
  if (contains_any(name, {"c10::BFloat16", "bfloat16", "bf16"})) return "bf16";
  if (contains_any(name, {"c10::Half", "__half", "half_t", "fp16", "h16816", "h1688", "h884", "f16f16", "_f16_"})) return "fp16";
  // "1688" is the shape of the tensor-core instruction for TF32; the 16-bit types, which share it, are already excluded.
  if (contains_any(name, {"tf32", "s1688"})) return "tf32";
  if (contains_any(name, {"sgemm", "f32f32", "_f32_"})) return "fp32";
  if (contains_any(name, {"dgemm", "f64f64"})) return "fp64";
  if (contains_any(name, {"(char*"})) return unnamed;  // copies bytes
  std::string type = first_type_named(name);
  if (contains_any(name, {"LoadWithCast"})) type += "+cast";
  return type;
}

}  // namespace trainer
