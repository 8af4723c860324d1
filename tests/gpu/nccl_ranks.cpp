// SPDX-License-Identifier: Apache-2.0
//
// One rank of two, for the report of all ranks: it exchanges messages, replays collectives of two communicators in a CUDA graph, and
// destroys a third communicator during the run. NCCL is opened at run time. Both ranks may use one GPU, if their NCCL_HOSTID differs.
//
// usage: profkit_gpu_programs nccl_ranks LIBRARY FOLDER      LIBRARY: libnccl.so.2; FOLDER: shared by the ranks. RANK is 0 or 1.
#include <dlfcn.h>

#include <profkit/cupti.hpp>
#include <profkit/impl/collect/opened_libraries.hpp>
#include <profkit/nccl.hpp>
#include <profkit/profkit.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "gpu_programs.hpp"
#include "kernels.hpp"

namespace nccl_ranks {

namespace {

constexpr int ranks = 2;
constexpr std::size_t count = std::size_t{1} << 16U;  // floats
constexpr std::uint64_t steps_of_short_lived = 10;

void must(int result, char const* what) {
  if (result == 0) return;
  std::fprintf(stderr, "%s: error %d\n", what, result);
  std::_Exit(1);
}

// The part of nccl.h that is used here.
using communicator = struct ncclComm*;
struct unique_id {
  char bytes[128];
};
constexpr int float32 = 7;
constexpr int sum = 0;

class nccl_library {
  void* library_;

 public:
  explicit nccl_library(char const* file) : library_{::dlopen(file, RTLD_NOW | RTLD_GLOBAL)} {
    if (library_ == nullptr) must(1, ::dlerror());
  }

  [[nodiscard]] profkit::detail::library_function needed(char const* name) const {
    profkit::detail::library_function const found{library_, name};
    must(found ? 0 : 1, name);
    return found;
  }

  int (*get_unique_id)(unique_id*) = needed("ncclGetUniqueId");
  int (*init_rank)(communicator*, int, unique_id, int) = needed("ncclCommInitRank");
  int (*destroy)(communicator) = needed("ncclCommDestroy");
  int (*group_start)() = needed("ncclGroupStart");
  int (*group_end)() = needed("ncclGroupEnd");
  int (*send)(void const*, std::size_t, int, int, communicator, cudaStream_t) = needed("ncclSend");
  int (*receive)(void*, std::size_t, int, int, communicator, cudaStream_t) = needed("ncclRecv");
  int (*all_reduce)(void const*, void*, std::size_t, int, int, communicator, cudaStream_t) = needed("ncclAllReduce");
};

/// @param name of a file in which rank 0 passes the identity of the communicator.
communicator make_communicator(nccl_library const& nccl, std::filesystem::path const& name, int rank) {
  unique_id id{};
  if (rank == 0) {
    must(nccl.get_unique_id(&id), "ncclGetUniqueId");
    std::ofstream{name.string() + ".new", std::ios::binary}.write(id.bytes, sizeof id.bytes);
    std::filesystem::rename(name.string() + ".new", name);
  } else {
    while (!std::filesystem::exists(name)) std::this_thread::sleep_for(std::chrono::milliseconds{5});
    std::ifstream{name, std::ios::binary}.read(id.bytes, sizeof id.bytes);
  }
  communicator made = nullptr;
  must(nccl.init_rank(&made, ranks, id, rank), "ncclCommInitRank");
  return made;
}

}  // namespace

int run(int argc, char** argv) {
  char const* const rank_text = std::getenv("RANK");
  if (argc != 3 || rank_text == nullptr) return 2;
  int const rank = std::atoi(rank_text);
  int devices = 0;
  must(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  must(cudaSetDevice(rank % devices), "cudaSetDevice");
  float* values = nullptr;
  float* received = nullptr;
  cudaStream_t stream = nullptr;
  must(cudaMalloc(&values, count * sizeof(float)), "cudaMalloc");
  must(cudaMalloc(&received, count * sizeof(float)), "cudaMalloc");
  must(cudaMemset(values, 0, count * sizeof(float)), "cudaMemset");
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");

  profkit::session session;
  session.collect(profkit::nccl_collectives());
  session.collect(profkit::cupti_kernels());
  nccl_library const nccl{argv[1]};
  std::filesystem::path const folder = argv[2];
  communicator const all = make_communicator(nccl, folder / "all", rank);
  communicator const second = make_communicator(nccl, folder / "second", rank);
  communicator short_lived = make_communicator(nccl, folder / "short-lived", rank);
  auto const reduce = [&](communicator group) {
    must(nccl.all_reduce(values, values, count, float32, sum, group, stream), "ncclAllReduce");
  };

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replayed = nullptr;
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  {
    PROF_SCOPE("sum of all");
    reduce(all);
  }
  {
    PROF_SCOPE("sums of second");
    reduce(second);
    reduce(second);
  }
  must(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  must(cudaGraphInstantiate(&replayed, graph, 0), "cudaGraphInstantiate");

  for (profkit::step step : session) {
    {
      PROF_SCOPE("compute");
      start_busy(1, 1, stream, 500'000);
    }
    {
      PROF_SCOPE("exchange");
      must(nccl.group_start(), "ncclGroupStart");
      must(nccl.send(values, count, float32, 1 - rank, all, stream), "ncclSend");
      must(nccl.receive(received, count, float32, 1 - rank, all, stream), "ncclRecv");
      must(nccl.group_end(), "ncclGroupEnd");
    }
    if (step.index() < steps_of_short_lived) {
      PROF_SCOPE("sum of short-lived");
      reduce(short_lived);
    }
    {
      PROF_SCOPE("replay");
      must(cudaGraphLaunch(replayed, stream), "cudaGraphLaunch");
    }
    must(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    if (step.index() == steps_of_short_lived) must(nccl.destroy(short_lived), "ncclCommDestroy");
  }
  must(cudaGraphExecDestroy(replayed), "cudaGraphExecDestroy");
  must(cudaGraphDestroy(graph), "cudaGraphDestroy");
  must(nccl.destroy(second), "ncclCommDestroy");
  must(nccl.destroy(all), "ncclCommDestroy");
  return 0;
}

}  // namespace nccl_ranks
