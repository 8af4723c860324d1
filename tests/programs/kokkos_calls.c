/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the tool of KOKKOS_TOOLS_LIBS as Kokkos does: looks its functions up by name, and calls those that exist. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct space {
  char name[64];
};
typedef void (*init_function)(int, uint64_t, uint32_t, void*);
typedef void (*end_function)(void);
typedef void (*begin_kernel)(char const*, uint32_t, uint64_t*);
typedef void (*end_kernel)(uint64_t);
typedef void (*push_region)(char const*);
typedef void (*begin_copy)(struct space, char const*, void const*, struct space, char const*, void const*, uint64_t);

static void* find(void* tool, char const* name) {
  void* const found = dlsym(tool, name);
  if (found != NULL) return found;
  fprintf(stderr, "no %s\n", name);
  exit(1);
}

int main(void) {
  char const* const path = getenv("KOKKOS_TOOLS_LIBS");
  void* const tool = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (tool == NULL) {
    fprintf(stderr, "no tool\n");
    return 1;
  }
  init_function init;
  end_function finalize, pop, end_copy;
  begin_kernel begin_for, begin_reduce;
  end_kernel end_for, end_reduce;
  push_region push;
  begin_copy copy;
  *(void**)&init = find(tool, "kokkosp_init_library");
  *(void**)&finalize = find(tool, "kokkosp_finalize_library");
  *(void**)&begin_for = find(tool, "kokkosp_begin_parallel_for");
  *(void**)&end_for = find(tool, "kokkosp_end_parallel_for");
  *(void**)&begin_reduce = find(tool, "kokkosp_begin_parallel_reduce");
  *(void**)&end_reduce = find(tool, "kokkosp_end_parallel_reduce");
  *(void**)&push = find(tool, "kokkosp_push_profile_region");
  *(void**)&pop = find(tool, "kokkosp_pop_profile_region");
  *(void**)&copy = find(tool, "kokkosp_begin_deep_copy");
  *(void**)&end_copy = find(tool, "kokkosp_end_deep_copy");
  init(0, 20211015, 0, NULL);
  for (int i = 0; i < 12; ++i) {
    uint64_t kernel = 7;
    struct space host;
    memset(&host, 0, sizeof host);
    strcpy(host.name, "Host");
    push("time step");
    usleep(300);
    begin_for("forces", 0, &kernel);
    end_for(kernel);
    begin_reduce("energy", 0, &kernel);
    end_reduce(kernel);
    copy(host, "a", NULL, host, "b", NULL, 800);
    end_copy();
    pop();
  }
  finalize();
  return 0;
}
