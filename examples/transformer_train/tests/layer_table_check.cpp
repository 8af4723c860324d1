// SPDX-License-Identifier: Apache-2.0
//
// T8 of runs recorded on an H200.
//
//     table_checks layer_table FOLDER_OF_THE_PROFILES

#include <algorithm>
#include <string>
#include <vector>

#include "named_check.hpp"
#include "table_check.hpp"

namespace layer_table_check {

namespace {

using checks::cells;
using checks::check;
using checks::check_close;
using checks::check_contains;
using checks::check_equal;
using checks::recorded_run;

/// The rows of the table with their depth, which is their indentation.
struct row {
  std::string name;
  std::size_t depth;
  double host;
  double work;
};

std::vector<row> rows_of(trainer::titled_table const& table) {
  std::vector<row> result;
  for (std::vector<std::string> const& line : cells::parse(table.content.to_csv())) {
    std::size_t const indent = line[0].find_first_not_of(' ');
    result.push_back({line[0].substr(indent), indent, std::strtod(line[1].c_str(), nullptr), std::strtod(line[4].c_str(), nullptr)});
  }
  return result;
}

void check_layers(recorded_run const& run, bool has_kernels) {
  trainer::titled_table const table = trainer::layer_table(run.config, run.summary);
  std::vector<row> const rows = rows_of(table);
  std::vector<std::string> expected;
  for (int i = 0; i < 12; ++i) expected.push_back("layer_" + std::to_string(i));
  for (char const* const name : {"embedding", "final_norm", "lm_head", "loss"}) expected.emplace_back(name);
  std::vector<std::string> found;
  double host = 0.0;
  double work = 0.0;
  for (row const& each : rows) {
    if (each.depth != 2) continue;
    found.push_back(each.name);
    host += each.host;
    work += each.work;
  }
  check(found == expected, "the layers come in their order, then what is beside them");
  cells const cells{table.content};
  // The forward pass itself launches nothing, but takes some host time.
  double const forward_host = cells.number("FORWARD", "host_total_ms");
  check(host <= forward_host + 0.001 && host > 0.98 * forward_host, "host time of what is in FORWARD");
  if (has_kernels) check_close(work, cells.number("FORWARD", "work_total_ms"), 0.01, "GPU work of what is in FORWARD");

  // Each part is inside the sublayer above it, so the parts take less time than the sublayer.
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].depth < 2) continue;
    double inside = 0.0;
    for (std::size_t j = i + 1; j < rows.size() && rows[j].depth > rows[i].depth; ++j) {
      if (rows[j].depth == rows[i].depth + 2) inside += rows[j].host;
    }
    check(inside <= rows[i].host + 0.006, rows[i].name + " is shorter than what is in it");
  }
  for (char const* const part : {"attention_sublayer", "attention projections", "rope q", "softmax", "output projection", "ffn_sublayer"}) {
    check(std::count_if(rows.begin(), rows.end(), [&](row const& each) { return each.name == part; }) == 12,
          std::string{part} + " is in every layer");
  }
  double mean = 0.0;
  for (row const& each : rows) mean += each.name.rfind("layer_", 0) == 0 ? each.host / 12.0 : 0.0;
  check_close(cells.number("mean of the layers", "host_total_ms"), mean, 0.001, "mean of the layers");
  check(cells.number("std of the layers (n - 1)", "host_total_ms") > 0.0, "the layers do not differ");
}

void check_training_run(recorded_run const& run) {
  trainer::titled_table const table = trainer::layer_table(run.config, run.summary);
  cells const cells{table.content};
  check_equal(cells.at("FORWARD", "events_ms/step"), "5.075", "FORWARD");
  check_equal(cells.at("FORWARD", "share"), "32.2 %", "FORWARD");
  check_equal(cells.at("FORWARD", "share_of"), "step (CUDA events)", "FORWARD");
  check_equal(cells.at("BACKWARD", "events_ms/step"), "9.574", "BACKWARD");
  check_equal(cells.at("BACKWARD", "work_total_ms"), "n/a", "BACKWARD");
  check_equal(cells.at("BACKWARD", "span_mean_ms"), "n/a", "BACKWARD");
  check_equal(cells.at("BACKWARD : FORWARD", "share"), "1.89", "BACKWARD : FORWARD");
  check_equal(cells.at("BACKWARD : FORWARD", "share_of"), "FORWARD (CUDA events)", "BACKWARD : FORWARD");
  check_equal(cells.at("OPTIMIZER", "share"), "6.8 %", "OPTIMIZER");
  check_equal(cells.at("layer_0", "share_of"), "FORWARD (GPU work)", "layer_0");
  check_equal(cells.at("layer_0", "events_ms/step"), "n/a", "layer_0");
  check(cells.number("layer_0", "span_mean_ms") >= cells.number("layer_0", "work_ms/step"), "the span of a layer is shorter than its work");
  check_equal(table.notes[1],
              "All attention_sublayer take of FORWARD: 38.9 % of 4.515 ms per step by GPU work, 74.2 % of 4.446 ms per step by host clock.",
              "attention");
}

void check_without_gpu(recorded_run const& run) {
  trainer::titled_table const table = trainer::layer_table(run.config, run.summary);
  cells const cells{table.content};
  for (std::string const& name : cells.names()) {
    for (char const* const column : {"events_ms/step", "work_total_ms", "work_ms/step", "span_mean_ms"}) {
      check_equal(cells.at(name, column), "n/a", name + ", " + column);
    }
  }
  check_equal(cells.at("layer_0", "share_of"), "FORWARD (host clock)", "layer_0");
  check_equal(cells.at("BACKWARD : FORWARD", "share_of"), "FORWARD (host clock)", "BACKWARD : FORWARD");
  check_equal(table.notes.back(), "GPU kernels: not collected (no GPU).", "note");
}

void check_nothing_measured() {
  trainer::titled_table const table = trainer::layer_table({}, {});
  cells const cells{table.content};
  check(cells.names().size() == 7, "without a step there are the phases and no layers");
  for (std::string const& name : cells.names()) {
    check_equal(cells.at(name, "share"), "n/a", name);
    check_equal(cells.at(name, "host_total_ms"), "n/a", name);
  }
}

int run(int count, char** arguments) {
  if (count != 2) return 2;
  recorded_run const training = checks::training_run(arguments[1]);
  recorded_run const forward = checks::forward_run(arguments[1]);
  recorded_run const without = checks::without_gpu(training, "no GPU");
  check_layers(training, true);
  check_layers(forward, true);
  check_layers(without, false);
  check_training_run(training);
  check_equal(cells{trainer::layer_table(forward.config, forward.summary).content}.at("BACKWARD", "host_total_ms"), "n/a", "BACKWARD");
  check_without_gpu(without);
  check_nothing_measured();
  return checks::failures == 0 ? 0 : 1;
}

checks::named_check const registered{"layer_table", run};

}  // namespace

}  // namespace layer_table_check
