// SPDX-License-Identifier: Apache-2.0
//
// What the collection of kernels adds to a launch, beside what CUPTI alone adds. Each figure comes from a process of its own, in turns,
// as what watches a process cannot be taken away again. Prints medians of the rounds, in ns per launch.
//
// usage: launch_cost [ROUNDS]
#include <profkit/cupti.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

__global__ void nothing() {}

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
  std::exit(2);
}

template <class Launch>
double ns_per_launch(Launch&& launch) {
  constexpr int launches = 50'000;
  constexpr int repetitions = 5;
  std::vector<double> ns;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    check(cudaDeviceSynchronize());
    auto const begin = std::chrono::steady_clock::now();
    for (int i = 0; i < launches; ++i) launch();
    std::chrono::duration<double, std::nano> const taken = std::chrono::steady_clock::now() - begin;
    ns.push_back(taken.count() / launches);
  }
  std::sort(ns.begin(), ns.end());
  return ns[ns.size() / 2];
}

void plain() { nothing<<<1, 32>>>(); }
void scoped() {
  PROF_SCOPE("launch");
  nothing<<<1, 32>>>();
}

/// As in CUPTI's own samples: a fresh buffer when one is asked for, its records looked at and its memory given back when it is full.
struct bare_cupti {
  explicit bare_cupti(bool has_calls) {
    auto const ignore = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, void const*) {};
    library.check(library.subscribe(&subscriber, ignore, nullptr), "cuptiSubscribe");
    library.check(library.register_callbacks(request, complete), "cuptiActivityRegisterCallbacks");
    library.check(library.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "cuptiActivityEnable");
    if (has_calls) library.check(library.enable(CUPTI_ACTIVITY_KIND_RUNTIME), "cuptiActivityEnable");
  }
  ~bare_cupti() { library.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); }

  static void CUPTIAPI request(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
    *size = std::size_t{4} << 20U;
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *size));
    *most_records = 0;
  }
  static void CUPTIAPI complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t used) {
    CUpti_Activity* record = nullptr;
    while (next_record(buffer, used, &record) == CUPTI_SUCCESS) ++records;
    std::free(buffer);
  }
  static inline decltype(&::cuptiActivityGetNextRecord) next_record = nullptr;
  static inline std::uint64_t records = 0;
  profkit::detail::cupti_library library;
  CUpti_SubscriberHandle subscriber = nullptr;
};

double measure(std::string const& what) {
  check(cudaFree(nullptr));
  for (int i = 0; i < 1000; ++i) plain();
  if (what == "nothing") return ns_per_launch(plain);
  if (what == "CUPTI kernel records" || what == "CUPTI kernel and runtime records") {
    bare_cupti const cupti{what != "CUPTI kernel records"};
    bare_cupti::next_record = cupti.library.get_next_record;
    return ns_per_launch(plain);
  }
  profkit::session session{profkit::options{}};
  if (what == "profkit scopes") return ns_per_launch(scoped);
  auto& kernels = session.collect(profkit::cupti_kernels({what == "profkit scopes, kernels and all API calls"}));
  if (!kernels.status().works) {
    std::fprintf(stderr, "%s\n", kernels.status().reason.c_str());
    std::exit(2);
  }
  return what == "profkit kernels" ? ns_per_launch(plain) : ns_per_launch(scoped);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) {
    std::printf("%.1f\n", measure(argv[2]));
    return 0;
  }
  int const rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  std::vector<std::string> const variants{
      "nothing",        "CUPTI kernel records",       "CUPTI kernel and runtime records",         "profkit kernels",
      "profkit scopes", "profkit scopes and kernels", "profkit scopes, kernels and all API calls"};
  std::vector<std::vector<double>> ns(variants.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < variants.size(); ++i) {
      std::string const command = "'" + std::string{argv[0]} + "' run '" + variants[i] + "'";
      std::FILE* const pipe = ::popen(command.c_str(), "r");
      double value = 0.0;
      if (pipe == nullptr || std::fscanf(pipe, "%lf", &value) != 1 || ::pclose(pipe) != 0) {
        std::fprintf(stderr, "%s failed\n", command.c_str());
        return 2;
      }
      ns[i].push_back(value);
    }
  }
  double const base = median(ns[0]);
  double const bare = median(ns[1]) - base;
  std::printf("| what watches | ns per launch | added ns | times CUPTI kernel records |\n|---|---:|---:|---:|\n");
  for (std::size_t i = 0; i < variants.size(); ++i) {
    double const added = median(ns[i]) - base;
    std::printf("| %s | %.0f | %.0f | %.2f |\n", variants[i].c_str(), median(ns[i]), added, added / bare);
  }
  return 0;
}
