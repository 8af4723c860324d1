// SPDX-License-Identifier: Apache-2.0
#include "ranks/data_parallel.hpp"

#include <string>
#include <utility>

#include "errors.hpp"

// LibTorch defines USE_C10D_NCCL and USE_C10D_GLOO if it contains them. The build sets TRAINER_WITH_NCCL and TRAINER_WITH_GLOO if their
// headers are also available.
#if TRAINER_WITH_NCCL || TRAINER_WITH_GLOO

#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <mutex>
#include <profkit/scope.hpp>
#include <system_error>
#include <tuple>
#include <unordered_map>
#if TRAINER_WITH_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif
#if TRAINER_WITH_GLOO
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#endif

namespace trainer {

/// Reductions that have been started, in starting order. Outside the unnamed namespace, so that unity builds can compile this file together
/// with others.
class started_reductions {
 public:
  /// Call it in the scope of the backward pass. Autograd runs on its own threads, which have no open scopes.
  void begin() { within_ = profkit::scope_token::current(); }

  [[nodiscard]] profkit::scope_token within() const noexcept { return within_; }

  void add(c10::intrusive_ptr<c10d::Work> work, std::uint64_t bytes) {
    std::lock_guard const lock{mutex_};
    started_.push_back({std::move(work), bytes, {}});
  }

  /// Adds the last reduction of a step. `wait` starts it.
  void add_last(std::function<c10::intrusive_ptr<c10d::Work>()> start, std::uint64_t bytes) {
    std::lock_guard const lock{mutex_};
    started_.push_back({{}, bytes, std::move(start)});
  }

  /// Waits for all reductions of the step.
  /// @param group the communicator to record; null for NCCL, which reports its collectives itself.
  void wait(profkit::communicator* group) {
    std::vector<reduction> started;
    {
      std::lock_guard const lock{mutex_};
      started.swap(started_);
    }
    if (group == nullptr) {
      for (reduction const& each : started) each.work->wait();
      return;
    }
    // The last reduction comes first: it starts inside its own scope, so the scope begins when this rank arrives.
    for (auto each = started.rbegin(); each != started.rend(); ++each) {
      PROF_SCOPE("wait for bucket", profkit::collective{"all_reduce", *group, each->bytes});
      if (!each->work) each->work = each->start();
      each->work->wait();
    }
  }

 private:
  struct reduction {
    c10::intrusive_ptr<c10d::Work> work;
    std::uint64_t bytes;
    std::function<c10::intrusive_ptr<c10d::Work>()> start;  ///< starts the work; empty if it has been started
  };

  profkit::scope_token within_;
  std::mutex mutex_;  ///< autograd threads add reductions
  std::vector<reduction> started_;
};

namespace {

/// Starts the reduction of a bucket whose gradients are ready, and tells the Reducer that it is done. Gradients are views of the buckets,
/// so the Reducer has nothing to copy afterwards. The trainer waits in a separate scope instead of inside the backward pass.
class start_reduction final : public c10d::CommHookInterface {
 public:
  start_reduction(c10::intrusive_ptr<c10d::ProcessGroup> group, started_reductions& started)
      : group_{std::move(group)}, started_{started} {}

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    static profkit::site role{"start allreduce", __FILE__, __LINE__};
    profkit::adopting_scope const scope{role, profkit::scope_token{}, started_.within()};
    at::Tensor const gradients = bucket.getBufferRef();
    std::vector<at::Tensor> reduced{gradients};
    c10d::AllreduceOptions options;
    if (gradients.is_cuda()) {
      options.reduceOp = c10d::ReduceOp::AVG;
    } else {
      gradients.div_(group_->getSize());  // Gloo has no mean
    }
    // The last reduction has no backward work left to overlap with.
    if (bucket.isLast() && !gradients.is_cuda()) {
      started_.add_last([group = group_, reduced, options]() mutable { return group->allreduce(reduced, options); }, gradients.nbytes());
    } else {
      started_.add(group_->allreduce(reduced, options), gradients.nbytes());
    }
    std::vector<c10::Device> devices;
    if (gradients.is_cuda()) devices.push_back(gradients.device());
    auto done = c10::make_intrusive<c10::ivalue::Future>(c10::TensorType::get(), std::move(devices));
    done->markCompleted(gradients);
    return done;
  }

  at::Tensor parseHookResult(c10::IValue const& result) override { return result.toTensor(); }

