// SPDX-License-Identifier: Apache-2.0
//
// Every driver call that allocates or frees memory, as CUPTI reports it.
#include <profkit/cupti.hpp>
#include <profkit/impl/collect/cupti_launches.hpp>
#include <profkit/report.hpp>
#include <profkit/session.hpp>

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <vector>

#include "../support/profile_of.hpp"

namespace {

/// The data that CUPTI passes before and after a call.
void call(CUpti_CallbackId which, void const* parameters, CUresult status = CUDA_SUCCESS) {
  CUpti_CallbackData at{};
  at.functionParams = parameters;
  at.functionReturnValue = &status;
  at.callbackSite = CUPTI_API_ENTER;
  profkit::detail::cupti_allocations::on_call(which, &at);
  at.callbackSite = CUPTI_API_EXIT;
  profkit::detail::cupti_allocations::on_call(which, &at);
}

/// The bytes that each call allocated, and that were freed at the same address.
std::vector<std::int64_t> changes_of(profkit::profile const& profile) {
  std::vector<std::int64_t> result;
  for (profkit::allocation_record const& record : profile.allocations) {
    bool const is_given = record.kind == profkit::allocation_kind::allocated;
    result.push_back(is_given ? static_cast<std::int64_t>(record.bytes) : -static_cast<std::int64_t>(record.address));
  }
  return result;
}

}  // namespace

TEST_CASE("each driver call that allocates memory is recorded with its size, and each release", "[cupti]") {
  profkit::session session{plain_options()};
  for ([[maybe_unused]] profkit::step const step : session) {
    CUdeviceptr at = 0x1000;
    std::size_t pitch = 512;
    CUmemGenericAllocationHandle handle = 0x2000;
    cuMemAlloc_v2_params const plain{&at, 1};
    cuMemAllocPitch_v2_params const rows{&at, &pitch, 400, 3, 4};
    cuMemAllocManaged_params const managed{&at, 2, 0};
    cuMemAllocAsync_params const queued{&at, 3, nullptr};
    cuMemAllocFromPoolAsync_params const pooled{&at, 4, nullptr, nullptr};
    cuMemCreate_params const physical{&handle, 5, nullptr, 0};
    call(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, &plain);
    call(CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2, &rows);
    call(CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged, &managed);
    call(CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync, &queued);
    call(CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz, &queued);
    call(CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync, &pooled);
    call(CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz, &pooled);
    call(CUPTI_DRIVER_TRACE_CBID_cuMemCreate, &physical);

    cuMemFree_v2_params const free{0x1001};
    cuMemFreeAsync_params const free_queued{0x1002, nullptr};
    cuMemRelease_params const release{0x2000};
    call(CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, &free);
    call(CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync, &free_queued);
    call(CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz, &free_queued);
    call(CUPTI_DRIVER_TRACE_CBID_cuMemRelease, &release);
  }
  CHECK(changes_of(session.report().profile()) == std::vector<std::int64_t>{1, 1536, 2, 3, 3, 4, 4, 5, -0x1001, -0x1002, -0x1002, -0x2000});
}

TEST_CASE("failed and unrelated driver calls are not recorded", "[cupti]") {
  profkit::session session{plain_options()};
  for ([[maybe_unused]] profkit::step const step : session) {
    CUdeviceptr at = 0x1000;
    CUmemGenericAllocationHandle handle = 0x2000;
    cuMemAlloc_v2_params const plain{&at, 1};
    cuMemCreate_params const physical{&handle, 5, nullptr, 0};
    cuMemFree_v2_params const nothing{0};
    call(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, &plain, CUDA_ERROR_OUT_OF_MEMORY);
    call(CUPTI_DRIVER_TRACE_CBID_cuMemCreate, &physical, CUDA_ERROR_OUT_OF_MEMORY);
    call(CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, &nothing);
    call(CUPTI_DRIVER_TRACE_CBID_cuMemGetInfo_v2, nullptr);
  }
  CHECK(session.report().profile().allocations.empty());
}
