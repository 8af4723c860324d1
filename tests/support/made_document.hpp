// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <comparison_figures.hpp>
#include <profkit/document.hpp>
#include <profkit/impl/report/numbers.hpp>
#include <ranks/rank_figures.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

// A document with every kind of figure, column and row. The numbers are from a recording of llm.c on an H200.

namespace made_document_parts {

using namespace profkit::detail;

inline cell words(std::string text, std::string detail = {}) { return {std::move(text), std::move(detail)}; }
inline cell number(double value) { return {value}; }
inline cell missing(std::string why) { return {std::monostate{}, std::move(why)}; }
inline cell bar(own_vector<bar_part> parts) { return {bar_cell{std::move(parts)}}; }
inline cell busy_and_idle(double busy, double idle) { return bar({{colour::busy, 0, busy}, {colour::launch_bound, 0, idle}}); }

inline section steps() {
  steps_figure figure;
  figure.mean = 46.32;
  figure.half_interval = 0.04;
  figure.quantity = "ms of host time";
  std::vector<double> const warmup = {73.2, 46.19, 46.22, 46.29, 46.2};
  for (std::uint64_t i = 0; i < 41; ++i) {
    bool const is_other = i == 40;
    double const usual = 46.32 + 0.27 * std::sin(static_cast<double>(i * i) * 0.7) * std::cos(static_cast<double>(i) * 1.9);
    plotted_step step{i, i < 5 ? warmup[i] : is_other ? 151.04 : usual, i < 5 ? plotted_step::role::warmup : plotted_step::role::usual};
    if (is_other) step.is = plotted_step::role::other_kind;
    if (i == 0) step.label = "step 0: 73.2 ms";
    if (is_other) step.label = "step 40: 151.0 ms, validation and generation, none of the usual parts";
    figure.steps.push_back(step);
  }
  data_table table{
      "steps", "", {{"step", column_kind::count}, {"kind"}, {"host", column_kind::milliseconds}, {"GPU", column_kind::milliseconds}}, {}};
  for (plotted_step const& each : figure.steps) {
    table.rows.push_back({{number(static_cast<double>(each.index)), words(each.is == plotted_step::role::warmup ? "warm-up" : "measured"),
                           number(each.ms), each.index == 0 ? missing("the first step has no GPU time") : number(each.ms - 0.01)}});
  }
  table.shown_rows = 0;
  table.folded_label = "All 41 steps as a table";
  std::string const finding =
      "35 of 36 steps are alike and known well: 46.32 \xc2\xb1 0.04 ms (\xc2\xb1"
      "0.1 %).";
  return {"steps",
          "Steps",
          finding + " No drift; steady from step 1 on, so the warm-up of 5 is long enough.",
          {profkit::detail::figure{finding, figure}, table},
          "A step is usual if it has the parts that most steps have. The one other (step 40) would move the mean to 49.22 ms and make it "
          "uncertain by \xc2\xb1"
          "12.4 %."};
}

inline stacked_bar::part part(std::string name, double busy, double launch, double host, double sync, double copies, double queued) {
  return {std::move(name),
          {{colour::busy, 0, busy},
           {colour::launch_bound, 0, launch},
           {colour::host_bound, 0, host},
           {colour::synchronisation, 0, sync},
           {colour::copies, 0, copies},
           {colour::queued, 0, queued}}};
}

inline row part_row(stacked_bar::part const& part, double total) {
  row result;
  double sum = 0.0;
  for (bar_part const& each : part.inside) sum += each.value;
  std::vector<bar_part> shares = part.inside;
  for (bar_part& each : shares) each.value /= total;
  result.cells = {words(part.name), number(sum), number(sum / total), bar(shares)};
  for (bar_part const& each : part.inside) result.cells.push_back(number(each.value));
  return result;
}

inline section budget() {
  std::vector<stacked_bar> const bars = {
      {"Usual step: 46.32 ms, mean of 35",
       {part("gpt2_forward", 13.61, 0.10, 0, 0.01, 0.04, 0.34), part("gpt2_backward_and_reduce", 29.91, 0.03, 0, 0.01, 0.09, 0.73),
        part("gpt2_calculate_grad_norm", 0.20, 0.02, 0, 0, 0.03, 0.004), part("gpt2_update", 1.05, 0.02, 0, 0.003, 0, 0.02),
        part("step itself", 0, 0, 0.09, 0.003, 0, 0)}},
      {"Step 40: 151.0 ms",
       {part("validation", 14.62, 0.13, 0.1, 0.02, 0.1, 0.34), part("generation", 38.86, 74.51, 0.02, 0.23, 3.01, 19.11)}}};
  data_table table{
      "budget",
      "",
      {{"part of the step"},
       {"", column_kind::milliseconds},
       {"", column_kind::share},
       {"", column_kind::bar, column_use::wide},
       {"GPU busy", column_kind::milliseconds, column_use::always, "a kernel, copy or memset of that part runs", "", colour::busy},
       {"launch-bound", column_kind::milliseconds, column_use::always, "the host launches and nothing is queued", "", colour::launch_bound},
       {"host-bound", column_kind::milliseconds, column_use::always, "the host does something else", "", colour::host_bound},
       {"synchronisation", column_kind::milliseconds, column_use::always, "the host waits for the GPU", "", colour::synchronisation},
       {"copies", column_kind::milliseconds, column_use::always, "the host waits for a copy", "", colour::copies},
       {"queued", column_kind::milliseconds, column_use::always, "the next operation is launched but has not begun", "", colour::queued}},
      {}};
  for (stacked_bar const& each : bars) {
    row heading{{words(each.title)}};
    heading.cells.resize(table.columns.size());
    heading.is_heading = true;
    table.rows.push_back(heading);
    stacked_bar::part all{"all", each.parts.front().inside};
    for (std::size_t i = 1; i < each.parts.size(); ++i) {
      for (std::size_t k = 0; k < all.inside.size(); ++k) all.inside[k].value += each.parts[i].inside[k].value;
    }
    double total = 0.0;
    for (bar_part const& part : all.inside) total += part.value;
    for (stacked_bar::part const& part : each.parts) table.rows.push_back(part_row(part, total));
    row sum = part_row(all, total);
    sum.cells[3] = cell{};
    sum.is_total = true;
    table.rows.push_back(sum);
  }
  data_table waits{
      "starving",
      "What the GPU waits for, usual step",
      {{"scope (by name, itself)"}, {"idle", column_kind::milliseconds}, {"of step", column_kind::share}, {"", column_kind::bar}},
      {}};
  for (auto const& [name, idle] : std::vector<std::pair<std::string, double>>{{"encoder_backward", 0.47},
                                                                              {"gpt2_forward", 0.35},
                                                                              {"classifier_and_loss", 0.31},
                                                                              {"matmul_cublaslt", 0.12},
                                                                              {"step itself", 0.1}}) {
    waits.rows.push_back({{words(name), number(idle), number(idle / 46.32), bar({{colour::launch_bound, 0, idle}})}});
  }
  row others{{words("13 others"), number(0.19), number(0.004), cell{}}};
  others.is_quiet = true;
  waits.rows.push_back(others);
  bars_figure const figure{bars,
                           {{{colour::busy}, "GPU busy"},
                            {{colour::launch_bound}, "launch-bound"},
                            {{colour::host_bound}, "host-bound"},
                            {{colour::synchronisation}, "synchronisation"},
                            {{colour::copies}, "copies"},
                            {{colour::queued}, "queued"}}};
  std::string const finding = "gpt2_backward_and_reduce takes 66 %, gpt2_forward 30 %; the GPU idles 3.3 %.";
  return {"budget",
          "Where the step went",
          finding + " In step 40 it idles 65 %, 77 % of that launch-bound.",
          {profkit::detail::figure{finding, figure}, table, waits},
          "Every moment of a step is in exactly one cell, so the rows add up to the step. GPU busy: a kernel, copy or memset of that part "
          "ran. The rest is idle time, by what the host did meanwhile."};
}

/// A scope of the usual step and of its picture.
struct scope {
  std::uint32_t depth;
  std::string name;
  double count, time, idle, host, begin;
  std::vector<double> each{};
};

inline std::vector<scope> scopes() {
  return {{0, "gpt2_backward_and_reduce", 1, 30.77, 0.86, 30.77, 14.1},
          {1, "classifier_and_loss", 1, 30.67, 0.82, 30.73, 14.1},
          {2, "Layer_* \xc3\x97 12", 12, 25.80, 0.02, 3.70, 18.1, {2.16, 2.15, 2.15, 2.14, 2.15, 2.16, 2.15, 2.14, 2.15, 2.15, 2.16, 2.15}},
          {3, "attention_backward", 12, 13.39, 0.004, 1.03, 30.5},
          {4, "matmul_cublaslt", 48, 5.71, 0.003, 0.78, 30.5},
          {3, "matmul_backward", 48, 10.19, 0.01, 2.36, 18.7},
          {4, "matmul_cublaslt", 96, 7.88, 0.01, 1.66, 18.7},
          {3, "layernorm_backward", 24, 1.63, 0.001, 0.22, 28.9},
          {2, "matmul_backward", 1, 2.90, 0, 0.08, 15.1},
          {3, "matmul_cublaslt", 2, 2.90, 0, 0.08, 15.1},
          {2, "encoder_backward", 1, 0.55, 0.47, 17.98, 44.0},
          {0, "gpt2_forward", 1, 14.10, 0.49, 14.10, 0},
          {1, "Layer_* \xc3\x97 12", 12, 11.98, 0.13, 1.83, 0.05, {2.4, 1.0, 1.02, 1.01, 1.0, 0.99, 1.0, 1.01, 1.0, 1.0, 1.02, 1.08}},
          {2, "attention_forward", 12, 6.79, 0.02, 0.68, 4.0},
          {3, "matmul_cublaslt", 24, 3.01, 0.01, 0.42, 4.0},
          {2, "matmul_cublaslt", 48, 4.01, 0.10, 0.88, 0.05},
          {1, "matmul_cublaslt", 1, 1.71, 0.001, 0.02, 12.1},
          {0, "gpt2_update", 1, 1.10, 0.04, 1.10, 45.2}};
}

inline section picture() {
  icicle_figure figure{"Usual step, 46.32 ms", 46.32, {}};
  for (scope const& each : scopes()) figure.boxes.push_back({each.name, each.depth, each.begin, each.time, each.idle});
  icicle_figure host{"Host time of a usual step, 46.32 ms",
                     46.32,
                     {{"gpt2_backward_and_reduce", 0, 14.1, 30.77},
                      {"encoder_backward", 1, 15.0, 17.98},
                      {"gpt2_forward", 0, 0, 14.1},
                      {"exp_loop", 1, 0, 9.1, 0.0, icicle_figure::box_kind::function, "65 % of the scope's own time"},
                      {"waiting or in the kernel", 1, 9.1, 5.0, 0.0, icicle_figure::box_kind::waiting}},
                     true};
  std::string const finding =
      "Largest: Layer_* \xc3\x97 12 in gpt2_backward_and_reduce, 56 % of a usual step; 52 % of that is attention_backward.";
  return {"picture",
          "Picture of the step",
          finding,
          {profkit::detail::figure{finding, figure}, profkit::detail::figure{"The host waits in encoder_backward.", host}},
          "Width: GPU busy time plus the idle time that the scope is charged with (hatched, at the right). Below each scope are those "
          "inside it."};
}

inline section scope_tree() {
  data_table table{"scopes",
                   "",
                   {{"scope"},
                    {"per step", column_kind::count},
                    {"", column_kind::milliseconds},
                    {"of step", column_kind::share},
                    {"busy, idle", column_kind::bar},
                    {"busy", column_kind::milliseconds},
                    {"idle", column_kind::milliseconds},
                    {"host", column_kind::milliseconds},
                    {"host", column_kind::bar, column_use::wide},
                    {"each", column_kind::range, column_use::wide}},
                   {}};
  double const step = 46.32;
  row root{{words("usual step (35 of 36)"), number(1), number(step), number(1), busy_and_idle(0.967, 0.033), number(44.77), number(1.55),
            number(step), bar({{colour::host, 0, 1}}), cell{}}};
  root.is_heading = true;
  table.rows.push_back(root);
  for (scope const& each : scopes()) {
    row next{{words(each.name), number(each.count), number(each.time), number(each.time / step),
              busy_and_idle((each.time - each.idle) / step, each.idle / step), number(each.time - each.idle), number(each.idle),
              number(each.host), bar({{colour::host, 0, each.host / step}}), cell{}},
             each.depth + 1};
    if (!each.each.empty())
      next.cells.back() = {range_cell{each.each[1] < 2 ? 0.99 : 2.14, each.time / 12, each.each[1] < 2 ? 1.08 : 2.16, each.each,
                                      each.each[0] > 2.2 ? "_0: 2.40" : ""}};
    next.is_open = each.depth < 2;
    table.rows.push_back(next);
  }
  row quiet{{words("2 smaller: encoder_forward, layernorm_forward"), words(""), number(0.05), number(0.05 / step), cell{}, number(0.03),
             number(0.02), number(0.03), cell{}, cell{}},
            2};
  quiet.is_quiet = true;
  table.rows.insert(table.rows.end() - 1, quiet);
  return {
      "scopes",
      "Scopes",
      "4,333 scopes in 48 rows. Scopes that differ only in their number are one row with their sum; beside it is what each of them takes.",
      {table},
      "ms is GPU busy time of what the scope launched, and idle time while the host was in it. Rows under 0.5 % of the step are summed. "
      "All rows: scopes.csv."};
}

inline section kernels() {
  data_table table{"kernels",
                   "",
                   {{"kernel", column_kind::code},
                    {"class"},
                    {"per step", column_kind::milliseconds},
                    {"of kernels", column_kind::share},
                    {"", column_kind::bar},
                    {"launches", column_kind::count},
                    {"mean", column_kind::duration},
                    {"from, mean, to", column_kind::logarithmic_range, column_use::wide},
                    {"launched in", column_kind::text, column_use::wide}},
                   {}};
  struct kernel {
    std::string name, kernel_class;
    std::uint8_t shade;
    double ms, launches, low, high;
    std::string place;
  };
  std::vector<kernel> const kernels = {
      {"softmax_autoregressive_backward_inplace_kernel", "softmax", 5, 5.914, 12, 0.49, 0.50, "Layer_* \xe2\x80\xba attention_backward"},
      {"nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", "matmul", 4, 5.181, 49, 0.03, 1.5,
       "matmul_backward \xe2\x80\xba matmul_cublaslt +1"},
      {"nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT", "matmul", 4, 3.086, 24, 0.03, 0.14,
       "attention_forward \xe2\x80\xba matmul_cublaslt"},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1> >(int)", "elementwise", 9,
       1.188, 24, 0.002, 0.06, "gelu_forward"},
      {"layernorm_backward_kernel10", "norm", 6, 1.669, 25, 0.06, 0.07, "Layer_* \xe2\x80\xba layernorm_backward"},
      {"permute_kernel", "copy/cast", 8, 1.201, 12, 0.003, 0.11, "Layer_* \xe2\x80\xba attention_forward"},
      {"adamw_kernel3<float>", "optimizer", 1, 1.053, 16, 0.002, 0.3, "step \xe2\x80\xba gpt2_update"}};
  for (kernel const& each : kernels) {
    table.rows.push_back({{words(each.name),
                           words(each.kernel_class),
                           number(each.ms),
                           number(each.ms / 44.5),
                           bar({{colour::kernel_class, each.shade, each.ms}}),
                           number(each.launches),
                           number(each.ms / each.launches),
                           {range_cell{each.low, each.ms / each.launches, each.high}},
                           words(each.place)}});
  }
  table.sorted_by = 2;
  table.shown_rows = 4;
  table.folded_label = "3 more kernels: 3.92 ms, 8.8 % of kernel time";
  stacked_bar classes{"", {}};
  for (auto const& [name, shade, ms] : std::vector<std::tuple<std::string, std::uint8_t, double>>{{"matmul", 4, 26.2},
                                                                                                  {"softmax", 5, 7.8},
                                                                                                  {"copy/cast", 8, 3.6},
                                                                                                  {"elementwise", 9, 2.1},
                                                                                                  {"norm", 6, 1.7},
                                                                                                  {"optimizer", 1, 1.07},
                                                                                                  {"other", 11, 1.9}}) {
    classes.parts.push_back({name, {{colour::kernel_class, shade, ms}}});
  }
  std::string const finding = "532 kernels a step, 44.5 ms; the first 15 of 32 take 82 %.";
  bars_figure const figure{{classes},
                           {{{colour::kernel_class, 9}, "elementwise 4.8 %"},
                            {{colour::kernel_class, 6}, "norm 3.8 %"},
                            {{colour::kernel_class, 1}, "optimizer 2.4 %"},
                            {{colour::kernel_class, 11}, "other 4.2 %"}}};
  return {"kernels",
          "Kernels",
          finding,
          {profkit::detail::figure{finding, figure}, table},
          "Times, launches and means are of the usual steps."};
}

