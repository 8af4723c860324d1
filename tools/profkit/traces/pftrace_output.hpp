// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zlib.h>

#include <cstddef>
#include <new>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/impl/report/trace_json.hpp>

#include "pftrace_fields.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief How packets are stored in a compact trace. Perfetto opens both forms.
enum class pftrace_packing {
  compressed,  ///< in deflated pieces (`TracePacket.compressed_packets`)
  plain        ///< uncompressed, for readers that do not support compressed packets
};

namespace detail {

/// Collects packets and compresses them in pieces.
class pftrace_output {
 public:
  pftrace_output(trace_output& to, pftrace_packing packing) : to_{to}, is_compressed_{packing == pftrace_packing::compressed} {
    if (is_compressed_) waiting_.reserve(piece_bytes + piece_bytes / 4);
  }

  /// The buffer to append `Trace.packet` fields to.
  [[nodiscard]] own_string& bytes() noexcept { return is_compressed_ ? waiting_ : to_.text(); }

  /// Writes a piece if enough packets are waiting. To be called between packets.
  void pass_on() {
    if (waiting_.size() >= piece_bytes) compress();
    to_.pass_on();
  }

  void finish() {
    if (!waiting_.empty()) compress();
  }

 private:
  static constexpr std::size_t piece_bytes = std::size_t{1} << 18U;

  void compress() {
    ::uLongf size = ::compressBound(waiting_.size());
    compressed_.resize(size);
    auto* const to = reinterpret_cast<::Bytef*>(compressed_.data());
    if (::compress(to, &size, reinterpret_cast<::Bytef const*>(waiting_.data()), waiting_.size()) != Z_OK) throw std::bad_alloc{};
    {
      pftrace_writer trace{to_.text()};
      pftrace_writer packet{trace, pftrace::trace_packets};
      packet.add_bytes(pftrace::packet_compressed_packets, compressed_.data(), size);
    }
    waiting_.clear();
  }

  trace_output& to_;
  bool is_compressed_;
  own_string waiting_;  ///< packets for the next piece
  own_string compressed_;
};

}  // namespace detail
}  // namespace PROFKIT_NAMESPACE
