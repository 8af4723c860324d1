// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/analyze/memory/scope_memory.hpp>

#include "../support/made_path.hpp"
#include "../support/made_profile.hpp"
#include "../support/profile_of.hpp"
#include "../support/random_memory_profile.hpp"
#include "../support/repetitions.hpp"
#include "../support/testing.hpp"

using profkit::allocation_kind;
using profkit::allocation_record;

namespace {

constexpr std::uint64_t mib = 1U << 20U;

profkit::scope_memory_summary memory_in(profkit::summary const& summary, std::string const& path, std::size_t allocator = 0) {
  profkit::scope_summary const* const row = find_row(summary, path);
  REQUIRE(row != nullptr);
  REQUIRE(row->memory.size() > allocator);
  return row->memory[allocator];
}

/// A step [0, 10] in ms. On one thread: `forward` [1, 8] contains `attention` [2, 4] and `mlp` [5, 7]. On another thread: `load` [1, 9].
struct one_step {
  profkit::profile profile;

  one_step() {
    profile.paths = {step_path(),
                     {0, "forward", {}, "train.cpp", 10},
                     {1, "attention", {}, "model.cpp", 20},
                     {1, "mlp", {}, "model.cpp", 30},
                     {profkit::path_record::no_parent, "load", {}, "data.cpp", 40}};
    profile.threads = {{100, "train"}, {101, "loader"}};
    profile.scopes = {{{at_ms(2), at_ms(4)}, 2, 0},
                      {{at_ms(5), at_ms(7)}, 3, 0},
                      {{at_ms(1), at_ms(8)}, 1, 0},
                      {{at_ms(0), at_ms(10)}, 0, 0},
                      {{at_ms(1), at_ms(9)}, 4, 1}};
    profile.steps = {{{at_ms(0), at_ms(10)}, 0, false, 1}};
    profile.allocators = {{"pool", 0, false}};
  }

  one_step& gives(double ms, std::uint64_t address, std::uint64_t bytes, std::uint32_t thread = 0) {
    profile.allocations.push_back({at_ms(ms), address, bytes, thread, 0, allocation_kind::allocated});
    return *this;
  }
  one_step& has_back(double ms, std::uint64_t address, std::uint32_t thread = 0, std::uint64_t bytes = 0) {
    profile.allocations.push_back({at_ms(ms), address, bytes, thread, 0, allocation_kind::released});
    return *this;
  }
  one_step& reads(double ms, std::uint64_t bytes, std::uint32_t thread = 0) {
    profile.allocators[0].is_polled = true;
    profile.allocations.push_back({at_ms(ms), 0, bytes, thread, 0, allocation_kind::usage});
    return *this;
  }
  [[nodiscard]] profkit::summary summary() const { return profkit::analyze(profile); }
};

/// Computes the same figures by checking every scope after every event.
class plain_memory_model {
 public:
  explicit plain_memory_model(profkit::profile const& profile) : profile_{profile}, sorted_{profile.allocations} {
    std::sort(sorted_.begin(), sorted_.end(), [](auto const& a, auto const& b) { return a.time < b.time; });
    for (std::size_t allocator = 0; allocator < profile.allocators.size(); ++allocator) find_changes(allocator);
  }

  struct change {
    profkit::timestamp time;
    std::int64_t bytes;
    std::optional<std::size_t> owner;  ///< index of the scope in the profile
    profkit::timestamp allocated;      ///< when the block was allocated
  };

  [[nodiscard]] std::vector<change> const& changes(std::size_t allocator) const { return changes_[allocator]; }
  [[nodiscard]] std::uint64_t unknown() const { return unknown_; }
  [[nodiscard]] std::uint64_t reused() const { return reused_; }

  [[nodiscard]] bool is_measured(profkit::timestamp moment) const {
    return std::any_of(profile_.steps.begin(), profile_.steps.end(),
                       [&](auto const& step) { return !step.warmup && step.time.begin <= moment && moment < step.time.end; });
  }

