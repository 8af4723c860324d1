// SPDX-License-Identifier: Apache-2.0
//
// Gives an allocator of the program a row in the memory table.
#include <profkit/profkit.hpp>

#include <algorithm>

struct arena {
  void* take(std::size_t bytes) {
    char* const result = memory + used;
    used += bytes;
    peak = std::max(peak, used);
    return result;
  }
  void reset() { used = 0; }

  char memory[1 << 24];
  std::size_t used = 0, peak = 0;
} frame_arena;

class arena_memory : public profkit::memory_source {
 public:
  std::string_view name() const noexcept override { return "frame arena"; }
  std::vector<profkit::memory_reading> read() override { return {{"used", frame_arena.used, frame_arena.peak, "measured steps"}}; }
  void reset_peak() override { frame_arena.peak = frame_arena.used; }
};

int main() {
  profkit::session session;
  session.collect(arena_memory{});
  for (profkit::step step : session) {
    frame_arena.reset();
    PROF_SCOPE("frame");
    for (int i = 0; i < 8; ++i) frame_arena.take(1 << 20);
  }
  fmt::print("{}\n", session.report());
}
