// SPDX-License-Identifier: Apache-2.0
#include <profkit/find_rank.hpp>
#include <profkit/impl/session/rank_options.hpp>
#include <profkit/options.hpp>
#include <profkit/report.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

TEST_CASE("the rank is read from the variables of each launcher", "[rank]") {
  CHECK_FALSE(rank_in({}).rank);
  auto const torchrun =
      rank_in({{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}, {"TORCHELASTIC_RESTART_COUNT", "2"}, {"MASTER_ADDR", "node1"}})
          .rank;
  REQUIRE(torchrun);
  CHECK(torchrun->launcher == "torchrun");
  CHECK(torchrun->rank == 5);
  CHECK(torchrun->size == 8);
  CHECK(torchrun->local_rank == 1);
  CHECK(torchrun->restart == 2);
  auto const open_mpi = rank_in({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}}).rank;
  REQUIRE(open_mpi);
  CHECK(open_mpi->launcher == "Open MPI");
  CHECK(open_mpi->rank == 3);
  CHECK(open_mpi->local_rank == 0);
  auto const mpich = rank_in({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}).rank;
  REQUIRE(mpich);
  CHECK(mpich->launcher == "MPICH");
  CHECK_FALSE(mpich->local_rank);
  auto const slurm =
      rank_in({{"SLURM_PROCID", "1023"}, {"SLURM_STEP_NUM_TASKS", "1024"}, {"SLURM_LOCALID", "7"}, {"SLURM_RESTART_COUNT", "1"}}).rank;
  REQUIRE(slurm);
  CHECK(slurm->launcher == "Slurm");
  CHECK(slurm->rank == 1023);
  CHECK(slurm->restart == 1);
}

TEST_CASE("a launcher inside a Slurm job takes precedence, and incomplete variables of a launcher are ignored", "[rank]") {
  variables const job{{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}};
  variables inside = job;
  inside.insert({{"RANK", "9"}, {"WORLD_SIZE", "16"}});
  CHECK(rank_in(inside).rank->rank == 9);
  variables half = job;
  half.insert({"WORLD_SIZE", "16"});
  CHECK(rank_in(half).rank->launcher == "Slurm");
}

TEST_CASE("a Slurm batch script and the shell of salloc are not ranks of the job", "[rank]") {
  variables const batch{
      {"SLURM_JOB_ID", "12"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_NPROCS", "8"}, {"SLURM_LOCALID", "0"}};
  auto const plain = rank_in(batch);
  CHECK_FALSE(plain.rank);
  CHECK(plain.wrong.empty());
  variables shell = batch;  // salloc starts it by srun --interactive --preserve-env, which keeps SLURM_NTASKS of the job
  shell.insert({"SLURM_STEP_NUM_TASKS", "1"});
  CHECK(rank_in(shell).rank->size == 1);
  variables task = batch;
  task["SLURM_PROCID"] = "1";
  task["SLURM_STEP_NUM_TASKS"] = "2";  // srun -n 2 in the job of 8
  CHECK(rank_in(task).rank->rank == 1);
  CHECK(rank_in(task).rank->size == 2);
  variables container = batch;  // gets a part of the variables of a task
  container.erase("SLURM_JOB_ID");
  CHECK(rank_in(container).rank->size == 8);
}

TEST_CASE("a launcher with one rank yields to a later one with several ranks", "[rank]") {
  variables const image{{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}};
  CHECK(rank_in(image).rank->launcher == "torchrun");
  variables mpirun = image;
  mpirun.insert({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}});
  auto const found = rank_in(mpirun).rank;
  REQUIRE(found);
  CHECK(found->launcher == "Open MPI");
  CHECK(found->rank == 3);
  CHECK(found->size == 4);
  CHECK(found->local_rank == 1);
  mpirun.insert({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "8"}});  // srun starts the daemons of mpirun
  CHECK(rank_in(mpirun).rank->launcher == "Open MPI");
  mpirun["OMPI_COMM_WORLD_SIZE"] = "1";
  mpirun["OMPI_COMM_WORLD_RANK"] = "0";
  CHECK(rank_in(mpirun).rank->launcher == "Slurm");
  mpirun["SLURM_STEP_NUM_TASKS"] = "x";
  auto const first = rank_in(mpirun);
  REQUIRE(first.rank);
  CHECK(first.rank->launcher == "torchrun");
  CHECK(first.wrong.empty());
}

TEST_CASE("empty variables of a launcher count as unset", "[rank]") {
  variables const open_mpi{{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}};
  for (auto const& [rank, size] : std::vector<std::pair<std::string, std::string>>{{"", ""}, {"", "3"}, {"x", ""}}) {
    variables set = open_mpi;
    set.insert({{"RANK", rank}, {"WORLD_SIZE", size}});
    auto const found = rank_in(set);
    REQUIRE(found.rank);
    CHECK(found.rank->launcher == "Open MPI");
  }
  auto const alone = rank_in({{"RANK", ""}, {"WORLD_SIZE", "3"}});
  CHECK_FALSE(alone.rank);
  CHECK(alone.wrong.empty());
}

TEST_CASE("a missing local rank is that of another launcher with the same rank and size", "[rank]") {
  variables const pmi2{{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}, {"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_LOCALID", "1"}};
  CHECK(rank_in(pmi2).rank->launcher == "MPICH");
  CHECK(rank_in(pmi2).rank->local_rank == 1);
  variables hydra = pmi2;
  hydra.insert({"MPI_LOCALRANKID", "3"});
  CHECK(rank_in(hydra).rank->local_rank == 3);
  variables daemon = pmi2;  // the tasks of the step are the daemons of mpirun, one on each host
  daemon["SLURM_STEP_NUM_TASKS"] = "2";
  daemon["SLURM_PROCID"] = "1";
  daemon["SLURM_LOCALID"] = "0";
  CHECK_FALSE(rank_in(daemon).rank->local_rank);
  variables script = pmi2;  // export RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE
  script.insert({{"RANK", "5"}, {"WORLD_SIZE", "8"}});
  CHECK(rank_in(script).rank->launcher == "torchrun");
  CHECK(rank_in(script).rank->local_rank == 1);
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
