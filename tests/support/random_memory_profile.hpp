// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/profile.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "made_path.hpp"
#include "random_samples.hpp"

namespace made {

/// Threads take turns: at every moment one of them opens or closes a scope, allocates or releases.
class random_memory {
 public:
  explicit random_memory(std::uint64_t seed) : random_{seed} {
    made_.threads = {{100, "train"}, {101, "loader"}, {100, "train"}};  // the first and the last are one system thread
    made_.allocators = {{"pool", random_() % 1000, false}, {"level", 500, true}};
    made_.time.begin = now_;
    for (int i = 0; i < 400; ++i) {
      now_ += moment * (1 + random_() % 20);
      act(random_() % 3 == 0 ? 1 : 0);
    }
    for (std::size_t thread : {0U, 1U}) {
      while (!open_[thread].empty()) {
        now_ += moment;
        close(thread);
      }
    }
    made_.time.end = now_;
    if (random_() % 2 == 0) {
      std::shuffle(made_.scopes.begin(), made_.scopes.end(), random_);
      std::shuffle(made_.allocations.begin(), made_.allocations.end(), random_);
    }
  }

  [[nodiscard]] profkit::profile made() && { return std::move(made_); }

 private:
  /// A reading at the end of a step may be some nanoseconds later; nothing else is in this profile.
  static constexpr std::chrono::nanoseconds moment{20};

  struct open_scope {
    std::uint32_t path;
    profkit::timestamp begin;
  };

  void act(std::size_t thread) {
    auto& open = open_[thread];
    std::uint64_t const what = random_() % 10;
    if (what < 2 && open.size() < 5) {
      bool const is_step = thread == 0 && !is_in_step() && random_() % 2 == 0;
      std::uint32_t const parent = is_step || open.empty() ? profkit::path_record::no_parent : open.back().path;
      std::string const name(1, static_cast<char>((thread == 0 ? 'a' : 'x') + random_() % 2));
      open.push_back({made_path(made_, parent, is_step ? "step" : name), now_});
    } else if (what < 4 && !open.empty()) {
      close(thread);
    } else if (what < 7) {
      allocate(thread);
    } else if (what < 9) {
      release(thread);
    } else {
      level_ += random_() % 100;
      level_ -= std::min<std::uint64_t>(level_, random_() % 100);
      made_.allocations.push_back({now_, 0, level_, record_of(thread), 1, profkit::allocation_kind::usage});
    }
  }

  /// A system thread may have several entries.
  std::uint32_t record_of(std::size_t thread) { return thread == 1 ? 1 : (random_() % 2 == 0 ? 0 : 2); }

  [[nodiscard]] bool is_in_step() const {
    return std::any_of(open_[0].begin(), open_[0].end(), [&](open_scope const& each) { return made_.paths[each.path].name == "step"; });
  }

  void close(std::size_t thread) {
    open_scope const closed = open_[thread].back();
    open_[thread].pop_back();
    made_.scopes.push_back({{closed.begin, now_}, closed.path, record_of(thread)});
    if (made_.paths[closed.path].name != "step") return;
    std::uint64_t const index = made_.steps.size();
    made_.steps.push_back({{closed.begin, now_}, index, index == 0 || random_() % 5 == 0, 1});
  }

  void allocate(std::size_t thread) {
    std::uint64_t const address = 1 + random_() % 1000;  // sometimes a live one
    live_.push_back(address);
    made_.allocations.push_back({now_, address, 1 + random_() % 64, record_of(thread), 0, profkit::allocation_kind::allocated});
  }

  void release(std::size_t thread) {
    std::uint64_t address = 5000;  // never allocated
    if (!live_.empty() && random_() % 20 != 0) {
      auto const piece = live_.begin() + static_cast<std::ptrdiff_t>(random_() % live_.size());
      address = *piece;
      live_.erase(piece);
    }
    std::uint64_t const bytes = random_() % 3 == 0 ? 0 : 7;  // the given size counts only for unknown blocks
    made_.allocations.push_back({now_, address, bytes, record_of(thread), 0, profkit::allocation_kind::released});
  }

  std::mt19937_64 random_;
  profkit::timestamp now_{std::chrono::seconds{1'790'000'000}};
  std::vector<open_scope> open_[2];  ///< by system thread
  std::vector<std::uint64_t> live_;
  std::uint64_t level_ = 500;
  profkit::profile made_;
};

}  // namespace made

/// Nested scopes on two threads, in steps and around them, with allocations; releases on either thread, during the allocating scope and
/// long after it, of blocks never allocated and of addresses allocated twice; and readings of usage. No two events have the same time.
/// @param seed equal seeds create equal profiles.
inline profkit::profile make_random_memory_profile(std::uint64_t seed) {
  return with_random_samples(made::random_memory{seed}.made(), seed);
}
