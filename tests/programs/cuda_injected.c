/* SPDX-License-Identifier: Apache-2.0 */
/* Launches kernels in NVTX ranges, with an imitated driver and CUPTI. As the driver does in cuInit, it loads the library of
 * CUDA_INJECTION64_PATH and calls it. Backward passes run on a thread of their own, as in PyTorch. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The beginning of fake_cupti_controls. */
struct controls {
  void (*kernel)(char const* mangled, uint32_t grid, uint64_t start, uint64_t end);
  void (*copy)(uint8_t kind, uint64_t bytes, uint64_t start, uint64_t end);
};

static void* open_library(char const* path) {
  void* const library = path == NULL ? NULL : dlopen(path, RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "cannot open %s\n", path == NULL ? "a library without a name" : path);
    exit(1);
  }
  return library;
}

static struct controls const* cupti;
static pthread_barrier_t handover;

static void* autograd_engine(void* unused) {
  for (;;) {
    pthread_barrier_wait(&handover);
    cupti->kernel("_Z4gradPf", 8, 1000, 31000);
    nvtxRangePushA("sort");
    cupti->kernel("_Z4sortPf", 8, 31000, 41000);
    nvtxRangePop();
    pthread_barrier_wait(&handover);
  }
  return unused;
}

static void backward(char const* range) {
  nvtxRangePushA(range);
  pthread_barrier_wait(&handover);
  pthread_barrier_wait(&handover);
  nvtxRangePop();
}

int main(void) {
  open_library("libcuda.so.1");
  int (*inject)(void);
  *(void**)&inject = dlsym(open_library(getenv("CUDA_INJECTION64_PATH")), "InitializeInjection");
  if (inject == NULL || inject() != 1) return 1;
  cupti = (struct controls const*)dlsym(open_library("libcupti.so.13"), "fake_cupti");
  pthread_t engine;
  pthread_barrier_init(&handover, NULL, 2);
  if (pthread_create(&engine, NULL, autograd_engine, NULL) != 0 || pthread_setname_np(engine, "pt_autograd_0") != 0) return 1;
  usleep(50000); /* the session looks for devices every 10 ms or so */
  for (int i = 0; i < 12; ++i) {
    char name[32];
    snprintf(name, sizeof name, "step %d", i);
    nvtxRangePushA(name);
    nvtxRangePushA("solve");
    usleep(400);
    cupti->kernel("_Z4spinPf", 8, 1000, 61000);
    cupti->copy(2, 4096, 61000, 70000);
    nvtxRangePop();
    backward("backward");
    backward("backward of the other model");
    nvtxRangePop();
  }
  printf("done\n");
  return 0;
}
