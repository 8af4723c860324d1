// SPDX-License-Identifier: Apache-2.0
#include <profkit/options.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <cstdlib>
#include <string>

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

TEST_CASE("every key sets its option", "[options]") {
  profkit::options const options = profkit::options::parse("report,warmup=3,steps=12,out=some/dir,kernels=off,nvtx=off");
  CHECK(options.enabled);
  CHECK(options.print_report);
  CHECK(options.warmup_steps == 3);
  CHECK(options.measured_steps == 12);
  CHECK(options.output_directory == "some/dir");
  CHECK_FALSE(options.kernels);
  CHECK_FALSE(options.nvtx);
  CHECK_FALSE(options.trace);
  CHECK(options.trace_steps == 3);
  CHECK_FALSE(profkit::options::parse("off").enabled);
}

TEST_CASE("the number of records can be bounded", "[options]") {
  CHECK(profkit::options{}.max_records == 1'000'000);
  CHECK(profkit::options::parse("records=5000").max_records == 5000);
  CHECK(profkit::options::parse("log=64KiB").log_slots_per_thread == 8192);
  CHECK(profkit::options::parse("log=3MiB").log_slots_per_thread == 3 * 131072);
  CHECK(profkit::options::parse("log=1024GiB").log_slots_per_thread == std::uint64_t{1} << 37U);
}

TEST_CASE("samples=NHz is a rate", "[options]") {
  CHECK(profkit::options{}.samples_per_second == 0.0);
  CHECK(profkit::options::parse("samples=1000Hz").samples_per_second == 1000.0);
  char const* const bad = GENERATE("samples", "samples=", "samples=1000", "samples=0Hz", "samples=10001Hz", "samples=1kHz", "samples=-1Hz");
  CHECK_THROWS_MATCHES(profkit::options::parse(bad), profkit::error, MessageMatches(ContainsSubstring("from 1Hz to 10000Hz")));
}

TEST_CASE("drain=P% is a share of one core", "[options]") {
  CHECK(profkit::options{}.drain_share == 0.25);
  CHECK(profkit::options::parse("drain=5%").drain_share == 0.05);
  CHECK(profkit::options::parse("drain=100%").drain_share == 1.0);
  std::string const bad = GENERATE("drain", "drain=", "drain=0%", "drain=101%", "drain=5", "drain=-5%", "drain=nan%", "drain=5%%");
  CHECK_THROWS_MATCHES(profkit::options::parse(bad), profkit::error,
                       MessageMatches(ContainsSubstring("\"" + bad + "\"") && ContainsSubstring("drain=25%")));
}

TEST_CASE("metrics have a file", "[options]") {
  CHECK(profkit::options{}.metrics.empty());
  CHECK(profkit::options{}.metrics_every == std::chrono::seconds{15});
  CHECK(profkit::options::parse("metrics=out/run.%p.prom").metrics == "out/run.%p.prom");
  CHECK_THROWS_MATCHES(profkit::options::parse("metrics="), profkit::error, MessageMatches(ContainsSubstring("it takes a file")));
}

TEST_CASE("a journal has a file", "[options]") {
  CHECK(profkit::options{}.journal.empty());
  CHECK(profkit::options::parse("journal=out/run.%p.journal,report").journal == "out/run.%p.journal");
  CHECK_THROWS_MATCHES(profkit::options::parse("journal="), profkit::error, MessageMatches(ContainsSubstring("it takes a file")));
  CHECK_THROWS_MATCHES(profkit::options::parse("journal"), profkit::error, MessageMatches(ContainsSubstring("it takes a file")));
}

TEST_CASE("a trace can be requested with or without a number of steps", "[options]") {
  CHECK(profkit::options::parse("trace").trace);
  CHECK(profkit::options::parse("trace").trace_steps == 3);
  CHECK(profkit::options::parse("trace=7").trace);
  CHECK(profkit::options::parse("trace=7").trace_steps == 7);
}

TEST_CASE("keep=last:N and keep=slowest:K choose the steps whose records are kept, and steps=forever has no end", "[options]") {
  CHECK(profkit::options{}.keep.choice == profkit::kept_steps::all);
  CHECK(profkit::options::parse("keep=last:100").keep.choice == profkit::kept_steps::last);
  CHECK(profkit::options::parse("keep=last:100").keep.count == 100);
  CHECK(profkit::options::parse("keep=slowest:3").keep.choice == profkit::kept_steps::slowest);
  CHECK(profkit::options::parse("keep=slowest:3,keep=all").keep.choice == profkit::kept_steps::all);
  CHECK(profkit::options::parse("steps=forever").max_wanted_steps() == ~std::uint64_t{0});
  std::string const bad =
      GENERATE("keep=", "keep", "keep=last", "keep=last:", "keep=last:0", "keep=first:3", "keep=slowest:-1", "keep=slowest:3x");
  CHECK_THROWS_WITH(profkit::options::parse(bad), ContainsSubstring("all, last:N or slowest:K"));
}

