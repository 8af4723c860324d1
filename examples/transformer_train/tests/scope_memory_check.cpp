// SPDX-License-Identifier: Apache-2.0
//
// Compares memory by scope of a CPU run with sums over all its events, and with the peak that its source counted.
//     table_checks scope_memory PROFILE BATCH CTX

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <profkit/save_load.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "config.hpp"
#include "measure/torch_cpu_memory.hpp"
#include "named_check.hpp"
#include "table_check.hpp"
#include "tables/lookup.hpp"

namespace scope_memory_check {

namespace {

using checks::check;

/// Memory of the scopes with one path, computed event by event.
struct counted {
  std::int64_t peak = 0;
  std::int64_t own_peak = 0;
  std::int64_t retained = 0;
  std::int64_t own_retained = 0;
  std::uint64_t allocated = 0;
  std::uint64_t allocations = 0;
  std::int64_t wide_peak = 0;
};

class moments {
 public:
  explicit moments(profkit::profile const& profile) : profile_{profile}, in_order_{profile.allocations} {
    std::stable_sort(in_order_.begin(), in_order_.end(), [](auto const& a, auto const& b) { return a.time < b.time; });
    for (profkit::allocation_record const& each : in_order_) owners_.push_back(innermost(each));
  }

  [[nodiscard]] std::map<std::uint32_t, counted> by_path() const {
    std::map<std::uint32_t, counted> result;
    for (profkit::scope_record const& scope : profile_.scopes) {
      if (is_measured(scope.time.begin)) add(scope, result[scope.path]);
    }
    return result;
  }

 private:
  [[nodiscard]] bool is_measured(profkit::timestamp at) const {
    return std::any_of(profile_.steps.begin(), profile_.steps.end(),
                       [&](auto const& step) { return !step.warmup && step.time.begin <= at && at <= step.time.end; });
  }

  [[nodiscard]] static bool contains(profkit::scope_record const& scope, profkit::timestamp at) {
    return scope.time.begin <= at && at <= scope.time.end;
  }

  [[nodiscard]] bool is_on_thread_of(profkit::allocation_record const& what, profkit::scope_record const& scope) const {
    return profile_.threads[what.thread].system_id == profile_.threads[scope.thread].system_id;
  }

  [[nodiscard]] profkit::scope_record const* innermost(profkit::allocation_record const& what) const {
    profkit::scope_record const* found = nullptr;
    for (profkit::scope_record const& scope : profile_.scopes) {
      if (!contains(scope, what.time) || !is_on_thread_of(what, scope)) continue;
      // Of two scopes that begin at the same time, the inner one ends first or has the longer path.
      bool const is_inside = found == nullptr || scope.time.begin > found->time.begin ||
                             (scope.time.begin == found->time.begin && (scope.time.end < found->time.end || scope.path > found->path));
      if (is_inside) found = &scope;
    }
    return found;
  }

  void add(profkit::scope_record const& scope, counted& to) const {
    std::map<std::uint64_t, std::int64_t> pieces;
    std::map<std::uint64_t, std::int64_t> own_pieces;
    std::int64_t balance = 0;
    std::int64_t own_balance = 0;
    std::int64_t total = 0;
    std::int64_t highest = 0;
    auto const give_back = [](std::map<std::uint64_t, std::int64_t>& from, std::uint64_t address, std::int64_t& sum) {
      auto const piece = from.find(address);
      if (piece == from.end()) return;
      sum -= piece->second;
      from.erase(piece);
    };
    for (std::size_t i = 0; i < in_order_.size(); ++i) {
      profkit::allocation_record const& what = in_order_[i];
      if (what.time > scope.time.end) break;
      bool const is_inside = what.time >= scope.time.begin;
      auto const bytes = static_cast<std::int64_t>(what.bytes);
      if (is_inside) highest = std::max(highest, total);  // also before the first change
      if (what.kind == profkit::allocation_kind::released) {
        total -= bytes;
        give_back(pieces, what.address, balance);
        give_back(own_pieces, what.address, own_balance);
        continue;
      }
      total += bytes;
      if (!is_inside || !is_on_thread_of(what, scope)) continue;
      pieces[what.address] = bytes;
      balance += bytes;
      to.peak = std::max(to.peak, balance);
      to.allocated += what.bytes;
      ++to.allocations;
      if (owners_[i] != &scope) continue;
      own_pieces[what.address] = bytes;
      own_balance += bytes;
      to.own_peak = std::max(to.own_peak, own_balance);
    }
    to.wide_peak = std::max({to.wide_peak, highest, total});
    to.retained += balance;
    to.own_retained += own_balance;
  }