  /// Whether the block counts for the scope, as its own or from inside.
  [[nodiscard]] bool counts_for(change const& each, std::size_t scope, bool own) const {
    if (!each.owner) return false;
    if (*each.owner == scope) return true;
    profkit::interval const& time = profile_.scopes[scope].time;
    profkit::interval const& inside = profile_.scopes[*each.owner].time;
    if (own || system_of(profile_.scopes[scope].thread) != system_of(profile_.scopes[*each.owner].thread)) return false;
    if (inside.begin < time.begin || time.end < inside.end) return false;
    for (std::uint32_t path = profile_.scopes[*each.owner].path; path != profkit::path_record::no_parent;
         path = profile_.paths[path].parent) {
      if (path == profile_.scopes[scope].path) return true;
    }
    return false;
  }

  /// The balance of the scope after each change, starting at 0.
  [[nodiscard]] std::vector<std::int64_t> balance(std::size_t allocator, std::size_t scope, bool own) const {
    std::vector<std::int64_t> result{0};
    for (change const& each : changes_[allocator]) {
      bool const is_during = profile_.scopes[scope].time.begin <= each.time && each.time <= profile_.scopes[scope].time.end;
      if (is_during && counts_for(each, scope, own)) result.push_back(result.back() + each.bytes);
    }
    return result;
  }

  [[nodiscard]] std::int64_t total_at(std::size_t allocator, profkit::timestamp moment) const {
    auto total = static_cast<std::int64_t>(profile_.allocators[allocator].bytes_at_start);
    for (change const& each : changes_[allocator]) {
      if (each.time <= moment) total += each.bytes;
    }
    return total;
  }

  [[nodiscard]] std::int64_t max_in(std::size_t allocator, profkit::interval const& time) const {
    std::int64_t result = total_at(allocator, time.begin - std::chrono::nanoseconds{1});
    for (change const& each : changes_[allocator]) {
      if (time.begin <= each.time && each.time <= time.end) result = std::max(result, total_at(allocator, each.time));
    }
    return result;
  }

 private:
  /// Index of the scope in the profile.
  [[nodiscard]] std::optional<std::size_t> innermost(allocation_record const& at) const {
    std::optional<std::size_t> result;
    for (std::size_t i = 0; i < profile_.scopes.size(); ++i) {
      profkit::scope_record const& scope = profile_.scopes[i];
      if (system_of(scope.thread) != system_of(at.thread) || at.time < scope.time.begin || scope.time.end < at.time) continue;
      if (!result || profile_.scopes[*result].time.begin < scope.time.begin) result = i;
    }
    return result;
  }

  [[nodiscard]] std::uint64_t system_of(std::uint32_t thread) const { return profile_.threads[thread].system_id; }

  void find_changes(std::size_t allocator) {
    std::map<std::uint64_t, std::size_t> live;
    auto level = static_cast<std::int64_t>(profile_.allocators[allocator].bytes_at_start);
    std::vector<change>& to = changes_.emplace_back();
    for (std::size_t i = 0; i < sorted_.size(); ++i) {
      allocation_record const& each = sorted_[i];
      auto const bytes = static_cast<std::int64_t>(each.bytes);
      if (each.allocator != allocator) continue;
      auto const known = live.find(each.address);
      if (each.kind == allocation_kind::usage) {
        to.push_back({each.time, bytes - level, innermost(each), each.time});
        level = bytes;
        continue;
      }
      if (known != live.end()) {
        allocation_record const& block = sorted_[known->second];
        to.push_back({each.time, -static_cast<std::int64_t>(block.bytes), innermost(block), block.time});
        if (each.kind == allocation_kind::allocated) ++reused_;
        live.erase(known);
      } else if (each.kind == allocation_kind::released) {
        to.push_back({each.time, -bytes, std::nullopt, each.time});
        ++unknown_;
      }
      if (each.kind != allocation_kind::allocated) continue;
      to.push_back({each.time, bytes, innermost(each), each.time});
      live[each.address] = i;
    }
  }