inline section memory() {
  lines_figure figure{"measured step",
                      "memory of the device",
                      true,
                      {{"allocated", {}, {}}, {"reserved by the allocator", {}, {}, {}, {}}},
                      column_kind::bytes};
  double const gib = 1024.0 * 1024.0 * 1024.0;
  for (int i = 0; i < 36; ++i) {
    figure.lines[0].x.push_back(i);
    figure.lines[0].y.push_back((9.5 + std::sin(i)) * gib);
    figure.lines[0].low.push_back((8.0 + std::sin(i)) * gib);
    figure.lines[0].high.push_back((11.0 + std::sin(i)) * gib);
    figure.lines[1].x.push_back(i);
    figure.lines[1].y.push_back((i < 9 ? 11.5 : 12.2) * gib);
  }
  data_table table{"memory",
                   "",
                   {{"memory"},
                    {"first step begins", column_kind::bytes},
                    {"last step ends", column_kind::bytes},
                    {"highest", column_kind::bytes},
                    {"kept by scopes", column_kind::bytes}},
                   {}};
  table.rows.push_back({{words("cuda driver, this program"), number(12.09 * gib), number(12.09 * gib), number(12.09 * gib), number(0)}});
  table.rows.push_back({{words("device, all programs (read after each step)"), number(12.18 * gib), number(12.18 * gib),
                         number(12.18 * gib), missing("the driver does not say which program allocates")}});
  std::string const finding = "No scope allocates or frees device memory in the measured steps: the 12.09 GiB were there before.";
  return {"memory", "Memory by scope", finding, {profkit::detail::figure{finding, figure}, table}};
}

