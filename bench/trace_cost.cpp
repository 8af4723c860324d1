// SPDX-License-Identifier: Apache-2.0
//
// The cost of writing traces: processor time per event and bytes per scope, of trace.json and trace.pftrace, for N scopes on one thread,
// and for N scopes with N kernels. An event is a slice: a scope, a call or a kernel. Files are written and removed. The last line has the
// figures as JSON.
//
// usage: profkit_trace_cost [N] [DIR]        N: 1 million by default; DIR: folder of the files, by default that of temporary files
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/impl/report/trace_json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#ifdef PROFKIT_WITH_PERFETTO
#include "traces/pftrace.hpp"
#endif
#ifdef PROFKIT_WITH_ZLIB
#include <zlib.h>

#include <cstdio>
#endif

namespace {

constexpr std::size_t deepest = 6;
constexpr std::size_t scopes_per_step = 1000;
constexpr std::uint32_t name_count = 200;
constexpr int rounds = 7;
constexpr std::uint64_t all_steps = ~std::uint64_t{0};

/// Scopes that begin and end at random, 200 ns to 1.2 us apart, in steps. With kernels, each scope launches one.
class maker {
 public:
  maker(std::size_t scopes, bool with_kernels) : with_kernels_{with_kernels} {
    made_.environment.host = "made";
    made_.environment.process_id = 12345;
    made_.threads.push_back({12345, "train"});
    made_.time.begin = now_;
    made_.api_names = {"cuLaunchKernel"};
    for (std::uint32_t i = 0; i < name_count; ++i) made_.gpu_names.push_back({fmt::format("kernel_{}<float, 4>(float*, int)", i), {}});
    made_.scopes.reserve(scopes);
    std::uint32_t const step = path_in(profkit::path_record::no_parent, "step");
    while (made_.scopes.size() < scopes) make_step(step, std::min(scopes_per_step, scopes - made_.scopes.size()));
    made_.time.end = now_;
  }

  [[nodiscard]] profkit::profile const& made() const { return made_; }

 private:
  void make_step(std::uint32_t root, std::size_t scopes) {
    profkit::timestamp const begin = now_;
    std::vector<std::pair<std::uint32_t, profkit::timestamp>> open{{root, begin}};
    std::size_t opened = 1;
    while (!open.empty()) {
      now_ += std::chrono::nanoseconds{200 + random_() % 1000};
      bool const may_open = opened < scopes && open.size() < deepest;
      if (may_open && (open.size() == 1 || random_() % 2 == 0)) {
        constexpr char const* names[] = {"norm", "attention", "feed_forward"};
        open.emplace_back(path_in(open.back().first, names[random_() % 3]), now_);
        ++opened;
        if (with_kernels_) launch();
      } else if (opened == scopes || open.size() > 1) {
        made_.scopes.push_back({{open.back().second, now_}, open.back().first, 0});
        open.pop_back();
      }
    }
    made_.steps.push_back({{begin, now_}, made_.steps.size(), false, 1});
  }

  void launch() {
    profkit::timestamp const begin = now_ + std::chrono::nanoseconds{100};
    now_ = begin + std::chrono::nanoseconds{2000 + random_() % 1000};
    std::uint64_t const correlation = made_.api_calls.size() + 1;
    made_.api_calls.push_back({{begin, now_}, correlation, 0, 0});
    profkit::timestamp const start = std::max(now_ + std::chrono::nanoseconds{1500}, free_);
    free_ = start + std::chrono::nanoseconds{1000 + random_() % 4000};
    auto const name = static_cast<std::uint32_t>(random_() % name_count);
    made_.gpu_operations.push_back(
        {{start, free_}, correlation, 0, name, 0, 7, {128, 1, 1}, {256, 1, 1}, profkit::gpu_operation_kind::kernel});
  }

  std::uint32_t path_in(std::uint32_t parent, std::string const& name) {
    auto const [known, is_new] = paths_.try_emplace({parent, name}, static_cast<std::uint32_t>(made_.paths.size()));
    if (is_new) {
      made_.paths.push_back({parent, name, {}, "made.cpp", 1});
      made_.paths.back().is_step = name == "step";
    }
    return known->second;
  }

  bool with_kernels_;
  profkit::profile made_;
  profkit::timestamp now_{std::chrono::seconds{1'790'000'000}};
  profkit::timestamp free_ = now_;
  std::mt19937_64 random_{1};
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> paths_;
};

/// Processor time in user and kernel mode.
double seconds_of(std::function<void()> const& function) {
  auto const spent = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    auto const seconds = [](timeval const& time) { return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec); };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  };
  double const before = spent();
  function();
  return spent() - before;
}

struct result {
  std::string profile;
  std::string format;
  double events = 0.0;
  double scopes = 0.0;
  double bytes = 0.0;
  std::vector<double> seconds{};

