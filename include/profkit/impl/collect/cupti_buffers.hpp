// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>

#include "../profile/own_memory.hpp"

namespace profkit::detail {

/// A buffer for CUPTI records.
struct cupti_buffer {
  std::uint8_t* bytes = nullptr;
  std::size_t used_bytes = 0;
};

/// The pool of buffers. A buffer is free, in use by CUPTI, or full. CUPTI requests buffers on launching threads and returns them on any
/// thread. There is one pool per process. It is never destroyed, because CUPTI may return buffers while the process exits.
class cupti_buffers {
 public:
  static constexpr std::size_t buffer_bytes = std::size_t{4} << 20U;  ///< CUPTI's manual recommends 1 to 10 MB

  static cupti_buffers& instance() {
    static cupti_buffers* const buffers = new cupti_buffers;
    return *buffers;
  }

  /// A zeroed buffer. Null without memory: CUPTI then drops and counts records.
  std::uint8_t* take_free() noexcept {
    {
      std::lock_guard<std::mutex> const lock{mutex_};
      if (!free_.empty()) {
        std::uint8_t* const bytes = free_.back();
        free_.pop_back();
        return bytes;
      }
    }
    return make();
  }

  void put_full(cupti_buffer full) noexcept {
    {
      std::lock_guard<std::mutex> const lock{mutex_};
      full_.push_back(full);
    }
    changed_.notify_all();
  }

  /// Waits for a full buffer. @return nothing after `close`, when all full buffers were taken.
  std::optional<cupti_buffer> take_full() {
    std::unique_lock<std::mutex> lock{mutex_};
    changed_.wait(lock, [this] { return !full_.empty() || is_closed_; });
    if (full_.empty()) return std::nullopt;
    cupti_buffer const first = full_.front();
    full_.erase(full_.begin());
    ++in_hand_;
    return first;
  }

  /// Returns a buffer of `take_full` to the pool.
  void put_read(cupti_buffer read) {
    std::memset(read.bytes, 0, read.used_bytes);
    {
      std::lock_guard<std::mutex> const lock{mutex_};
      free_.push_back(read.bytes);
      --in_hand_;
    }
    changed_.notify_all();
  }

  /// Allocates buffers until `count` are free, and touches their memory. So launching threads do not cause page faults.
  void keep_free(std::size_t count) {
    std::unique_lock<std::mutex> lock{mutex_};
    while (free_.size() < count) {
      lock.unlock();
      std::uint8_t* const bytes = make();
      if (bytes == nullptr) return;
      lock.lock();
      free_.push_back(bytes);
    }
  }

  /// Waits until all full buffers have been read.
  void wait_until_read() {
    std::unique_lock<std::mutex> lock{mutex_};
    changed_.wait(lock, [this] { return full_.empty() && in_hand_ == 0; });
  }

  void open() { set_closed(false); }
  void close() { set_closed(true); }

 private:
  /// Also reserves space in both lists, so that moving a buffer between them cannot fail.
  std::uint8_t* make() noexcept {
    void* bytes = nullptr;
    try {
      bytes = map_block(buffer_bytes);
      std::memset(bytes, 0, buffer_bytes);  // touches its pages
      std::lock_guard<std::mutex> const lock{mutex_};
      free_.reserve(made_ + 1);
      full_.reserve(made_ + 1);
      ++made_;
    } catch (...) {
      if (bytes != nullptr) unmap_block(bytes, buffer_bytes);
      return nullptr;
    }
    return static_cast<std::uint8_t*>(bytes);
  }

  void set_closed(bool is_closed) {
    {
      std::lock_guard<std::mutex> const lock{mutex_};
      is_closed_ = is_closed;
    }
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  own_vector<std::uint8_t*> free_;
  own_vector<cupti_buffer> full_;  ///< oldest first
  std::size_t in_hand_ = 0;        ///< number of buffers taken by the reader
  std::size_t made_ = 0;
  bool is_closed_ = false;
};

}  // namespace profkit::detail
