// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>

#include "../../work.hpp"
#include "../record/scope.hpp"
#include "mpi_calls.hpp"

namespace PROFKIT_NAMESPACE::detail {

// The functions of MPI. Those with C linkage are the same in each namespace.
// clang-format off
// NOLINTBEGIN(misc-definitions-in-headers,readability-identifier-naming): names and parameters are those of the standard, and one file of a program defines them
extern "C" {

#define PROFKIT_MPI_UNPACK(...) __VA_ARGS__
#define PROFKIT_MPI_SITE(name) \
  (*__extension__({ \
    static site where{name, __FILE__, __LINE__}; \
    &where; \
  }))
// A collective and its non-blocking form. `bytes` uses the parameters.
#define PROFKIT_MPI_COLLECTIVE(name, started, bytes, parameters, arguments) \
  int MPI_##name(PROFKIT_MPI_UNPACK parameters MPI_Comm comm) { \
    return mpi_collective(PROFKIT_MPI_SITE("MPI_" #name), comm, bytes, nullptr, [&] { return PMPI_##name(PROFKIT_MPI_UNPACK arguments comm); }); \
  } \
  int MPI_##started(PROFKIT_MPI_UNPACK parameters MPI_Comm comm, MPI_Request* request) { \
    return mpi_collective(PROFKIT_MPI_SITE("MPI_" #started), comm, bytes, request, \
                          [&] { return PMPI_##started(PROFKIT_MPI_UNPACK arguments comm, request); }); \
  }
#define PROFKIT_MPI_REDUCTION(name, started) \
  PROFKIT_MPI_COLLECTIVE(name, started, mpi_bytes(count, type), (void const* from, void* to, int count, MPI_Datatype type, MPI_Op op,), \
                         (from, to, count, type, op,))
PROFKIT_MPI_REDUCTION(Allreduce, Iallreduce)
PROFKIT_MPI_REDUCTION(Scan, Iscan)
PROFKIT_MPI_REDUCTION(Exscan, Iexscan)
PROFKIT_MPI_REDUCTION(Reduce_scatter_block, Ireduce_scatter_block)
PROFKIT_MPI_COLLECTIVE(Barrier, Ibarrier, 0, (), ())
PROFKIT_MPI_COLLECTIVE(Bcast, Ibcast, mpi_bytes(count, type), (void* data, int count, MPI_Datatype type, int root,), (data, count, type, root,))
PROFKIT_MPI_COLLECTIVE(Reduce, Ireduce, mpi_bytes(count, type),
                       (void const* from, void* to, int count, MPI_Datatype type, MPI_Op op, int root,), (from, to, count, type, op, root,))
PROFKIT_MPI_COLLECTIVE(Reduce_scatter, Ireduce_scatter, 0, (void const* from, void* to, int const counts[], MPI_Datatype type, MPI_Op op,),
                       (from, to, counts, type, op,))
PROFKIT_MPI_COLLECTIVE(Gather, Igather, from == MPI_IN_PLACE ? 0 : mpi_bytes(count, type),
                       (void const* from, int count, MPI_Datatype type, void* to, int to_count, MPI_Datatype to_type, int root,),
                       (from, count, type, to, to_count, to_type, root,))
PROFKIT_MPI_COLLECTIVE(Gatherv, Igatherv, 0,
                       (void const* from, int count, MPI_Datatype type, void* to, int const counts[], int const places[], MPI_Datatype to_type,
                        int root,),
                       (from, count, type, to, counts, places, to_type, root,))
PROFKIT_MPI_COLLECTIVE(Scatter, Iscatter, to == MPI_IN_PLACE ? 0 : mpi_bytes(to_count, to_type),
                       (void const* from, int count, MPI_Datatype type, void* to, int to_count, MPI_Datatype to_type, int root,),
                       (from, count, type, to, to_count, to_type, root,))
PROFKIT_MPI_COLLECTIVE(Scatterv, Iscatterv, 0,
                       (void const* from, int const counts[], int const places[], MPI_Datatype type, void* to, int to_count,
                        MPI_Datatype to_type, int root,),
                       (from, counts, places, type, to, to_count, to_type, root,))
PROFKIT_MPI_COLLECTIVE(Allgather, Iallgather, mpi_bytes(to_count, to_type),
                       (void const* from, int count, MPI_Datatype type, void* to, int to_count, MPI_Datatype to_type,),
                       (from, count, type, to, to_count, to_type,))
PROFKIT_MPI_COLLECTIVE(Allgatherv, Iallgatherv, 0,
                       (void const* from, int count, MPI_Datatype type, void* to, int const counts[], int const places[],
                        MPI_Datatype to_type,),
                       (from, count, type, to, counts, places, to_type,))
PROFKIT_MPI_COLLECTIVE(Alltoall, Ialltoall, mpi_bytes(to_count, to_type),
                       (void const* from, int count, MPI_Datatype type, void* to, int to_count, MPI_Datatype to_type,),
                       (from, count, type, to, to_count, to_type,))
PROFKIT_MPI_COLLECTIVE(Alltoallv, Ialltoallv, 0,
                       (void const* from, int const counts[], int const places[], MPI_Datatype type, void* to, int const to_counts[],
                        int const to_places[], MPI_Datatype to_type,),
                       (from, counts, places, type, to, to_counts, to_places, to_type,))
PROFKIT_MPI_COLLECTIVE(Alltoallw, Ialltoallw, 0,
                       (void const* from, int const counts[], int const places[], MPI_Datatype const types[], void* to,
                        int const to_counts[], int const to_places[], MPI_Datatype const to_types[],),
                       (from, counts, places, types, to, to_counts, to_places, to_types,))

#define PROFKIT_MPI_SEND(name, started) \
  int MPI_##name(void const* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) { \
    return mpi_message(PROFKIT_MPI_SITE("MPI_" #name), message_side::send, {count, type, to, tag, comm}, MPI_STATUS_IGNORE, \
                       [&](MPI_Status*) { return PMPI_##name(data, count, type, to, tag, comm); }); \
  } \
  int MPI_##started(void const* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) { \
    return mpi_start_message(PROFKIT_MPI_SITE("MPI_" #started), message_side::send, {count, type, to, tag, comm}, request, \
                             [&] { return PMPI_##started(data, count, type, to, tag, comm, request); }); \
  }
PROFKIT_MPI_SEND(Send, Isend)
PROFKIT_MPI_SEND(Ssend, Issend)
PROFKIT_MPI_SEND(Rsend, Irsend)
PROFKIT_MPI_SEND(Bsend, Ibsend)

int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  return mpi_message(PROFKIT_MPI_SITE("MPI_Recv"), message_side::receive, {count, type, from, tag, comm}, status,
                     [&](MPI_Status* used) { return PMPI_Recv(data, count, type, from, tag, comm, used); });
}
int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
  return mpi_start_message(PROFKIT_MPI_SITE("MPI_Irecv"), message_side::receive, {count, type, from, tag, comm}, request,
                           [&] { return PMPI_Irecv(data, count, type, from, tag, comm, request); });
}
#define PROFKIT_MPI_EXCHANGE(name, send_count, send_type, parameters, arguments) \
  int MPI_##name(PROFKIT_MPI_UNPACK parameters, int from, int tag, MPI_Comm comm, MPI_Status* status) { \
    mpi_operation const sent = mpi_begin(message_side::send, {send_count, send_type, to, send_tag, comm}); \
    return mpi_message(PROFKIT_MPI_SITE("MPI_" #name), message_side::receive, {count, type, from, tag, comm}, status, [&](MPI_Status* used) { \
      int const result = PMPI_##name(PROFKIT_MPI_UNPACK arguments, from, tag, comm, used); \
      if (result == MPI_SUCCESS) mpi_complete(sent, nullptr, 0); \
      return result; \
    }); \
  }
PROFKIT_MPI_EXCHANGE(Sendrecv, send_count, send_type,
                     (void const* sent_data, int send_count, MPI_Datatype send_type, int to, int send_tag, void* data, int count,
                      MPI_Datatype type),
                     (sent_data, send_count, send_type, to, send_tag, data, count, type))
PROFKIT_MPI_EXCHANGE(Sendrecv_replace, count, type, (void* data, int count, MPI_Datatype type, int to, int send_tag),
                     (data, count, type, to, send_tag))

int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status* status) {
  std::uint64_t const begin = ticks_if_recording();
  scope const open{PROFKIT_MPI_SITE("MPI_Probe")};
  mpi_awaited const awaited{0, nullptr, status, MPI_STATUS_IGNORE};
  int const result = PMPI_Probe(from, tag, comm, awaited.statuses());
  if (result == MPI_SUCCESS) mpi_remember(comm, *awaited.statuses(), begin);
  return result;
}
int MPI_Iprobe(int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  mpi_awaited const awaited{0, nullptr, status, MPI_STATUS_IGNORE};
  return mpi_test(
      PROFKIT_MPI_SITE("MPI_Iprobe"), [&] { return PMPI_Iprobe(from, tag, comm, flag, awaited.statuses()); }, [&] { return *flag != 0; },
      [&](std::uint64_t since) { mpi_remember(comm, *awaited.statuses(), since); });
}

// A function that waits, and one that tests. `complete` declares the requests that are done.
#define PROFKIT_MPI_WAIT(wait, test, requests, ignored, parameters, arguments, flag_parameter, flag_argument, is_done, complete) \
  int MPI_##wait(PROFKIT_MPI_UNPACK parameters MPI_Status* status) { \
    scope const open{PROFKIT_MPI_SITE("MPI_" #wait)}; \
    mpi_awaited const awaited{PROFKIT_MPI_UNPACK requests, status, ignored}; \
    int const result = PMPI_##wait(PROFKIT_MPI_UNPACK arguments awaited.statuses()); \
    std::uint64_t const since = 0; \
    if (result == MPI_SUCCESS) complete; \
    return result; \
  } \
  int MPI_##test(PROFKIT_MPI_UNPACK parameters PROFKIT_MPI_UNPACK flag_parameter MPI_Status* status) { \
    mpi_awaited const awaited{PROFKIT_MPI_UNPACK requests, status, ignored}; \
    return mpi_test( \
        PROFKIT_MPI_SITE("MPI_" #test), \
        [&] { return PMPI_##test(PROFKIT_MPI_UNPACK arguments PROFKIT_MPI_UNPACK flag_argument awaited.statuses()); }, \
        [&] { return is_done; }, [&](std::uint64_t since) { complete; }); \
  }
PROFKIT_MPI_WAIT(Wait, Test, (1, request), MPI_STATUS_IGNORE, (MPI_Request* request,), (request,), (int* flag,), (flag,), *flag != 0,
                 awaited.complete(0, 0, since))
PROFKIT_MPI_WAIT(Waitall, Testall, (count, requests), MPI_STATUSES_IGNORE, (int count, MPI_Request requests[],), (count, requests,),
                 (int* flag,), (flag,), *flag != 0, for (int i = 0; i < count; ++i) awaited.complete(i, i, since))
PROFKIT_MPI_WAIT(Waitany, Testany, (count, requests), MPI_STATUS_IGNORE, (int count, MPI_Request requests[], int* index,),
                 (count, requests, index,), (int* flag,), (flag,), *flag != 0 && *index != MPI_UNDEFINED,
                 if (*index != MPI_UNDEFINED) awaited.complete(*index, 0, since))
PROFKIT_MPI_WAIT(Waitsome, Testsome, (count, requests), MPI_STATUSES_IGNORE, (int count, MPI_Request requests[], int* done, int indices[],),
                 (count, requests, done, indices,), (), (), *done != MPI_UNDEFINED && *done > 0,
                 for (int i = 0; *done != MPI_UNDEFINED && i < *done; ++i) awaited.complete(indices[i], i, since))

int MPI_Request_free(MPI_Request* request) {
  scope const open{PROFKIT_MPI_SITE("MPI_Request_free")};
  mpi_operation const operation = mpi().requests.take(*request);
  int const result = PMPI_Request_free(request);
  if (result == MPI_SUCCESS) mpi_complete(operation, nullptr, 0);
  return result;
}

// Creates a communicator. All members count it at the same place.
#define PROFKIT_MPI_CREATE(name, parameters, arguments) \
  int MPI_##name(PROFKIT_MPI_UNPACK parameters, MPI_Comm* made) { \
    int const result = PMPI_##name(PROFKIT_MPI_UNPACK arguments, made); \
    if (result == MPI_SUCCESS) mpi().communicators.find(*made); \
    return result; \
  }
PROFKIT_MPI_CREATE(Comm_dup, (MPI_Comm comm), (comm))
PROFKIT_MPI_CREATE(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info), (comm, info))
PROFKIT_MPI_CREATE(Comm_create, (MPI_Comm comm, MPI_Group group), (comm, group))
PROFKIT_MPI_CREATE(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag), (comm, group, tag))
PROFKIT_MPI_CREATE(Comm_split, (MPI_Comm comm, int colour, int key), (comm, colour, key))
PROFKIT_MPI_CREATE(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info), (comm, type, key, info))
PROFKIT_MPI_CREATE(Cart_create, (MPI_Comm comm, int count, int const sizes[], int const periods[], int reorder),
                   (comm, count, sizes, periods, reorder))
PROFKIT_MPI_CREATE(Cart_sub, (MPI_Comm comm, int const remaining[]), (comm, remaining))

#undef PROFKIT_MPI_CREATE
#undef PROFKIT_MPI_WAIT
#undef PROFKIT_MPI_EXCHANGE
#undef PROFKIT_MPI_SEND
#undef PROFKIT_MPI_REDUCTION
#undef PROFKIT_MPI_COLLECTIVE
#undef PROFKIT_MPI_SITE
#undef PROFKIT_MPI_UNPACK

}  // extern "C"
// NOLINTEND(misc-definitions-in-headers,readability-identifier-naming)
// clang-format on

}  // namespace PROFKIT_NAMESPACE::detail
