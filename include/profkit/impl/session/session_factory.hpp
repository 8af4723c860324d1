// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "../../collector.hpp"
#include "../../options.hpp"
#include "../../plain_report.hpp"
#include "../../step.hpp"
#include "../profile/library_abi.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The interface between `profkit::session` and its implementation, `session_impl`.
class session_core : public step_loop {
 public:
  ~session_core() override = default;

  raw_step begin_step() override = 0;
  void end_step(raw_step const& done) noexcept override = 0;

  virtual void take(std::unique_ptr<collector> taken) = 0;
  virtual profkit::report report() = 0;
  virtual profkit::report snapshot() = 0;

  [[nodiscard]] virtual std::uint64_t wanted_steps() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t next_step() const noexcept = 0;
  /// Whether the mean is known precisely enough, with `steps=auto`.
  [[nodiscard]] virtual bool has_enough() const noexcept = 0;
  /// Called by the destructor of the session: stops, then prints and writes the requested outputs.
  /// @return whether this object may be destroyed. It must not be destroyed while another thread is in a step, or in the child of a `fork`,
  /// where a thread of the parent may have left it in an inconsistent state.
  [[nodiscard]] virtual bool end() noexcept = 0;

  /// To be called if `end` returns false: leak checkers find the object in a list.
  void keep() noexcept { next_kept_ = __atomic_exchange_n(&newest_kept, this, __ATOMIC_ACQ_REL); }

 private:
  inline static session_core* newest_kept = nullptr;

  session_core* next_kept_ = nullptr;
};

/// Creates the implementation of a session.
PROFKIT_TAGGED_FUNCTION std::unique_ptr<session_core> make_session(options wanted);

}  // namespace PROFKIT_NAMESPACE::detail
