// SPDX-License-Identifier: Apache-2.0

#include "nsys/nsys_csv.hpp"
#include "../support/made_path.hpp"
#include "../support/made_profile.hpp"
#include "../support/testing.hpp"

namespace {

/// Nanoseconds after a fixed moment in 2026.
profkit::interval between(std::int64_t begin, std::int64_t end) {
  return {at_ms(0) + std::chrono::nanoseconds{begin}, at_ms(0) + std::chrono::nanoseconds{end}};
}

/// Fills a profile with the data that Nsight Systems received for the texts below.
class nsys_case {
 public:
  nsys_case() {
    std::uint32_t const none = profkit::path_record::no_parent;
    made_.environment.process_id = 4242;
    made_.has_all_api_calls = true;
    made_.paths = {step_path(), {0, "forward", {}, {}, 0}, {1, "layer", 0, {}, 0}, {1, "layer", 1, {}, 0}, {none, "load", {}, {}, 0}};
    made_.threads = {{100, "train"}, {101, "loader"}, {102, "other"}};
    made_.gpu_names = {{"gemm<float, 128>(A*)", {}},
                       {"elementwise", {}},
                       {"reduce", {}},
                       {"solo", {}},
                       {"outside", {}},
                       {"[CUDA memcpy Host-to-Device]", {}},
                       {"[CUDA memcpy Device-to-Host]", {}},
                       {"[CUDA memset]", {}}};
    made_.api_names = {"cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020",       "cudaMemsetAsync_v3020",
                       "cudaGraphLaunch_v10000", "cudaDeviceSynchronize_v3020", "cuLaunchKernelEx"};
  }

  void add_step(std::int64_t begin, int number) {
    scope(2, 0, begin + 200, begin + 2000 + 7 * number);
    scope(3, 0, begin + 2100, begin + 4000);
    scope(1, 0, begin + 100, begin + 5003);
    scope(0, 0, begin, begin + 9000);
    call(1, 0, begin + 110, begin + 150);
    memory(profkit::gpu_operation_kind::copy, 5, begin + 300, begin + 700, 4096U * static_cast<std::uint64_t>(number + 1));
    call(0, 0, begin + 250, begin + 280);
    kernel(0, begin + 800, begin + 1800 + number);
    call(0, 0, begin + 2250, begin + 2281);
    kernel(0, begin + 2800, begin + 3801);
    call(0, 0, begin + 2350, begin + 2381);
    kernel(1, begin + 2900, begin + 3333);
    call(2, 0, begin + 6350, begin + 6381);
    memory(profkit::gpu_operation_kind::set, 7, begin + 7000, begin + 7050, 1234567);
    call(3, 0, begin + 6400, begin + 6450);
    kernel(1, begin + 7100, begin + 7205);
    kernel(2, begin + 7300, begin + 7402);
    made_.steps.push_back({between(begin, begin + 9000), static_cast<std::uint64_t>(number), number > 1, 0});
  }

  void add_the_rest() {
    scope(4, 1, 1500, 3500);
    call(5, 1, 1600, 1690);
    kernel(3, 5000, 5100);
    call(0, 2, 1600, 1700);
    kernel(4, 6000, 6100);
    ++correlation_;  // the correlation of a call that was not recorded
    memory(profkit::gpu_operation_kind::copy, 6, 8500, 8600, 500);
    call(4, 0, 9000, 9999);
  }

  void scope(std::uint32_t path, std::uint32_t thread, std::int64_t begin, std::int64_t end) {
    made_.scopes.push_back({between(begin, end), path, thread});
  }

  [[nodiscard]] profkit::profile& made() { return made_; }

