// Several ranks, each with a part of a plate: exchange the edges, compute, and agree on the length of the next step. MPI is not annotated:
// <profkit/mpi.hpp> records its calls.
//
//     PROFKIT=report,out=plate mpirun -n 4 ./example_halo_exchange && profkit report plate
//
// To see how a slow rank is named: example_halo_exchange RANK MILLISECONDS exchange|compute|advance [EVERY]

#include <mpi.h>

#include <profkit/mpi.hpp>
#include <profkit/profkit.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

/// A rank that sleeps in a scope of some steps.
struct slow_rank {
  int rank = -1;
  std::chrono::duration<double, std::milli> time{};
  std::string scope;
  std::uint64_t every = 1;
  std::vector<double> slept{};  ///< in ms, in measured steps; on a busy host, a sleep takes longer

  void visit(int own_rank, std::string const& where, profkit::step const& step) {
    if (own_rank != rank || where != scope || step.index() % every != 0) return;
    auto const begin = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(time);
    if (!step.is_warmup()) slept.push_back(std::chrono::duration<double, std::milli>{std::chrono::steady_clock::now() - begin}.count());
  }

  void print() {
    if (slept.empty()) return;
    std::nth_element(slept.begin(), slept.begin() + static_cast<std::ptrdiff_t>(slept.size() / 2), slept.end());
    fmt::print("rank {} slept {:.2f} ms (median) in {} steps\n", rank, slept[slept.size() / 2], slept.size());
  }
};

constexpr int side = 64;  // cells of a rank, without the edges of its neighbours
using cells = std::vector<double>;
double& at(cells& part, int row, int column) { return part[static_cast<std::size_t>(row * (side + 2) + column)]; }

class plate {
 public:
  plate() {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::array<int, 2> shape{};
    std::array<int, 2> const periodic{};
    MPI_Dims_create(ranks, 2, shape.data());
    MPI_Cart_create(MPI_COMM_WORLD, 2, shape.data(), periodic.data(), 0, &grid_);
    MPI_Comm_rank(grid_, &rank_);
    MPI_Cart_shift(grid_, 0, 1, &neighbours_[0], &neighbours_[1]);
    MPI_Cart_shift(grid_, 1, 1, &neighbours_[2], &neighbours_[3]);
    at(now_, side / 2, side / 2) = 1000.0 * (rank_ + 1);
  }
  plate(plate const&) = delete;
  plate& operator=(plate const&) = delete;
  ~plate() { MPI_Comm_free(&grid_); }

  [[nodiscard]] int rank() const { return rank_; }

  void exchange_edges() {
    std::array<MPI_Request, 8> requests{};
    std::array<std::array<double, side>, 4> sent{};
    std::array<std::array<double, side>, 4> received{};
    for (std::size_t i = 0; i < 4; ++i) {
      MPI_Irecv(received[i].data(), side, MPI_DOUBLE, neighbours_[i], 0, grid_, &requests[i]);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      for (int k = 0; k < side; ++k) sent[i][static_cast<std::size_t>(k)] = edge(i, k, i % 2 == 0 ? 1 : side);
      MPI_Isend(sent[i].data(), side, MPI_DOUBLE, neighbours_[i], 0, grid_, &requests[4 + i]);
    }
    MPI_Waitall(8, requests.data(), MPI_STATUSES_IGNORE);
    for (std::size_t i = 0; i < 4; ++i) {
      if (neighbours_[i] == MPI_PROC_NULL) continue;
      for (int k = 0; k < side; ++k) edge(i, k, i % 2 == 0 ? 0 : side + 1) = received[i][static_cast<std::size_t>(k)];
    }
  }

  /// @return the largest change of a cell.
  double spread_heat(double time) {
    double largest = 0.0;
    for (int row = 1; row <= side; ++row) {
      for (int column = 1; column <= side; ++column) {
        double const around = at(now_, row - 1, column) + at(now_, row + 1, column) + at(now_, row, column - 1) + at(now_, row, column + 1);
        double const change = time * (around - 4.0 * at(now_, row, column));
        at(next_, row, column) = at(now_, row, column) + change;
        largest = std::max(largest, std::abs(change));
      }
    }
    return largest;
  }

  void advance() { std::swap(now_, next_); }

 private:
  double& edge(std::size_t direction, int along, int across) {
    return direction < 2 ? at(now_, across, along + 1) : at(now_, along + 1, across);
  }

  MPI_Comm grid_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::array<int, 4> neighbours_{};
  cells now_ = cells((side + 2) * (side + 2));
  cells next_ = now_;
};

void run(slow_rank& slow) {
  plate part;
  double time = 0.1;
  profkit::session session{profkit::options::from_env()};
  for (profkit::step step : session) {
    {
      PROF_SCOPE("exchange");
      slow.visit(part.rank(), "exchange", step);
      part.exchange_edges();
    }
    double change = 0.0;
    {
      PROF_SCOPE("compute");
      slow.visit(part.rank(), "compute", step);
      change = part.spread_heat(time);
    }
    double largest = 0.0;
    MPI_Allreduce(&change, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    PROF_SCOPE("advance");
    time = largest > 10.0 ? 0.1 : 0.2;
    part.advance();
    slow.visit(part.rank(), "advance", step);
  }
  static_cast<void>(session.report());
  slow.print();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  slow_rank slow;
  if (argc > 3) {
    slow = {std::atoi(argv[1]), std::chrono::duration<double, std::milli>{std::atof(argv[2])}, argv[3], 1, {}};
    if (argc > 4) slow.every = static_cast<std::uint64_t>(std::max(1, std::atoi(argv[4])));
  }
  run(slow);
  MPI_Finalize();
}
