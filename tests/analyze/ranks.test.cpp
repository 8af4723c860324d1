// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/analyze/ranks/found_collectives.hpp>
#include <profkit/impl/analyze/ranks/timeline_part.hpp>
#include <profkit/save_load.hpp>

#include "../support/made_job.hpp"
#include "../support/testing.hpp"
#include "ranks/collective_waits.hpp"
#include "ranks/frontier.hpp"
#include "ranks/job_collectives.hpp"
#include "ranks/make_job.hpp"
#include "ranks/rank_clocks.hpp"
#include "ranks/ranks_findings.hpp"
#include "ranks/ranks_json.hpp"
#include "ranks/straggler_search.hpp"

using profkit::milliseconds;
using std::chrono::nanoseconds;

namespace {

profkit::detail::own_vector<profkit::job_rank> recorded_job(std::string const& run, std::uint32_t ranks) {
  profkit::detail::own_vector<profkit::job_rank> result;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::string const file = std::string{TEST_RANKS "/"} + run + "/rank" + std::to_string(rank) + ".profile";
    result.push_back(profkit::job_rank_of(profkit::analyze(profkit::load(file)), rank, file));
  }
  return result;
}

/// @return how many collectives have a waiting and a transfer that do not add up to their time.
int wrong_sums(profkit::detail::own_vector<profkit::job_rank> const& ranks) {
  std::vector<profkit::detail::matched_collective> const all = profkit::detail::collective_matcher{ranks}.take();
  profkit::detail::rank_clocks const clocks{ranks, all};
  int wrong = 0;
  for (profkit::detail::matched_collective const& each : all) {
    profkit::detail::collective_waits const waits{ranks, each, clocks};
    for (std::size_t i = 0; i < each.on.size(); ++i) {
      profkit::timeline_collective const& one = ranks[each.on[i].rank].timeline.collectives[each.on[i].collective];
      profkit::detail::rank_wait const& wait = waits.by_rank[i];
      if (wait.waiting + wait.transfer != one.time.duration() || wait.waiting.count() < 0 || wait.transfer.count() < 0) ++wrong;
      if (wait.exposed_waiting + wait.exposed_transfer != profkit::detail::length_of(one.exposed)) ++wrong;
    }
  }
  return wrong;
}

