// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../../collector.hpp"
#include "../../../error.hpp"
#include "../../../options.hpp"
#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../version.hpp"
#include "../../collect/built_in_collectors.hpp"
#include "../../profile/journal_encoder.hpp"
#include "../../profile/own_memory.hpp"
#include "../../report/report_code.hpp"
#include "../session_owner.hpp"
#include "../session_recording.hpp"
#include "control_socket.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Answers the requests of clients. Only the owner uses it, except where a comment says so.
class session_control {
 public:
  /// What it reads of a session.
  struct view {
    options const& wanted;
    std::optional<rank_record> const& rank;
    std::atomic<std::uint64_t> const& next_step;
    std::atomic<bool> const& is_step_open;
  };

  /// @param session, owner, recorded borrowed.
  session_control(view const& session, session_owner& owner, session_recording& recorded) noexcept
      : session_{session}, owner_{owner}, recording_{recorded} {}

  /// Starts listening; to be called before the owner's thread starts. @throws profkit::error that says why it cannot.
  void open() { socket_.open(); }
  [[nodiscard]] std::string const& path() const noexcept { return socket_.path(); }

  /// Whether a capture collects kernels in a step. May be called on any thread.
  [[nodiscard]] bool collects_kernels_in(std::uint64_t step) const noexcept {
    return kernels_from_.load() <= step && step <= kernels_to_.load();
  }

  /// Disconnects the clients; to be called by the owner, or when its thread has ended. A capture ends with the steps that it has.
  void close() noexcept {
    if (capture_) end_capture();
    socket_.close();
  }

