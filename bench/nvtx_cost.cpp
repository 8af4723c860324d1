// SPDX-License-Identifier: Apache-2.0
//
// The time of a scope while a tool listens to NVTX, compared with an NVTX range with a registered name, alternating. Run it under Nsight
// Systems (scripts/bench.sh). Writes a line of JSON with nanoseconds per range for each round.
//
// usage: profkit_nvtx_cost FILE [ROUNDS]      200 short rounds by default, because the overhead of the tool changes over time
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <nvtx3/nvtx3.hpp>
#include <profkit/impl/record/recorder.hpp>
#include <profkit/scope.hpp>
#include <vector>

#include "bench_session.hpp"
#include "bench_support.hpp"

namespace {

constexpr int ranges = 512;

struct bench_domain {
  static constexpr char const* name = "bench";
};

__attribute__((noinline)) void nvtx_function_ranges() {
  for (int i = 0; i < ranges; ++i) {
    NVTX3_FUNC_RANGE_IN(bench_domain);
    bench::touch_memory();
  }
}

/// The same range through the C interface, with prepared name and domain, and a payload like a scope's step number.
__attribute__((noinline)) void nvtx_ranges_with_payload() {
  static nvtxDomainHandle_t const domain = nvtxDomainCreateA("bench_c");
  static nvtxStringHandle_t const name = nvtxDomainRegisterStringA(domain, "range");
  for (int i = 0; i < ranges; ++i) {
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = name;
    attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    attributes.payload.ullValue = 1;
    nvtxDomainRangePushEx(domain, &attributes);
    bench::touch_memory();
    nvtxDomainRangePop(domain);
  }
}

__attribute__((noinline)) void scopes() {
  for (int i = 0; i < ranges; ++i) {
    PROF_SCOPE("scope");
    bench::touch_memory();
  }
}

struct variant {
  char const* name;
  void (*run)();
  std::vector<double> ns;
};

/// Alternating; the first round registers the names and is discarded.
void measure(std::array<variant, 3>& variants, int rounds) {
  for (int round = -1; round < rounds; ++round) {
    for (std::size_t turn = 0; turn < variants.size(); ++turn) {
      variant& each = variants[(turn + static_cast<std::size_t>(round + 1)) % variants.size()];  // so that no variant is always first
      double const begin = bench::now_ns(CLOCK_THREAD_CPUTIME_ID);
      each.run();
      double const taken = bench::now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
      if (round >= 0) each.ns.push_back(taken / ranges);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: profkit_nvtx_cost FILE [ROUNDS]\n", stderr);
    return 1;
  }
  int const rounds = argc > 2 ? std::atoi(argv[2]) : 200;
  std::array<variant, 3> without{
      {{"nvtx", nvtx_function_ranges, {}}, {"scope", scopes, {}}, {"nvtx_payload", nvtx_ranges_with_payload, {}}}};
  std::array<variant, 3> with{{{"nvtx_in_session", nvtx_function_ranges, {}},
                               {"scope_in_session", scopes, {}},
                               {"nvtx_payload_in_session", nvtx_ranges_with_payload, {}}}};
  measure(without, rounds);
  {
    bench::recording const session;
    measure(with, rounds);
  }
  bool const has_tool = (__atomic_load_n(&profkit::detail::recorder.flags, __ATOMIC_ACQUIRE) & profkit::detail::nvtx_attached) != 0;
  std::FILE* const file = std::fopen(argv[1], "w");
  if (file == nullptr) {
    std::perror(argv[1]);
    return 1;
  }
  std::fprintf(file, "{\"tool_attached\": %s", has_tool ? "true" : "false");
  for (auto const* variants : {&without, &with}) {
    for (variant const& each : *variants) {
      std::fprintf(file, ", \"%s\": [", each.name);
      for (std::size_t i = 0; i < each.ns.size(); ++i) std::fprintf(file, "%s%.1f", i == 0 ? "" : ", ", each.ns[i]);
      std::fputs("]", file);
    }
  }
  std::fputs("}\n", file);
  return std::fclose(file) == 0 ? 0 : 1;
}
