// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

/// A node of a graph, to be run.
struct fake_graph_node {
  enum class kind { kernel, copy, peer_copy, set };
  std::uint64_t number;
  kind what;
};

/// What the next kernels need, per block and per thread.
struct fake_launch_shape {
  std::uint32_t threads;
  std::uint16_t registers;
  std::uint32_t static_shared_bytes;
  std::uint32_t dynamic_shared_bytes;
  std::uint32_t local_bytes;
  std::uint32_t cluster_blocks;
};

/// The test interface of the imitated libcupti, exported as the symbol `fake_cupti`. Functions are called on the thread that "launches".
/// Times are nanoseconds since the launch; 0 means none, as in CUPTI.
struct fake_cupti_controls {
  void (*kernel)(char const* mangled, std::uint32_t grid, std::uint64_t start, std::uint64_t end);
  void (*copy)(std::uint8_t kind, std::uint64_t bytes, std::uint64_t start, std::uint64_t end);
  void (*set)(std::uint64_t bytes, std::uint64_t start, std::uint64_t end);
  /// A runtime call that launches nothing.
  void (*call)();
  /// A call of the driver that waits for a stream.
  void (*wait)();
  /// Driver calls that allocate memory, fail to allocate, and free it.
  void (*allocate)(std::uint64_t address, std::uint64_t bytes, bool fails);
  void (*release)(std::uint64_t address);
  /// Adds a node to a graph. @return its number.
  std::uint64_t (*capture)(std::uint32_t graph);
  /// Copies a node, as instantiating a graph does. @return the number of the copy.
  std::uint64_t (*clone)(std::uint64_t original, std::uint32_t into_graph);
  /// One launch of an instantiated graph, whose operations follow each other from `start` on, 10 ns each.
  void (*replay)(fake_graph_node const* nodes, std::size_t count, std::uint64_t start);
  std::uint32_t next_correlation;
  std::uint64_t records_to_drop;  ///< reported as dropped
  std::uint64_t buffers_requested;
  std::uint64_t callbacks;  ///< around calls of the driver
  bool is_subscribed;
  bool takes_calendar_times;  ///< times of operations are those of CLOCK_REALTIME instead
  fake_launch_shape shape;
  /// An event of unified memory. Its device is 0. @param kind CUpti_ActivityUnifiedMemoryCounterKind.
  void (*page_event)(std::uint32_t kind, std::uint64_t value, std::uint64_t start, std::uint64_t end);
  std::uint32_t page_counters;  ///< number of configured counters of unified memory
  /// A driver call that allocates managed memory, which `release` frees.
  void (*allocate_managed)(std::uint64_t address, std::uint64_t bytes);
  /// Flushes wait until it is false again, as those of CUPTI do while a thread launches into a full queue.
  std::atomic<bool> blocks_flushes;
  std::atomic<std::uint64_t> blocked_flushes;
};