  /// Serves the clients; to be called in each round.
  void round() noexcept {
    if (!socket_.is_open()) return;
    note_step();
    try {
      socket_.serve([&](std::uint64_t client, std::string_view line) { return handle(client, line); },
                    [&](std::uint64_t client) { forget(client); });
      if (!socket_.is_open()) {
        if (capture_) end_capture();
        return recording_.set_control("not listening", "the program has closed " + path());
      }
      if (capture_) go_on_with_capture();
      if (!waiting_.empty() && !is_making_ && clock::now() >= next_snapshot_) {
        is_making_ = true;
        owner_.post([this, asked = clock::now()] { answer_snapshot(asked); }, rounds_of_snapshot);
      }
    } catch (std::exception const&) {  // no memory: clients see the end of the connection, or wait for the next round
    }
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr int rounds_of_snapshot = 2;  ///< as in `session_impl`
  static constexpr int rounds_of_kernels = 3;   ///< the first one requests the records of the last step

  /// A capture that was asked for.
  struct asked_capture {
    std::uint64_t client;
    control_request request;
    std::uint64_t from = 0;  ///< the first step; 0: not known yet
    bool is_recording = false;
    std::optional<clock::time_point> ended{};  ///< when the end of the last step was seen
    int rounds_since_end = 0;
  };

  struct mark {
    clock::time_point time;
    std::uint64_t step;
  };

  /// Watches how fast steps pass.
  void note_step() noexcept {
    constexpr std::chrono::seconds between_marks{10};
    auto const now = clock::now();
    std::uint64_t const step = session_.next_step.load();
    if (step != seen_step_) step_began_ = now;
    if (step != seen_step_ && seen_step_ == 0) before_ = latest_ = {now, step};
    seen_step_ = step;
    if (step > 0 && now - latest_.time >= between_marks) before_ = std::exchange(latest_, {now, step});
  }

  /// The mean over the last 10 to 20 s; n/a before half a second of steps.
  [[nodiscard]] std::optional<double> steps_per_second() const noexcept {
    constexpr double min_seconds = 0.5;
    double const seconds = std::chrono::duration<double>{clock::now() - before_.time}.count();
    if (before_.step == 0 || seconds < min_seconds) return std::nullopt;
    return static_cast<double>(seen_step_ - before_.step) / seconds;
  }

  [[nodiscard]] std::optional<control_answer> handle(std::uint64_t client, std::string_view line) {
    try {
      control_request const request = parse_control_request(line);
      if (request.what == control_request::kind::status) return control_answer{"ok" + status(), {}};
      if (request.what == control_request::kind::capture) {
        if (capture_) throw error{"another capture of this session runs"};
        if (request.wants_kernels && !recording_.has_kernel_collector())
          throw error{"the program has no kernel collector that works: it needs session.collect(profkit::cupti_kernels())"};
        capture_.emplace(asked_capture{client, request, request.from});
        return std::nullopt;
      }
      waiting_.push_back(client);
      wants_profile_ = wants_profile_ || request.wants_profile;
      return std::nullopt;
    } catch (error const& failure) {
      return control_answer{std::string{"error "} + failure.what(), {}};
    }
  }

  /// " pid=7 step=812 ...", with times in milliseconds.
  [[nodiscard]] std::string status() const {
    std::string result;
    auto const add = [&](char const* key, std::string_view value) { result += std::string{" "} + key + "=" + control_word(value); };
    auto const number = [&](char const* key, auto value) { add(key, std::to_string(value)); };
    auto const milliseconds = [](clock::duration time) { return std::chrono::duration_cast<std::chrono::milliseconds>(time).count(); };
    auto const now = clock::now();
    constexpr std::size_t max_text = 1024;
    number("pid", ::getpid());
    if (session_.rank) number("rank", session_.rank->rank);
    if (session_.rank) number("ranks", session_.rank->size);
    if (seen_step_ > 0) number("step", seen_step_ - 1);
    if (seen_step_ > 0) number("in_step", session_.is_step_open.load() ? 1 : 0);
    number("age", milliseconds(now - began_));
    if (seen_step_ > 0) number("step_age", milliseconds(now - step_began_));
    if (std::optional<double> const rate = steps_per_second()) number("steps_per_second", *rate);
    add("version", version);
    std::string program;
    for (std::string const& each : recording_.content().environment().command) program += (program.empty() ? "" : " ") + each;
    add("program", program.substr(0, max_text));
    if (!session_.wanted.output_directory.empty()) add("out", session_.wanted.output_directory.substr(0, max_text));
    if (!session_.wanted.journal.empty()) add("journal", session_.wanted.journal.substr(0, max_text));
    return result;
  }

  /// Removes a client that went away.
  void forget(std::uint64_t client) noexcept {
    waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), client), waiting_.end());
    if (capture_ && capture_->client == client) end_capture();
  }

  /// Starts to record shortly before the first step, and ends after the last one.
  void go_on_with_capture() {
    auto const now = clock::now();
    if (!capture_->is_recording) {
      constexpr double lead_seconds = 0.5;
      auto const lead = static_cast<std::uint64_t>(steps_per_second().value_or(0.0) * lead_seconds) + 2;
      if (capture_->from <= session_.next_step.load() + lead) begin_capture();
      return;
    }
    std::optional<std::uint64_t> const last = recording_.last_captured_step();
    if (recording_.capture_bytes() > control_limits::max_capture_bytes) return end_capture();
    if (!last || *last < last_wanted_step()) return;
    // Kernels of a collector that goes on arrive later. After two more steps, those of the last step have ended in most programs. Each
    // round requests their records, which arrive before the next one.
    if (!capture_->ended) capture_->ended = now;
    bool const waits = !session_.wanted.kernels_on_capture && recording_.has_kernel_collector();
    bool const have_ended = *last >= last_wanted_step() + 2 || now - *capture_->ended > control_limits::max_wait_for_kernels;
    if (have_ended) ++capture_->rounds_since_end;
    if (!waits || capture_->rounds_since_end > rounds_of_kernels) end_capture();
  }

  void begin_capture() {
    control_request const& request = capture_->request;
    try {
      std::unique_ptr<collector> sampler;
      if (request.samples_per_second > 0) sampler = sample_host({static_cast<double>(request.samples_per_second)});
      recording_.begin_capture(request.wants_kernels, std::move(sampler));
      capture_->is_recording = true;
      do {  // until the step thread sees the steps with kernels before the first of them begins
        if (request.from == 0) capture_->from = session_.next_step.load() + 1;
        kernels_from_.store(request.wants_kernels ? capture_->from : ~std::uint64_t{0});
        kernels_to_.store(request.wants_kernels ? last_wanted_step() : 0);
      } while (request.from == 0 && session_.next_step.load() > capture_->from);
      if (session_.next_step.load() <= capture_->from) return;
      throw error{"step " + std::to_string(request.from) + " has begun already; the next one is " +
                  std::to_string(session_.next_step.load())};
    } catch (std::exception const& failure) {
      std::uint64_t const client = capture_->client;
      socket_.answer(client, {std::string{"error "} + failure.what(), {}});
      end_capture();
    }
  }

  [[nodiscard]] std::uint64_t last_wanted_step() const noexcept { return capture_->from + capture_->request.steps - 1; }

  /// Stops what the capture started, and answers if it has a step.
  void end_capture() noexcept {
    asked_capture const done = *capture_;
    std::uint64_t const last_wanted = last_wanted_step();
    capture_.reset();
    kernels_from_.store(~std::uint64_t{0});
    kernels_to_.store(0);
    if (!done.is_recording) return;
    std::optional<std::uint64_t> const last = recording_.last_captured_step();
    try {
      control_answer answer;
      answer.files.push_back(recording_.end_capture());
      if (answer.files.front() == nullptr)
        return socket_.answer(done.client, {"error the capture is lost: no memory, ulimit -f, or the program has closed its file", {}});
      if (!last || *last < done.from) return socket_.answer(done.client, {"error no step of the capture has ended", {}});
      std::string const from = std::to_string(done.from);
      std::string const to = std::to_string((std::min)(*last, last_wanted));
      answer.text = "ok from=" + from + " to=" + to + (session_.rank ? " rank=" + std::to_string(session_.rank->rank) : "");
      socket_.answer(done.client, answer);
      ++captures_;
      std::string text = path() + "; " + std::to_string(captures_) + (captures_ == 1 ? " capture" : " captures") +
                         ", the latest of steps " + from + " to " + to;
      if (done.request.samples_per_second > 0) text += ", with host samples that this report does not contain";
      recording_.set_control("listening", std::move(text));
    } catch (std::exception const&) {  // no memory
    }
  }

  /// One snapshot for all clients that wait for one.
  void answer_snapshot(clock::time_point asked) noexcept {
    constexpr std::chrono::seconds max_behind{1};  // as in `session_impl`
    auto const begin = clock::now();
    control_answer answer;
    bool const wants_profile = std::exchange(wants_profile_, false);
    try {
      recorded_so_far so_far = recording_.copy(begin - asked > max_behind);
      std::shared_ptr<summary const> const figures = so_far.complete();
      answer.add_file(report_code::file_of(figures ? *figures : *report_code::summarize(so_far.profile)));
      if (wants_profile) {
        own_string bytes = journal_encoder::beginning();
        journal_encoder{}.append(so_far.profile, true, bytes);
        answer.add_file(bytes);
      }
      answer.text = "ok";
    } catch (std::exception const& failure) {
      answer.files.clear();
      answer.text = std::string{"error "} + failure.what();
    }
    for (std::uint64_t const client : std::exchange(waiting_, {})) socket_.answer(client, answer);
    auto const end = clock::now();
    next_snapshot_ = end + control_limits::max_share_of_snapshots * (end - begin);
    is_making_ = false;
  }

  view const session_;
  session_owner& owner_;
  session_recording& recording_;
  control_socket socket_;
  clock::time_point const began_ = clock::now();
  std::uint64_t seen_step_ = 0;  ///< `view::next_step` in the latest round
  clock::time_point step_began_{};
  mark before_{};                       ///< 10 to 20 s ago, or when the first step was seen
  mark latest_{};                       ///< less than 10 s ago
  std::vector<std::uint64_t> waiting_;  ///< clients that wait for a snapshot
  bool wants_profile_ = false;          ///< one of them wants the profile
  bool is_making_ = false;              ///< a snapshot was requested from the owner
  std::optional<asked_capture> capture_;
  std::uint64_t captures_ = 0;                                  ///< number of captures that were answered
  std::atomic<std::uint64_t> kernels_from_{~std::uint64_t{0}};  ///< the steps in which a capture collects kernels
  std::atomic<std::uint64_t> kernels_to_{0};
  clock::time_point next_snapshot_{};
};

}  // namespace PROFKIT_NAMESPACE::detail