 private:
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  started_reductions& started_;
};

/// The communicator of gradients reduced by Gloo. Never destroyed, because scope logs refer to it.
profkit::communicator& gloo_group() {
  static profkit::communicator group{"gloo"};
  return group;
}

std::string variable_or(char const* name, std::string const& otherwise) {
  char const* const value = ::secure_getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

/// The store where the ranks exchange their addresses.
c10::intrusive_ptr<c10d::Store> meet(rank_layout const& ranks) {
  std::string const host = variable_or("MASTER_ADDR", "127.0.0.1");
  std::string const port = variable_or("MASTER_PORT", std::to_string(c10d::TCPStoreOptions::kDefaultPort));
  // torchrun serves the store itself, and keeps it when it restarts the ranks.
  bool const is_served = variable_or("TORCHELASTIC_USE_AGENT_STORE", "") == "True";
  c10d::TCPStoreOptions options;
  auto const [end, status] = std::from_chars(port.data(), port.data() + port.size(), options.port);
  if (status != std::errc{} || end != port.data() + port.size() || options.port == 0) {
    throw input_error{"MASTER_PORT=" + port + ": is not a port from 1 to 65535"};
  }
  options.isServer = ranks.rank == 0 && !is_served;
  options.numWorkers = ranks.size;
  try {
    auto const store = c10::make_intrusive<c10d::TCPStore>(host, options);
    return c10::make_intrusive<c10d::PrefixStore>("profkit/" + variable_or("TORCHELASTIC_RESTART_COUNT", "0"), store);
  } catch (c10::Error const& error) {
    throw input_error{"cannot meet the other ranks at MASTER_ADDR:MASTER_PORT = " + host + ":" + port + " (" +
                      first_line(error.what_without_backtrace()) + "); start all " + std::to_string(ranks.size) +
                      " ranks, and set both to an address of rank 0 and a free port there"};
  }
}

struct typed_backend {
  c10::intrusive_ptr<c10d::Backend> backend;
  c10d::ProcessGroup::BackendType type;
};

typed_backend backend_of(c10::intrusive_ptr<c10d::Store> const& store, int rank, int size, c10::Device device) {
#if TRAINER_WITH_NCCL
  if (device.is_cuda()) {
    return {c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, c10d::ProcessGroupNCCL::Options::create()),
            c10d::ProcessGroup::BackendType::NCCL};
  }
#endif
#if TRAINER_WITH_GLOO
  if (!device.is_cuda()) {
    return {c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size, c10d::ProcessGroupGloo::Options::create_default()),
            c10d::ProcessGroup::BackendType::GLOO};
  }
#endif
  static_cast<void>(store);
  throw input_error{std::to_string(size) + " ranks: this program was built without " +
                    (device.is_cuda() ? "NCCL's header (nccl.h, from the Python package nvidia-nccl), so it can train on one GPU only"
                                      : "Gloo's headers (Debian and Ubuntu: libgloo-dev), so it can train in one process only")};
}

c10::intrusive_ptr<c10d::ProcessGroup> join(rank_layout const& ranks, c10::Device device) {
  int const rank = static_cast<int>(ranks.rank);
  int const size = static_cast<int>(ranks.size);
  auto const store = meet(ranks);
  auto const [backend, type] = backend_of(store, rank, size, device);
  auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, size);
  group->setBackend(device.type(), type, backend);
  group->setDefaultBackend(type);
  group->setGroupName("trainer");
  return group;
}

}  // namespace

class data_parallel::state {
 public:
  state(rank_layout const& ranks, c10::Device device, std::vector<at::Tensor> parameters, bool has_gradients)
      : device_{device}, parameters_{std::move(parameters)}, group_{join(ranks, device)} {
    c10::NoGradGuard const no_grad;
    if (!device.is_cuda()) {
      gloo_group().rank = ranks.rank;
      gloo_group().size = ranks.size;
    }
    for (at::Tensor const& parameter : parameters_) broadcast(parameter.detach());
    if (has_gradients) make_reducer();
  }

  ~state() {
    reducer_.reset();
    try {
      group_->getBackend(device_.type())->shutdown();
    } catch (std::exception const&) {
      // Another rank left first.
    }
  }
  state(state const&) = delete;
  state& operator=(state const&) = delete;

  void begin_forward() {
    reducer_->prepare_for_forward();
    reducer_->rebuild_buckets();
  }

  void begin_backward(at::Tensor const& loss) {
    started_.begin();
    reducer_->prepare_for_backward({loss});
  }

  void finish_gradients() { started_.wait(device_.is_cuda() ? nullptr : &gloo_group()); }

