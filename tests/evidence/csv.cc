// SPDX-License-Identifier: Apache-2.0
#include "tests/evidence/csv.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/spec/catalogue.h"
#include "planner/spec/quantity_text.h"

namespace shardplan::evidence {

Result<Csv> Csv::Read(const std::string& path) {
  const Result<SourcePtr> source = ReadSource(path, {});
  if (!source) return tl::unexpected(source.error());
  Csv csv;
  csv.source_ = *source;
  const std::string& text = csv.source_->text;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::vector<Cell> cells;
    for (std::size_t cell = begin; cell <= end;) {
      const std::size_t comma = std::min(text.find(',', cell), end);
      cells.push_back({text.substr(cell, comma - cell), {csv.source_, cell, comma - cell}});
      cell = comma + 1;
    }
    if (csv.columns_.empty())
      for (const Cell& cell : cells) csv.columns_.push_back(cell.text);
    else if (cells.size() != csv.columns_.size())
      return InvalidAt({csv.source_, begin, end - begin}, "",
                       fmt::format("{} cells under {} columns", cells.size(), csv.columns_.size()),
                       fmt::format("the columns are {}", fmt::join(csv.columns_, ",")));
    else
      csv.cells_.push_back(std::move(cells));
    begin = end + 1;
  }
  return csv;
}

Result<std::size_t> Csv::Column(const std::string& name) const {
  const auto found = std::find(columns_.begin(), columns_.end(), name);
  if (found == columns_.end())
    return InvalidAt({.source = source_}, "", fmt::format("no column {}", name),
                     fmt::format("the columns are {}", fmt::join(columns_, ",")));
  return static_cast<std::size_t>(found - columns_.begin());
}

Result<std::optional<double>> Csv::Positive(std::size_t line, std::size_t column) const {
  const std::string& text = Text(line, column);
  if (text.empty()) return std::nullopt;
  const ParsedNumber number = ParseNumber(text, Dimension::kNone);
  if (number.fault != NumberFault::kNone || number.value <= 0)
    return Fail(line, column, fmt::format("found {}", Shown(text)),
                "expected a number above 0, or nothing where none was stated");
  return number.value;
}

tl::unexpected<Error> Csv::Fail(std::size_t line, std::size_t column, std::string_view what,
                                std::string_view hint) const {
  return InvalidAt(cells_[line][column].place, columns_[column], what, hint);
}
}  // namespace shardplan::evidence
