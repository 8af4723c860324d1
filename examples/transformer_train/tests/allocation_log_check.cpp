// SPDX-License-Identifier: Apache-2.0
//
// Checks the reports of LibTorch's host allocator to an allocation_log; its GPU allocator makes the same reports.

#include "memory/allocation_log.hpp"
#include "named_check.hpp"

#include <ATen/ATen.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace allocation_log_check {

namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20U;

int failures = 0;

void expect(bool holds, char const* what) {
  if (holds) return;
  ++failures;
  fmt::print("FAIL: {}\n", what);
}

at::Tensor bytes(std::uint64_t count) { return at::empty({static_cast<std::int64_t>(count)}, at::kByte); }

struct recording {
  explicit recording(std::size_t capacity, c10::Device device = c10::Device{c10::kCPU})
      : log{std::make_shared<trainer::allocation_log>(device, capacity)}, current{c10::DebugInfoKind::PROFILER_STATE, log} {}

  [[nodiscard]] std::vector<trainer::memory_sample> samples() const { return log->history().samples; }

  std::shared_ptr<trainer::allocation_log> log;
  c10::DebugInfoGuard current;
};

void check_each_allocation_and_release_is_a_sample() {
  auto const before = std::chrono::system_clock::now();
  recording const now{100};
  {
    at::Tensor const first = bytes(mebibyte);
    at::Tensor const second = bytes(3 * mebibyte);
  }
  auto const samples = now.samples();
  expect(samples.size() == 4, "two tensors are not two allocations and two releases");
  if (samples.size() != 4) return;
  std::uint64_t const base = samples.back().allocated_bytes;
  expect(samples[0].allocated_bytes == base + mebibyte, "the first tensor is not there");
  expect(samples[1].allocated_bytes == base + 4 * mebibyte, "the second tensor is not on top of the first");
  expect(samples[2].allocated_bytes == base + mebibyte, "the release of the second tensor is not there");
  expect(before <= samples.front().time && samples.back().time <= std::chrono::system_clock::now(), "the times are of another clock");
  for (std::size_t i = 1; i < samples.size(); ++i) expect(samples[i - 1].time <= samples[i].time, "the samples are not in order");
}

void check_backward_pass_is_recorded() {
  recording const now{1000};
  at::Tensor const weight = at::ones({512, 512}).requires_grad_();
  at::Tensor const loss = at::matmul(at::ones({512, 512}), weight).sum();
  std::size_t const forward = now.samples().size();
  loss.backward();
  auto const samples = now.samples();
  std::uint64_t highest = 0;
  for (std::size_t i = forward; i < samples.size(); ++i) highest = std::max(highest, samples[i].allocated_bytes);
  expect(highest >= samples[forward - 1].allocated_bytes + mebibyte,
         "the gradient, of 1 MiB, is not on top of what the backward pass needs");
}

void check_oldest_are_dropped() {
  recording const now{3};
  std::vector<at::Tensor> tensors;
  for (std::uint64_t i = 1; i <= 5; ++i) tensors.push_back(bytes(i * mebibyte));
  auto const samples = now.samples();
  expect(samples.size() == 3, "more is kept than there is room for, or less");
  if (samples.size() != 3) return;
  expect(samples[1].allocated_bytes - samples[0].allocated_bytes == 4 * mebibyte, "the fourth tensor is not where it belongs");
  expect(samples[2].allocated_bytes - samples[1].allocated_bytes == 5 * mebibyte, "the last tensor is not the last sample");
}

void check_only_what_is_asked_for() {
  recording const other_device{10, c10::Device{c10::kCUDA, 0}};
  static_cast<void>(bytes(mebibyte));
  expect(other_device.samples().empty(), "memory of another device counts");
  recording const now{10};
  std::thread{[] { static_cast<void>(bytes(mebibyte)); }}.join();
  expect(now.samples().empty(), "a thread that does not record is recorded");
  now.log->stop();
  static_cast<void>(bytes(mebibyte));
  expect(now.samples().empty(), "recorded after the end");
}

void check_failed_allocation() {
  recording const now{10};
  c10::reportOutOfMemoryToProfiler(77, 1000, 2000, c10::Device{c10::kCPU});
  auto const failure = now.log->history().failure;
  expect(failure && failure->bytes == 77, "an allocation that failed is not there");
}

int run(int /*count*/, char** /*arguments*/) {
  check_each_allocation_and_release_is_a_sample();
  check_backward_pass_is_recorded();
  check_oldest_are_dropped();
  check_only_what_is_asked_for();
  check_failed_allocation();
  return failures == 0 ? 0 : 1;
}

checks::named_check const registered{"allocation_log", run};

}  // namespace

}  // namespace allocation_log_check
