// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/record/slow_path.hpp>
#include <profkit/nccl.hpp>
#include <profkit/scope.hpp>

#include <dlfcn.h>

#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "../support/profile_of.hpp"

namespace {

// The declarations of NCCL, as in its `profiler_v4.h` and `profiler_v5.h`, with all members.
namespace nccl {

struct coll {
  std::uint64_t seqNumber;
  char const* func;
  void const* sendBuff;
  void* recvBuff;
  std::size_t count;
  int root;
  char const* datatype;
  std::uint8_t nChannels;
  std::uint8_t nWarps;
  char const* algo;
  char const* proto;
  void* parentGroup;
};
struct p2p {
  char const* func;
  void* buff;
  char const* datatype;
  std::size_t count;
  int peer;
  std::uint8_t nChannels;
  void* parentGroup;
};
struct coll_api {
  char const* func;
  std::size_t count;
  char const* datatype;
  int root;
  void* stream;
  bool graphCaptured;
};

template <class Type>
struct event {
  Type type;
  void* parentObj;
  int rank;
  union {
    struct coll coll;
    struct p2p p2p;
    struct coll_api collApi;
  };
};

template <class Type>
struct profiler {
  char const* name;
  void* init;
  int (*startEvent)(void* context, void** handle, event<Type>* descriptor);
  int (*stopEvent)(void* handle);
  int (*recordEventState)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

constexpr std::uint64_t type_group = 1, type_coll = 2, type_p2p = 4, type_group_api = 256, type_coll_api = 512;

}  // namespace nccl

profkit::site launch_site{"cuLaunchKernelEx", "", 0};
profkit::site other_launch_site{"cuLaunchKernel", "", 0};

void launch(profkit::site& where, std::uint32_t correlation) {
  profkit::detail::end_api_call(profkit::detail::begin_api_call(where, correlation));
}

/// A library that calls the plugin as NCCL does: events of the API around the call; the task events on the same thread, after the launch.
template <class Type>
class imitated_nccl {
 public:
  explicit imitated_nccl(char const* symbol) {
    void* const program = ::dlopen(nullptr, RTLD_NOW | RTLD_LOCAL);
    plugin_ = static_cast<nccl::profiler<Type> const*>(::dlsym(program, symbol));
  }

  [[nodiscard]] bool found() const { return plugin_ != nullptr; }
  [[nodiscard]] int mask() const { return mask_; }

  void create_communicator(std::uint64_t id, char const* name, int ranks, int rank) {
    if constexpr (sizeof(Type) == 1) {
      using init = int(void**, int*, char const*, std::uint64_t, int, int, int, void*);
      REQUIRE(reinterpret_cast<init*>(plugin_->init)(&context_, &mask_, name, id, 1, ranks, rank, nullptr) == 0);
    } else {
      using init = int(void**, std::uint64_t, int*, char const*, int, int, int, void*);
      REQUIRE(reinterpret_cast<init*>(plugin_->init)(&context_, id, &mask_, name, 1, ranks, rank, nullptr) == 0);
    }
  }

  /// @param count of float.
  void all_reduce(std::uint32_t correlation, std::vector<std::size_t> const& counts, bool is_captured = false) {
    void* group_api = start(nccl::type_group_api, nullptr, [](auto&) {});
    std::vector<void*> calls;
    for (std::size_t const count : counts) {
      calls.push_back(start(nccl::type_coll_api, group_api,
                            [&](nccl::event<Type>& to) { to.collApi = {"AllReduce", count, "ncclFloat32", 0, nullptr, is_captured}; }));
      stop(calls.back());
    }
    launch(launch_site, correlation);
    if (!is_captured) run_tasks(counts, calls);
    stop(group_api);
  }

  /// Imitates CUDA's thread that replays a graph with network traffic.
  void replay(std::vector<std::size_t> const& counts) {
    void* const call =
        start(nccl::type_coll_api, nullptr, [](nccl::event<Type>& to) { to.collApi = {"AllReduce", 1, "ncclFloat32", 0, nullptr, true}; });
    run_tasks(counts, std::vector<void*>(counts.size(), call));
  }

  void send(std::uint32_t correlation, std::size_t count) {
    launch(launch_site, correlation);
    message("Send", count, 1);
  }