/// Ranks without a GPU: each step has the scopes data (1 ms), forward (2 ms) and backward (3 ms), and ends in an all-reduce in backward.
/// @param slow the scope in which rank 1 takes 1.5 ms longer; 0: none.
profkit::detail::own_vector<profkit::job_rank> job_on_hosts(std::uint32_t slow, std::uint32_t seed) {
  std::mt19937_64 random{seed};
  constexpr std::uint32_t ranks = 3;
  std::vector<profkit::profile> all(ranks);
  std::vector<profkit::timestamp> now(ranks, profkit::timestamp{std::chrono::seconds{1'700'000'000}});
  for (profkit::profile& each : all) {
    each.paths.push_back({profkit::path_record::no_parent, "step", {}, "a.cpp", 1});
    each.paths.back().is_step = true;
    for (char const* const name : {"data", "forward", "backward"}) each.paths.push_back({0, name, {}, "a.cpp", 2});
    each.threads.push_back({1, "main"});
    each.communicators.push_back({5, "world", 0, ranks});
    each.collective_words = {"all_reduce", ""};
  }
  for (std::uint64_t step = 0; step < 20; ++step) {
    std::vector<profkit::timestamp> const begin = now;
    std::vector<profkit::timestamp> backward(ranks);
    profkit::timestamp latest{};
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      for (std::uint32_t scope = 1; scope <= 3; ++scope) {
        nanoseconds const work{
            static_cast<std::int64_t>(scope * (1'000'000 + random() % 100'000) + (rank == 1 && scope == slow ? 1'500'000 : 0))};
        if (scope == 3) backward[rank] = now[rank];
        if (scope != 3) all[rank].scopes.push_back({{now[rank], now[rank] + work}, scope, 0});
        now[rank] += work;
      }
      latest = std::max(latest, now[rank]);
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      profkit::collective_record sum;
      sum.time = {now[rank], latest + std::chrono::microseconds{500 + random() % 5}};
      sum.sequence = step;
      sum.bytes = 4096;
      sum.datatype = sum.algorithm = sum.protocol = 1;
      sum.path = 3;
      all[rank].collectives.push_back(sum);
      now[rank] = sum.time.end;
      all[rank].scopes.push_back({{backward[rank], now[rank]}, 3, 0});
      all[rank].scopes.push_back({{begin[rank], now[rank]}, 0, 0});
      profkit::step_record record;
      record.time = {begin[rank], now[rank]};
      record.index = step;
      record.warmup = step < 2;
      all[rank].steps.push_back(record);
    }
  }
  profkit::detail::own_vector<profkit::job_rank> result;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) result.push_back(profkit::job_rank_of(profkit::analyze(all[rank]), rank, ""));
  return result;
}

/// 0 if the clocks cannot tell.
double waiting_ms(profkit::job_rank_summary const& rank) { return rank.waiting.value_or(milliseconds{}).count(); }

double sum_of(std::vector<profkit::job_part> const& parts) {
  double sum = 0.0;
  for (profkit::job_part const& each : parts) sum += each.time.count();
  return sum;
}

}  // namespace

TEST_CASE("a slow host hidden by the queue of its GPU is no straggler, but is mentioned", "[ranks]") {
  profkit::detail::own_vector<profkit::job_rank> const ranks = recorded_job("four", 4);
  CHECK(wrong_sums(ranks) == 0);
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK_FALSE(job.straggler);
  REQUIRE(job.slow_host);
  CHECK(job.slow_host->rank == 1);
  CHECK(job.slow_host->stage == "step/data");
  CHECK(job.slow_host->stage_time.count() == Approx(3.07).margin(0.05));
  CHECK(job.slow_host->stage_others.count() == 0.0);
  CHECK(job.slow_host->pace < job.step);
  REQUIRE(job.startup);
  CHECK(job.startup->waiting.count() == Approx(47.0).margin(1.0));
  CHECK(sum_of(job.budget) == Approx(job.step.count()));
  CHECK(job.clocks.residual_median < milliseconds{0.02});
  REQUIRE(job.collectives.size() == 1);
  CHECK(job.collectives[0].per_step == Approx(12.0));
  CHECK(job.collectives[0].bus_bandwidth.value() == Approx(309e9).epsilon(0.02));
  CHECK(job.collectives[0].link_share.value() == Approx(309.0 / 450.0).epsilon(0.02));
}

TEST_CASE("the share of the link bandwidth is known for GPUs of one model on one host", "[ranks]") {
  profkit::detail::own_vector<profkit::job_rank> ranks = recorded_job("even", 2);
  CHECK(profkit::summarize_job(ranks).collectives.at(0).link_share);
  for (profkit::job_rank& each : ranks) {
    for (profkit::collective_kind& kind : each.timeline.kinds) kind.algorithm = "NVLS";
  }
  CHECK_FALSE(profkit::summarize_job(ranks).collectives.at(0).link_share);
  ranks = recorded_job("even", 2);
  ranks[1].environment.gpu = "NVIDIA H100 80GB HBM3";
  CHECK_FALSE(profkit::summarize_job(ranks).collectives.at(0).link_share);
  ranks[0].environment.gpu = ranks[1].environment.gpu = "NVIDIA H100 PCIe";
  CHECK_FALSE(profkit::summarize_job(ranks).collectives.at(0).link_share);
  ranks = recorded_job("even", 2);
  ranks[1].environment.host = ranks[1].environment.boot_id = "another";
  CHECK_FALSE(profkit::summarize_job(ranks).collectives.at(0).link_share);
}

TEST_CASE("waits below the clocks' error count as transfer, and as n/a if all are", "[ranks]") {
  made_job made;
  made.ranks = 2;
  made.jitter = nanoseconds{1'000};
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  // Rank 1 leaves each collective 20 us before or after rank 0, so clocks are known to 10 us, and waits take up to 1 us.
  std::int64_t sign = 1;
  for (profkit::timeline_collective& each : ranks[1].timeline.collectives) each.time.end += nanoseconds{20'000 * (sign = -sign)};
  CHECK(wrong_sums(ranks) == 0);
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK(job.clocks.bound.count() == Approx(0.01).epsilon(0.2));
  for (profkit::job_rank_summary const& each : job.ranks) {
    CHECK_FALSE(each.waiting);
    CHECK_FALSE(each.exposed_waiting);
    CHECK(each.transfer.count() == Approx(each.communication.count()).margin(0.05));
  }
  REQUIRE(job.collectives.size() == 1);
  CHECK_FALSE(job.collectives[0].waiting);
  CHECK(sum_of(job.budget) == Approx(job.step.count()));
  CHECK_THAT(profkit::ranks_json(job), ContainsSubstring("\"waiting_ms\": null"));
}

TEST_CASE("without NCCL's numbers, its kernels are matched by their order", "[ranks]") {
  profkit::detail::own_vector<profkit::job_rank> ranks;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    profkit::profile recorded = profkit::load(std::string{TEST_RANKS "/slowgpu/rank"} + std::to_string(rank) + ".profile");
    recorded.collectives.clear(), recorded.communicators.clear();
    ranks.push_back(profkit::job_rank_of(profkit::analyze(recorded), rank, ""));
    CHECK_FALSE(ranks.back().timeline.has_numbers);
  }
  profkit::job_summary const job = profkit::summarize_job(std::move(ranks));
  CHECK(job.matched == 302);
  REQUIRE(job.straggler);
  CHECK(job.straggler->path == "step/forward/extra");
}

namespace {

constexpr std::size_t in_graph = 12;  // of the 12 collectives in a step; the first two of the run come before the steps

/// Makes kernels of NCCL nodes of a CUDA graph from the sixth step on, and removes the correlation of their collectives.
/// @param node_of the node of the kernel with this number; 0: lost.
template <class NodeOf>
void replay_by_graph(profkit::profile& recorded, NodeOf const& node_of) {
  auto& operations = recorded.gpu_operations;
  std::sort(operations.begin(), operations.end(), [](auto const& a, auto const& b) { return a.time.begin < b.time.begin; });
  std::size_t kernels = 0;
  std::set<std::uint64_t> replayed;
  for (profkit::gpu_operation_record& each : operations) {
    if (recorded.gpu_names[each.name].name.rfind("ncclDevKernel", 0) != 0) continue;
    std::size_t const number = kernels++;
    if (number < 2 + 5 * in_graph) continue;
    each.graph_node = node_of(number);
    replayed.insert(each.correlation);
  }
  for (profkit::collective_record& each : recorded.collectives) {
    if (replayed.count(each.correlation) > 0) each.correlation = 0;
  }
}

}  // namespace

TEST_CASE("collectives of a replayed CUDA graph are matched by the order of their capture", "[ranks]") {
  auto const with_graphs = [&](std::string const& job, std::uint32_t rank, std::size_t lost) {
    profkit::profile recorded = profkit::load(TEST_RANKS "/" + job + "/rank" + std::to_string(rank) + ".profile");
    replay_by_graph(recorded, [&](std::size_t number) {
      // Ranks have other graphs, with other nodes between the collectives.
      std::uint64_t const node = (std::uint64_t{2 + rank} << 32U) + 7 * rank + (rank + 3) * ((number - 2) % in_graph);
      return number == lost ? 0 : node;
    });
    return profkit::job_rank_of(profkit::analyze(recorded), rank, "");
  };
  profkit::job_summary const numbered = profkit::summarize_job(recorded_job("slowgpu", 2));
  profkit::job_summary const job = profkit::summarize_job({with_graphs("slowgpu", 0, 0), with_graphs("slowgpu", 1, 0)});
  CHECK(job.matched == 302);
  CHECK(job.unknown + job.incomplete + job.contradictory + job.by_order == 0);
  REQUIRE(job.straggler);
  CHECK(job.straggler->rank == 1);
  CHECK(job.straggler->path == "step/forward/extra");
  REQUIRE(numbered.straggler);
  CHECK(job.straggler->excess.count() == Approx(numbered.straggler->excess.count()));
  for (std::size_t rank = 0; rank < 2; ++rank) CHECK(job.ranks[rank].transfer.count() == Approx(numbered.ranks[rank].transfer.count()));
  REQUIRE(job.collectives.size() == 1);
  CHECK(job.collectives[0].function == "AllReduce");
  CHECK(job.collectives[0].ranks == 2);
  CHECK(job.collectives[0].bytes == 0);
  // A lost kernel does not shift the others of its step.
  profkit::job_summary const lossy = profkit::summarize_job({with_graphs("slowgpu", 0, 100), with_graphs("slowgpu", 1, 0)});
  CHECK(lossy.matched == 301);
  CHECK(lossy.unknown == 1);
  CHECK(lossy.ranks[0].transfer.count() == Approx(numbered.ranks[0].transfer.count()).epsilon(0.01));
}

namespace {

/// A recorded job whose collectives are replayed by a CUDA graph, those of odd position by a second communicator.
/// @param paths the scopes of their captures: of even and of odd positions.
/// @param own_first whether the first collective of each graph is of a communicator without other ranks.
profkit::job_rank with_two_communicators(std::uint32_t rank, std::pair<std::uint32_t, std::uint32_t> paths, bool own_first) {
  profkit::profile recorded = profkit::load(TEST_RANKS "/slowgpu/rank" + std::to_string(rank) + ".profile");
  std::uint32_t const function = recorded.collectives.front().function;
  profkit::communicator_record const first = recorded.communicators.front();
  recorded.communicators.push_back({first.id + 1, "second", first.rank, first.size});
  recorded.communicators.push_back({first.id + 2 + rank, "own", 0, 1});
  replay_by_graph(recorded, [](std::size_t number) { return (std::uint64_t{2} << 32U) + 10 + (number - 2) % in_graph; });
  for (std::uint32_t i = 0; i < in_graph; ++i) {
    bool const is_own = own_first && i == 0;
    profkit::collective_record captured;
    captured.is_captured = true;
    captured.function = function;
    captured.datatype = captured.algorithm = captured.protocol = recorded.collectives.front().datatype;
    captured.communicator = is_own ? 2 : i % 2;
    captured.path = is_own ? 0 : i % 2 == 0 ? paths.first : paths.second;
    recorded.collectives.push_back(captured);
    recorded.graph_nodes.push_back({(std::uint64_t{2} << 32U) + 10 + i, captured.path});
  }
  return profkit::job_rank_of(profkit::analyze(recorded), rank, "");
}

}  // namespace

TEST_CASE("collectives of two communicators in one CUDA graph are matched by the scopes of their captures", "[ranks]") {
  profkit::job_summary const numbered = profkit::summarize_job(recorded_job("slowgpu", 2));
  profkit::job_summary const job =
      profkit::summarize_job({with_two_communicators(0, {1, 2}, false), with_two_communicators(1, {1, 2}, false)});
  CHECK(job.matched == 302);
  CHECK(job.unknown + job.incomplete + job.contradictory == 0);
  REQUIRE(job.straggler);
  CHECK(job.straggler->rank == 1);
  for (std::size_t rank = 0; rank < 2; ++rank) CHECK(job.ranks[rank].transfer.count() == Approx(numbered.ranks[rank].transfer.count()));
  // A collective of a third communicator on one rank does not shift those of the others: one of its rank less is matched in each step.
  profkit::job_summary const shifted =
      profkit::summarize_job({with_two_communicators(0, {1, 2}, false), with_two_communicators(1, {1, 2}, true)});
  CHECK(shifted.matched == 62 + 20 * 11);
  CHECK(shifted.contradictory == 0);
}

TEST_CASE("collectives of two communicators that were captured in one scope of a CUDA graph are not matched", "[ranks]") {
  profkit::job_summary const job =
      profkit::summarize_job({with_two_communicators(0, {1, 1}, false), with_two_communicators(1, {1, 1}, false)});
  CHECK(job.matched == 62);
  CHECK(job.unknown_in_graphs == 2 * 20 * 12);
  // One rank that knows does not match its collectives with others.
  profkit::job_summary const one =
      profkit::summarize_job({with_two_communicators(0, {1, 2}, false), with_two_communicators(1, {1, 1}, false)});
  CHECK(one.matched == 62);
  CHECK_FALSE(one.straggler);
}

TEST_CASE("sends and receives of NCCL are matched, and the late partner is named", "[ranks]") {
  profkit::detail::own_vector<profkit::job_rank> ranks;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    profkit::profile recorded = profkit::load(TEST_RANKS "/slowgpu/rank" + std::to_string(rank) + ".profile");
    std::uint64_t number = 0;
    for (profkit::collective_record& each : recorded.collectives) {
      each.side = rank == 0 ? profkit::message_side::send : profkit::message_side::receive;
      each.partner = 1 - rank;
      each.sequence = number++;
      each.function = recorded.collectives.front().function;
    }
    ranks.push_back(profkit::job_rank_of(profkit::analyze(recorded), rank, ""));
  }
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK(job.incomplete + job.unknown + job.contradictory == 0);
  REQUIRE_FALSE(job.messages.empty());
  for (profkit::job_message_summary const& each : job.messages) CHECK(each.is_late_sender == (each.rank == 1));
  CHECK(job.messages.front().rank == 0);
  CHECK(job.messages.front().partner == 1);
  CHECK_FALSE(job.messages.front().is_late_sender);
  REQUIRE(job.straggler);
  CHECK(job.straggler->rank == 1);
  CHECK(job.straggler->path == "step/forward/extra");
  CHECK(job.straggler->is_gpu_time);
  CHECK(job.straggler->excess.count() == Approx(3.0).epsilon(0.05));
}

TEST_CASE("NCCL kernels without a collected collective are counted, and a rank with only such kernels says why", "[ranks]") {
  // As if the kernels had run in a CUDA graph, or as if launches had not been seen when they happened.
  auto const without_collectives = [](std::uint32_t rank, std::size_t share, bool is_in_graph, std::size_t first = 0) {
    profkit::profile recorded = profkit::load(std::string{TEST_RANKS "/even/rank"} + std::to_string(rank) + ".profile");
    std::size_t kernels = 0;
    for (profkit::gpu_operation_record& each : recorded.gpu_operations) {
      if (recorded.gpu_names[each.name].name.rfind("ncclDevKernel", 0) != 0) continue;
      std::size_t const number = kernels++;
      if (number < first || number % share != 0) continue;
      if (is_in_graph) each.graph_node = 1;
      for (profkit::collective_record& issued : recorded.collectives) {
        if (issued.correlation == each.correlation) issued.correlation = 0;
      }
    }
    recorded.has_all_api_calls = !is_in_graph;
    recorded.communicators.push_back({});  // with several communicators, nothing says which one a graph uses
    return profkit::job_rank_of(profkit::analyze(recorded), rank, "rank" + std::to_string(rank) + ".profile");
  };
  profkit::job_summary const some = profkit::summarize_job({without_collectives(0, 3, true), without_collectives(1, 3, true)});
  CHECK(some.unknown == 202);
  CHECK(some.unknown_in_graphs == 202);
  CHECK(some.matched == 201);
  CHECK(some.problems.empty());
  std::string const quality = profkit::ranks_json(some);
  CHECK_THAT(quality, ContainsSubstring("\"unknown\": 202") && ContainsSubstring("\"unknown_in_graphs\": 202"));

  profkit::job_summary const warmup = profkit::summarize_job({without_collectives(0, 1, true, 20), without_collectives(1, 1, true, 20)});
  CHECK(warmup.matched == 20);
  CHECK(warmup.steps == 0);
  CHECK(warmup.measured_steps == 20);
  CHECK(warmup.warmup_steps == 5);

  profkit::job_summary const no_numbers = profkit::summarize_job({without_collectives(0, 1, true), without_collectives(1, 1, false)});
  CHECK(no_numbers.unknown == 604);
  CHECK(no_numbers.unknown_in_graphs == 302);
  REQUIRE(no_numbers.problems.size() == 2);
  CHECK(no_numbers.problems[0] ==
        "rank 0 (rank0.profile): its 302 NCCL kernels ran in CUDA graphs, and of several communicators it is unknown which one they use");
  CHECK_THAT(no_numbers.problems[1], ContainsSubstring("its 302 NCCL kernels have no collective, because kernel_options::all_api_calls"));
}

TEST_CASE("without a GPU, the straggler is named with its scope on the host", "[ranks]") {
  for (auto const& [slow, path] : std::map<std::uint32_t, char const*>{{1, "step/data"}, {2, "step/forward"}, {3, "step/backward"}}) {
    INFO(path);
    profkit::detail::own_vector<profkit::job_rank> const ranks = job_on_hosts(slow, slow);
    CHECK(wrong_sums(ranks) == 0);
    profkit::job_summary const job = profkit::summarize_job(ranks);
    CHECK(job.matched == 20);
    REQUIRE(job.straggler);
    CHECK(job.straggler->rank == 1);
    CHECK(job.straggler->path == path);
    CHECK(job.straggler->is_host_only);
    CHECK(job.straggler->excess.count() == Approx(1.5).margin(0.15));
    CHECK(sum_of(job.budget) == Approx(job.step.count()));
    CHECK(job.budget[3].time < milliseconds{0.01});
  }
  int named = 0;
  for (std::uint32_t seed = 0; seed < 20; ++seed) named += profkit::summarize_job(job_on_hosts(0, seed)).straggler ? 1 : 0;
  CHECK(named == 0);
}

TEST_CASE("on one machine, times are compared without correcting clocks", "[ranks]") {
  profkit::detail::own_vector<profkit::job_rank> ranks = job_on_hosts(0, 1);
  for (profkit::job_rank& each : ranks) each.environment.host = "node";
  auto& slow = ranks[2].timeline.collectives;
  for (profkit::timeline_collective& each : slow) each.time.end += std::chrono::milliseconds{1};  // leaves late each time
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK(job.clocks.is_one_clock);
  CHECK(job.clocks.bound.count() == 0.0);
  CHECK(job.ranks[2].clock_offset.count() == 0.0);
  CHECK(wrong_sums(ranks) == 0);
  for (profkit::job_rank& each : ranks) each.environment.host = "node" + std::to_string(each.rank);
  CHECK_FALSE(profkit::summarize_job(ranks).clocks.is_one_clock);
}

TEST_CASE("nobody waits for a rank that arrives after another has left", "[ranks]") {
  profkit::detail::own_vector<profkit::job_rank> ranks = job_on_hosts(0, 1);
  auto const change = [&](nanoseconds later) {
    profkit::detail::own_vector<profkit::job_rank> changed = ranks;
    for (profkit::timeline_collective& each : changed[1].timeline.collectives) {
      each.time.end += std::chrono::milliseconds{5};
      each.time.begin = changed[1].timeline.collectives.front().time.begin < each.time.begin ? each.time.end - later : each.time.begin;
      each.posted = {};
    }
    return profkit::summarize_job(changed);
  };
  // The others have left 5 ms before the last rank does.
  profkit::job_summary const late = change(std::chrono::milliseconds{1});
  CHECK_FALSE(late.straggler);
  CHECK(late.ranks[0].waiting.value().count() < 0.2);
  CHECK_FALSE(late.collectives.at(0).bus_bandwidth);
  profkit::job_summary const awaited = profkit::summarize_job(ranks);
  CHECK(awaited.collectives.at(0).bus_bandwidth);
}

TEST_CASE("scopes whose time differs on one rank are listed with their times", "[ranks]") {
  profkit::job_summary const gpu = profkit::summarize_job(recorded_job("slowgpu", 2));
  REQUIRE_FALSE(gpu.differing_scopes.empty());
  profkit::scope_difference_summary const& extra = gpu.differing_scopes.front();
  CHECK(extra.path == "step/forward/extra");
  CHECK(extra.rank == 1);
  CHECK(extra.is_gpu_time);
  CHECK(extra.own.count() == Approx(3.0).margin(0.1));
  CHECK(extra.others.count() == 0.0);

  profkit::job_summary const host = profkit::summarize_job(recorded_job("four", 4));
  REQUIRE_FALSE(host.differing_scopes.empty());
  profkit::scope_difference_summary const& data = host.differing_scopes.front();
  CHECK(data.path == "step/data");
  CHECK(data.rank == 1);
  CHECK_FALSE(data.is_gpu_time);
  CHECK(data.own.count() == Approx(3.07).margin(0.1));
  for (profkit::scope_difference_summary const& each : host.differing_scopes)
    CHECK(std::abs((each.own - each.others).count()) > 0.01 * host.step.count());

  made_job made;
  made.jitter = nanoseconds{10};
  CHECK(profkit::summarize_job(made.make()).differing_scopes.empty());
}

TEST_CASE("functions of host samples are merged over the ranks, and the rank where one takes longer is named", "[ranks]") {
  made_job made;
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  for (profkit::job_rank& each : ranks) {
    std::uint64_t const steps = each.measured_steps;
    auto const function = [&](char const* name, std::uint64_t samples) {
      profkit::sampled_function_summary result;
      result.name = name;
      result.samples = samples * steps;
      result.time = profkit::milliseconds{0.01 * static_cast<double>(samples * steps)};
      return result;
    };
    profkit::sampled_scope_summary scope;
    scope.path = "step/data";
    scope.functions = {function("decode", each.rank == 2 ? 90 : 30), function("copy", 30 + each.rank % 2)};
    if (each.rank == 2) scope.functions.push_back(function("retry", 20));
    each.host_samples.emplace();
    each.host_samples->samples = 100;
    each.host_samples->scopes = {scope};
  }
  ranks[3].host_samples.reset();
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK(job.sampled_ranks == 3);
  REQUIRE(job.functions.size() == 3);
  profkit::job_function_summary const& decode = job.functions[0];
  CHECK(decode.path == "step/data");
  CHECK(decode.name == "decode");
  CHECK(decode.samples == 150 * made.make().front().measured_steps);
  CHECK(decode.time.count() == Approx(0.5));
  CHECK(decode.rank == 2);
  CHECK(decode.own.count() == Approx(0.9));
  CHECK(decode.others.count() == Approx(0.3));
  CHECK(decode.is_different);
  CHECK(job.functions[1].name == "copy");
  CHECK_FALSE(job.functions[1].is_different);
  CHECK(job.functions[2].name == "retry");  // the others did not need this function
  CHECK(job.functions[2].others.count() == 0.0);
  CHECK(job.functions[2].is_different);
  CHECK(profkit::summarize_job(made.make()).functions.empty());
}

TEST_CASE("the step shown is the one nearest to the median, with all ranks on one clock", "[ranks]") {
  profkit::job_summary const job = profkit::summarize_job(recorded_job("four", 4));
  REQUIRE(job.one_step);
  REQUIRE(job.one_step->ranks.size() == 4);
  for (profkit::job_step_rank const& each : job.one_step->ranks) {
    CHECK(each.collectives.size() == 12);
    double end = 0.0;
    for (profkit::job_span const& span : each.computing) {
      CHECK(span.begin.count() >= end);
      end = span.end.count();
    }
    CHECK(end == Approx(job.step.count()).epsilon(0.05));
    for (profkit::job_span_of_collective const& one : each.collectives) {
      CHECK(one.time.begin.count() > 0.0);
      CHECK(one.waiting.count() <= (one.time.end - one.time.begin).count());
    }
    // All ranks leave the last collective together.
    double const distance = (each.collectives.back().time.end - job.one_step->ranks.front().collectives.back().time.end).count();
    CHECK(std::abs(distance) <= 2.0 * job.clocks.residual_p95.count());
  }

  made_job made;
  made.ranks = 20;
  made.slow_rank = 13;
  made.delay = std::chrono::milliseconds{3};
  profkit::job_summary const many = profkit::summarize_job(made.make());
  REQUIRE(many.one_step);
  CHECK(many.one_step->ranks.size() == 8);
  CHECK(std::any_of(many.one_step->ranks.begin(), many.one_step->ranks.end(), [](auto const& each) { return each.rank == 13; }));
}

TEST_CASE("clocks that are wrong by seconds and drift change waits by less than the bound", "[ranks]") {
  made_job made;
  made.slow_rank = 2;
  made.delay = nanoseconds{200'000};
  made.steps = 100;
  profkit::job_summary const wanted = profkit::summarize_job(made.make());
  made.hosts = {"a", "b", "c", "d"};
  made.ahead = {std::chrono::seconds{-5}, std::chrono::seconds{5}, std::chrono::milliseconds{1}, std::chrono::microseconds{-3}};
  made.drift = {50e-6, -50e-6, 0.0, 20e-6};
  profkit::detail::own_vector<profkit::job_rank> const shifted = made.make();
  CHECK(wrong_sums(shifted) == 0);
  profkit::job_summary const job = profkit::summarize_job(shifted);
  CHECK(job.clocks.has_many_hosts);
  CHECK(job.clocks.bound < milliseconds{0.01});
  double const bound = job.clocks.bound.count() * made.collectives + 1e-4;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    INFO(rank);
    CHECK(waiting_ms(job.ranks[rank]) == Approx(waiting_ms(wanted.ranks[rank])).margin(bound));
    CHECK(job.ranks[rank].imposed.count() == Approx(wanted.ranks[rank].imposed.count()).margin(bound));
  }
  REQUIRE(job.straggler);
  CHECK(job.straggler->rank == 2);
  CHECK(job.straggler->path == "step/data");
}

TEST_CASE("with any clocks, waits are correct within the bound", "[ranks]") {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    made_job made;
    made.seed = seed;
    made.steps = 60;
    made.jitter = std::chrono::microseconds{200};
    made.hosts = {"a", "b", "c", "d"};
    made.end_noise = std::chrono::microseconds{5};
    profkit::detail::own_vector<profkit::job_rank> const right = made.make();
    std::mt19937_64 random{seed};
    std::uniform_real_distribution<double> any{-1.0, 1.0};
    for (std::uint32_t rank = 0; rank < made.ranks; ++rank) {
      made.ahead.push_back(nanoseconds{static_cast<std::int64_t>(5e9 * any(random))});
      made.drift.push_back(50e-6 * any(random));
    }
    profkit::detail::own_vector<profkit::job_rank> const shifted = made.make();
    profkit::job_summary const job = profkit::summarize_job(shifted);
    CHECK(job.clocks.bound > milliseconds{0.002});
    CHECK(job.clocks.bound < milliseconds{0.02});
    CHECK(wrong_sums(shifted) == 0);
    std::vector<profkit::detail::matched_collective> const all = profkit::detail::collective_matcher{shifted}.take();
    profkit::detail::rank_clocks const clocks{shifted, all};
    int outside = 0;
    int waits = 0;
    std::vector<double> difference(made.ranks);
    for (profkit::detail::matched_collective const& each : all) {
      profkit::timestamp latest{};
      for (profkit::detail::participant const& one : each.on) latest = std::max(latest, collective_of(right, one).time.begin);
      profkit::detail::collective_waits const found{shifted, each, clocks};
      for (std::size_t i = 0; i < each.on.size(); ++i) {
        double const off = milliseconds{found.by_rank[i].waiting - (latest - collective_of(right, each.on[i]).time.begin)}.count();
        ++waits;
        outside += std::abs(off) > job.clocks.bound.count() ? 1 : 0;
        difference[i] += off / static_cast<double>(all.size());
      }
    }
    CHECK(outside <= waits / 20);
    for (double const each : difference) CHECK(std::abs(each) < job.clocks.bound.count());
  }
}

TEST_CASE("the offset of a clock is its value in the middle of the run", "[ranks]") {
  made_job made;
  made.steps = 200;
  made.hosts = {"a", "b", "c", "d"};
  made.drift = {100e-6, 0.0, 0.0, 0.0};
  profkit::detail::own_vector<profkit::job_rank> const ranks = made.make();
  auto const& own = ranks[0].timeline.collectives;
  milliseconds const length{own.back().time.end - own.front().time.begin};
  profkit::job_summary const job = profkit::summarize_job(ranks);
  // The offset is relative to the mean of the four clocks, which includes its own.
  CHECK(job.ranks[0].clock_drift == Approx(75e-6).epsilon(0.02));
  CHECK(job.ranks[0].clock_offset.count() == Approx(0.5 * length.count() * 75e-6).epsilon(0.02));
}

TEST_CASE("several ranks that are equally slow are named together", "[ranks]") {
  made_job made;
  made.ranks = 8;
  made.hosts = {"a", "b"};
  made.slow_rank = 1;
  made.also_slow = {4};
  made.delay = std::chrono::milliseconds{2};
  profkit::job_summary const job = profkit::summarize_job(made.make());
  REQUIRE(job.straggler);
  CHECK(job.straggler->path == "step/data");
  CHECK(job.straggler->excess.count() == Approx(2.0).margin(0.1));
  CHECK((job.straggler->rank == 1 || job.straggler->rank == 4));
  CHECK(job.straggler->also == std::vector<std::size_t>{job.straggler->rank == 1 ? std::size_t{4} : std::size_t{1}});
  CHECK_FALSE(job.straggler->is_whole_host);
  CHECK_THAT(profkit::detail::job_headline(job), ContainsSubstring(" and ") && ContainsSubstring("hold the others up by 2"));
  CHECK_THAT(profkit::ranks_json(job), ContainsSubstring("\"is_whole_host\": false"));
}

TEST_CASE("a host on which all ranks are slow is named", "[ranks]") {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    made_job made;
    made.seed = seed;
    made.ranks = 12;
    made.hosts = {"a", "b", "c"};
    made.slow_rank = 1;
    made.also_slow = {4, 7, 10};
    made.delay = std::chrono::milliseconds{2};
    made.is_delay_on_gpu = false;
    profkit::job_summary const job = profkit::summarize_job(made.make());
    REQUIRE(job.straggler);
    CHECK(job.straggler->also.size() == 3);
    CHECK(job.straggler->is_whole_host);
    CHECK_THAT(profkit::detail::job_headline(job), ContainsSubstring("All 4 ranks of b hold the others up by 2") &&
                                                       ContainsSubstring("their GPUs wait") &&
                                                       ContainsSubstring("while their hosts are in data"));
  }
}

TEST_CASE("a step that the program excludes counts neither as measured nor as warm-up", "[ranks]") {
  made_job made;
  made.steps = 20;
  made.warmup = 2;
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  // Rank 1 is very late in the excluded step, which is no start-up wait.
  std::uint64_t const excluded = 7;
  for (profkit::job_rank& each : ranks) {
    for (profkit::timeline_step& step : each.timeline.steps) step.is_measured = step.is_measured && step.index != excluded;
    for (profkit::timeline_collective& one : each.timeline.collectives) {
      if (one.step == excluded && each.rank != 1) one.time.begin -= std::chrono::seconds{1};
    }
  }
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK(job.warmup_steps == 2);
  CHECK(job.measured_steps == 17);
  CHECK_FALSE(job.startup);
}

TEST_CASE("a rank that holds the others up because it waits for a processor is told to get its own", "[ranks]") {
  made_job made;
  made.is_delay_on_gpu = false;
  made.delay = std::chrono::milliseconds{2};
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  auto const finding_at = [&](double share) {
    for (profkit::job_rank& each : ranks) each.environment.host_speed = profkit::host_speed_record{{}, {}, 0.01};
    ranks[made.slow_rank].environment.host_speed->waiting = share;
    profkit::job_summary const job = profkit::summarize_job(ranks);
    REQUIRE(job.straggler);
    profkit::job_rank_summary const& slow = job.ranks[job.straggler->rank];
    CHECK(slow.processor_wait.value() / slow.host_step == Approx(share));
    return profkit::detail::straggler_finding(job);
  };
  // The delay of 2 ms is 0.3 of a step.
  profkit::detail::finding const busy = finding_at(0.2);
  CHECK_THAT(busy.text, ContainsSubstring("of each step for a processor, because other threads use it."));
  CHECK_THAT(busy.action, ContainsSubstring("Give rank 0 (node) processors of its own: without the difference, a step can be at most 2"));
  profkit::detail::finding const idle = finding_at(0.05);
  CHECK_THAT(idle.text, !ContainsSubstring("processor"));
  CHECK_THAT(idle.action, ContainsSubstring("Look at data on rank 0 (node)"));
  for (profkit::job_rank& each : ranks) each.environment.host_speed.reset();
  CHECK_FALSE(profkit::summarize_job(ranks).ranks.front().processor_wait);
}

TEST_CASE("chance delays name no rank", "[ranks]") {
  int named = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    made_job made;
    made.seed = seed;
    made.ranks = 2 + seed % 3;
    made.jitter = nanoseconds{400'000};
    if (profkit::summarize_job(made.make()).straggler) ++named;
  }
  CHECK(named <= 4);  // 2 %
}

TEST_CASE("a slow GPU is named although the waiting GPUs compute, more slowly, beside the collectives", "[ranks]") {
  made_job made;
  made.delay = nanoseconds{300'000};
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  auto const beside_computing = [&](nanoseconds slowdown) {
    for (profkit::job_rank& rank : ranks) {
      for (profkit::timeline_collective& each : rank.timeline.collectives) {
        each.exposed.clear();
        if (rank.rank != made.slow_rank) each.busy.back().time += slowdown / made.collectives;
      }
      for (profkit::timeline_step& each : rank.timeline.steps) {
        each.exposed = {};
        each.compute = *each.next_begin - each.begin;
      }
    }
    return profkit::summarize_job(ranks);
  };
  profkit::job_summary const job = beside_computing(made.delay);
  REQUIRE(job.straggler);
  CHECK(job.straggler->rank == made.slow_rank);
  CHECK(job.straggler->path == "step/data");
  CHECK(job.straggler->is_gpu_time);
  CHECK(job.straggler->excess.count() == Approx(0.3).margin(0.02));
  CHECK(job.ranks[made.slow_rank].imposed_exposed.count() == 0.0);

  // Without an excess, the delay is hidden.
  for (profkit::timeline_collective& each : ranks[made.slow_rank].timeline.collectives) {
    if (each.busy.size() > 1) each.busy.erase(each.busy.begin());
  }
  CHECK_FALSE(beside_computing({}).straggler);
}

TEST_CASE("ranks that are missing, damaged or different are named, and the others are reported", "[ranks]") {
  made_job made;
  made.ranks = 6;
  made.slow_rank = 4;
  made.delay = nanoseconds{500'000};
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  ranks[1].problem = "the file is cut off";
  ranks[3].timeline.steps.resize(12);  // it died
  ranks[3].timeline.collectives.resize(12U * made.collectives);
  ranks[3].measured_steps = 10;
  ranks[5].environment.command = {"another"};
  ranks.erase(ranks.begin() + 2);
  profkit::job_summary const job = profkit::summarize_job(std::move(ranks));
  REQUIRE(job.straggler);
  CHECK(job.ranks[job.straggler->rank].rank == 4);
  CHECK(job.ranks.size() == 4);
  CHECK(job.measured_steps == 10);
  CHECK(job.incomplete == 8 * made.collectives);
  std::string all;
  for (std::string const& each : job.problems) all += each + "\n";
  CHECK_THAT(all, ContainsSubstring("rank 1 (rank1): the file is cut off") && ContainsSubstring("rank 2 has no file") &&
                      ContainsSubstring("measured steps: 10 on rank 3, 18 on the others") &&
                      ContainsSubstring("program: another on rank 5, train on the others"));
}

TEST_CASE("the last ranks are missing if the others recorded a larger job", "[ranks]") {
  made_job made;
  made.ranks = 7;
  profkit::detail::own_vector<profkit::job_rank> ranks = made.make();
  for (profkit::job_rank& each : ranks) each.environment.rank = profkit::rank_record{each.rank, made.ranks};
  CHECK(profkit::summarize_job(ranks).problems.empty());
  ranks.resize(4);
  ranks.erase(ranks.begin() + 1);
  ranks[0].environment.rank.reset();  // started without its launcher
  profkit::job_summary const job = profkit::summarize_job(ranks);
  CHECK(job.ranks_expected == 7);
  REQUIRE(job.problems.size() == 1);
  CHECK(job.problems[0] == "ranks 1, 4, 5, 6 have no file");
  ranks[1].environment.rank->size = 4;
  CHECK(profkit::summarize_job(ranks).problems.at(1) == "the files are of jobs with 4 and 7 ranks: some may be left from another run");
  for (profkit::job_rank& each : ranks) each.problem = "the file is cut off";
  CHECK(profkit::summarize_job(ranks).ranks_expected == 7);
}

TEST_CASE("jobs without a usable rank have a summary", "[ranks]") {
  CHECK(profkit::summarize_job({}).steps == 0);
  made_job made;
  made.ranks = 1;
  CHECK(profkit::summarize_job(made.make()).steps == 0);
  profkit::detail::own_vector<profkit::job_rank> apart = made_job{}.make();
  for (profkit::job_rank& each : apart) each.timeline.kinds[0].communicator = each.rank + 1;
  CHECK(profkit::summarize_job(std::move(apart)).matched == 0);
}

TEST_CASE("128 ranks are merged, and the slow one is named", "[ranks]") {
  made_job made;
  made.ranks = 128;
  made.slow_rank = 77;
  made.delay = nanoseconds{300'000};
  made.is_delay_on_gpu = false;
  profkit::job_summary const job = profkit::summarize_job(made.make());
  REQUIRE(job.straggler);
  CHECK(job.straggler->rank == 77);
  CHECK(job.straggler->path == "step/data");
  CHECK_FALSE(job.straggler->is_gpu_time);
  CHECK(job.straggler->excess.count() == Approx(0.3).margin(0.01));
}

TEST_CASE("the excess is charged to the innermost scope with at least half of it", "[ranks]") {
  using profkit::detail::scope_excess;
  using profkit::detail::scope_with_excess;
  CHECK(scope_with_excess({{"step/forward/a", {5, 1}}, {"step/forward/b", {2, 1}}, {"step/data", {1, 0}}})->first == "step/forward/a");
  CHECK(scope_with_excess({{"step/forward/a", {2, 1}}, {"step/forward/b", {2, 1}}, {"step/forward/c", {2, 1}}})->first == "step/forward");
  CHECK(scope_with_excess({{"", {5, 0}}, {"step/data", {1, 0}}})->first.empty());
  CHECK_FALSE(scope_with_excess({{"step/data", {1, 2}}}));
}

TEST_CASE("a rank whose GPU is used less than those of other ranks is named", "[ranks]") {
  profkit::detail::own_vector<profkit::job_rank> ranks = job_on_hosts(0, 1);
  for (profkit::job_rank& each : ranks) {
    double const share = each.rank == 1 ? 0.5 : 0.9;
    each.utilization.resize(1);
    each.utilization[0].sm_active = profkit::share_of_unit{share, share, share};
    each.utilization[0].dram = profkit::share_of_unit{0.3, 0.3, 0.3};
  }
  CHECK(profkit::summarize_job(ranks).differences == std::vector<std::string>{"active SMs: 50 % on rank 1, 90 % is the median"});
}

TEST_CASE("the collective of an NCCL kernel is known from its name", "[ranks]") {
  profkit::collective_kind const kind =
      profkit::detail::kind_of_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
  CHECK(kind.function == "AllReduce");
  CHECK(kind.datatype == "f32");
  CHECK(kind.algorithm == "RING");
  CHECK(kind.protocol == "LL");
  CHECK(profkit::detail::kind_of_kernel("ncclDevKernel_Broadcast_RING_LL(int)").datatype.empty());
  CHECK(profkit::detail::is_collective_kernel("ncclDevKernel_ReduceScatter_Sum_bf16_NVLS_SIMPLE"));
  CHECK_FALSE(profkit::detail::is_collective_kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"));
  CHECK_FALSE(profkit::detail::is_collective_kernel("my_ncclDevKernel"));
  for (char const* const name : {"AllReduce", "all_reduce", "MPI_Allreduce", "allreduce"})
    CHECK(profkit::detail::plain_function(name) == "allreduce");
  CHECK(profkit::detail::bus_factor("AllReduce", 4) == 1.5);
  CHECK(profkit::detail::bus_factor("AllGather", 4) == 3.0);
  CHECK_FALSE(profkit::detail::bus_factor("SendRecv", 4));
}
