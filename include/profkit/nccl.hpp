// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The collectives of NCCL. Link `profkit::nccl`. Needs neither NCCL nor CUDA to build. Include it in the executable, which exports
/// the profiler plugin to NCCL.
///
///     session.collect(profkit::nccl_collectives());   // before the first communicator

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "collector.hpp"
#include "error.hpp"
#include "impl/collect/nccl_plugin.hpp"
#include "profile_builder.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief Collects the collectives of NCCL, and its sends and receives: communicator, function, sequence number, bytes, data type,
/// algorithm, protocol, the scope that issued them, and with `cupti_kernels` the launch of their kernel (`profile::collectives`). Sends and
/// receives have the partner and their number.
///
/// * Create it before the first communicator of NCCL, and while no other thread reads the environment: it sets `NCCL_PROFILER_PLUGIN`,
/// which makes NCCL look for its profiler plugin in the executable. If the user has set this variable to a value, it stays unchanged, and
/// the status of the collector says so. NCCL treats an empty value as unset, and so does this collector.
/// * Needs NCCL 2.27 or later, in the process of the session. Building does not need NCCL, and programs are not linked with it.
/// * Of sends and receives in CUDA graphs NCCL does not report the partner.
/// * Cost: below 1 us for each collective. It does not request device events from NCCL and does not synchronise the device.
/// * Collectives in CUDA graphs are recorded once, when the graph is captured (`collective_record::is_captured`), because NCCL does not
///   report their replays. With NCCL 2.27 they are not recorded. Collectives on copy engines (NCCL 2.29) are not recorded.
///
/// Source: events Coll, P2p, CollApi and P2pApi of NCCL's profiler interface, versions 4 to 6.
class nccl_collectives final : public collector {
 public:
  /// @brief Sets `NCCL_PROFILER_PLUGIN`, unless it has a value. Not thread-safe: no other thread may use the environment at the same time.
  nccl_collectives() {
    char const* const plugin = ::secure_getenv("NCCL_PROFILER_PLUGIN");
    if (plugin == nullptr || *plugin == '\0') {
      // NOLINTNEXTLINE(concurrency-mt-unsafe): the program creates its collectors before threads that read the environment
      ::setenv("NCCL_PROFILER_PLUGIN", static_plugin, plugin == nullptr ? 0 : 1);  // keeps a value that secure_getenv hides
    } else if (::strcasecmp(plugin, static_plugin) != 0) {
      other_plugin_ = plugin;
    }
  }

  /// @brief "nccl collectives".
  [[nodiscard]] std::string_view name() const noexcept override { return "nccl collectives"; }

  /// @brief Starts collecting.
  /// @throws profkit::error if NCCL uses another plugin, or would not find this one.
  void start(profile_builder& into) override {
    if (!other_plugin_.empty()) throw error{"NCCL_PROFILER_PLUGIN already names the plugin " + other_plugin_};
    void* const found = ::dlsym(RTLD_DEFAULT, "ncclProfiler_v5");
    if (found == nullptr) {
      // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc and musl keep an error for each thread
      static_cast<void>(::dlerror());  // the program must not see profkit's error
      throw error{"the executable does not export ncclProfiler_v5, so NCCL cannot find it. Link profkit::nccl, or link with -rdynamic"};
    }
    using plugin = decltype(detail::ncclProfiler_v5);
    auto const* const exported = static_cast<plugin const*>(found);
    if (std::strcmp(exported->profiler.name, detail::ncclProfiler_v5.profiler.name) != 0 || exported->recorder != &detail::recorder) {
      throw error{"the program has another profiler plugin of NCCL, " + std::string{exported->profiler.name}};
    }
    state_ = exported->state;
    __atomic_store_n(&state_->is_wanted, 1U, __ATOMIC_RELEASE);
    list_communicators(into);
  }

  /// @brief Lists new communicators, also those that are only used in CUDA graphs. In the last call, checks whether NCCL has used the
  /// plugin. The collectives themselves arrive through the logs of threads.
  void drain(profile_builder& into, bool last) override {
    list_communicators(into);
    if (!last || state_ == nullptr || __atomic_load_n(&state_->communicators, __ATOMIC_RELAXED) > 0) return;
    fail(
        "NCCL has created no communicator since the collector. Create the collector before the first communicator, with NCCL 2.27 or "
        "later");
  }

  /// @brief Stops collecting.
  void stop() override {
    if (state_ != nullptr) __atomic_store_n(&state_->is_wanted, 0U, __ATOMIC_RELEASE);
  }

 private:
  static constexpr char const* static_plugin = "STATIC_PLUGIN";

  void list_communicators(profile_builder& into) {
    if (state_ == nullptr) return;
    auto const* newest = __atomic_load_n(&state_->latest, __ATOMIC_ACQUIRE);
    for (auto const* each = newest; each != nullptr && each != listed_; each = each->next()) {
      communicator const& group = each->group();
      if (each->is_in_use()) into.position_of(communicator_record{group.id, group.name, group.rank, group.size});
    }
    listed_ = newest;
  }

  std::string other_plugin_;
  detail::nccl_plugin_state* state_ = nullptr;         ///< state of the plugin that the executable exports
  detail::nccl_communicator const* listed_ = nullptr;  ///< the newest communicator that was listed
};

}  // namespace PROFKIT_NAMESPACE