  [[nodiscard]] double median() const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  [[nodiscard]] double min() const { return *std::min_element(seconds.begin(), seconds.end()); }

  void print() const {
    fmt::print("{:>8}  {:>18}  {:10.2f} M  {:10.2f} M  {:10.0f}  {:16.1f}  {:16.1f}\n", profile, format, events / median() / 1e6,
               events / min() / 1e6, 1e9 * median() / events, bytes / events, bytes / scopes);
  }

  [[nodiscard]] std::string json() const {
    return fmt::format(R"({{"profile":"{}","format":"{}","scopes":{:.0f},"events":{:.0f},"bytes":{:.0f},"median_s":{:.6f},"min_s":{:.6f},)"
                       R"("events_per_second":{:.0f},"bytes_per_scope":{:.2f},"bytes_per_event":{:.2f}}})",
                       profile, format, scopes, events, bytes, median(), min(), events / median(), bytes / scopes, bytes / events);
  }
};

#ifdef PROFKIT_WITH_ZLIB
/// Compresses like `gzip -1`.
void gzip(std::filesystem::path const& from, std::filesystem::path const& to) {
  std::FILE* const in = std::fopen(from.c_str(), "rb");
  gzFile const out = gzopen(to.c_str(), "wb1");
  if (in == nullptr || out == nullptr) std::abort();
  std::vector<char> piece(std::size_t{1} << 18U);
  while (std::size_t const read = std::fread(piece.data(), 1, piece.size(), in)) {
    if (gzwrite(out, piece.data(), static_cast<unsigned>(read)) == 0) std::abort();
  }
  gzclose(out);
  std::fclose(in);
}
#endif

void measure(std::string const& name, profkit::profile const& profile, std::filesystem::path const& directory,
             std::vector<result>& results) {
  profkit::attribution const launched = profkit::attribute(profile);
  auto const scopes = static_cast<double>(profile.scopes.size());
  double const events = scopes + static_cast<double>(profile.api_calls.size() + 2 * profile.gpu_operations.size());
  std::filesystem::path const json = directory / "trace.json";
  std::vector<std::pair<std::filesystem::path, std::function<void()>>> work;
  std::vector<result> measured;
  auto const add = [&](char const* format, std::filesystem::path const& path, std::function<void()> write) {
    measured.push_back({name, format, events, scopes});
    work.emplace_back(path, std::move(write));
  };
  add("trace.json", json, [&] { profkit::write_trace_json(profile, launched, all_steps, json); });
#ifdef PROFKIT_WITH_ZLIB
  std::filesystem::path const zipped = directory / "trace.json.gz";
  add("trace.json.gz", zipped, [&] { gzip(json, zipped); });  // compresses the previous file, so that the time is that of gzip alone
#endif
#ifdef PROFKIT_WITH_PERFETTO
  std::filesystem::path const compact = directory / "trace.pftrace";
  std::filesystem::path const plain = directory / "plain.pftrace";
  add("trace.pftrace", compact, [&] { profkit::write_pftrace(profile, launched, all_steps, compact); });
  add("not compressed", plain, [&] { profkit::write_pftrace(profile, launched, all_steps, plain, profkit::pftrace_packing::plain); });
#endif
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < work.size(); ++i) measured[i].seconds.push_back(seconds_of(work[i].second));
  }
  for (std::size_t i = 0; i < work.size(); ++i) {
    measured[i].bytes = static_cast<double>(std::filesystem::file_size(work[i].first));
    measured[i].print();
    results.push_back(std::move(measured[i]));
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t const scopes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  std::filesystem::path const parent = argc > 2 ? std::filesystem::path{argv[2]} : std::filesystem::temp_directory_path();
  if (scopes == 0) {
    fmt::print(stderr, "usage: profkit_trace_cost [N] [DIR]        N scopes, at least 1\n");
    return 2;
  }
  std::filesystem::path const directory = parent / fmt::format("profkit-trace-cost-{}", ::getpid());
  std::filesystem::create_directories(directory);
  fmt::print("{:>8}  {:>18}  {:>12}  {:>12}  {:>10}  {:>16}  {:>16}\n", "profile", "format", "events/s", "best", "ns each",
             "bytes an event", "bytes a scope");
  std::vector<result> results;
  measure("scopes", maker{scopes, false}.made(), directory, results);
  measure("kernels", maker{scopes, true}.made(), directory, results);
  std::filesystem::remove_all(directory);
  std::string json;
  for (result const& each : results) json += (json.empty() ? "" : ",") + each.json();
  fmt::print("{{\"trace_cost\":[{}]}}\n", json);
  return 0;
}