  void message(char const* function, std::size_t count, int peer) {
    stop(start(nccl::type_p2p, nullptr,
               [&](nccl::event<Type>& to) { to.p2p = {function, nullptr, "ncclBfloat16", count, peer, 1, nullptr}; }));
  }

  void destroy_communicator() { CHECK(plugin_->finalize(context_) == 0); }

 private:
  void run_tasks(std::vector<std::size_t> const& counts, std::vector<void*> const& calls) {
    void* const group = start(nccl::type_group, nullptr, [](auto&) {});
    std::vector<void*> tasks;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      tasks.push_back(start(nccl::type_coll, sizeof(Type) == 1 ? group : calls[i], [&](nccl::event<Type>& to) {
        to.coll = {sequence_++, "AllReduce", nullptr, nullptr, counts[i], 0, "ncclFloat32", 2, 8, "RING", "LL128", group};
      }));
    }
    for (void* const each : tasks) stop(each);
    stop(group);
  }

  template <class Fill>
#ifdef __clang__
  // The events of a library have types of their own, which C allows.
  __attribute__((no_sanitize("function")))
#endif
  void*
  start(std::uint64_t type, void* parent, Fill const& fill) {
    if (sizeof(Type) == 1 && type > 255) return nullptr;  // events since version 5
    nccl::event<Type> descriptor;
    std::memset(static_cast<void*>(&descriptor), 0xee, sizeof descriptor);
    descriptor.type = static_cast<Type>(type);
    descriptor.parentObj = parent;
    descriptor.rank = 0;  // wrong in events of the API: NCCL issue 2300
    fill(descriptor);
    void* handle = &descriptor;
    CHECK(plugin_->startEvent(context_, &handle, &descriptor) == 0);
    return handle;
  }

  void stop(void* handle) {
    if (handle != nullptr) CHECK(plugin_->stopEvent(handle) == 0);
  }

  nccl::profiler<Type> const* plugin_;
  void* context_ = nullptr;
  int mask_ = 0;
  std::uint64_t sequence_ = 0;
};

profkit::collective_record const* find(profkit::profile const& in, std::uint64_t communicator, std::uint64_t sequence) {
  for (profkit::collective_record const& each : in.collectives) {
    if (in.communicators[each.communicator].id == communicator && each.sequence == sequence && !each.is_captured) return &each;
  }
  return nullptr;
}

std::string status_of(profkit::profile const& in) {
  for (profkit::collector_record const& each : in.collectors) {
    if (each.name == "nccl collectives") return each.status + ": " + each.reason;
  }
  return "no collector";
}

std::uint32_t short_correlation(profkit::collective_record const& collective) { return static_cast<std::uint32_t>(collective.correlation); }

template <class Type>
void check_version(char const* symbol, std::uint64_t id) {
  imitated_nccl<Type> library{symbol};
  REQUIRE(library.found());
  profkit::session session{plain_options()};
  session.collect(profkit::nccl_collectives());
  CHECK(std::string_view{::getenv("NCCL_PROFILER_PLUGIN")} == "STATIC_PLUGIN");
  library.create_communicator(id, "tensor parallel", 4, 3);
  CHECK((library.mask() & (1 << 6)) == 0);  // KernelCh costs
  CHECK((library.mask() & 2) != 0);
  {
    PROF_SCOPE("forward");
    launch(other_launch_site, 10);
    library.all_reduce(11, {1000});
    launch(other_launch_site, 12);
  }
  std::thread{[&] {
    PROF_SCOPE("backward");
    library.all_reduce(21, {2000, 3000});  // one kernel for both
    launch(other_launch_site, 22);
    library.send(23, 64);
  }}.join();
  library.destroy_communicator();
  profkit::report const report = session.report();
  profkit::profile const& profile = report.profile();
  CHECK(status_of(profile) == "collected: ");
  REQUIRE(profile.collectives.size() == 4);
  profkit::collective_record const* const first = find(profile, id, 0);
  REQUIRE(first != nullptr);
  profkit::communicator_record const& group = profile.communicators[first->communicator];
  CHECK(group.name == "tensor parallel");
  CHECK(group.rank == 3);
  CHECK(group.size == 4);
  CHECK(short_correlation(*first) == 11);
  CHECK(first->bytes == 4000);
  CHECK(profile.collective_words[first->function] == "AllReduce");
  CHECK(profile.collective_words[first->datatype] == "ncclFloat32");
  CHECK(profile.collective_words[first->algorithm] == "RING");
  CHECK(profile.collective_words[first->protocol] == "LL128");
  CHECK(profile.paths[first->path].name == "forward");
  for (std::uint64_t const sequence : {1U, 2U}) {
    profkit::collective_record const* const of_backward = find(profile, id, sequence);
    REQUIRE(of_backward != nullptr);
    CHECK(short_correlation(*of_backward) == 21);
    CHECK(of_backward->bytes == 4000 * (sequence + 1));
    CHECK(profile.paths[of_backward->path].name == "backward");
    CHECK(of_backward->thread != first->thread);
  }
  bool has_send = false;
  for (profkit::collective_record const& each : profile.collectives) {
    if (profile.collective_words[each.function] != "Send") continue;
    has_send = true;
    CHECK(short_correlation(each) == 23);
    CHECK(each.bytes == 128);
    CHECK(profile.collective_words[each.algorithm].empty());
  }
  CHECK(has_send);
}

}  // namespace

