// SPDX-License-Identifier: Apache-2.0
#include <profkit/find_rank.hpp>
#include <profkit/impl/session/session_impl.hpp>
#include <profkit/options.hpp>
#include <profkit/report.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace {

using variables = std::map<std::string, std::string>;

profkit::detail::found_rank rank_in(variables const& set) {
  return profkit::detail::find_rank([&](char const* name) {
    auto const found = set.find(name);
    return found == set.end() ? nullptr : found->second.c_str();
  });
}

/// Environment variables that are removed at the end of the test.
class set_variables {
 public:
  explicit set_variables(variables set) : set_{std::move(set)} {
    for (auto const& [name, value] : set_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  set_variables(set_variables const&) = delete;
  set_variables& operator=(set_variables const&) = delete;
  ~set_variables() {
    for (auto const& [name, value] : set_) ::unsetenv(name.c_str());
  }

 private:
  variables set_;
};

profkit::rank_record rank_of(std::uint32_t rank, std::uint32_t size) {
  profkit::rank_record result;
  result.rank = rank;
  result.size = size;
  return result;
}

/// Paths become absolute when a session starts.
std::string in_current_folder(std::string const& path) { return (std::filesystem::current_path() / path).string(); }

}  // namespace

TEST_CASE("the rank is read from the variables of the launcher that started the process", "[rank]") {
  struct expectation {
    char const* why;
    variables set;
    char const* launcher;  // "" if the process is a run of its own
    std::uint32_t rank = 0;
    std::uint32_t size = 0;
    std::optional<std::uint32_t> local_rank{};
    std::uint32_t restart = 0;
  };
  auto const with = [](variables set, variables const& more) {
    for (auto const& [name, value] : more) set[name] = value;
    return set;
  };
  variables const open_mpi{{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}};
  variables const job{{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}};
  variables const batch{
      {"SLURM_JOB_ID", "12"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_NPROCS", "8"}, {"SLURM_LOCALID", "0"}};
  variables const one{{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}};
  variables const pmi2{{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}, {"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_LOCALID", "1"}};
  variables const srun{{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "8"}};
  variables const one_of_mpirun{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}};
  expectation const all[] = {
      {"no launcher", {}, ""},
      {"torchrun",
       {{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}, {"TORCHELASTIC_RESTART_COUNT", "2"}, {"MASTER_ADDR", "node1"}},
       "torchrun",
       5,
       8,
       1,
       2},
      {"Open MPI", open_mpi, "Open MPI", 3, 4, 1},
      {"MPICH", {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}, "MPICH", 0, 2},
      {"Slurm",
       {{"SLURM_PROCID", "1023"}, {"SLURM_STEP_NUM_TASKS", "1024"}, {"SLURM_LOCALID", "7"}, {"SLURM_RESTART_COUNT", "1"}},
       "Slurm",
       1023,
       1024,
       7,
       1},
      {"a launcher inside a Slurm job", with(job, {{"RANK", "9"}, {"WORLD_SIZE", "16"}}), "torchrun", 9, 16},
      {"incomplete variables of a launcher", with(job, {{"WORLD_SIZE", "16"}}), "Slurm", 0, 2},
      {"a Slurm batch script is no rank of the job", batch, ""},
      {"the shell of salloc, which srun --interactive --preserve-env starts", with(batch, {{"SLURM_STEP_NUM_TASKS", "1"}}), "Slurm", 0, 1,
       0},
      {"srun -n 2 in a job of 8", with(batch, {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}}), "Slurm", 1, 2, 0},
      {"a container gets a part of the variables of a task",
       {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "0"}},
       "Slurm",
       0,
       8,
       0},
      {"one rank", one, "torchrun", 0, 1, 0},
      {"one rank yields to a later launcher with several", with(one, open_mpi), "Open MPI", 3, 4, 1},
      {"srun starts the daemons of mpirun", with(with(one, open_mpi), srun), "Open MPI", 3, 4, 1},
      {"srun starts single ranks of mpirun", with(with(with(one, open_mpi), srun), one_of_mpirun), "Slurm", 1, 8},
      {"the later launcher is invalid", with(with(with(one, open_mpi), srun), with(one_of_mpirun, {{"SLURM_STEP_NUM_TASKS", "x"}})),
       "torchrun", 0, 1, 0},
      {"empty variables count as unset", with(open_mpi, {{"RANK", ""}, {"WORLD_SIZE", ""}}), "Open MPI", 3, 4, 1},
      {"an empty rank", with(open_mpi, {{"RANK", ""}, {"WORLD_SIZE", "3"}}), "Open MPI", 3, 4, 1},
      {"an empty size", with(open_mpi, {{"RANK", "x"}, {"WORLD_SIZE", ""}}), "Open MPI", 3, 4, 1},
      {"an empty rank alone", {{"RANK", ""}, {"WORLD_SIZE", "3"}}, ""},
      {"the local rank is that of another launcher with the same rank and size", pmi2, "MPICH", 5, 8, 1},
      {"the launcher's own local rank", with(pmi2, {{"MPI_LOCALRANKID", "3"}}), "MPICH", 5, 8, 3},
      {"the tasks of the step are the daemons of mpirun, one on each host",
       with(pmi2, {{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "1"}, {"SLURM_LOCALID", "0"}}), "MPICH", 5, 8},
      {"export RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE", with(pmi2, {{"RANK", "5"}, {"WORLD_SIZE", "8"}}), "torchrun", 5, 8, 1},
  };
  for (expectation const& each : all) {
    INFO(each.why);
    auto const found = rank_in(each.set);
    CHECK(found.wrong.empty());
    CHECK(found.rank.has_value() == (*each.launcher != '\0'));
    if (!found.rank) continue;
    CHECK(found.rank->launcher == each.launcher);
    CHECK(found.rank->rank == each.rank);
    CHECK(found.rank->size == each.size);
    CHECK(found.rank->local_rank == each.local_rank);
    CHECK(found.rank->restart == each.restart);
  }
}