inline section roofline() {
  roofline_figure figure{
      {{"BF16 989 TFLOP/s", 989e12, 0}, {"FP32 67 TFLOP/s", 67e12, 0}, {"HBM 4.8 TB/s", 0, 4.8e12}},
      {{"attention_forward", 110, 2.9e14, 0.15}, {"matmul_cublaslt", 420, 6.1e14, 0.55}, {"layernorm_forward", 1.2, 3.2e12, 0.03}}};
  data_table table{"work", "", {{"scope"}, {"FLOP per byte", column_kind::real}, {"of step", column_kind::share}}, {}};
  for (roofline_figure::point const& each : figure.points)
    table.rows.push_back({{words(each.name), number(each.flops_per_byte), number(each.share_of_step)}});
  std::string const finding = "matmul_cublaslt reaches 62 % of the peak.";
  return {"work", "Work and limits", finding, {profkit::detail::figure{finding, figure}, table}};
}

inline section changes() {
  waterfall_figure falls{55.75,
                         55.74,
                         {{"gpt2_forward", -9.4, true, "-9.40 ms faster"},
                          {"gpt2_backward", 7.84, true, "+7.84 ms slower"},
                          {"other", 1.55, false, "+1.55 ms"}}};
  pairs_figure pairs{"mean step in ms", {49.6, 56.6, 51.6}, {69.1, 50.6, 49.8, 50.2}};
  lanes_figure lanes{9.5,
                     {{"rank 0",
                       {{0, 7.1, colour::busy, "computing"}, {8.2, 9.5, colour::busy, "computing"}},
                       {{2.7, 3.1, colour::transfer, "AllReduce"}}},
                      {"rank 1", {{0.1, 7.0, colour::busy, "computing"}}, {{2.5, 2.7, colour::launch_bound, "AllReduce, waiting"}}}},
                     {{{colour::busy, 0, 0.0}, "computing"}, {{colour::transfer, 0, 0.0}, "collective"}}};
  heat_figure heat{"Host time of the step, ms",        {"rank 0", "rank 1"}, {"0", "1", "2"},
                   {{249, 3.1, 0.2}, {11.2, {}, 9.4}}, {true, false, false}, 9.5};
  data_table table{"changes", "", {{"scope"}, {"difference", column_kind::milliseconds}, {"change", column_kind::change}}, {}};
  table.columns[1].is_difference = true;
  table.columns[2].margin = 0.02;
  auto const add = [&](std::string name, double difference, change_cell change) {
    table.rows.push_back({{words(std::move(name)), number(difference), {change}}});
  };
  add("gpt2_forward", -9.4, {-0.53, -0.43, -0.31, true});
  add("gpt2_backward", 7.84, {0.023, 0.25, 0.53, true});
  add("layernorm_backward", 0.09, {-0.98, 0.59, 30.0, false});  // extends beyond the axis at both ends
  return {"changes",
          "Changes",
          "9.4 ms less in gpt2_forward.",
          {profkit::detail::figure{"The difference by part", falls}, table, profkit::detail::figure{"The runs", pairs},
           profkit::detail::figure{"One step of both ranks", lanes}, profkit::detail::figure{"Steps of both ranks", heat}},
          {}};
}

