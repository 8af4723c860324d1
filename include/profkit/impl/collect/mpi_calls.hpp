// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "../../work.hpp"
#include "../record/scope.hpp"
#include "../record/scope_work.hpp"
#include "../record/ticks.hpp"

// What the functions of MPI in mpi_functions.hpp record.

namespace PROFKIT_NAMESPACE::detail {

/// The communicators of MPI that the program has used. Their ids are equal on all their ranks: a hash of the members, and the number of
/// earlier communicators with these members. Creating a communicator is collective, so all members count alike.
class mpi_communicators {
 public:
  /// @return null for communicators with one rank and for intercommunicators. Thread-safe.
  communicator* find(MPI_Comm which) {
    if (which == MPI_COMM_NULL) return nullptr;
    if (which == MPI_COMM_WORLD) {
      communicator* const known = __atomic_load_n(&world_, __ATOMIC_ACQUIRE);
      if (known != nullptr) return known;
    }
    void* found = nullptr;
    int has_any = 0;
    int const key = __atomic_load_n(&key_, __ATOMIC_ACQUIRE);
    if (key != MPI_KEYVAL_INVALID) PMPI_Comm_get_attr(which, key, &found, &has_any);
    return has_any != 0 ? static_cast<communicator*>(found) : add(which);
  }

 private:
  /// Stores it as an attribute, which MPI removes when the communicator is freed. Logs point to the object, so it stays.
  communicator* add(MPI_Comm which) {
    std::lock_guard<std::mutex> const lock{mutex_};
    if (key_ == MPI_KEYVAL_INVALID) {
      int made = MPI_KEYVAL_INVALID;
      if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &made, nullptr) != MPI_SUCCESS) return nullptr;
      __atomic_store_n(&key_, made, __ATOMIC_RELEASE);
    }
    void* found = nullptr;
    int has_any = 0;
    PMPI_Comm_get_attr(which, key_, &found, &has_any);  // another thread was first
    if (has_any != 0) return static_cast<communicator*>(found);
    communicator* const result = make(which);
    PMPI_Comm_set_attr(which, key_, result);
    if (which == MPI_COMM_WORLD) __atomic_store_n(&world_, result, __ATOMIC_RELEASE);
    return result;
  }

  communicator* make(MPI_Comm which) {
    int is_inter = 0;
    int size = 0;
    int rank = 0;
    PMPI_Comm_test_inter(which, &is_inter);
    PMPI_Comm_size(which, &size);
    PMPI_Comm_rank(which, &rank);
    if (is_inter != 0 || size < 2) return nullptr;
    MPI_Group members{};
    MPI_Group all{};
    PMPI_Comm_group(which, &members);
    PMPI_Comm_group(MPI_COMM_WORLD, &all);
    std::vector<int> own(static_cast<std::size_t>(size));
    for (int i = 0; i < size; ++i) own[static_cast<std::size_t>(i)] = i;
    std::vector<int> in_world(own.size());
    PMPI_Group_translate_ranks(members, size, own.data(), all, in_world.data());
    PMPI_Group_free(&members);
    PMPI_Group_free(&all);
    std::uint64_t id = 0xcbf29ce484222325U;  // FNV-1a
    for (int const each : in_world) id = (id ^ static_cast<std::uint64_t>(each)) * 0x100000001b3U;
    id += counts_[id]++;
    return new communicator{which == MPI_COMM_WORLD ? "MPI_COMM_WORLD" : "MPI communicator", id, rank, size};
  }

  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> counts_;
  int key_ = MPI_KEYVAL_INVALID;
  communicator* world_ = nullptr;
};

/// An operation that is not complete.
struct mpi_operation {
  std::optional<collective> known;  ///< n/a for a receive whose sender or tag is not known yet
  communicator* group = nullptr;    ///< of such a receive; null: nothing to record
  std::uint64_t posted = 0;         ///< in ticks
  std::uint64_t bytes = 0;

  [[nodiscard]] bool is_recorded() const noexcept { return known || group != nullptr; }
};

