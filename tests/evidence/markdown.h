// SPDX-License-Identifier: Apache-2.0
// Pieces of Markdown that the error table is written with.
#pragma once
#include <fmt/format.h>

#include <string>
#include <vector>

namespace shardplan::evidence {

// `columns` name what stands under them; those that begin with '#' are numbers, set to the right.
inline std::string TableHead(const std::vector<std::string>& columns) {
  std::string head = "|", rule = "|";
  for (const std::string& column : columns) {
    const bool number = column.starts_with('#');
    head += fmt::format(" {} |", number ? column.substr(1) : column);
    rule += number ? "---:|" : "---|";
  }
  return head + "\n" + rule + "\n";
}

inline std::string TableRow(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += fmt::format(" {} |", cell);
  return row + "\n";
}

inline std::string Percent(double share) { return fmt::format("{:.1f}%", 100 * share); }
// With its sign; a bias that rounds to nothing has none.
inline std::string SignedPercent(double share) {
  const std::string text = fmt::format("{:+.1f}%", 100 * share);
  return text == "+0.0%" || text == "-0.0%" ? "0.0%" : text;
}

inline std::string Link(const std::string& text, const std::string& url) {
  return url.empty() ? text : fmt::format("[{}]({})", text, url);
}
}  // namespace shardplan::evidence