TEST_CASE("variables without a valid rank are named, and the process is a separate run", "[rank]") {
  for (auto const& [rank, size] : variables{{"4", "5x"}, {"x", "8"}, {"-1", "8 "}, {"8", "8"}, {"0", "0"}, {"1", "4294967296"}}) {
    auto const found = rank_in({{"RANK", rank}, {"WORLD_SIZE", size}});
    CHECK_FALSE(found.rank);
    CHECK(found.wrong == "RANK=" + rank + " and WORLD_SIZE=" + size);
  }
  auto const found = rank_in({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "one"}, {"TORCHELASTIC_RESTART_COUNT", ""}});
  REQUIRE(found.rank);
  CHECK(found.wrong.empty());
  CHECK_FALSE(found.rank->local_rank);
  CHECK(found.rank->restart == 0);
}

TEST_CASE("paths have placeholders for the process, the rank and the host", "[rank]") {
  char host[256] = {};
  REQUIRE(::gethostname(host, sizeof host - 1) == 0);
  using profkit::detail::process_path;
  CHECK(process_path("out/%h/%r-%p", 7) == in_current_folder(std::string{"out/"} + host + "/7-" + std::to_string(::getpid())));
  CHECK(process_path("/out/%r", 7) == "/out/7");
  CHECK(process_path("100%", 7) == in_current_folder("100%"));
  CHECK(process_path("%x%%r", 7) == in_current_folder("%x%7"));
  CHECK(process_path("", 7).empty());
}

TEST_CASE("each of several ranks writes its own files, and rank 0 prints", "[rank]") {
  auto const options_of = [](char const* text, std::optional<profkit::rank_record> const& rank) {
    return profkit::detail::options_of_rank(profkit::options::parse(text), rank);
  };
  std::string const all = "report,report=full,report=every:1s,out=a/b,journal=j";
  auto const first = options_of(all.c_str(), rank_of(0, 4));
  CHECK(first.output_directory == in_current_folder("a/b/rank0"));
  CHECK(first.journal == in_current_folder("j.rank0"));
  CHECK(first.print_report);
  CHECK(first.full_report);
  auto const last = options_of(all.c_str(), rank_of(3, 4));
  CHECK(last.output_directory == in_current_folder("a/b/rank3"));
  CHECK(last.journal == in_current_folder("j.rank3"));
  CHECK(last.trace_file == in_current_folder("trace.rank3.json"));
  CHECK_FALSE(last.print_report);
  CHECK_FALSE(last.full_report);
  CHECK(last.report_every == std::chrono::seconds{1});  // replaces files, prints nothing
  CHECK(options_of("report=every:1s", rank_of(3, 4)).report_every.count() == 0);
  CHECK(options_of("report=every:1s", rank_of(0, 4)).report_every == std::chrono::seconds{1});
  CHECK(options_of("report=every:9", rank_of(3, 4)).report_every_steps == 0);
  CHECK(options_of("report=every:9,out=a", rank_of(3, 4)).report_every_steps == 9);
  CHECK(options_of("out=a/", rank_of(3, 4)).output_directory == in_current_folder("a/rank3"));
  CHECK(options_of("out=a/%r", rank_of(3, 4)).output_directory == in_current_folder("a/3"));
  CHECK(options_of("out=a/%p", rank_of(3, 4)).output_directory == in_current_folder("a/" + std::to_string(::getpid())));
  CHECK(options_of("journal=%r.journal", rank_of(3, 4)).journal == in_current_folder("3.journal"));
  for (auto const& alone : {std::optional<profkit::rank_record>{}, std::optional{rank_of(0, 1)}}) {
    auto const only = options_of(all.c_str(), alone);
    CHECK(only.output_directory == in_current_folder("a/b"));
    CHECK(only.journal == in_current_folder("j"));
    CHECK(only.trace_file == in_current_folder("trace.json"));
    CHECK(only.print_report);
    CHECK(options_of("out=%r", alone).output_directory == in_current_folder("0"));
  }
}

TEST_CASE("a session records its rank and writes the folder of its rank, unless rank=off", "[rank]") {
  std::filesystem::path const folder = std::filesystem::temp_directory_path() / ("profkit-rank-" + std::to_string(::getpid()));
  set_variables const of_launcher{{{"RANK", "2"}, {"WORLD_SIZE", "3"}}};
  CHECK(profkit::process_rank()->rank == 2);
  for (bool const uses_rank : {true, false}) {
    profkit::options options = profkit::options::parse(uses_rank ? "warmup=0,steps=1" : "warmup=0,steps=1,rank=off");
    options.output_directory = (folder / (uses_rank ? "ranks" : "one")).string();
    profkit::session session{options};
    for ([[maybe_unused]] profkit::step step : session) continue;
    auto const rank = session.report().profile().environment.rank;
    CHECK(rank.has_value() == uses_rank);
    if (rank) CHECK(rank->rank == 2);
  }
  CHECK(std::filesystem::exists(folder / "ranks" / "rank2" / "report.json"));
  CHECK_FALSE(std::filesystem::exists(folder / "ranks" / "report.json"));
  CHECK(std::filesystem::exists(folder / "one" / "report.json"));
  std::filesystem::remove_all(folder);
}
