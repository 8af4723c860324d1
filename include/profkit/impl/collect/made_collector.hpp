// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "../../collector.hpp"

namespace profkit::detail {

/// A collector whose implementation another translation unit may compile. Forwards all calls to the implementation.
class made_collector : public collector {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return made_->name(); }
  [[nodiscard]] collector_kind kind() const noexcept override { return made_->kind(); }
  void use_clock(calendar_clock& clock) override { made_->use_clock(clock); }
  void start(profile_builder& into) override {
    made_->start(into);
    take_status();
  }
  void poll_at_scopes(profile_builder& into) override {
    made_->poll_at_scopes(into);
    take_status();
  }
  void prepare_step(step_record const& step) override { made_->prepare_step(step); }
  void before_step(step_record const& step) override { made_->before_step(step); }
  void after_step(step_record const& step) override { made_->after_step(step); }
  void drain(profile_builder& into, bool last) override {
    made_->drain(into, last);
    take_status();
  }
  void flush() override { made_->flush(); }
  void stop() override { made_->stop(); }
  [[nodiscard]] sample_source* samples() noexcept override { return made_->samples(); }
  [[nodiscard]] bool times_steps() const noexcept override { return made_->times_steps(); }
  void read_step_times() override { made_->read_step_times(); }

 protected:
  explicit made_collector(std::unique_ptr<collector> made) : made_{std::move(made)} {}

  [[nodiscard]] collector& made() const noexcept { return *made_; }

  /// Copies the failure of the implementation, if there is one.
  void take_status() {
    if (collector_status const now = made_->status(); !now.works) fail(now.reason);
  }

 private:
  std::unique_ptr<collector> made_;
};

}  // namespace profkit::detail