  profkit::profile const& profile_;
  std::vector<allocation_record> sorted_;
  std::vector<std::vector<change>> changes_;  ///< by allocator
  std::uint64_t unknown_ = 0;
  std::uint64_t reused_ = 0;
};

/// The summary of one path, from the model's result for each scope.
profkit::scope_memory_summary modelled(profkit::profile const& profile, plain_memory_model const& model, std::size_t allocator,
                                       std::uint32_t path) {
  profkit::scope_memory_summary result;
  std::uint64_t allocated = 0;
  std::uint64_t own_allocated = 0;
  std::uint64_t allocations = 0;
  auto const highest = [](std::uint64_t before, std::int64_t now) {
    return std::max(before, static_cast<std::uint64_t>(std::max<std::int64_t>(now, 0)));
  };
  for (std::size_t i = 0; i < profile.scopes.size(); ++i) {
    profkit::scope_record const& scope = profile.scopes[i];
    if (scope.path != path || !model.is_measured(scope.time.begin)) continue;
    std::vector<std::int64_t> const all = model.balance(allocator, i, false);
    std::vector<std::int64_t> const own = model.balance(allocator, i, true);
    result.peak_bytes = highest(result.peak_bytes, *std::max_element(all.begin(), all.end()));
    result.own_peak_bytes = highest(result.own_peak_bytes, *std::max_element(own.begin(), own.end()));
    result.retained_bytes += all.back();
    result.own_retained_bytes += own.back();
    result.wide_peak_bytes = highest(result.wide_peak_bytes, model.max_in(allocator, scope.time));
    for (plain_memory_model::change const& each : model.changes(allocator)) {
      if (each.bytes <= 0 || !model.counts_for(each, i, false)) continue;
      allocated += static_cast<std::uint64_t>(each.bytes);
      ++allocations;
      if (model.counts_for(each, i, true)) own_allocated += static_cast<std::uint64_t>(each.bytes);
    }
  }
  for (plain_memory_model::change const& each : model.changes(allocator)) {
    bool const is_of_path = each.owner && profile.scopes[*each.owner].path == path;
    if (is_of_path && model.is_measured(each.time) && model.is_measured(each.allocated)) result.own_change_bytes += each.bytes;
  }
  if (profile.allocators[allocator].is_polled) return result;
  result.allocated_bytes = allocated;
  result.own_allocated_bytes = own_allocated;
  result.allocations = allocations;
  return result;
}

void check_row(profkit::scope_memory_summary const& found, profkit::scope_memory_summary const& expected) {
  CHECK(found.peak_bytes == expected.peak_bytes);
  CHECK(found.own_peak_bytes == expected.own_peak_bytes);
  CHECK(found.retained_bytes == expected.retained_bytes);
  CHECK(found.own_retained_bytes == expected.own_retained_bytes);
  CHECK(found.allocated_bytes == expected.allocated_bytes);
  CHECK(found.own_allocated_bytes == expected.own_allocated_bytes);
  CHECK(found.allocations == expected.allocations);
  CHECK(found.wide_peak_bytes == expected.wide_peak_bytes);
  CHECK(found.own_change_bytes == expected.own_change_bytes);
}

}  // namespace

