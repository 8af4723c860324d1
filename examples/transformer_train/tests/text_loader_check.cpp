// SPDX-License-Identifier: Apache-2.0
//
// UTF-8, the windows of a text, and the loader: each window once per epoch, in the same order for every number of workers.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "errors.hpp"
#include "loader/corpus.hpp"
#include "loader/processor_work.hpp"
#include "loader/text_loader.hpp"
#include "loader/utf8.hpp"
#include "named_check.hpp"

namespace text_loader_check {

namespace {

using namespace trainer;

int failures = 0;

void expect(bool is_true, std::string_view what) {
  if (is_true) return;
  ++failures;
  fmt::print("FAIL: {}\n", what);
}

std::vector<std::uint32_t> characters_of(std::string_view text) {
  std::vector<unsigned char> const bytes{text.begin(), text.end()};
  std::vector<std::uint32_t> result;
  for (std::span<unsigned char const> left{bytes}; !left.empty();) result.push_back(take_character(left));
  return result;
}

void check_utf8() {
  using list = std::vector<std::uint32_t>;
  auto const is = [](std::string_view text, list const& expected) {
    list const got = characters_of(text);
    expect(got == expected, fmt::format("characters are {::x}, expected {::x}", got, expected));
  };
  is("aé€😀", {0x61, 0xE9, 0x20AC, 0x1F600});
  is("\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", {0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF});
  is("\x80z", {0xFFFD, 'z'});                                            // a continuation byte alone
  is("\xC3", {0xFFFD});                                                  // truncated
  is("\xE2\x82z", {0xFFFD, 0xFFFD, 'z'});                                // truncated, followed by another character
  is("\xC0\xAF", {0xFFFD, 0xFFFD});                                      // a slash in two bytes (overlong)
  is("\xE0\x80\xAF", {0xFFFD, 0xFFFD, 0xFFFD});                          // in three (overlong)
  is("\xED\xA0\x80", {0xFFFD, 0xFFFD, 0xFFFD});                          // half of a surrogate pair
  is("\xF4\x90\x80\x80\xFF", {0xFFFD, 0xFFFD, 0xFFFD, 0xFFFD, 0xFFFD});  // beyond U+10FFFF
}

void write(std::filesystem::path const& path, std::string const& content) { std::ofstream{path, std::ios::binary} << content; }

void check_corpus(std::filesystem::path const& path) {
  // By frequency: é, b, a, c. Equally frequent characters are in the order of Unicode, so a is before c.
  write(path, "éébéaébéc");
  corpus const text{path.string(), 3};
  expect(text.characters() == 9 && text.windows() == 2, "9 characters are 2 windows of 3 and a target");
  using tokens = std::vector<std::int64_t>;
  expect(text.decode(0) == tokens{1, 1, 2, 1}, fmt::format("the first window is {}", text.decode(0)));
  expect(text.decode(1) == tokens{1, 3, 1, 2},
         fmt::format("the second begins with the last target of the first; it is {}", text.decode(1)));
  expect((corpus{path.string(), 4}.windows() == 2 && corpus{path.string(), 8}.windows() == 1), "the last window may end with the text");
  expect((corpus{path.string(), 9}.windows() == 0), "a window needs its last target");
  std::uint64_t const before = text.fingerprint();
  write(path, "éébéaébéd");
  expect((corpus{path.string(), 3}.fingerprint() != before), "another text has another fingerprint");

  // 10,100 different characters; the first 9,999 occur twice.
  std::string many;
  auto const append = [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t c = first; c < first + count; ++c) {
      many += {static_cast<char>(0xE0U | c >> 12U), static_cast<char>(0x80U | (c >> 6U & 0x3FU)), static_cast<char>(0x80U | (c & 0x3FU))};
    }
  };
  append(0x3000, 10'100);
  append(0x3000, 9'999);
  write(path, many);
  corpus const wide{path.string(), 10'099};
  std::vector<std::int64_t> const all = wide.decode(0);
  expect(all[0] == 1 && all[9'998] == 9'999, "frequent characters have the tokens from 1 to 9999");
  expect(all[9'999] == 0 && all[10'099] == 0, "the others are token 0");
}

constexpr std::int64_t ctx = 4;
constexpr std::int64_t batch = 3;
constexpr std::uint64_t warmup = 2;
constexpr std::uint64_t epoch = 7;

/// The batches of the warm-up and of two epochs, as pairs of tokens and targets.
std::vector<std::vector<std::int64_t>> load(std::shared_ptr<corpus const> const& from, std::size_t workers, std::uint64_t seed) {
  text_loader loader{from, {workers, ctx, batch, std::chrono::microseconds{50}, seed, warmup, epoch}};
  std::vector<std::vector<std::int64_t>> batches;
  for (std::uint64_t i = 0; i < warmup + 2 * epoch; ++i) {
    std::vector<std::int64_t>& both = batches.emplace_back(2 * batch * ctx);
    std::span<std::int64_t> const all{both};
    loader.next(all.first(batch * ctx), all.last(batch * ctx));
  }
  return batches;
}

void check_loader(std::filesystem::path const& path) {
  std::string text;
  for (int i = 0; i < 97; ++i) text += static_cast<char>('!' + i * 31 % 89);
  write(path, text);
  auto const from = std::make_shared<corpus const>(path.string(), ctx);
  expect(from->windows() == 24, "97 characters are 24 windows of 4");

  auto const batches = load(from, 0, 5);
  std::set<std::vector<std::int64_t>> expected;
  for (std::size_t i = 0; i < epoch * batch; ++i) expected.insert(from->decode(i));
  for (std::size_t pass = 0; pass < 2; ++pass) {
    std::set<std::vector<std::int64_t>> seen;
    for (std::size_t i = warmup + pass * epoch; i < warmup + (pass + 1) * epoch; ++i) {
      for (std::size_t row = 0; row < batch; ++row) {
        auto const tokens = batches[i].begin() + static_cast<std::ptrdiff_t>(row * ctx);
        auto const targets = tokens + batch * ctx;
        std::vector<std::int64_t> window{tokens, tokens + ctx};
        window.push_back(targets[ctx - 1]);
        expect((std::vector<std::int64_t>{tokens + 1, tokens + ctx} == std::vector<std::int64_t>{targets, targets + ctx - 1}),
               "a target is the token after its own");
        seen.insert(window);
      }
    }
    expect(seen == expected, "an epoch has each of its windows once");
  }
  expect(!std::equal(batches.begin() + warmup, batches.begin() + warmup + epoch, batches.begin() + warmup + epoch),
         "two epochs have different orders");
  for (std::size_t const workers : {1U, 2U, 5U}) {
    expect(load(from, workers, 5) == batches, fmt::format("with {} workers the batches are the same as with 0", workers));
  }
  expect(load(from, 2, 6) != batches, "another seed is another order");

  // Destroyed in the middle of an epoch, while workers are busy and batches are waiting.
  text_loader left{from, {4, ctx, batch, std::chrono::microseconds{200}, 0, 0, epoch}};
  std::vector<std::int64_t> both(2 * batch * ctx);
  left.next(std::span{both}.first(batch * ctx), std::span{both}.last(batch * ctx));
}

void check_worker_failure(std::filesystem::path const& path) {
  // The workers have no windows.
  write(path, "");
  auto const from = std::make_shared<corpus const>(path.string(), ctx);
  text_loader loader{from, {2, ctx, batch, {}, 0, 0, epoch}};
  std::vector<std::int64_t> both(2 * batch * ctx);
  try {
    loader.next(std::span{both}.first(batch * ctx), std::span{both}.last(batch * ctx));
    expect(false, "an exception of a worker reaches the caller");
  } catch (std::out_of_range const&) {
  }
}

void check_work() {
  std::vector<std::int64_t> const tokens(9, 1);
  auto const begin = processor_time();
  keep_busy(std::chrono::milliseconds{3}, tokens);
  expect(processor_time() - begin >= std::chrono::milliseconds{3}, "work takes the requested processor time");
}

int run(int /*count*/, char** /*arguments*/) {
  try {
    std::filesystem::path const path = std::filesystem::temp_directory_path() / fmt::format("text_loader_check_{}", ::getpid());
    check_utf8();
    check_corpus(path);
    check_loader(path);
    check_worker_failure(path);
    check_work();
    std::filesystem::remove(path);
  } catch (std::exception const& error) {
    ++failures;
    fmt::print("FAIL: {}\n", error.what());
  }
  if (failures == 0) fmt::print("passed\n");
  return failures == 0 ? 0 : 1;
}

checks::named_check const registered{"text_loader", run};

}  // namespace

}  // namespace text_loader_check