 private:
  void call(std::uint32_t name, std::uint32_t thread, std::int64_t begin, std::int64_t end) {
    made_.api_calls.push_back({between(begin, end), ++correlation_, name, thread});
  }
  void kernel(std::uint32_t name, std::int64_t begin, std::int64_t end) {
    memory(profkit::gpu_operation_kind::kernel, name, begin, end, 0);
  }
  void memory(profkit::gpu_operation_kind kind, std::uint32_t name, std::int64_t begin, std::int64_t end, std::uint64_t bytes) {
    made_.gpu_operations.push_back({between(begin, end), correlation_, bytes, name, 0, 7, {}, {}, kind});
  }

  profkit::profile made_;
  std::uint64_t correlation_ = 0;
};

nsys_case made_case() {
  nsys_case result;
  result.add_step(1000, 0);
  result.add_step(11000, 1);
  result.add_step(21000, 2);  // warm-up
  result.add_the_rest();
  return result;
}

/// The output of `nsys stats --format csv` for the report scripts of Nsight Systems 2025.3.1 on a database with the two measured steps.
std::map<std::string, std::string> const printed_by_nsys = {
    {"nvtx_pushpop_sum.csv", R"csv(Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Range
48.4,18000,2,9000.0,9000.0,9000,9000,0.0,profkit:step
26.4,9806,2,4903.0,4903.0,4903,4903,0.0,profkit:forward
10.2,3800,2,1900.0,1900.0,1900,1900,0.0,profkit:layer_1
9.7,3607,2,1803.5,1803.5,1800,1807,4.9,profkit:layer_0
5.4,2000,1,2000.0,2000.0,2000,2000,0.0,profkit:load
)csv"},
    {"cuda_api_sum.csv", R"csv(Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
61.9,999,1,999.0,999.0,999,999,0.0,cudaDeviceSynchronize
17.6,284,7,40.6,31.0,30,100,26.2,cudaLaunchKernel
6.2,100,2,50.0,50.0,50,50,0.0,cudaGraphLaunch_v10000
5.6,90,1,90.0,90.0,90,90,0.0,cuLaunchKernelEx
5.0,80,2,40.0,40.0,40,40,0.0,cudaMemcpyAsync
3.8,62,2,31.0,31.0,31,31,0.0,cudaMemsetAsync
)csv"},
    {"cuda_gpu_kern_sum.csv", R"csv(Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
73.0,4003,4,1000.8,1001.0,1000,1001,0.5,"gemm<float, 128>(A*)"
19.6,1076,4,269.0,269.0,105,433,189.4,elementwise
3.7,204,2,102.0,102.0,102,102,0.0,reduce
1.8,100,1,100.0,100.0,100,100,0.0,outside
1.8,100,1,100.0,100.0,100,100,0.0,solo
)csv"},
    {"cuda_gpu_mem_time_sum.csv", R"csv(Time (%),Total Time (ns),Count,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Operation
80.0,800,2,400.0,400.0,400,400,0.0,[CUDA memcpy Host-to-Device]
10.0,100,1,100.0,100.0,100,100,0.0,[CUDA memcpy Device-to-Host]
10.0,100,2,50.0,50.0,50,50,0.0,[CUDA memset]
)csv"},
    {"cuda_gpu_mem_size_sum.csv", R"csv(Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Operation
2.469,2,1.235,1.235,1.235,1.235,0.000,[CUDA memset]
0.012,2,0.006,0.006,0.004,0.008,0.003,[CUDA memcpy Host-to-Device]
0.001,1,0.001,0.001,0.001,0.001,0.000,[CUDA memcpy Device-to-Host]
)csv"},
    {"nvtx_gpu_proj_sum.csv",
     R"csv(Range,Style,Total Proj Time (ns),Total Range Time (ns),Range Instances,Proj Avg (ns),Proj Med (ns),Proj Min (ns),Proj Max (ns),Proj StdDev (ns),Total GPU Ops,Avg GPU Ops,Avg Range Lvl,Avg Num Child
profkit:step,PushPop,14204,18000,2,7102.0,7102.0,7102,7102,0.0,12,6.0,0.0,1.0
profkit:forward,PushPop,7002,9806,2,3501.0,3501.0,3501,3501,0.0,8,4.0,1.0,2.0
profkit:layer_1,PushPop,2002,3800,2,1001.0,1001.0,1001,1001,0.0,4,2.0,2.0,0.0
profkit:layer_0,PushPop,2001,3607,2,1000.5,1000.5,1000,1001,0.7,2,1.0,2.0,0.0
profkit:load,PushPop,100,2000,1,100.0,100.0,100,100,0.0,1,1.0,0.0,0.0
)csv"},
    {"nvtx_kern_sum.csv",
     R"csv(NVTX Range,Style,PID,TID,NVTX Inst,Kern Inst,Total Time (ns),Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Kernel Name
,,4242,102,0,1,100,100.0,100.0,100,100,0.0,outside
profkit:forward,PushPop,4242,100,2,4,4003,1000.8,1001.0,1000,1001,0.5,"gemm<float, 128>(A*)"
profkit:forward,PushPop,4242,100,2,2,866,433.0,433.0,433,433,0.0,elementwise
profkit:layer_0,PushPop,4242,100,2,2,2001,1000.5,1000.5,1000,1001,0.7,"gemm<float, 128>(A*)"
profkit:layer_1,PushPop,4242,100,2,2,2002,1001.0,1001.0,1001,1001,0.0,"gemm<float, 128>(A*)"
profkit:layer_1,PushPop,4242,100,2,2,866,433.0,433.0,433,433,0.0,elementwise
profkit:load,PushPop,4242,101,1,1,100,100.0,100.0,100,100,0.0,solo
profkit:step,PushPop,4242,100,2,4,4003,1000.8,1001.0,1000,1001,0.5,"gemm<float, 128>(A*)"
profkit:step,PushPop,4242,100,2,4,1076,269.0,269.0,105,433,189.4,elementwise
profkit:step,PushPop,4242,100,2,2,204,102.0,102.0,102,102,0.0,reduce
)csv"},
};

std::map<std::string, std::string> csv_by_name(profkit::profile const& profile, bool has_kernels = true) {
  std::map<std::string, std::string> result;
  for (profkit::detail::named_csv const& each : profkit::nsys_csv(profkit::summarize_like_nsys(profile), has_kernels))
    result[each.name] = each.content;
  return result;
}

}  // namespace