TEST_CASE("steps=auto takes as many steps as it needs for 1 %, or for the given share", "[options]") {
  CHECK_FALSE(profkit::options{}.wanted_interval);
  CHECK(profkit::options::parse("steps=auto").wanted_interval == 0.01);
  CHECK(profkit::options::parse("steps=auto:0.5%").wanted_interval == 0.005);
  CHECK(profkit::options::parse("steps=auto:2%,warmup=3").warmup_steps == 3);
  CHECK_FALSE(profkit::options::parse("steps=auto,steps=20").wanted_interval);
  std::string const bad = GENERATE("steps=automatic", "steps=auto:", "steps=auto:0%", "steps=auto:1", "steps=auto:-1%", "steps=auto:101%",
                                   "steps=auto:nan%", "steps=auto:%", "steps=auto:1%%", "steps=auto=1%");
  CHECK_THROWS_MATCHES(profkit::options::parse(bad), profkit::error,
                       MessageMatches(ContainsSubstring("\"" + bad + "\"") && ContainsSubstring("auto:0.5%")));
}

TEST_CASE("kernels=every:N collects kernels in every N-th measured step and in the last one of the warm-up", "[options]") {
  CHECK(profkit::options::parse("kernels=on").kernels_every == 1);
  CHECK(profkit::options::parse("kernels=every:10,kernels=on").kernels_every == 1);
  CHECK(profkit::options::parse("kernels=off,kernels=every:10").kernels);
  profkit::options const options = profkit::options::parse("kernels=every:10,warmup=2,steps=30");
  CHECK(options.kernels_every == 10);
  for (std::uint64_t step = 0; step < 32; ++step) {
    CHECK(options.collects_kernels_in(step) == (step == 1 || step == 11 || step == 21 || step == 31));
  }
  profkit::options const few = profkit::options::parse("kernels=every:10,warmup=0,steps=4");
  for (std::uint64_t step = 0; step < 4; ++step) CHECK(few.collects_kernels_in(step) == (step == 3));
  CHECK(profkit::options::parse("kernels=on,warmup=2").collects_kernels_in(0));
  CHECK_FALSE(profkit::options::parse("kernels=every:10,steps=0").collects_kernels_in(5));
  std::string const bad = GENERATE("kernels=every", "kernels=every:", "kernels=every:0", "kernels=every:-1", "kernels=every:2x",
                                   "kernels=every=2", "kernels=some", "kernels=", "kernels=10");
  CHECK_THROWS_MATCHES(profkit::options::parse(bad), profkit::error,
                       MessageMatches(ContainsSubstring("\"" + bad + "\"") && ContainsSubstring("on, off, capture, or every:N") &&
                                      ContainsSubstring("kernels=on|off|capture|every:N")));
}

TEST_CASE("kernels=capture collects kernels in no step, and control listens, on request only", "[options]") {
  CHECK_FALSE(profkit::options{}.control);
  CHECK(profkit::options::parse("control").control);
  CHECK_THROWS_WITH(profkit::options::parse("control=on"), ContainsSubstring("unknown key \"control=on\""));
  CHECK_FALSE(profkit::options{}.kernels_on_capture);
  CHECK_FALSE(profkit::options::parse("kernels=capture,kernels=on").kernels_on_capture);
  profkit::options const options = profkit::options::parse("kernels=capture,warmup=2");
  CHECK((options.kernels && options.kernels_on_capture));
  for (std::uint64_t step = 0; step < 32; ++step) CHECK_FALSE(options.collects_kernels_in(step));
}

TEST_CASE("a precision must be one that has a peak", "[options]") {
  CHECK(profkit::options{}.precision == profkit::precision::unknown);
  CHECK(profkit::options::parse("precision=bf16").precision == profkit::precision::bf16);
  CHECK(profkit::options::parse("precision=fp8").precision == profkit::precision::fp8);
  for (char const* const bad : {"precision=fp4", "precision=unknown", "precision=", "precision"}) {
    CHECK_THROWS_MATCHES(profkit::options::parse(bad), profkit::error,
                         MessageMatches(ContainsSubstring("it takes fp64, fp32, tf32, fp16, bf16 or fp8")));
  }
}

TEST_CASE("an empty list, and empty items, leave the defaults", "[options]") {
  for (char const* const text : {"", ",", ",,"}) {
    profkit::options const options = profkit::options::parse(text);
    CHECK(options.enabled);
    CHECK(options.kernels);
    CHECK_FALSE(options.print_report);
  }
}

TEST_CASE("report prints the first screen, report=full all tables", "[options]") {
  CHECK(profkit::options::parse("report").print_report);
  CHECK_FALSE(profkit::options::parse("report").full_report);
  CHECK(profkit::options::parse("report=full").full_report);
  CHECK_FALSE(profkit::options::parse("report=full").print_report);
  CHECK(profkit::options::parse("report=every:60s,report=full").full_report);
}

