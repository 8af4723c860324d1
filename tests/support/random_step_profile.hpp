// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/impl/analyze/gpu/counted_operations.hpp>
#include <profkit/profile.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "made_path.hpp"
#include "random_samples.hpp"

namespace made {

using std::chrono::nanoseconds;

class random_steps {
 public:
  explicit random_steps(std::uint64_t seed) : random_{seed} {
    made_.threads = {{100, "train"}, {101, "other"}, {100, "train"}};  // the first and the last are one system thread
    made_.gpu_names = {{"kernel", {}}, {"ncclKernel", {}}};
    made_.collectors = {{"kernels", "collected", {}, profkit::collector_kind::kernels}};
    made_path(made_, profkit::path_record::no_parent, "step");
    profkit::timestamp const begin = now_;
    for (std::uint64_t step = 0; step < 6; ++step) {
      now_ += up_to(60);
      profkit::timestamp const around = now_;
      now_ += nanoseconds{1} + up_to(5);
      make_step(step);
      now_ += nanoseconds{1} + up_to(5);
      if (one_in(2)) made_.scopes.push_back({{around, now_}, made_path(made_, profkit::path_record::no_parent, "around"), 0});
    }
    profkit::timestamp const end = now_;
    now_ = begin;
    // Some scopes of the other thread lie in a scope of the step thread, like adopting scopes.
    auto const known = static_cast<std::uint64_t>(made_.paths.size());
    while (now_ < end) nest(one_in(2) ? profkit::path_record::no_parent : static_cast<std::uint32_t>(random_() % known), 1, 4);
    made_.time = {begin, std::max(end, now_)};
    made_.api_names = {"cuLaunchKernel", "cuStreamSynchronize", "cuMemcpyHtoDAsync_v2", "cuMemsetD8Async"};
    made_.launch_shapes = made_shapes();
    for (std::uint64_t const thread : {100U, 101U}) add_calls(thread, begin, end);
    auto const length = static_cast<std::uint64_t>((end - begin).count());
    std::set<profkit::timestamp> begins;
    for (std::uint64_t i = random_() % 150; i > 0; --i) {
      profkit::gpu_operation_record each;
      each.time.begin = begin + nanoseconds{random_() % length} - nanoseconds{20};
      if (!begins.insert(each.time.begin).second) continue;  // the order of beginnings must be unique
      each.time.end = each.time.begin + up_to(one_in(20) ? 200 : 15);
      each.kind = static_cast<profkit::gpu_operation_kind>(random_() % 3);
      each.name = static_cast<std::uint32_t>(random_() % made_.gpu_names.size());
      each.device = static_cast<std::int32_t>(random_() % 2);
      each.correlation = launched_before(each.time.begin);
      give_shape(each);
      made_.gpu_operations.push_back(each);
    }
    if (one_in(2)) std::shuffle(made_.scopes.begin(), made_.scopes.end(), random_);
  }

  [[nodiscard]] profkit::profile made() && { return std::move(made_); }

 private:
  nanoseconds up_to(std::uint64_t ns) { return nanoseconds{random_() % (ns + 1)}; }
  bool one_in(std::uint64_t number) { return random_() % number == 0; }

  void make_step(std::uint64_t index) {
    profkit::timestamp const begin = now_;
    std::uint32_t const thread = one_in(2) ? 0 : 2;
    for (std::uint64_t nests = 1 + random_() % 4; nests > 0; --nests) {
      now_ += up_to(20);
      nest(0, thread, 4);
    }
    now_ += up_to(20) + nanoseconds{1};
    made_.scopes.push_back({{begin, now_}, 0, thread});
    made_.steps.push_back({{begin, now_}, index, index == 0 || one_in(5), 1});
  }

  // Times of one thread differ, so the nesting of its scopes is unique.
  void nest(std::uint32_t parent, std::uint32_t thread, std::uint64_t deepest) {
    profkit::timestamp const begin = now_ += nanoseconds{1} + up_to(10);
    std::uint32_t const path = made_path(made_, parent, std::string(1, static_cast<char>((thread == 1 ? 'x' : 'a') + random_() % 3)));
    for (std::uint64_t inside = random_() % (deepest + 1); inside > 0; --inside) nest(path, thread, deepest - 1);
    now_ += nanoseconds{1} + up_to(10);
    made_.scopes.push_back({{begin, now_}, path, thread});
    now_ += nanoseconds{1};
  }

  /// Times between the beginnings and ends of the scopes of a thread, because a call cannot contain one.
  void add_calls(std::uint64_t system_id, profkit::timestamp begin, profkit::timestamp end) {
    std::vector<profkit::timestamp> moments{begin, end};
    for (profkit::scope_record const& scope : made_.scopes) {
      if (made_.threads[scope.thread].system_id == system_id) moments.insert(moments.end(), {scope.time.begin, scope.time.end});
    }
    std::sort(moments.begin(), moments.end());
    for (std::size_t i = 1; i < moments.size(); ++i) {
      nanoseconds const room = moments[i] - moments[i - 1];
      if (room < nanoseconds{4} || one_in(2)) continue;
      profkit::interval call{moments[i - 1] + nanoseconds{1}, {}};
      call.end = call.begin + nanoseconds{1} + up_to(static_cast<std::uint64_t>(room.count()) - 3);
      auto const name = static_cast<std::uint32_t>(random_() % made_.api_names.size());
      made_.api_calls.push_back({call, made_.api_calls.size() + 1, name, system_id == 100 ? 0U : 1U});
    }
  }

  /// Only calls that enqueue work launch operations: a running session waits for the operations of these calls, not of others.
  /// @return 0 if the call was not recorded.
  std::uint64_t launched_before(profkit::timestamp moment) {
    if (made_.api_calls.empty() || one_in(6)) return 0;
    profkit::api_call_record const& call = made_.api_calls[random_() % made_.api_calls.size()];
    bool const is_near = call.time.begin <= moment && moment - call.time.begin < nanoseconds{200};
    return is_near && profkit::detail::are_launching(made_.api_names)[call.name] ? call.correlation : 0;
  }

  std::mt19937_64 random_;
  profkit::timestamp now_{std::chrono::seconds{1'790'000'000}};
  profkit::profile made_;
};

}  // namespace made

/// Steps of a few hundred nanoseconds, short enough to check every nanosecond: nested scopes on the step thread and on another, scopes
/// around and between the steps, calls that launch, copy and wait, and operations of two devices at random times.
/// @param seed equal seeds create equal profiles. The step thread is 100, the other one 101.
inline profkit::profile make_random_step_profile(std::uint64_t seed) { return with_random_samples(made::random_steps{seed}.made(), seed); }
