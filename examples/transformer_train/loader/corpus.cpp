// SPDX-License-Identifier: Apache-2.0
#include "loader/corpus.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "config.hpp"
#include "loader/fnv.hpp"
#include "loader/utf8.hpp"
#include "training/text.hpp"

namespace trainer {

corpus::corpus(std::string const& path, std::int64_t ctx)
    : ctx_{static_cast<std::size_t>(ctx)}, bytes_{read_data(path)}, fingerprint_{fnv_1a(bytes_)} {
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