  profkit::profile const& profile_;
  std::vector<profkit::allocation_record> in_order_;
  std::vector<profkit::scope_record const*> owners_;  ///< the innermost open scope at each event of `in_order_`
};

std::string path_of(profkit::profile const& profile, std::uint32_t position) {
  profkit::path_record const& path = profile.paths[position];
  std::string const name = path.index ? path.name + "_" + std::to_string(*path.index) : path.name;
  return path.parent == profkit::path_record::no_parent ? name : path_of(profile, path.parent) + "/" + name;
}

profkit::scope_memory_summary const* memory_of(profkit::summary const& summary, std::string_view path) {
  profkit::scope_summary const* const scope = trainer::find_scope(summary, path);
  if (scope == nullptr) return nullptr;
  for (profkit::scope_memory_summary const& each : scope->memory) {
    if (each.source == trainer::torch_cpu_memory::source_name) return &each;
  }
  return nullptr;
}

void check_equal(std::int64_t found, std::int64_t expected, std::string const& what) {
  check(found == expected, fmt::format("{}: {} instead of {} bytes", what, found, expected));
}

template <class Count>
std::int64_t number(Count count) {
  return static_cast<std::int64_t>(count);
}

void check_every_scope(profkit::profile const& profile, profkit::summary const& summary) {
  std::size_t checked = 0;
  for (auto const& [position, expected] : moments{profile}.by_path()) {
    std::string const path = path_of(profile, position);
    profkit::scope_memory_summary const* const found = memory_of(summary, path);
    check(found != nullptr, path + " has no memory");
    if (found == nullptr) continue;
    ++checked;
    check_equal(number(found->peak_bytes), expected.peak, path + ", peak");
    check_equal(number(found->own_peak_bytes), expected.own_peak, path + ", own peak");
    check_equal(found->retained_bytes, expected.retained, path + ", retained");
    check_equal(found->own_retained_bytes, expected.own_retained, path + ", own retained");
    check_equal(number(found->allocated_bytes.value_or(0)), number(expected.allocated), path + ", allocated");
    check_equal(number(found->allocations.value_or(0)), number(expected.allocations), path + ", number of allocations");
    check_equal(number(found->wide_peak_bytes), expected.wide_peak, path + ", highest total");
  }
  check(checked > 40, fmt::format("only {} scopes have memory", checked));
}

/// The source counts its reports independently.
void check_source(profkit::summary const& summary) {
  std::optional<std::uint64_t> peak;
  for (profkit::memory_summary const& memory : summary.memory) {
    if (memory.source == trainer::torch_cpu_memory::source_name && memory.quantity == "allocated") peak = memory.peak_bytes;
  }
  profkit::scope_memory_summary const* const step = memory_of(summary, "step");
  check(peak.has_value() && step != nullptr, "the source has no peak, or the step no memory");
  if (peak && step != nullptr) check_equal(number(step->wide_peak_bytes), number(*peak), "highest total of a step and the source's peak");

  check(summary.allocators.size() == 1, "there is one allocator");
  for (profkit::allocator_summary const& each : summary.allocators) {
    check(!each.is_polled && each.unknown_releases == 0 && each.reused_addresses == 0, "no piece is unknown");
    std::int64_t changes = each.outside_change_bytes + each.between_steps_change_bytes;
    for (profkit::scope_summary const& scope : summary.scopes) {
      for (profkit::scope_memory_summary const& memory : scope.memory) changes += memory.own_change_bytes;
    }
    check_equal(changes, each.last_bytes - each.first_bytes, "the changes of all scopes and the change of the total");
    if (peak) check_equal(number(each.max_bytes), number(*peak), "highest total of the allocator and the source's peak");
  }
}

/// Known from the shapes: each of these scopes creates one tensor that outlives it.
void check_shapes(profkit::summary const& summary, std::int64_t tokens) {
  constexpr std::int64_t fp32 = 4;
  std::map<std::string, std::int64_t> const made{{"step/forward/embedding", tokens * trainer::model_sizes[0].d_model * fp32},
                                                 {"step/forward/lm_head", tokens * trainer::vocabulary * fp32}};
  for (auto const& [path, bytes] : made) {
    profkit::scope_summary const* const scope = trainer::find_scope(summary, path);
    profkit::scope_memory_summary const* const memory = memory_of(summary, path);
    if (scope == nullptr || memory == nullptr) {
      check(false, path + " has no memory");
      continue;
    }
    check_equal(number(memory->peak_bytes), bytes, path + ", peak by its shape");
    check_equal(memory->own_retained_bytes, bytes * number(scope->host.count), path + ", retained by its shape");
  }
  profkit::scope_memory_summary const* const step = memory_of(summary, "step");
  check(step != nullptr && step->retained_bytes == 0, "a step gives back all that it takes");
}

int run(int count, char** arguments) {
  if (count != 4) return 2;
  profkit::profile const profile = profkit::load(arguments[1]);
  profkit::summary const summary = checks::summary_of(profile);
  check(profile.allocations.size() > 1000, "hardly anything was allocated");
  check_every_scope(profile, summary);
  check_source(summary);
  check_shapes(summary, std::strtoll(arguments[2], nullptr, 10) * std::strtoll(arguments[3], nullptr, 10));
  return checks::failures == 0 ? 0 : 1;
}

checks::named_check const registered{"scope_memory", run};

}  // namespace

}  // namespace scope_memory_check
