// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tables/table_cells.hpp"
#include "tables/tables.hpp"

namespace trainer {

namespace {

/// The names that `libtorch_bridge` gives to work without a forward scope.
constexpr std::array<std::string_view, 2> named_work{"gradient accumulation", "backward of unknown forward"};
constexpr std::string_view backward_role = "backward";
constexpr std::string_view higher_order_role = "double backward or recomputed";

/// The backward pass by scope of the forward pass: in GPU work if kernels were collected, otherwise in host time.
class backward_work {
 public:
  /// An index into `profile::paths`.
  using path = std::uint32_t;

  backward_work(profkit::profile const& profile, profkit::summary const& summary)
      : paths_{profile.paths},
        has_gpu_{summary.gpu.has_value()},
        rows_(paths_.size()),
        inside_(paths_.size()),
        forward_(paths_.size()),
        backward_(paths_.size()) {
    find_rows(summary);
    divide();
    if (summary.gpu) not_charged_ = summary.gpu->unattributed_time;
    total_ += not_charged_;
    for (path i = count(); i-- > 0;) {
      if (!has_parent(i)) continue;
      forward_[paths_[i].parent] += forward_[i];
      backward_[paths_[i].parent] += backward_[i];
    }
  }

  /// Scopes with backward work and their ancestors, as a tree in depth-first order.
  [[nodiscard]] std::vector<path> scopes() const {
    std::vector<std::vector<path>> children(paths_.size());
    std::vector<path> left;
    for (path i = count(); i-- > 0;) {
      if (backward_[i] <= milliseconds{}) continue;
      // The root is the step, which has no row.
      if (has_parent(i)) (has_parent(paths_[i].parent) ? children[paths_[i].parent] : left).push_back(i);
    }
    std::vector<path> result;
    while (!left.empty()) {
      result.push_back(left.back());
      left.pop_back();
      std::vector<path> const& inside = children[result.back()];
      left.insert(left.end(), inside.begin(), inside.end());
    }
    return result;
  }

  [[nodiscard]] profkit::path_record const& record(path scope) const { return paths_[scope]; }
  [[nodiscard]] std::size_t depth(path path_id) const {
    std::size_t result = 0;
    for (path at = paths_[path_id].parent; has_parent(at); at = paths_[at].parent) ++result;
    return result;
  }

  /// Work of the scope and everything inside it, except autograd's work for other scopes.
  [[nodiscard]] milliseconds forward(path scope) const { return forward_[scope]; }

  /// Autograd's work for the scope and everything inside it.
  [[nodiscard]] milliseconds backward(path scope) const { return backward_[scope]; }

  /// Work without a forward scope by name, in the order of first appearance.
  [[nodiscard]] std::vector<std::pair<std::string, milliseconds>> const& named() const noexcept { return named_; }
  /// Work launched outside any scope, in the whole step.
  [[nodiscard]] milliseconds not_charged() const noexcept { return not_charged_; }
  [[nodiscard]] milliseconds total() const noexcept { return total_; }
  [[nodiscard]] bool has_gpu() const noexcept { return has_gpu_; }

 private:
  static constexpr path none = profkit::path_record::no_parent;

  [[nodiscard]] path count() const { return static_cast<path>(paths_.size()); }
  [[nodiscard]] bool has_parent(path scope) const { return paths_[scope].parent != none; }
  [[nodiscard]] bool is_adopted(path scope) const { return paths_[scope].adopted_from != none; }

  void find_rows(profkit::summary const& summary) {
    std::unordered_map<std::string_view, profkit::scope_summary const*> by_path;
    for (profkit::scope_summary const& row : summary.scopes) by_path.emplace(row.path, &row);
    std::vector<std::string> whole(paths_.size());
    for (path i = 0; i < count(); ++i) {
      profkit::path_record const& at = paths_[i];
      std::string const name = at.index ? fmt::format("{}_{}", at.name, *at.index) : at.name;
      whole[i] = has_parent(i) ? whole[at.parent] + "/" + name : name;
      auto const row = by_path.find(whole[i]);
      if (row != by_path.end()) rows_[i] = row->second;
      if (whole[i] == "step/backward") phase_ = i;
    }
  }