TEST_CASE("NCCL finds the plugin in the executable, and each version of the plugin reports collectives with their launches", "[nccl]") {
  check_version<std::uint8_t>("ncclProfiler_v4", 0xf000'0000'0000'0004U);
  check_version<std::uint64_t>("ncclProfiler_v5", 0xf000'0000'0000'0005U);
  check_version<std::uint64_t>("ncclProfiler_v6", 0xf000'0000'0000'0006U);
}

TEST_CASE("a collective in a captured graph is recorded at its capture, and not in replays", "[nccl]") {
  imitated_nccl<std::uint64_t> library{"ncclProfiler_v5"};
  profkit::session session{plain_options()};
  session.collect(profkit::nccl_collectives());
  library.create_communicator(77, nullptr, 2, 0);
  {
    PROF_SCOPE("capture");
    library.all_reduce(31, {500}, true);
  }
  session.report();
  profkit::profile const profile = session.report().profile();
  REQUIRE(profile.collectives.size() == 1);
  CHECK(profile.collectives[0].is_captured);
  CHECK(profile.collectives[0].correlation == 0);
  CHECK(profile.collectives[0].bytes == 2000);
  CHECK(profile.paths[profile.collectives[0].path].name == "capture");
  CHECK(profile.communicators[0].name.empty());
  profkit::session next{plain_options()};
  next.collect(profkit::nccl_collectives());
  library.replay({500});
  profkit::profile const replayed = next.report().profile();
  REQUIRE(replayed.collectives.size() == 1);  // the imitated call itself
  CHECK(replayed.collectives[0].is_captured);
}

TEST_CASE("sends and receives of NCCL are numbered by partner, from the first message of the communicator on", "[nccl]") {
  imitated_nccl<std::uint64_t> library{"ncclProfiler_v5"};
  library.create_communicator(79, "pipeline", 4, 2);
  library.message("Recv", 8, 1);  // before the session
  profkit::session session{plain_options()};
  session.collect(profkit::nccl_collectives());
  launch(launch_site, 51);  // one kernel for all messages of a group
  library.message("Recv", 8, 1);
  library.message("Send", 16, 3);
  library.message("Send", 16, 2);  // to itself
  library.message("Recv", 8, 3);
  launch(other_launch_site, 52);
  session.report();
  profkit::profile const profile = session.report().profile();
  library.destroy_communicator();
  REQUIRE(profile.collectives.size() == 3);
  struct message {
    profkit::message_side side;
    std::uint32_t partner;
    std::uint64_t number, bytes;
  };
  std::vector<message> const expected{
      {profkit::message_side::receive, 1, 1, 16}, {profkit::message_side::send, 3, 0, 32}, {profkit::message_side::receive, 3, 0, 16}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    profkit::collective_record const& each = profile.collectives[i];
    CHECK(each.side == expected[i].side);
    CHECK(each.partner == expected[i].partner);
    CHECK(each.sequence == expected[i].number);
    CHECK(each.bytes == expected[i].bytes);
    CHECK(short_correlation(each) == 51);
  }
}

TEST_CASE("communicators that are only used in CUDA graphs are listed", "[nccl]") {
  imitated_nccl<std::uint8_t> before{"ncclProfiler_v4"};  // NCCL 2.27 reports no capture
  imitated_nccl<std::uint8_t> after{"ncclProfiler_v4"};
  before.create_communicator(80, "before", 2, 0);
  profkit::session session{plain_options()};
  session.collect(profkit::nccl_collectives());
  after.create_communicator(81, "after", 2, 1);
  session.report();
  profkit::profile const profile = session.report().profile();
  std::string names;
  for (profkit::communicator_record const& each : profile.communicators) names += each.name + ",";
  CHECK(names.find("before,") != std::string::npos);
  CHECK(names.find("after,") != std::string::npos);
  before.destroy_communicator();
  after.destroy_communicator();
  profkit::session next{plain_options()};
  next.collect(profkit::nccl_collectives());
  for (profkit::communicator_record const& each : next.report().profile().communicators) CHECK(each.id != 81);
}

TEST_CASE("without a session or a collector the plugin records nothing", "[nccl]") {
  imitated_nccl<std::uint64_t> library{"ncclProfiler_v5"};
  library.create_communicator(78, "", 2, 0);
  library.all_reduce(41, {500});
  profkit::session session{plain_options()};
  library.all_reduce(42, {500});
  CHECK(session.report().profile().collectives.empty());
}

TEST_CASE("a collector created after the communicators reports what to do", "[nccl]") {
  profkit::detail::nccl_state.communicators = 0;
  profkit::session session{plain_options()};
  session.collect(profkit::nccl_collectives());
  CHECK(
      status_of(session.report().profile()) ==
      "not collected: NCCL has created no communicator since the collector. Create the collector before the first communicator, with NCCL "
      "2.27 or later");
}

TEST_CASE("a plugin that the user has set stays, and the status says so", "[nccl]") {
  std::string const before = ::getenv("NCCL_PROFILER_PLUGIN") == nullptr ? "" : ::getenv("NCCL_PROFILER_PLUGIN");
  ::setenv("NCCL_PROFILER_PLUGIN", "/opt/inspector.so", 1);
  profkit::session session{plain_options()};
  session.collect(profkit::nccl_collectives());
  CHECK(std::string_view{::getenv("NCCL_PROFILER_PLUGIN")} == "/opt/inspector.so");
  CHECK(status_of(session.report().profile()) == "not collected: NCCL_PROFILER_PLUGIN already names the plugin /opt/inspector.so");
  ::setenv("NCCL_PROFILER_PLUGIN", "static_plugin", 1);
  CHECK(profkit::nccl_collectives{}.status().works);
  before.empty() ? ::unsetenv("NCCL_PROFILER_PLUGIN") : ::setenv("NCCL_PROFILER_PLUGIN", before.c_str(), 1);
}

TEST_CASE("an empty NCCL_PROFILER_PLUGIN counts as unset, as for NCCL", "[nccl]") {
  std::string const before = ::getenv("NCCL_PROFILER_PLUGIN") == nullptr ? "" : ::getenv("NCCL_PROFILER_PLUGIN");
  ::setenv("NCCL_PROFILER_PLUGIN", "", 1);
  CHECK(profkit::nccl_collectives{}.status().works);
  CHECK(std::string_view{::getenv("NCCL_PROFILER_PLUGIN")} == "STATIC_PLUGIN");
  before.empty() ? ::unsetenv("NCCL_PROFILER_PLUGIN") : ::setenv("NCCL_PROFILER_PLUGIN", before.c_str(), 1);
}

TEST_CASE("the sizes of NCCL's types are known", "[nccl]") {
  using profkit::detail::nccl_bytes_of;
  CHECK(nccl_bytes_of("ncclInt8") == 1);
  CHECK(nccl_bytes_of("ncclFloat8e5m2") == 1);
  CHECK(nccl_bytes_of("ncclBfloat16") == 2);
  CHECK(nccl_bytes_of("ncclUint32") == 4);
  CHECK(nccl_bytes_of("ncclFloat64") == 8);
  CHECK(nccl_bytes_of("Unknown") == 0);
}
