// SPDX-License-Identifier: Apache-2.0
#include "planner/import/placed.h"

#include <algorithm>

namespace shardplan {
namespace {
// Control characters that no script holds: Placed::File drops them.
constexpr char kUnknownBegins = '\x01', kUnknownEnds = '\x02';
}  // namespace

Placed::Placed(std::string_view text, Spot spot) : text_(text), spots_(text.size(), spot) {}

Placed Placed::File(std::string_view text, int file) {
  Placed placed;
  Spot spot{file, 1};
  for (const char c : text) {
    if (c == kUnknownBegins || c == kUnknownEnds || c == '\r' || c == '\0') continue;
    placed.Append(c, spot);
    if (c == '\n') ++spot.line;
  }
  return placed;
}

void Placed::Append(char character, Spot spot) {
  text_ += character;
  spots_.push_back(spot);
}

void Placed::Append(const Placed& other) {
  text_ += other.text_;
  spots_.insert(spots_.end(), other.spots_.begin(), other.spots_.end());
}

Placed Placed::Part(std::size_t begin, std::size_t end) const {
  end = std::min(end, size());
  begin = std::min(begin, end);
  Placed part;
  part.text_ = text_.substr(begin, end - begin);
  part.spots_.assign(spots_.begin() + static_cast<std::ptrdiff_t>(begin),
                     spots_.begin() + static_cast<std::ptrdiff_t>(end));
  return part;
}

Placed Unknown(std::string_view source, Spot spot) {
  return {kUnknownBegins + WithoutMarks(source) + kUnknownEnds, spot};
}

bool IsUnknown(std::string_view text) {
  return text.find(kUnknownBegins) != std::string_view::npos;
}

std::string WithoutMarks(std::string_view text) {
  std::string plain;
  for (const char c : text)
    if (c != kUnknownBegins && c != kUnknownEnds) plain += c;
  return plain;
}
}  // namespace shardplan
