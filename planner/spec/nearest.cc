// SPDX-License-Identifier: Apache-2.0
#include "planner/spec/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace shardplan {
namespace {

constexpr std::size_t kLongestWord = 64;  // longer ones are no slip of the finger
constexpr std::size_t kMostListed = 40;

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

std::string NearestWord(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > kLongestWord) return {};
  const std::string folded = Folded(word);
  const std::string* best = nullptr;
  std::size_t least = 0;
  for (const std::string& candidate : candidates) {
    const std::string other = Folded(candidate);
    const std::size_t edits = Edits(folded, other);
    const std::size_t allowed =
        std::min(folded.size(), other.size()) < 4 ? 1 : 1 + other.size() / 4;
    // A part of the name is a good start too: `h100` of `h100-sxm-80gb`.
    const bool begins = folded.size() >= 3 && other.compare(0, folded.size(), folded) == 0;
    if (edits > allowed && !begins) continue;
    const std::size_t distance = begins ? std::min<std::size_t>(edits, 2) : edits;
    if (best == nullptr || distance < least) best = &candidate, least = distance;
  }
  return best ? *best : std::string();
}

std::string Suggest(std::string_view word, const std::vector<std::string>& candidates,
                    std::string_view lead) {
  const std::string nearest = NearestWord(word, candidates);
  std::string text = nearest.empty() ? "" : fmt::format("did you mean {}? ", nearest);
  const std::size_t listed = std::min(candidates.size(), kMostListed);
  text += fmt::format("{} {}", lead,
                      fmt::join(candidates.begin(),
                                candidates.begin() + static_cast<std::ptrdiff_t>(listed), ", "));
  if (listed < candidates.size()) text += fmt::format(" and {} more", candidates.size() - listed);
  return text;
}
}  // namespace shardplan
