// SPDX-License-Identifier: Apache-2.0
// Text for eyes: aligned tables, bars and quantities with units.
//
// Pure functions: what the terminal can show is in Look.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "planner/base/quantity.h"

namespace shardplan {

// What the output device can show.
struct Look {
  bool color = false;    // ANSI escapes
  bool unicode = false;  // block characters in bars
};

std::string FormatBytes(Bytes bytes);              // "71.2 GiB"; binary units
std::string FormatDecimalBytes(Bytes bytes);       // "85.9 GB"
std::string FormatSeconds(Seconds time);           // "4.31 s", "12.3 ms", "8.1 us", "3.2 h"
std::string FormatPercent(double share);           // 0.0612: "6.1%"; from 10 % on without decimals
std::string FormatCount(double count);             // "142,080"
std::string FormatFigure(double value);            // three digits: "0.0123", "12.3", "1,234"
std::string FormatScaled(double value);            // "70.6 B", "1.2 M": parameters
std::string FormatBandwidth(BytesPerSecond rate);  // "381 GB/s"
std::string FormatMessageSize(Bytes bytes);        // "1 KiB", "64 MiB", "1,000 B": exact

enum class Tone { kPlain, kBold, kDim, kGood, kWarning, kBad };
std::string Colored(std::string_view text, Tone tone, const Look& look);

// `share` of `width` characters filled; the rest is blank.
std::string Bar(double share, int width, const Look& look);

// Rows of cells in aligned columns, two spaces apart.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string header;
    Align align = Align::kRight;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES: one cell a column.
  void Add(std::vector<std::string> cells, Tone tone = Tone::kPlain);
  bool Empty() const { return rows_.empty(); }
  // Each line ends in a newline; no line ends in blanks. Columns whose cells are all empty are left
  // out.
  std::string Print(const Look& look) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    Tone tone;
  };
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};
}  // namespace shardplan
