// SPDX-License-Identifier: Apache-2.0
#include "planner/base/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace shardplan {
namespace {

constexpr std::size_t kLongestWord = 64;  // longer ones are no slip of the finger
constexpr std::size_t kMostNear = 4;      // words that are named as near
constexpr std::size_t kMostBeside = 24;   // words that are listed beside a near one
constexpr std::size_t kMostListed = 40;   // words that are listed at all

std::string Folded(std::string_view word) {
  std::string folded(word);
  for (char& c : folded)
    c = c == '-' || c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return folded;
}

// Optimal string alignment distance.
std::size_t Edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace

std::vector<std::string> NearestWords(std::string_view word,
                                      const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > kLongestWord) return {};
  const std::string folded = Folded(word);
  std::vector<std::string> best;
  std::size_t least = 2 * kLongestWord;
  for (const std::string& candidate : candidates) {
    const std::string other = Folded(candidate);
    const std::size_t allowed =
        std::min(folded.size(), other.size()) < 4 ? 1 : 1 + other.size() / 4;
    const std::size_t edits = Edits(folded, other);
    const bool begins = folded.size() >= 3 && other.starts_with(folded);
    if (!begins && edits > allowed) continue;
    const std::size_t distance = begins ? 1 : 2 * edits;
    if (distance > least) continue;
    if (distance < least) best.clear();
    least = distance;
    if (best.size() < kMostNear) best.push_back(candidate);
  }
  return best;
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::vector<std::string> near = NearestWords(word, candidates);
  if (near.empty()) return {};
  const auto last = near.end() - 1;
  const std::string before = fmt::format("{}", fmt::join(near.begin(), last, ", "));
  return fmt::format("did you mean {}{}{}? ", before, before.empty() ? "" : " or ", *last);
}

std::string Suggest(std::string_view word, const std::vector<std::string>& candidates,
                    std::string_view lead) {
  std::string text = DidYouMean(word, candidates);
  if (!text.empty() && candidates.size() > kMostBeside) {
    text.pop_back();
    return text;
  }
  const std::size_t listed = std::min(candidates.size(), kMostListed);
  text += fmt::format("{} {}", lead,
                      fmt::join(candidates.begin(),
                                candidates.begin() + static_cast<std::ptrdiff_t>(listed), ", "));
  if (listed < candidates.size()) text += fmt::format(" and {} more", candidates.size() - listed);
  return text;
}
}  // namespace shardplan