TEST_CASE("the seven summaries are those that Nsight Systems prints for the measured steps", "[nsys_csv]") {
  std::map<std::string, std::string> const written = csv_by_name(made_case().made());
  CHECK(written.size() == printed_by_nsys.size());
  for (auto const& [name, content] : printed_by_nsys) CHECK(written.at(name) == content);
}

TEST_CASE("the order of the records does not matter to the summaries", "[nsys_csv]") {
  nsys_case shuffled = made_case();
  profkit::profile& profile = shuffled.made();
  std::reverse(profile.scopes.begin(), profile.scopes.end());
  std::reverse(profile.api_calls.begin(), profile.api_calls.end());
  std::reverse(profile.gpu_operations.begin(), profile.gpu_operations.end());
  CHECK(csv_by_name(profile) == printed_by_nsys);
}

TEST_CASE("without kernels there is the summary of ranges alone, without all API calls none of these", "[nsys_csv]") {
  profkit::profile profile = made_case().made();
  std::map<std::string, std::string> const ranges = csv_by_name(profile, false);
  CHECK(ranges.size() == 1);
  CHECK(ranges.at("nvtx_pushpop_sum.csv") == printed_by_nsys.at("nvtx_pushpop_sum.csv"));
  profile.has_all_api_calls = false;
  CHECK(csv_by_name(profile).count("cuda_api_sum.csv") == 0);
  CHECK(csv_by_name(profile).size() == 6);
}

