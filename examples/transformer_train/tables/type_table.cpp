// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tables/kernel_name.hpp"
#include "tables/kernel_type.hpp"
#include "tables/table_cells.hpp"
#include "tables/tables.hpp"

namespace trainer {

namespace {

struct type_total {
  std::string type;
  std::uint64_t calls = 0;
  milliseconds time{};
  std::string longest;  ///< kernel
};

struct class_total {
  std::string name;
  milliseconds time{};
  std::vector<type_total> types;
};

/// The row with this text; adds it if missing.
template <class Row>
Row& row_of(std::vector<Row>& rows, std::string Row::*text, std::string const& value) {
  auto const row = std::find_if(rows.begin(), rows.end(), [&](Row const& each) { return each.*text == value; });
  if (row != rows.end()) return *row;
  rows.emplace_back();
  rows.back().*text = value;
  return rows.back();
}

std::vector<class_total> types_by_class(std::vector<profkit::kernel_summary> const& kernels) {
  std::vector<class_total> result;
  for (profkit::kernel_summary const& kernel : kernels) {
    class_total& of_class = row_of(result, &class_total::name, kernel.kernel_class);
    of_class.time += kernel.time.total;
    type_total& of_type = row_of(of_class.types, &type_total::type, kernel_type(kernel.name));
    if (of_type.calls == 0) of_type.longest = kernel.name;  // the list is sorted by time, longest first
    of_type.calls += kernel.time.count;
    of_type.time += kernel.time.total;
  }
  auto const longer = [](auto const& a, auto const& b) { return a.time > b.time; };
  std::stable_sort(result.begin(), result.end(), longer);
  for (class_total& each : result) std::stable_sort(each.types.begin(), each.types.end(), longer);
  return result;
}

/// "matmul: 100.0 % bf16; softmax: 60.0 % fp32, 40.0 % bf16."
std::string in_words(std::vector<class_total> const& classes) {
  std::string result = "By time:";
  for (class_total const& each : classes) {
    result += fmt::format("{} {}:", &each == &classes.front() ? "" : ";", each.name);
    for (type_total const& type : each.types) {
      result += fmt::format("{} {} {}", &type == &each.types.front() ? "" : ",", percent(type.time, each.time), type.type);
    }
  }
  return result + ".";
}

}  // namespace

titled_table type_table(profkit::summary const& summary) {
  string_table table{{"class", "type", "longest kernel", "calls", "total_ms", "ms/step", "share_of_class", "share_of_kernels"},
                     /*text_columns=*/3};
  std::vector<std::string> notes;
  if (summary.gpu && !summary.gpu->kernels.empty()) {
    std::vector<class_total> const classes = types_by_class(summary.gpu->kernels);
    milliseconds all{};
    for (class_total const& each : classes) all += each.time;
    for (class_total const& each : classes) {
      for (type_total const& type : each.types) {
        table.add({each.name, type.type, short_kernel_name(type.longest), std::to_string(type.calls), in_ms(type.time),
                   in_ms(per(summary.gpu->steps, type.time)), percent(type.time, each.time), percent(type.time, all)});
      }
    }
    notes.push_back(in_words(classes));
    notes.emplace_back(
        "Types are those of the numbers that a kernel reads and writes, according to its name; sums inside kernels of 16-bit numbers are "
        "in "
        "fp32. bf16+fp32, fp16+fp32: casts between the two. fp32+cast: in fp32, with cast operands of another type. 16 bits: bf16 "
        "or fp16; cuDNN names do not tell which.");
  } else {
    notes.push_back(summary.gpu ? "No kernel was launched in the measured steps." : why_no_kernels(summary));
  }
  return {"Types of the kernels", std::move(table), std::move(notes)};
}

std::optional<std::string> sdpa_backend_of(profkit::summary const& summary) {
  if (!summary.gpu || summary.gpu->kernels.empty()) return std::nullopt;
  bool is_fused = false;
  for (profkit::kernel_summary const& kernel : summary.gpu->kernels) {
    if (kernel.kernel_class != "attention") continue;
    is_fused = true;
    auto const has = [&](std::string_view text) { return kernel.name.find(text) != std::string::npos; };
    if (has("cudnn")) return "cudnn";  // before flash, because its names contain "flash" too
    if (has("flash")) return "flash";
    if (has("fmha_cutlass") || has("PyTorchMemEffAttention") || has("attention_kernel_batched")) return "efficient";
  }
  if (is_fused) return "unknown";
  return "math";
}

}  // namespace trainer