  [[nodiscard]] std::vector<float> mean(std::vector<float> const& values) {
    c10::NoGradGuard const no_grad;
    auto const count = static_cast<std::int64_t>(values.size());
    if (count == 0) return {};
    at::Tensor const numbers = at::zeros({count}, at::TensorOptions{}.dtype(at::kDouble));
    for (std::int64_t i = 0; i < count; ++i) numbers.mutable_data_ptr<double>()[i] = values[static_cast<std::size_t>(i)];
    at::Tensor const total = numbers.to(device_);
    add_up(total);
    at::Tensor const result = total.cpu().div_(group_->getSize());
    return {result.const_data_ptr<double>(), result.const_data_ptr<double>() + count};
  }

  [[nodiscard]] std::vector<std::size_t> different_parameters() {
    c10::NoGradGuard const no_grad;
    at::Tensor const differences = at::zeros({static_cast<std::int64_t>(parameters_.size())}, at::TensorOptions{device_}.dtype(at::kInt));
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      at::Tensor const mine = parameters_[i].detach();
      at::Tensor const first = mine.clone();
      broadcast(first);
      // Compared as integers, because floating-point comparison treats -0 as equal to 0, and NaN as different from itself.
      differences[static_cast<std::int64_t>(i)] = mine.view(at::kInt).ne(first.view(at::kInt)).any();
    }
    add_up(differences);
    at::Tensor const ranks_by_parameter = differences.cpu();
    std::vector<std::size_t> different;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (ranks_by_parameter.const_data_ptr<std::int32_t>()[i] != 0) different.push_back(i);
    }
    return different;
  }

 private:
  /// Buckets have the sizes of PyTorch's DistributedDataParallel. Gradients arrive from the last layer to the first; the first bucket is
  /// small, so that the first reduction starts early.
  void make_reducer() {
    std::vector<std::size_t> const limits{c10d::kDefaultFirstBucketBytes, c10d::kDefaultBucketBytesCap};
    std::vector<bool> const sparse(parameters_.size(), false);
    auto buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(parameters_, limits, sparse));
    std::vector<std::vector<std::size_t>> const last_first{buckets.rbegin(), buckets.rend()};
    reducer_ =
        std::make_unique<c10d::Reducer>(parameters_, last_first, group_, sparse, c10d::kDefaultBucketBytesCap,
                                        /*find_unused_parameters=*/false, /*gradient_as_bucket_view=*/true,
                                        std::unordered_map<std::size_t, std::string>{}, c10d::kDefaultFirstBucketBytes,
                                        /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false, std::vector<std::int64_t>{});
    reducer_->register_comm_hook(std::make_unique<start_reduction>(group_, started_));
  }

  void broadcast(at::Tensor const& tensor) {
    std::vector<at::Tensor> tensors{tensor};
    group_->broadcast(tensors)->wait();
  }

  void add_up(at::Tensor const& tensor) {
    std::vector<at::Tensor> tensors{tensor};
    group_->allreduce(tensors)->wait();
  }

  c10::Device device_;
  std::vector<at::Tensor> parameters_;
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  started_reductions started_;
  std::unique_ptr<c10d::Reducer> reducer_;
};

data_parallel::data_parallel(rank_layout const& ranks, c10::Device device, std::vector<at::Tensor> parameters, bool has_gradients)
    : state_{std::make_unique<state>(ranks, device, std::move(parameters), has_gradients)} {}
data_parallel::~data_parallel() = default;
void data_parallel::begin_forward() { state_->begin_forward(); }
void data_parallel::begin_backward(at::Tensor const& loss) { state_->begin_backward(loss); }
void data_parallel::finish_gradients() { state_->finish_gradients(); }
std::vector<float> data_parallel::mean(std::vector<float> const& values) { return state_->mean(values); }
std::vector<std::size_t> data_parallel::different_parameters() { return state_->different_parameters(); }

}  // namespace trainer

#else

namespace trainer {

class data_parallel::state {};

data_parallel::data_parallel(rank_layout const& ranks, c10::Device, std::vector<at::Tensor>, bool) {
  throw input_error{std::to_string(ranks.size) +
                    " ranks: this program was built without the headers of NCCL and Gloo, so it can train in one process only; see the "
                    "section Many ranks of the trainer's README.md"};
}
data_parallel::~data_parallel() = default;
void data_parallel::begin_forward() {}
void data_parallel::begin_backward(at::Tensor const&) {}
void data_parallel::finish_gradients() {}
std::vector<float> data_parallel::mean(std::vector<float> const& values) { return values; }
std::vector<std::size_t> data_parallel::different_parameters() { return {}; }

}  // namespace trainer

#endif
