// SPDX-License-Identifier: Apache-2.0
#include "loader/text_loader.hpp"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <pthread.h>
#include <torch/data/dataloader.h>
#include <torch/data/datasets/base.h>
#include <torch/data/datasets/map.h>
#include <torch/data/samplers/random.h>
#include <torch/data/transforms/collate.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <profkit/scope.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "errors.hpp"
#include "loader/processor_work.hpp"

namespace trainer {

namespace {

using window = std::vector<std::int64_t>;

/// The windows of a corpus, decoded on request. Each worker has its own copy; the corpus is shared.
class text_windows final : public torch::data::datasets::Dataset<text_windows, window> {
 public:
  text_windows(std::shared_ptr<corpus const> from, std::size_t size, std::chrono::microseconds work)
      : corpus_{std::move(from)}, size_{size}, work_{work} {}

  window get(std::size_t index) override {
    name_worker();
    PROF_SCOPE("decode");
    window tokens = corpus_->decode(index);
    keep_busy(work_, tokens);
    return tokens;
  }

  [[nodiscard]] std::optional<std::size_t> size() const override { return size_; }

 private:
  /// Must be called before the first scope of the thread, because profkit reads the thread's name there.
  void name_worker() {
    if (is_named_) return;
    is_named_ = true;
    if (pthread_equal(pthread_self(), trainer_) == 0) pthread_setname_np(pthread_self(), "loader");
  }

  std::shared_ptr<corpus const> corpus_;
  std::size_t size_;
  std::chrono::microseconds work_;
  pthread_t trainer_ = pthread_self();
  bool is_named_ = false;
};

/// Converts windows to tokens and targets, [2, batch, ctx]. `torch::stack` would start a team of OpenMP threads in each worker.
class window_collation final : public torch::data::transforms::Collation<at::Tensor, std::vector<window>> {
 public:
  at::Tensor apply_batch(std::vector<window> windows) override {
    PROF_SCOPE("collate");
    auto const rows = static_cast<std::int64_t>(windows.size());
    auto const ctx = static_cast<std::int64_t>(windows.at(0).size()) - 1;
    at::Tensor both = at::empty({2, rows, ctx}, at::kLong);
    std::int64_t* tokens = both.mutable_data_ptr<std::int64_t>();
    std::int64_t* targets = tokens + rows * ctx;
    for (window const& each : windows) {
      tokens = std::copy(each.begin(), each.end() - 1, tokens);
      targets = std::copy(each.begin() + 1, each.end(), targets);
    }
    return both;
  }
};

using dataset = torch::data::datasets::MapDataset<text_windows, window_collation>;
using data_loader = torch::data::StatelessDataLoader<dataset, torch::data::samplers::RandomSampler>;

/// `RandomSampler` uses the random generator of LibTorch.
void seed_generator(std::uint64_t seed) {
  at::Generator generator = at::globalContext().defaultGenerator(c10::kCPU);
  std::lock_guard const lock{generator.mutex()};
  generator.set_current_seed(seed);
}

}  // namespace

class text_loader::state {
 public:
  state(std::shared_ptr<corpus const> from, loader_config const& config)
      : corpus_{std::move(from)}, config_{config}, warmup_left_{config.warmup_batches} {}

  void next(std::span<std::int64_t> tokens, std::span<std::int64_t> targets) {
    PROF_SCOPE("fetch batch");
    if (left_ == 0) {
      begin_pass();
    } else {
      ++*position_;
    }
    std::int64_t const* const from = (**position_).const_data_ptr<std::int64_t>();
    std::copy_n(from, tokens.size(), tokens.data());
    std::copy_n(from + tokens.size(), targets.size(), targets.data());
    if (--left_ > 0) return;
    position_.reset();
    loader_.reset();
  }

 private:
  void begin_pass() {
    left_ = warmup_left_ > 0 ? std::min(warmup_left_, config_.epoch_batches) : config_.epoch_batches;
    warmup_left_ -= std::min(warmup_left_, left_);
    seed_generator(config_.seed + passes_++);
    auto const batch = static_cast<std::size_t>(config_.batch);
    std::size_t const windows = left_ * batch;
    loader_ = torch::data::make_data_loader(text_windows{corpus_, windows, config_.work}.map(window_collation{}),
                                            torch::data::samplers::RandomSampler{static_cast<std::int64_t>(windows)},
                                            torch::data::DataLoaderOptions{batch}.workers(config_.workers).enforce_ordering(true));
    position_.emplace(loader_->begin());
  }

  std::shared_ptr<corpus const> corpus_;
  loader_config config_;
  std::uint64_t warmup_left_;  ///< batches
  std::uint64_t passes_ = 0;
  std::uint64_t left_ = 0;  ///< remaining batches of this pass
  std::unique_ptr<data_loader> loader_;
  std::optional<torch::data::Iterator<at::Tensor>> position_;  ///< the next batch of the loader
};

text_loader::text_loader(std::shared_ptr<corpus const> from, loader_config const& config)
    : state_{std::make_unique<state>(std::move(from), config)} {}

text_loader::~text_loader() = default;

void text_loader::next(std::span<std::int64_t> tokens, std::span<std::int64_t> targets) {
  try {
    state_->next(tokens, targets);
  } catch (torch::data::WorkerException const& failure) {
    std::rethrow_exception(failure.original_exception);
  } catch (std::system_error const& failure) {
    throw input_error{std::string{"--workers: the system cannot start that many threads: "} + failure.what()};
  }
}

}  // namespace trainer
