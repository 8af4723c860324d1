/* SPDX-License-Identifier: Apache-2.0 */
/* A program of several ranks with NVTX ranges and without profkit. */
#define _GNU_SOURCE
#include <mpi.h>
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 10; ++i) {
    double sum = 0.0;
    double mine = 1.0;
    nvtxRangePushA("time step");
    usleep(1000);
    nvtxRangePushA("reduce");
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    nvtxRangePop();
    nvtxRangePop();
  }
  MPI_Finalize();
  return 0;
}
