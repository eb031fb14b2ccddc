// SPDX-License-Identifier: Apache-2.0
// A CSV file whose cells hold no commas, quotes or line breaks, with the places of its cells.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "planner/spec/source.h"

namespace shardplan::evidence {

class Csv {
 public:
  // The first line names the columns; every other line has as many cells.
  static Result<Csv> Read(const std::string& path);

  std::size_t Lines() const { return cells_.size(); }
  const std::vector<std::string>& Columns() const { return columns_; }
  // The index of a column, or an error that lists those there are.
  Result<std::size_t> Column(const std::string& name) const;

  const std::string& Text(std::size_t line, std::size_t column) const {
    return cells_[line][column].text;
  }
  // A number above zero; nothing of an empty cell.
  Result<std::optional<double>> Positive(std::size_t line, std::size_t column) const;
  tl::unexpected<Error> Fail(std::size_t line, std::size_t column, std::string_view what,
                             std::string_view hint) const;

 private:
  struct Cell {
    std::string text;
    Place place;
  };
  SourcePtr source_;
  std::vector<std::string> columns_;
  std::vector<std::vector<Cell>> cells_;
};
}  // namespace shardplan::evidence