inline section quality() {
  data_table losses{"losses", "", {{"lost or unknown"}, {"of", column_kind::count}, {"count", column_kind::count}}, {}};
  for (auto const& [name, total, count] : std::vector<std::tuple<std::string, double, double>>{{"scopes and counters dropped", 20781, 0},
                                                                                               {"GPU records dropped or invalid", 36261, 0},
                                                                                               {"releases of unknown memory", 36261, 10}})
    losses.rows.push_back({{words(name), number(total), number(count)}});
  data_table collectors{"collectors", "", {{"collector"}, {"status"}, {"reason"}}, {}};
  collectors.rows.push_back({{words("kernels"), words("collected"), words("")}});
  collectors.rows.push_back({{words("API calls"), missing("not requested"), words("not requested: all_api_calls")}});
  return {"quality",
          "Data quality and overhead",
          "Nothing was lost. profkit itself cost at most about 1.6 % of a usual step: collecting kernels 738 operations of about 1 "
          "\xc2\xb5s, scopes 0.05 %.",
          {losses, collectors, note{"Clock: time-stamp counter.", false}}};
}

}  // namespace made_document_parts

inline profkit::detail::document made_document() {
  using namespace made_document_parts;
  document made{"prof",
                "on NVIDIA H200, host vm \xc2\xb7 36 measured steps after 5 of warm-up",
                "A usual step takes 46.3 ms and keeps the GPU busy for 97\xc2\xa0% of it: only faster or fewer kernels make it shorter",
                {},
                {},
                {},
                "profkit 0.1.0"};
  made.findings = {
      {"The GPU sets the pace.",
       "It works 44.8 of 46.3 ms. All its idle time is 1.55 ms (3.3 %), 1.10 ms of that between kernels already queued.",
       "Do not tune the host: a CUDA graph or fewer launches can save 1.26 ms (2.7 %) at most."},
      {"Kernel time is 59 % matmul, 18 % softmax.",
       "The longest single kernel is softmax_autoregressive_backward_inplace_kernel: 5.91 ms a step, 13 % of kernel time, for 12 launches.",
       "Begin with the kernels of attention_backward, the innermost scope with over a quarter of the step: 13.4 ms, 29 % of the step.",
       "step/gpt2_backward_and_reduce/classifier_and_loss/Layer_*/attention_backward"},
      {"Step 40 is no usual step.",
       "It took 151 ms, 3.3 times the others, with generation (136 ms) and validation (15.3 ms) and none of the usual parts.",
       "It has figures of its own here. If generation matters, capture it in a CUDA graph: at most 93.6 ms of it is launching."}};
  made.key_figures = {{"usual step", "46.32 ms",
                       "\xc2\xb1"
                       "0.04 ms (95 %), 35 of 36 steps"},
                      {"tokens per second", "354 k", "16,384 in a usual step"},
                      {"GPU busy", "96.7 %", "44.77 of 46.32 ms"},
                      {"of the peak (MFU)", "", "no scope said its FLOPs"},
                      {"SM clock", "1,960 MHz", "of 1,980; power cap; not throttled"},
                      {"power", "568 W",
                       "at most 680 W, 56 \xc2\xb0"
                       "C"},
                      {"device memory", "12.2 GiB", "constant over the steps"}};
  made.sections = {steps(), budget(), picture(), scope_tree(), kernels(), memory(), roofline(), changes(), quality()};
  return made;
}