TEST_CASE("the peak of a scope is the maximum usage of it and the scopes inside, relative to its start", "[memory]") {
  // The outer scope has 2 MiB. The inner ones rise by 5 and then by 3 MiB, and each retains 1 MiB.
  profkit::summary const summary = one_step{}
                                       .gives(0.5, 1, 100 * mib)
                                       .gives(1.5, 2, 2 * mib)
                                       .gives(2.5, 3, 4 * mib)
                                       .gives(2.6, 4, 1 * mib)
                                       .has_back(3.5, 3)
                                       .gives(5.5, 5, 1 * mib)
                                       .gives(5.6, 6, 2 * mib)
                                       .has_back(6.5, 6)
                                       .has_back(7.5, 2)
                                       .summary();
  profkit::scope_memory_summary const forward = memory_in(summary, "step/forward");
  CHECK(forward.source == "pool");
  CHECK(forward.peak_bytes == 7 * mib);
  CHECK(forward.own_peak_bytes == 2 * mib);
  CHECK(forward.retained_bytes == 2 * mib);
  CHECK(forward.own_retained_bytes == 0);
  CHECK(forward.allocated_bytes == 10 * mib);
  CHECK(forward.own_allocated_bytes == 2 * mib);
  CHECK(forward.allocations == 5);
  CHECK(forward.wide_peak_bytes == 107 * mib);
  profkit::scope_memory_summary const attention = memory_in(summary, "step/forward/attention");
  CHECK(attention.peak_bytes == 5 * mib);
  CHECK(attention.own_peak_bytes == 5 * mib);
  CHECK(attention.retained_bytes == static_cast<std::int64_t>(mib));
  CHECK(memory_in(summary, "step/forward/mlp").peak_bytes == 3 * mib);
  CHECK(memory_in(summary, "step/forward/mlp").wide_peak_bytes == 106 * mib);
  CHECK(memory_in(summary, "step").peak_bytes == 107 * mib);
  CHECK(memory_in(summary, "load").peak_bytes == 0);
  CHECK(memory_in(summary, "load").wide_peak_bytes == 107 * mib);
}

TEST_CASE("a rise of usage belongs to the scope at whose end, or before whose inner scope, it was read", "[memory]") {
  one_step made;
  made.profile.allocators[0].bytes_at_start = 100;
  profkit::summary const summary =
      made.reads(0.9, 110).reads(1.9, 150).reads(3.9, 130).reads(4.9, 160).reads(6.9, 160).reads(7.9, 140).reads(9.9, 141).summary();
  profkit::scope_memory_summary const forward = memory_in(summary, "step/forward");
  CHECK(forward.is_polled);
  CHECK(forward.own_peak_bytes == 70);      // 40 before the first inner scope, and 30 between the two
  CHECK(forward.own_retained_bytes == 50);  // 20 less after them
  CHECK(forward.peak_bytes == 50);          // as attention gave 20 back
  CHECK(forward.retained_bytes == 30);
  CHECK(memory_in(summary, "step/forward/attention").peak_bytes == 0);
  CHECK(memory_in(summary, "step/forward/attention").retained_bytes == -20);
  CHECK(memory_in(summary, "step/forward/mlp").retained_bytes == 0);
  CHECK(memory_in(summary, "step").retained_bytes == 41);
  CHECK(memory_in(summary, "step").own_retained_bytes == 11);
  CHECK(memory_in(summary, "step").wide_peak_bytes == 160);
  CHECK_FALSE(forward.allocated_bytes);
  CHECK_FALSE(forward.own_allocated_bytes);
  CHECK_FALSE(forward.allocations);
}

TEST_CASE("usage read at the end of a step counts for the step", "[memory]") {
  one_step made;
  made.reads(5.0, 40);
  made.profile.allocations.push_back({at_ms(10), 0, 70, 0, 0, allocation_kind::usage});
  made.profile.scopes[3].time.end += std::chrono::nanoseconds{1};  // the log reader places the end of the scope after the reading
  profkit::summary const summary = made.summary();
  CHECK(memory_in(summary, "step").own_retained_bytes == 30);
  CHECK(memory_in(summary, "step").own_change_bytes == 30);
  REQUIRE(summary.allocators.size() == 1);
  CHECK(summary.allocators[0].last_bytes == 70);
  CHECK(summary.allocators[0].between_steps_change_bytes == 0);
}