  /// Assigns each scope's own work to the innermost enclosing scope that is adopted as backward or is named work.
  void divide() {
    std::vector<path> worker(paths_.size(), none);
    std::vector<bool> is_in_phase(paths_.size());
    for (path i = 0; i < count(); ++i) {
      profkit::path_record const& at = paths_[i];
      bool const is_named = std::find(named_work.begin(), named_work.end(), at.name) != named_work.end();
      bool const is_worker = is_adopted(i) ? at.role == backward_role || at.role == higher_order_role : is_named;
      worker[i] = is_worker ? i : has_parent(i) ? worker[at.parent] : none;
      inside_[i] = is_adopted(i) || is_worker || (has_parent(i) && inside_[at.parent]);
      is_in_phase[i] = i == phase_ || (has_parent(i) && is_in_phase[at.parent]);
      if (worker[i] == none) forward_[i] = self(i);
      if (worker[i] != none || is_in_phase[i]) charge(worker[i], self(i));
    }
  }

  void charge(path worker, milliseconds work) {
    total_ += work;
    if (worker == none) return add_named("backward itself", work);
    profkit::path_record const& at = paths_[worker];
    if (!is_adopted(worker)) return add_named(at.name, work);
    // Nodes created in adopted or named work have no forward scope.
    if (at.role == higher_order_role || inside_[at.adopted_from]) return add_named(std::string{higher_order_role}, work);
    backward_[at.adopted_from] += work;
  }

  void add_named(std::string const& name, milliseconds work) {
    auto known = std::find_if(named_.begin(), named_.end(), [&](auto const& each) { return each.first == name; });
    if (known == named_.end()) known = named_.insert(named_.end(), {name, {}});
    known->second += work;
  }

  [[nodiscard]] milliseconds self(path scope) const {
    profkit::scope_summary const* const row = rows_[scope];
    if (row == nullptr) return {};
    return has_gpu_ ? (row->gpu ? row->gpu->kernel_self : milliseconds{}) : std::max(row->host_self, milliseconds{});
  }

  decltype(profkit::profile::paths) const& paths_;
  bool has_gpu_;
  std::vector<profkit::scope_summary const*> rows_;  ///< null: nothing in the measured steps
  std::vector<bool> inside_;                         ///< an adopted scope or named work
  std::vector<milliseconds> forward_;
  std::vector<milliseconds> backward_;
  std::vector<std::pair<std::string, milliseconds>> named_;
  milliseconds not_charged_{};
  milliseconds total_{};
  path phase_ = none;
};

std::string quotient(milliseconds part, milliseconds whole) {
  return whole.count() > 0.0 ? fmt::format("{:.2f}", part / whole) : not_measured;
}

/// All scopes with one name, which differ only in the indices of their ancestors.
struct name_row {
  std::string name;
  std::size_t depth = 0;
  std::uint64_t scopes = 0;
  milliseconds forward{};
  milliseconds backward{};
  std::optional<double> min;  ///< backward : forward of one scope
  std::optional<double> max;
};

std::vector<name_row> rows_by_name(backward_work const& work) {
  std::vector<name_row> rows;
  std::unordered_map<std::string, std::size_t> known;
  std::unordered_map<backward_work::path, std::string> keys;
  for (backward_work::path const each : work.scopes()) {
    profkit::path_record const& record = work.record(each);
    std::string const name = record.index ? record.name + "_*" : record.name;
    std::string const key = keys[each] = keys[record.parent] + "/" + name;
    std::size_t const row = known.try_emplace(key, rows.size()).first->second;
    if (row == rows.size()) rows.push_back({name, work.depth(each), 0, {}, {}, {}, {}});
    name_row& at = rows[row];
    ++at.scopes;
    at.forward += work.forward(each);
    at.backward += work.backward(each);
    if (work.forward(each).count() <= 0.0) continue;
    double const ratio = work.backward(each) / work.forward(each);
    at.min = std::min(at.min.value_or(ratio), ratio);
    at.max = std::max(at.max.value_or(ratio), ratio);
  }
  return rows;
}

class backward_table_maker {
 public:
  backward_table_maker(backward_work const& work, std::uint64_t steps) : work_{work}, steps_{steps} {}

