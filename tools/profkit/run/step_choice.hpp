// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <profkit/impl/profile/own_memory.hpp>
#include <string>
#include <string_view>

namespace profkit_run {

/// Whether a name matches a pattern with `*` (any text) and `?` (any character).
[[nodiscard]] inline bool matches(std::string_view pattern, std::string_view name) noexcept {
  std::size_t at = 0;
  std::size_t in_name = 0;
  std::size_t star = std::string_view::npos;
  std::size_t behind_star = 0;
  while (in_name < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      behind_star = in_name;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == name[in_name])) {
      ++at;
      ++in_name;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in_name = ++behind_star;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

/// The name with each number replaced by `*`: "Train step 17" -> "Train step *".
[[nodiscard]] inline std::string pattern_of(std::string_view name) {
  std::string result;
  for (char const each : name) {
    if (each < '0' || each > '9') {
      result += each;
    } else if (result.empty() || result.back() != '*') {
      result += '*';
    }
  }
  return result;
}

/// Finds the ranges that are steps: the outermost range of the main thread that repeats and covers most of the time since its first
/// beginning. All functions are called on the main thread.
///
/// Ranges between a start and an end may cross others, as prefetching into the next step does. A name of such ranges is neither a step nor
/// around others as soon as one has crossed.
///
/// A range inside another one that has not ended yet is a step only after many repetitions, because the outer range may repeat: a training
/// step has tens of layers, and a training loop has more steps.
class step_finder {
 public:
  using clock = std::chrono::steady_clock;

  /// A range begins. @param number of a range between a start and an end; 0: it is pushed and popped. @return its pattern if it is the
  /// step.
  [[nodiscard]] std::optional<std::string> begin(std::string_view name, clock::time_point now, std::uint64_t number = 0) {
    std::string pattern = pattern_of(name);
    if (open_.size() >= max_depth) {
      if (number == 0) ++too_deep_;
      return std::nullopt;
    }
    range* const known = find(pattern);
    bool const is_step = known != nullptr && repeats(*known, now);
    open_.push_back({known, now, number});
    if (known != nullptr && known->begun++ == 0) known->first_begin = now;
    return is_step ? std::optional{std::move(pattern)} : std::nullopt;
  }

  /// The range with a number ends; 0: the innermost one that was pushed.
  void end(clock::time_point now, std::uint64_t number = 0) noexcept {
    if (number == 0 && too_deep_ > 0) {
      --too_deep_;
      return;
    }
    for (std::size_t i = open_.size(); i-- > 0;) {
      if (open_[i].number != number) continue;
      if (range* const done = open_[i].what) {
        ++done->ended;
        done->total += now - open_[i].begin;
      }
      take_out(i);
      return;
    }
  }

  /// Forgets the ranges that have ended on another thread. @param is_open by number.
  template <class Test>
  void forget_ended(Test const& is_open) noexcept {
    for (std::size_t i = open_.size(); i-- > 0;) {
      if (open_[i].number == 0 || is_open(open_[i].number)) continue;
      mark_crossing(open_[i].what);
      take_out(i);
    }
  }

  /// The patterns of the outermost ranges, for a message.
  [[nodiscard]] std::string names() const {
    std::string result;
    for (std::size_t i = 0; i < count_ && result.size() < 200; ++i) {
      if (ranges_[i].around == nullptr) result += (result.empty() ? "\"" : ", \"") + ranges_[i].pattern + "\"";
    }
    return result;
  }

 private:
  static constexpr std::size_t max_depth = 8;
  static constexpr std::size_t max_ranges = 64;

  struct range {
    std::string pattern;
    range const* around = nullptr;
    std::uint64_t begun = 0;
    std::uint64_t ended = 0;
    clock::duration total{};
    clock::time_point first_begin{};
    bool has_crossed = false;  ///< has ended before a range that began later
  };

  struct open_range {
    range* what;  ///< null: there are too many
    clock::time_point begin;
    std::uint64_t number;

    [[nodiscard]] bool is_around() const noexcept { return what == nullptr || !what->has_crossed; }
  };

  /// Removes an open range. Of those that cross, the ones between a start and an end are marked.
  void take_out(std::size_t at) noexcept {
    range* const done = open_[at].what;
    bool const is_pushed = open_[at].number == 0;
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(at));
    for (std::size_t i = at; i < open_.size(); ++i) {
      if (is_pushed && open_[i].number != 0) mark_crossing(open_[i].what);
      if (!is_pushed && open_[i].is_around()) mark_crossing(done);
    }
  }

  /// Marks all ranges of the name. @param which null: there are too many.
  void mark_crossing(range const* which) noexcept {
    for (std::size_t i = 0; which != nullptr && i < count_; ++i) {
      if (ranges_[i].pattern == which->pattern) ranges_[i].has_crossed = true;
    }
  }

  range* find(std::string const& pattern) {
    auto const inner = std::find_if(open_.rbegin(), open_.rend(), [](open_range const& each) { return each.is_around(); });
    range const* const around = inner == open_.rend() ? nullptr : inner->what;
    if (inner != open_.rend() && around == nullptr) return nullptr;
    for (std::size_t i = 0; i < count_; ++i) {
      if (ranges_[i].around == around && ranges_[i].pattern == pattern) return &ranges_[i];
    }
    if (count_ == max_ranges) return nullptr;
    range& added = ranges_[count_];
    added.has_crossed = std::any_of(ranges_.begin(), ranges_.begin() + count_,
                                    [&](range const& each) { return each.has_crossed && each.pattern == pattern; });
    ++count_;
    added.pattern = pattern;
    added.around = around;
    return &added;
  }

  [[nodiscard]] bool repeats(range const& which, clock::time_point now) const noexcept {
    constexpr std::uint64_t min_repetitions = 2;
    constexpr std::uint64_t min_inside = 100;  // or the following two
    constexpr std::uint64_t min_inside_long = 10;
    constexpr std::chrono::seconds long_time{10};
    constexpr std::chrono::microseconds min_mean{100};  // a step costs some microseconds
    if (which.has_crossed || which.ended < min_repetitions || 2 * which.total < now - which.first_begin) return false;
    if (which.total < min_mean * static_cast<std::int64_t>(which.ended)) return false;
    open_range const* outermost = nullptr;
    for (open_range const& each : open_) {
      if (!each.is_around()) continue;
      if (each.what == nullptr || each.what->begun > 1) return false;  // the outer range repeats itself
      if (outermost == nullptr) outermost = &each;
    }
    if (outermost == nullptr) return true;
    return which.ended >= min_inside || (which.ended >= min_inside_long && now - outermost->begin >= long_time);
  }

  std::array<range, max_ranges> ranges_;
  std::size_t count_ = 0;
  profkit::detail::own_vector<open_range> open_;
  std::size_t too_deep_ = 0;
};

}  // namespace profkit_run
