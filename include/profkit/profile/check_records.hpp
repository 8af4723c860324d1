// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <string>

#include "error.hpp"
#include "profile.hpp"

namespace profkit::detail {

/// Every position in a record must lie in the list that it points into; a path comes after its parent; nothing ends before it begins.
inline void check_records(profile const& of) {
  auto const check = [](bool is_right, char const* what) {
    if (!is_right) throw error{std::string{"the profile is damaged: "} + what};
  };
  auto const is_in_order = [](interval const& time) { return timestamp{} <= time.begin && time.begin <= time.end; };
  auto const is_amount = [](double value) { return value >= 0.0 && value <= std::numeric_limits<double>::max(); };
  check(is_in_order(of.time), "the session ends before it begins");
  for (auto const& each : of.steps) {
    check(is_in_order(each.time), "a step ends before it begins");
    check(is_amount(each.model_flops), "the work of a step is less than nothing, or no number");
  }
  for (auto const& each : of.scopes) check(is_in_order(each.time), "a scope ends before it begins");
  for (std::size_t i = 0; i < of.paths.size(); ++i) {
    check(of.paths[i].parent == path_record::no_parent || of.paths[i].parent < i, "a path comes before its parent");
    check(of.paths[i].adopted_from == path_record::no_parent || of.paths[i].adopted_from < i,
          "a path comes before the one that it adopted");
  }
  for (auto const& each : of.scopes)
    check(each.path < of.paths.size() && each.thread < of.threads.size(), "a scope without path or thread");
  for (auto const& each : of.gpu_scopes) check(each.path < of.paths.size(), "a GPU scope without path");
  for (auto const& each : of.gpu_operations) {
    check(is_in_order(each.time), "a GPU operation ends before it begins");
    check(each.name < of.gpu_names.size(), "a GPU operation without name");
  }
  for (auto const& each : of.threads) {
    check(each.rest_path == path_record::no_parent || each.rest_path < of.paths.size(), "a thread's work without path");
  }
  for (auto const& each : of.graph_nodes) {
    check(each.path == path_record::no_parent || each.path < of.paths.size(), "a node of a graph without path");
  }
  for (auto const& each : of.api_calls) {
    check(is_in_order(each.time), "an API call ends before it begins");
    check(each.name < of.api_names.size() && each.thread < of.threads.size(), "an API call without name or thread");
  }
  for (auto const& each : of.work) {
    check(each.path < of.paths.size(), "work without path");
    check(is_amount(each.work.flops) && is_amount(each.work.bytes) && is_amount(static_cast<double>(each.work.backward)),
          "work is less than nothing, or no number");
  }
  for (auto const& each : of.allocations) {
    check(each.allocator < of.allocators.size() && each.thread < of.threads.size(), "an allocation without allocator or thread");
  }
  for (auto const& each : of.counters) {
    check(each.counter < of.counter_names.size() && each.thread < of.threads.size(), "a counter without name or thread");
  }
}

}  // namespace profkit::detail