TEST_CASE("a scope that is open around the loop is a level, as in Nsight Systems", "[nsys_csv]") {
  nsys_case around = made_case();
  around.made().paths.push_back({profkit::path_record::no_parent, "epoch", {}, {}, 0});
  around.scope(5, 0, 500, 40000);
  profkit::nsys_summary const before = profkit::summarize_like_nsys(made_case().made());
  profkit::nsys_summary const after = profkit::summarize_like_nsys(around.made());
  REQUIRE(after.projections.size() == before.projections.size());
  for (std::size_t i = 0; i < after.projections.size(); ++i) {
    bool const is_inside = after.projections[i].range != "profkit:load";
    CHECK(after.projections[i].levels == before.projections[i].levels + (is_inside ? after.projections[i].projected.count : 0));
  }
}

TEST_CASE("nested ranges with one name all count, and a kernel inside counts once with its time twice", "[nsys_csv]") {
  nsys_case nested = made_case();
  nested.made().paths[3] = {2, "layer", 0, {}, 0};
  nested.made().scopes[0].time = between(1150, 5500);  // around the other one of the first step
  profkit::nsys_summary const statistics = profkit::summarize_like_nsys(nested.made());
  for (profkit::nsys_range_kernel_row const& row : statistics.range_kernels) {
    if (row.range != "profkit:layer_0" || row.kernel != "elementwise") continue;
    CHECK(row.ranges == 3);
    CHECK(row.kernels == 2);
    CHECK(row.time.count == 3);
    CHECK(row.time.total == 3 * 433);
  }
}

TEST_CASE("halves are rounded up and sizes are in units of 1,000,000 bytes", "[nsys_csv]") {
  CHECK(profkit::detail::nsys_round(40.25) == "40.3");
  CHECK(profkit::detail::nsys_round(0.15) == "0.2");
  CHECK(profkit::detail::nsys_round(7.0) == "7.0");
  CHECK(profkit::detail::nsys_megabytes(4500.0) == "0.004");
  CHECK(profkit::detail::nsys_megabytes(1048576.0) == "1.049");
}

TEST_CASE("a total beyond 64 bits wraps around without undefined behaviour", "[nsys_csv]") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  profkit::detail::own_vector<std::int64_t> samples{most, most, 3};
  CHECK(profkit::detail::nsys_statistics_of(samples).total == 1);
}

TEST_CASE("an empty profile gives headings without rows", "[nsys_csv]") {
  for (auto const& [name, content] : csv_by_name({})) CHECK(content.find('\n') == content.size() - 1);
}

TEST_CASE("migrations of unified memory are rows of the memory tables, with the names of Nsight Systems", "[nsys_csv]") {
  profkit::profile profile = made_case().made();
  profkit::timestamp const begin = profile.steps.front().time.begin;
  auto const event = [&](profkit::page_event_kind kind, int ns, std::uint64_t amount) {
    return profkit::page_event_record{{begin, begin + std::chrono::nanoseconds{ns}}, amount, profkit::path_record::no_parent, 0, kind};
  };
  profile.page_events = {event(profkit::page_event_kind::to_device, 100, 4096), event(profkit::page_event_kind::to_device, 300, 8192),
                         event(profkit::page_event_kind::gpu_faults, 50, 2)};
  profkit::nsys_summary const found = profkit::summarize_like_nsys(profile);
  auto const total_in = [](auto const& rows) {
    auto const row =
        std::find_if(rows.begin(), rows.end(), [](auto const& each) { return each.name == "[CUDA memcpy Unified Host-to-Device]"; });
    REQUIRE(row != rows.end());
    CHECK(row->samples.count == 2);
    return row->samples.total;
  };
  CHECK(total_in(found.memory_times) == 400);
  CHECK(total_in(found.memory_sizes) == 12'288);
  auto const is_fault = [](auto const& each) { return each.name.find("faults") != std::string::npos; };
  CHECK(std::none_of(found.memory_times.begin(), found.memory_times.end(), is_fault));
}