TEST_CASE("a release of an unknown block lowers the total, is charged to no scope and is counted", "[memory]") {
  one_step made;
  made.profile.allocators[0].bytes_at_start = 50;
  profkit::summary const summary = made.has_back(2.5, 1, 0, 30).has_back(3.0, 2).gives(5.5, 3, 5).summary();
  CHECK(memory_in(summary, "step/forward/attention").retained_bytes == 0);
  CHECK(memory_in(summary, "step/forward/attention").wide_peak_bytes == 50);
  CHECK(memory_in(summary, "step/forward/mlp").wide_peak_bytes == 25);
  REQUIRE(summary.allocators.size() == 1);
  CHECK(summary.allocators[0].unknown_releases == 2);
  CHECK(summary.allocators[0].reused_addresses == 0);
  CHECK(summary.allocators[0].first_bytes == 50);
  CHECK(summary.allocators[0].last_bytes == 25);
  CHECK(summary.allocators[0].outside_change_bytes == -30);
}

TEST_CASE("an address released by one thread and allocated by another in the same nanosecond was free in between", "[memory]") {
  profkit::summary const summary = one_step{}.gives(2.5, 1, 30).gives(3.0, 1, 10, 1).has_back(3.0, 1).summary();
  CHECK(memory_in(summary, "step/forward/attention").retained_bytes == 0);
  CHECK(memory_in(summary, "load").retained_bytes == 10);
  CHECK(memory_in(summary, "step").wide_peak_bytes == 30);
  CHECK(summary.allocators.at(0).unknown_releases == 0);
  CHECK(summary.allocators.at(0).reused_addresses == 0);
}

TEST_CASE("memory allocated in the warm-up is live in the measured steps, and belongs to no measured scope", "[memory]") {
  one_step made;
  made.profile.steps = {{{at_ms(-20), at_ms(-10)}, 0, true, 1}, made.profile.steps[0]};
  made.profile.scopes.push_back({{at_ms(-18), at_ms(-12)}, 1, 0});
  made.gives(-15, 1, 40).gives(2.5, 2, 3).has_back(5.5, 1);
  profkit::summary const summary = made.summary();
  profkit::scope_memory_summary const forward = memory_in(summary, "step/forward");
  CHECK(forward.allocated_bytes == 3);
  CHECK(forward.peak_bytes == 3);
  CHECK(forward.retained_bytes == 3);
  CHECK(forward.wide_peak_bytes == 43);
  CHECK(forward.own_change_bytes == 0);
  CHECK(summary.allocators.at(0).outside_change_bytes == -40);
  CHECK(summary.allocators.at(0).first_bytes == 40);
  CHECK(summary.allocators.at(0).last_bytes == 3);
}

TEST_CASE("without steps the whole session counts", "[memory]") {
  one_step made;
  made.profile.steps.clear();
  profkit::summary const summary = made.gives(-5, 1, 40).gives(2.5, 2, 3).has_back(12, 1).summary();
  CHECK(memory_in(summary, "step/forward").peak_bytes == 3);
  CHECK(summary.allocators.at(0).max_bytes == 43);
  CHECK(summary.allocators.at(0).last_bytes == 3);
  CHECK(summary.allocators.at(0).outside_change_bytes == 0);
}

TEST_CASE("without an allocator there is no memory by scope; with an unused one it is 0", "[memory]") {
  one_step made;
  made.profile.allocators[0].bytes_at_start = 60;
  CHECK(memory_in(made.summary(), "step/forward").peak_bytes == 0);
  CHECK(memory_in(made.summary(), "step/forward").allocations == 0);
  CHECK(memory_in(made.summary(), "step/forward").wide_peak_bytes == 60);
  CHECK(made.summary().allocators.at(0).max_bytes == 60);
  made.profile.allocators.clear();
  CHECK(made.summary().allocators.empty());
  for (profkit::scope_summary const& row : made.summary().scopes) CHECK(row.memory.empty());
}