/// The requests of non-blocking operations. Several requests can have one handle, because Open MPI and MPICH share one among messages that
/// are complete at once: the first one is taken first.
class mpi_requests {
 public:
  void put(MPI_Request request, mpi_operation const& operation) noexcept {
    std::lock_guard<std::mutex> const lock{mutex_};
    try {
      open_.emplace(key_of(request), operation);
    } catch (...) {  // without memory, the operation is not recorded
    }
  }

  /// @return nothing to record if the request is unknown.
  mpi_operation take(MPI_Request request) {
    std::lock_guard<std::mutex> const lock{mutex_};
    auto const found = open_.lower_bound(key_of(request));
    if (found == open_.end() || found->first != key_of(request)) return {};
    mpi_operation const result = found->second;
    open_.erase(found);
    return result;
  }

 private:
  static std::uint64_t key_of(MPI_Request request) noexcept {
    std::uint64_t result = 0;
    std::memcpy(&result, &request, sizeof request);
    return result;
  }

  std::mutex mutex_;
  std::multimap<std::uint64_t, mpi_operation> open_;
};

struct mpi_state {
  mpi_communicators communicators;
  mpi_requests requests;
};

/// Never destroyed, because programs call MPI in destructors of static objects.
inline mpi_state& mpi() {
  static auto* const state = new mpi_state;
  return *state;
}

/// What a thread waits for with calls that return at once, such as `MPI_Test`, and the message that `MPI_Probe` found.
struct mpi_thread {
  std::uint64_t since = 0;  ///< in ticks
  std::int64_t last = 0;    ///< time of the last such call, in ns
  communicator* group = nullptr;
  int source = 0;
  int tag = 0;
  std::uint64_t probed = 0;  ///< when the wait for that message began, in ticks

  /// @param begin ticks before the call.
  /// @return since when the thread waits, in ticks.
  std::uint64_t poll(std::uint64_t begin, bool is_done) noexcept {
    std::int64_t const now = monotonic_ns();
    constexpr std::int64_t max_pause = 1'000'000;
    if (now - std::exchange(last, now) > max_pause) since = begin;
    return is_done ? std::exchange(since, ticks_if_recording()) : since;
  }

  static mpi_thread& own() noexcept {
    thread_local mpi_thread state;
    return state;
  }
};

/// The size of data; 0 if no session records.
inline std::uint64_t mpi_bytes(int count, MPI_Datatype type) {
  if (count <= 0 || type == MPI_DATATYPE_NULL || ticks_if_recording() == 0) return 0;
  int size = 0;
  PMPI_Type_size(type, &size);
  return size > 0 ? static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size) : 0;
}

/// One end of a message, in the order of the arguments of MPI.
struct mpi_end {
  int count;
  MPI_Datatype type;
  int partner;
  int tag;
  MPI_Comm comm;
};

inline mpi_operation mpi_begin(message_side side, mpi_end const& end) {
  mpi_operation result;
  communicator* const group = end.partner == MPI_PROC_NULL ? nullptr : mpi().communicators.find(end.comm);
  if (group == nullptr) return result;
  std::uint64_t const bytes = mpi_bytes(end.count, end.type);
  auto const partner = static_cast<std::uint32_t>(end.partner);
  if (side == message_side::send) {
    result.known = collective::send(*group, partner, end.tag, bytes);
  } else if (end.partner != MPI_ANY_SOURCE && end.tag != MPI_ANY_TAG) {
    result.known = collective::receive(*group, partner, end.tag, bytes);
  } else {
    result = {std::nullopt, group, ticks_if_recording(), bytes};
  }
  return result;
}

/// Declares a complete operation in the innermost scope.
/// @param status that of the operation; may be null if the sender and the tag are known.
/// @param since when the wait began, in ticks; 0: with the scope.
inline void mpi_complete(mpi_operation operation, MPI_Status const* status, std::uint64_t since) {
  if (!operation.known && operation.group != nullptr && status != nullptr && status->MPI_SOURCE >= 0) {
    auto const source = static_cast<std::uint32_t>(status->MPI_SOURCE);
    operation.known = collective::receive(*operation.group, source, status->MPI_TAG, operation.bytes);
    operation.known->posted = operation.posted;
  }
  if (!operation.known) return;
  collective& done = *operation.known;
  done.since = since;
  mpi_thread& thread = mpi_thread::own();
  bool const is_same = thread.group == done.group && thread.source == static_cast<int>(done.partner) && thread.tag == done.tag;
  if (done.side == message_side::receive && is_same) {
    done.since = done.posted = thread.probed;
    thread.group = nullptr;
  }
  add_collective(done);
}

