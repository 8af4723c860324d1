// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief MPI without annotations: include this header in one file of the program. Link `profkit::mpi`.
///
/// It defines functions of MPI (`MPI_Send`) that open a scope of the same name, declare the operation (`profkit::collective`), and call
/// the profiling interface (`PMPI_Send`). So the report of all ranks knows who waits for whom. Works with Open MPI and MPICH.
///
/// * Covered: collectives and messages, blocking and non-blocking; `MPI_Wait*`, `MPI_Test*`, `MPI_Sendrecv`, `MPI_Probe`, `MPI_Iprobe`.
/// * Calls of `MPI_Test*` or `MPI_Iprobe` less than 1 ms apart count as waiting, from the first one without success.
/// * Receives from `MPI_ANY_SOURCE` or with `MPI_ANY_TAG` are numbered when they complete.
/// * Not covered: persistent and partitioned requests, matched probes, neighbourhood collectives, one-sided communication,
/// intercommunicators, functions for large counts (`_c`), and Fortran. Their waits count as code outside communication.
/// * The sizes of collectives with a vector of counts (`MPI_Gatherv`) are unknown.
/// * Cost: below 200 ns for each call, and for each request of a call; no additional communication.
///
/// Source: MPI 3.1, chapter 14, "Profiling interface".

#include <mpi.h>

#include <cstdlib>
#include <string>

#include "find_rank.hpp"
#include "impl/collect/mpi_calls.hpp"
#include "impl/collect/mpi_functions.hpp"
#include "scope.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// After the initialisation. Sets `PMI_RANK` and `PMI_SIZE` if the launcher set no rank.
inline int mpi_initialised(int result) {
  if (result != MPI_SUCCESS) return result;
  mpi().communicators.find(MPI_COMM_WORLD);
  int size = 0;
  int rank = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (size < 2 || find_rank().rank) return result;
  // NOLINTBEGIN(concurrency-mt-unsafe): MPI is initialised before threads read the environment
  ::setenv("PMI_RANK", std::to_string(rank).c_str(), 1);
  ::setenv("PMI_SIZE", std::to_string(size).c_str(), 1);
  // NOLINTEND(concurrency-mt-unsafe)
  return result;
}

// NOLINTBEGIN(misc-definitions-in-headers,readability-identifier-naming): names and parameters are those of the standard, and one file of a
// program defines them
extern "C" {

int MPI_Init(int* argc, char*** argv) { return mpi_initialised(PMPI_Init(argc, argv)); }
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return mpi_initialised(PMPI_Init_thread(argc, argv, required, provided));
}
int MPI_Finalize() {
  scope const open{PROFKIT_SITE("MPI_Finalize")};
  return PMPI_Finalize();
}

}  // extern "C"
// NOLINTEND(misc-definitions-in-headers,readability-identifier-naming)

}  // namespace PROFKIT_NAMESPACE::detail