TEST_CASE("profiles with only allocations, only warm-up or meaningless numbers are analysed", "[memory]") {
  profkit::profile profile;
  profile.threads = {{1, "main"}};
  profile.allocators = {{"pool", ~std::uint64_t{0}, false}};
  profile.allocations = {{at_ms(1), 1, ~std::uint64_t{0}, 0, 0, allocation_kind::allocated},
                         {at_ms(2), 2, std::uint64_t{1} << 63U, 0, 0, allocation_kind::allocated},
                         {at_ms(3), 9, ~std::uint64_t{0}, 0, 0, allocation_kind::released},
                         {at_ms(4), 0, 7, 0, 0, allocation_kind::usage}};
  CHECK(profkit::analyze(profile).allocators.size() == 1);
  profile.steps = {{{at_ms(0), at_ms(5)}, 0, true, 1}};
  CHECK(profkit::analyze(profile).allocators.empty());
}

TEST_CASE("peaks and retained memory equal those of a check after every event, for random nests on several threads", "[memory]") {
  std::size_t rows = 0;
  std::size_t peaks = 0;
  for (std::uint64_t seed = 1; seed <= repetitions(40); ++seed) {
    CAPTURE(seed);
    profkit::profile const profile = make_random_memory_profile(seed);
    profkit::summary const summary = profkit::analyze(profile);
    plain_memory_model const model{profile};
    for (std::uint32_t path = 0; path < profile.paths.size(); ++path) {
      profkit::scope_summary const* const row = find_row(summary, path_name(profile, path));
      if (row == nullptr || row->host.count == 0) continue;
      CAPTURE(row->path);
      REQUIRE(row->memory.size() == 2);
      for (std::size_t allocator = 0; allocator < 2; ++allocator) {
        CAPTURE(allocator);
        check_row(row->memory[allocator], modelled(profile, model, allocator, path));
        ++rows;
        if (row->memory[allocator].peak_bytes > 0) ++peaks;
      }
    }
    if (summary.allocators.empty()) continue;
    CHECK(summary.allocators[0].unknown_releases == model.unknown());
    CHECK(summary.allocators[0].reused_addresses == model.reused());
  }
  CHECK(rows > repetitions(300));
  CHECK(peaks > repetitions(200));
}

TEST_CASE("balances of scopes and of code outside scopes add up to the change of the total", "[memory]") {
  std::size_t ledgers = 0;
  std::size_t changes_outside = 0;
  for (std::uint64_t seed = 1; seed <= repetitions(300); ++seed) {
    CAPTURE(seed);
    profkit::profile const profile = make_random_memory_profile(seed);
    profkit::summary const summary = profkit::analyze(profile);
    plain_memory_model const model{profile};
    std::optional<profkit::interval> span;
    for (profkit::step_record const& step : profile.steps) {
      if (!step.warmup) span = {span ? span->begin : step.time.begin, step.time.end};
    }
    REQUIRE(summary.allocators.empty() == !span);
    for (std::size_t i = 0; i < summary.allocators.size(); ++i) {
      profkit::allocator_summary const& each = summary.allocators[i];
      CHECK(each.first_bytes == model.total_at(i, span->begin - std::chrono::nanoseconds{1}));
      CHECK(each.last_bytes == model.total_at(i, span->end));
      std::int64_t in_scopes = 0;
      for (profkit::scope_summary const& row : summary.scopes) {
        if (!row.memory.empty()) in_scopes += row.memory[i].own_change_bytes;
      }
      CHECK(each.last_bytes - each.first_bytes == in_scopes + each.outside_change_bytes + each.between_steps_change_bytes);
      ++ledgers;
      if (each.outside_change_bytes != 0) ++changes_outside;
    }
  }
  CHECK(ledgers > repetitions(300));
  CHECK(changes_outside > repetitions(100));
}