TEST_CASE("report=every:T sets the interval in milliseconds, seconds, minutes, hours or steps, and prints nothing at the end",
          "[options]") {
  using std::chrono::milliseconds;
  CHECK(profkit::options::parse("report").report_every == milliseconds{0});
  CHECK(profkit::options::parse("report=every:250ms").report_every == milliseconds{250});
  CHECK(profkit::options::parse("report=every:60s").report_every == milliseconds{60'000});
  CHECK(profkit::options::parse("report=every:5m").report_every == milliseconds{300'000});
  CHECK(profkit::options::parse("report=every:8760h").report_every == std::chrono::hours{8760});
  CHECK_FALSE(profkit::options::parse("report=every:60s").print_report);
  CHECK(profkit::options::parse("report=every:60s,report").print_report);
  CHECK(profkit::options::parse("report=every:60s").report_every_steps == 0);
  CHECK(profkit::options::parse("report=every:1000").report_every_steps == 1000);
  CHECK(profkit::options::parse("report=every:1000").report_every == milliseconds{0});
  profkit::options const both = profkit::options::parse("report=every:1000,report=every:60s");
  CHECK(both.report_every_steps == 1000);
  CHECK(both.report_every == milliseconds{60'000});
  std::string const bad =
      GENERATE("report=", "report=yes", "report=every", "report=every:", "report=every:0", "report=every:0s", "report=every:-1s",
               "report=every:1.5s", "report=every:60 s", "report=every:60d", "report=every:8761h", "report=every:99999999999999999999s");
  CHECK_THROWS_MATCHES(profkit::options::parse(bad), profkit::error,
                       MessageMatches(ContainsSubstring("\"" + bad + "\"") && ContainsSubstring("as in every:60s")));
}

TEST_CASE("an unknown key is named, and the valid ones are listed", "[options]") {
  std::string const bad = GENERATE("warmups=3", "Report", "off=1", "reports=every:60s", "stepss", " report");
  CHECK_THROWS_MATCHES(profkit::options::parse("report," + bad), profkit::error,
                       MessageMatches(ContainsSubstring("unknown key \"" + bad + "\"") && ContainsSubstring("warmup=N") &&
                                      ContainsSubstring("nvtx=on|off")));
}

TEST_CASE("a bad value is named, with the valid ones", "[options]") {
  std::string const bad = GENERATE("warmup=", "warmup", "warmup=-1", "steps=3x", "steps=99999999999999999999999", "out=", "nvtx=0",
                                   "kernels", "records=", "records=0", "log=", "log=0MiB", "log=64", "log=64MB", "log=1025GiB", "log=-1MiB",
                                   "log=MiB", "trace=", "trace=0", "trace=on");
  CHECK_THROWS_MATCHES(profkit::options::parse(bad), profkit::error,
                       MessageMatches(ContainsSubstring("\"" + bad + "\"") && ContainsSubstring("it takes")));
}

TEST_CASE("the environment is read when the function is called", "[options]") {
  ::setenv("PROFKIT", "warmup=7", 1);
  CHECK(profkit::options::from_env().warmup_steps == 7);
  ::unsetenv("PROFKIT");
  CHECK(profkit::options::from_env().warmup_steps == profkit::options{}.warmup_steps);
}

TEST_CASE("a misspelt key is answered with the closest valid key, if one is close", "[options]") {
  auto const answers = [](char const* misspelt, char const* answer) {
    CHECK_THROWS_MATCHES(profkit::options::parse(misspelt), profkit::error, MessageMatches(ContainsSubstring(answer)));
  };
  answers("step=5", "\"step=5\". Did you mean \"steps\"? Valid keys: off");
  answers("stepss=5", "Did you mean \"steps\"?");
  answers("Report", "Did you mean \"report\"?");
  answers(" report", "Did you mean \"report\"?");
  answers("warmpu=2", "Did you mean \"warmup\"?");
  answers("x", "\"x\". Valid keys: off");
  answers("something", "\"something\". Valid keys: off");
  answers("=1", "\"=1\". Valid keys: off");
}

TEST_CASE("a bad PROFKIT does not throw, and nothing is recorded", "[options]") {
  ::setenv("PROFKIT", "report,steps=many", 1);
  profkit::options const options = profkit::options::from_env();
  ::unsetenv("PROFKIT");
  CHECK_FALSE(options.enabled);
  CHECK_FALSE(options.print_report);
}

TEST_CASE("a number of steps that overflows is limited to the maximum", "[options]") {
  profkit::options const options = profkit::options::parse("steps=18446744073709551615,warmup=5");
  CHECK(options.max_wanted_steps() == 18446744073709551615U);
  CHECK(profkit::options::parse("steps=18446744073709551610,warmup=5").max_wanted_steps() == 18446744073709551615U);
  CHECK(profkit::options::parse("steps=7,warmup=5").max_wanted_steps() == 12);
}