  [[nodiscard]] string_table by_scope() const {
    string_table table{{"scope", "forward_ms/step", "backward_ms/step", "backward:forward", "share"}};
    for (backward_work::path const each : work_.scopes()) {
      profkit::path_record const& record = work_.record(each);
      std::string const name = record.index ? fmt::format("{}_{}", record.name, *record.index) : record.name;
      table.add({std::string(2 * work_.depth(each), ' ') + name, ms(work_.forward(each)), ms(work_.backward(each)),
                 quotient(work_.backward(each), work_.forward(each)), share(work_.backward(each))});
    }
    for (auto const& [name, work] : rest()) table.add({name, not_measured, ms(work), not_measured, share(work)});
    return table;
  }

  [[nodiscard]] string_table by_name() const {
    auto const cell = [](std::optional<double> value) { return value ? fmt::format("{:.2f}", *value) : not_measured; };
    string_table table{{"scope", "scopes", "forward_ms/step", "backward_ms/step", "backward:forward", "min", "max", "share"}};
    for (name_row const& row : rows_by_name(work_)) {
      table.add({std::string(2 * row.depth, ' ') + row.name, std::to_string(row.scopes), ms(row.forward), ms(row.backward),
                 quotient(row.backward, row.forward), cell(row.min), cell(row.max), share(row.backward)});
    }
    for (auto const& [name, work] : rest()) {
      table.add({name, not_measured, not_measured, ms(work), not_measured, not_measured, not_measured, share(work)});
    }
    return table;
  }

  [[nodiscard]] std::vector<std::string> notes(profkit::summary const& summary) const {
    milliseconds named{};
    for (auto const& [name, work] : work_.named()) named += work;
    milliseconds const charged = work_.total() - named - work_.not_charged();
    char const* const work = work_.has_gpu() ? "GPU work" : "host time";
    std::vector<std::string> result{
        fmt::format("Of {} ms a step of backward {}: charged to a forward scope {}, named {}, not charged {}. {} measured steps.",
                    ms(work_.total()), work, share(charged), share(named), share(work_.not_charged()), steps_),
        fmt::format("forward: {} of the scope and everything inside it. backward: {} of the autograd nodes created there, on any thread.",
                    work, work),
        "Named: work without a forward scope, see libtorch_bridge.hpp. Not charged: launched outside any scope, in the whole step."};
    if (!work_.has_gpu()) result.push_back(why_no_kernels(summary));
    return result;
  }

 private:
  /// The rows below the forward scopes.
  [[nodiscard]] std::vector<std::pair<std::string, milliseconds>> rest() const {
    std::vector<std::pair<std::string, milliseconds>> result = work_.named();
    if (work_.has_gpu()) result.emplace_back("outside any scope", work_.not_charged());
    return result;
  }

  [[nodiscard]] std::string ms(milliseconds total) const { return in_ms(per(steps_, total)); }
  [[nodiscard]] std::string share(milliseconds part) const {
    return work_.total().count() > 0.0 ? fmt::format("{:.2f} %", 100.0 * (part / work_.total())) : not_measured;
  }

  backward_work const& work_;
  std::uint64_t steps_;
};

}  // namespace

std::optional<backward_tables> backward_tables_of(profkit::profile const& profile, profkit::summary const& summary) {
  auto const is_adopted = [](profkit::path_record const& path) { return path.role == backward_role; };
  if (std::none_of(profile.paths.begin(), profile.paths.end(), is_adopted)) return std::nullopt;
  backward_work const work{profile, summary};
  backward_table_maker const maker{work, summary.steps.host.count};
  std::vector<std::string> by_name_notes = maker.notes(summary);
  by_name_notes.emplace_back(
      "A row combines scopes that differ only in an index. min, max: the extremes of backward:forward among them. All scopes: t14.csv.");
  return backward_tables{{"T14. Backward by forward scope", maker.by_name(), std::move(by_name_notes)},
                         {"T14. Backward by forward scope, each", maker.by_scope(), maker.notes(summary)}};
}

}  // namespace trainer