template <class Call>
int mpi_message(site& where, message_side side, mpi_end const& end, MPI_Status* status, Call const& call) {
  mpi_operation const operation = mpi_begin(side, end);
  scope const open{where};
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE && side == message_side::receive) status = &own;
  int const result = call(status);
  if (result == MPI_SUCCESS) mpi_complete(operation, side == message_side::receive ? status : nullptr, 0);
  return result;
}

template <class Call>
int mpi_start_message(site& where, message_side side, mpi_end const& end, MPI_Request const* request, Call const& call) {
  scope const open{where};
  mpi_operation const operation = mpi_begin(side, end);
  int const result = call();
  if (result == MPI_SUCCESS && operation.is_recorded()) mpi().requests.put(*request, operation);
  return result;
}

/// @param request null: a blocking collective.
template <class Call>
int mpi_collective(site& where, MPI_Comm comm, std::uint64_t bytes, MPI_Request const* request, Call const& call) {
  mpi_operation operation;
  if (communicator* const group = mpi().communicators.find(comm); group != nullptr) operation.known = collective{where.name, *group, bytes};
  scope const open{where};
  // A blocking collective is declared before the call, so that it is known while a rank waits in it.
  if (request == nullptr && operation.is_recorded()) add_collective(*operation.known);
  int const result = call();
  if (result == MPI_SUCCESS && request != nullptr && operation.is_recorded()) mpi().requests.put(*request, operation);
  return result;
}

/// Requests that a call may complete. MPI overwrites their handles.
class mpi_awaited {
 public:
  mpi_awaited(int count, MPI_Request const* requests, MPI_Status* statuses, MPI_Status* ignored) : statuses_{statuses} {
    std::size_t const size = count > 0 ? static_cast<std::size_t>(count) : 0;
    if (size > max_few) {
      many_.assign(requests, requests + size);
    } else if (size > 0) {
      std::memcpy(few_, requests, size * sizeof(MPI_Request));
    }
    if (statuses != ignored) return;
    if (size > max_few) own_.resize(size);
    statuses_ = size > max_few ? own_.data() : own_of_few_;
  }

  /// What to pass to MPI.
  [[nodiscard]] MPI_Status* statuses() const noexcept { return statuses_; }

  /// Declares a complete request.
  /// @param status position of its status.
  void complete(int request, int status, std::uint64_t since = 0) const {
    mpi_complete(mpi().requests.take((many_.empty() ? few_ : many_.data())[request]), statuses_ + status, since);
  }

 private:
  static constexpr std::size_t max_few = 64;
  MPI_Request few_[max_few];
  MPI_Status own_of_few_[max_few];
  std::vector<MPI_Request> many_;
  std::vector<MPI_Status> own_;
  MPI_Status* statuses_;
};

/// A call that returns at once. Opens a scope for it only if requests are complete, because programs call it in loops.
/// @param is_done called if it succeeded.
/// @param complete called with the beginning of the wait.
template <class Call, class IsDone, class Complete>
int mpi_test(site& where, Call const& call, IsDone const& is_done, Complete const& complete) {
  std::uint64_t const begin = ticks_if_recording();
  int const result = call();
  if (result != MPI_SUCCESS) return result;
  std::uint64_t const since = begin == 0 ? 0 : mpi_thread::own().poll(begin, is_done());
  if (!is_done()) return result;
  scope const open{where};
  complete(since);
  return result;
}

inline void mpi_remember(MPI_Comm comm, MPI_Status const& status, std::uint64_t since) {
  mpi_thread& thread = mpi_thread::own();
  thread.group = status.MPI_SOURCE < 0 ? nullptr : mpi().communicators.find(comm);
  thread.source = status.MPI_SOURCE;
  thread.tag = status.MPI_TAG;
  thread.probed = since;
}

}  // namespace PROFKIT_NAMESPACE::detail
