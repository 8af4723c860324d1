// SPDX-License-Identifier: Apache-2.0
#include "loader/corpus.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <string_view>
#include <tuple>
#include <utility>

#include "config.hpp"
#include "loader/fnv.hpp"
#include "loader/utf8.hpp"
#include "training/text.hpp"

namespace trainer {

namespace {

/// A million characters of generated words, the same in each run.
std::vector<unsigned char> made_up_text() {
  constexpr std::array<std::string_view, 16> syllables{"ka", "lo",  "mi",  "ne",  "ru",  "sö",  "ta", "ve",
                                                       "pé", "din", "gor", "hal", "jus", "wen", "ßi", "zax"};
  constexpr std::size_t size = 1'000'000;
  std::mt19937_64 random{1};
  std::vector<unsigned char> text;
  while (text.size() < size) {
    for (std::uint64_t left = 1 + random() % 4; left > 0; --left) {
      std::string_view const syllable = syllables[random() % syllables.size()];
      text.insert(text.end(), syllable.begin(), syllable.end());
    }
    text.push_back(random() % 12 == 0 ? '\n' : ' ');
  }
  return text;
}

}  // namespace

corpus::corpus(std::string const& path, std::int64_t ctx)
    : ctx_{static_cast<std::size_t>(ctx)}, bytes_{path.empty() ? made_up_text() : read_data(path)}, fingerprint_{fnv_1a(bytes_)} {
  std::unordered_map<char32_t, std::size_t> counts;
  for (std::span<unsigned char const> left{bytes_}; !left.empty(); ++characters_) {
    if (characters_ % ctx_ == 0) starts_.push_back(bytes_.size() - left.size());
    ++counts[take_character(left)];
  }
  starts_.resize(characters_ > ctx_ ? (characters_ - 1) / ctx_ : 0);

  std::vector<std::pair<char32_t, std::size_t>> ranked{counts.begin(), counts.end()};
  std::sort(ranked.begin(), ranked.end(),
            [](auto const& a, auto const& b) { return std::tie(b.second, a.first) < std::tie(a.second, b.first); });
  ranked.resize(std::min(ranked.size(), static_cast<std::size_t>(vocabulary) - 1));
  for (auto const& [character, count] : ranked) tokens_.emplace(character, static_cast<std::int64_t>(tokens_.size()) + 1);
}

std::vector<std::int64_t> corpus::decode(std::size_t window) const {
  std::vector<std::int64_t> result(ctx_ + 1);
  std::span<unsigned char const> left = std::span{bytes_}.subspan(starts_.at(window));
  for (std::int64_t& token : result) {
    auto const found = tokens_.find(take_character(left));
    token = found == tokens_.end() ? 0 : found->second;
  }
  return result;
}

}  // namespace trainer
