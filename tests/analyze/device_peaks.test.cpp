// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/analyze/work/model_flops.hpp>

#include "../support/temporary_folder.hpp"
#include "../support/testing.hpp"

using profkit::device_peaks;
using profkit::peaks_of;
using profkit::precision;

namespace {

double teraflops(device_peaks const& peaks, precision in) { return peaks.teraflops[static_cast<std::size_t>(in)]; }

/// The number as docs/roofline.md prints it.
std::string row_of(device_peaks const& peaks) {
  std::ostringstream row;
  auto const cell = [&](double value) {
    if (value > 0.0) {
      row << " | " << value;
    } else {
      row << " | n/a";
    }
  };
  row << "| " << peaks.device;
  for (std::size_t i = 1; i < profkit::precision_count; ++i) cell(peaks.teraflops[i]);
  cell(peaks.gigabytes);
  cell(peaks.link_gigabytes);
  row << " | " << peaks.source << " |\n";
  return row.str();
}

}  // namespace

TEST_CASE("the peaks of an H200 are the dense rates of its data sheet", "[peaks]") {
  device_peaks const* const h200 = peaks_of("NVIDIA H200");
  REQUIRE(h200 != nullptr);
  CHECK(teraflops(*h200, precision::fp64) == 67.0);
  CHECK(teraflops(*h200, precision::fp32) == 67.0);
  CHECK(teraflops(*h200, precision::tf32) == 989.0 / 2.0);
  CHECK(teraflops(*h200, precision::fp16) == 1979.0 / 2.0);
  CHECK(teraflops(*h200, precision::bf16) == 1979.0 / 2.0);
  CHECK(teraflops(*h200, precision::fp8) == 3958.0 / 2.0);
  CHECK(h200->gigabytes == 4800.0);
  CHECK(h200->link_gigabytes == 900.0 / 2.0);
  CHECK(h200->rates().flops_per_second[static_cast<std::size_t>(precision::bf16)] == 989.5e12);
  CHECK(h200->rates().bytes_per_second == 4.8e12);
}

TEST_CASE("a device is found only by its complete name", "[peaks]") {
  REQUIRE(peaks_of("NVIDIA H200 NVL") != nullptr);
  CHECK(teraflops(*peaks_of("NVIDIA H200 NVL"), precision::bf16) < teraflops(*peaks_of("NVIDIA H200"), precision::bf16));
  CHECK(peaks_of("NVIDIA A100-SXM4-40GB")->gigabytes != peaks_of("NVIDIA A100-SXM4-80GB")->gigabytes);
  for (std::string_view const name :
       {"", "H200", "NVIDIA H20", "NVIDIA H200 ", "nvidia h200", "NVIDIA H200 MIG 1g.18gb", "NVIDIA H100", "NVIDIA A10G", "NVIDIA A100",
        "NVIDIA L40", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 5090 D"}) {
    CAPTURE(name);
    CHECK(peaks_of(name) == nullptr);
  }
}

TEST_CASE("a precision without a published rate has no rate", "[peaks]") {
  profkit::device_rates const a100 = peaks_of("NVIDIA A100-SXM4-80GB")->rates();
  CHECK_FALSE(a100.flops_per_second[static_cast<std::size_t>(precision::fp8)]);
  CHECK_FALSE(peaks_of("Tesla V100-SXM2-16GB")->rates().flops_per_second[static_cast<std::size_t>(precision::bf16)]);
  for (device_peaks const& each : profkit::known_devices) CHECK_FALSE(each.rates().flops_per_second[0]);
}

TEST_CASE("no tensor-core rate in the table is the rate with sparsity", "[peaks]") {
  std::set<std::string_view> names;
  for (device_peaks const& each : profkit::known_devices) {
    CAPTURE(each.device);
    CHECK(names.insert(each.device).second);
    CHECK(peaks_of(each.device) == &each);
    CHECK_FALSE(each.source.empty());
    double const fp16 = teraflops(each, precision::fp16);
    double const bf16 = teraflops(each, precision::bf16);
    double const tf32 = teraflops(each, precision::tf32);
    double const fp8 = teraflops(each, precision::fp8);
    CHECK(fp16 > 0.0);
    // Consecutive rates differ by a factor of 2; a wrong halving would make it 1 or 4.
    if (bf16 > 0.0) CHECK(bf16 == fp16);
    if (tf32 > 0.0) CHECK((fp16 / tf32 > 1.9 && fp16 / tf32 < 2.1));
    if (fp8 > 0.0) CHECK((fp8 / fp16 > 1.9 && fp8 / fp16 < 2.1));
  }
}

TEST_CASE("the documentation page has the table, row by row", "[peaks]") {
  std::filesystem::path const page = std::filesystem::path{__FILE__}.parent_path() / "../../docs/roofline.md";
  std::string const text = text_of_file(page);
  std::size_t at = text.find("| device | fp64 |");
  REQUIRE(at != std::string::npos);
  for (int heading = 0; heading < 2; ++heading) at = text.find('\n', at) + 1;
  for (device_peaks const& each : profkit::known_devices) {
    std::string const row = row_of(each);
    CHECK(text.substr(at, row.size()) == row);
    at += row.size();
  }
  CHECK(text[at] == '\n');
}
