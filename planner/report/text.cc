// SPDX-License-Identifier: Apache-2.0
#include "planner/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "planner/base/check.h"

namespace shardplan {
namespace {

struct Unit {
  double size;
  const char* name;
};

// Three significant digits, in the largest unit that the value reaches.
template <std::size_t N>
std::string InUnits(double value, const std::array<Unit, N>& units) {
  for (const Unit& unit : units) {
    const double scaled = value / unit.size;
    // 999.6 MiB rounds to 1000 MiB, which is better said as 0.98 GiB; it is not worth a case.
    if (std::abs(scaled) >= 0.9995 || unit.size == units.back().size)
      return fmt::format("{:.{}f} {}", scaled,
                         std::abs(scaled) < 9.995   ? 2
                         : std::abs(scaled) < 99.95 ? 1
                                                    : 0,
                         unit.name);
  }
  return {};
}

// Characters that a terminal shows, of UTF-8 text.
std::size_t WidthOf(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}
}  // namespace

std::string FormatBytes(Bytes bytes) {
  if (bytes.value == 0) return "0 B";
  const double gib = bytes.value / (1 << 30);
  if (std::abs(gib) >= 9.995 && std::abs(gib) < 1023) return fmt::format("{:.1f} GiB", gib);
  static constexpr std::array<Unit, 6> units{{{0x1p50, "PiB"},
                                              {0x1p40, "TiB"},
                                              {0x1p30, "GiB"},
                                              {0x1p20, "MiB"},
                                              {0x1p10, "KiB"},
                                              {1, "B"}}};
  return InUnits(bytes.value, units);
}

std::string FormatDecimalBytes(Bytes bytes) {
  static constexpr std::array<Unit, 6> units{
      {{1e15, "PB"}, {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}};
  return InUnits(bytes.value, units);
}

std::string FormatSeconds(Seconds time) {
  if (time.value == 0) return "0 s";
  if (time.value >= 2 * 86400) return fmt::format("{:.1f} days", time.value / 86400);
  if (time.value >= 2 * 3600) return fmt::format("{:.1f} h", time.value / 3600);
  static constexpr std::array<Unit, 4> units{{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
  return InUnits(time.value, units);
}

std::string FormatPercent(double share) {
  const double percent = 100 * share;
  return std::abs(percent) < 9.95 ? fmt::format("{:.1f}%", percent)
                                  : fmt::format("{:.0f}%", percent);
}

std::string FormatCount(double count) {
  if (!(std::abs(count) < 1e18)) return fmt::format("{:.3g}", count);
  std::string digits = fmt::format("{}", std::llround(std::abs(count)));
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return (count < 0 ? "-" : "") + digits;
}

std::string FormatFigure(double value) {
  if (std::abs(value) >= 999.5) return FormatCount(value);
  return fmt::format("{:#.3g}", value);
}

std::string FormatScaled(double value) {
  if (std::abs(value) < 1e4) return FormatCount(value);
  static constexpr std::array<Unit, 4> units{{{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "K"}}};
  return InUnits(value, units);
}

std::string FormatBandwidth(BytesPerSecond rate) {
  static constexpr std::array<Unit, 4> units{
      {{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}}};
  return InUnits(rate.value, units);
}

std::string FormatMessageSize(Bytes bytes) {
  static constexpr std::array<Unit, 4> units{
      {{0x1p40, "TiB"}, {0x1p30, "GiB"}, {0x1p20, "MiB"}, {0x1p10, "KiB"}}};
  for (const Unit& unit : units)
    if (bytes.value >= unit.size && std::fmod(bytes.value, unit.size) == 0)
      return fmt::format("{} {}", FormatCount(bytes.value / unit.size), unit.name);
  return FormatCount(bytes.value) + " B";
}

std::string Colored(std::string_view text, Tone tone, const Look& look) {
  static constexpr std::array<const char*, 6> escapes{"",         "\033[1m",  "\033[2m",
                                                      "\033[32m", "\033[33m", "\033[31m"};
  if (!look.color || tone == Tone::kPlain) return std::string(text);
  return fmt::format("{}{}\033[0m", escapes[static_cast<std::size_t>(tone)], text);
}

std::string Bar(double share, int width, const Look& look) {
  const double filled = std::clamp(share, 0.0, 1.0) * width;
  if (!look.unicode) return std::string(static_cast<std::size_t>(std::lround(filled)), '#');
  static constexpr std::array<const char*, 8> eighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const long in_eighths = std::lround(filled * 8);
  std::string bar;
  for (long i = 0; i < in_eighths / 8; ++i) bar += "█";
  return bar + eighths[static_cast<std::size_t>(in_eighths % 8)];
}

void Table::Add(std::vector<std::string> cells, Tone tone) {
  SHARDPLAN_CHECK(cells.size() == columns_.size());
  rows_.push_back({std::move(cells), tone});
}

std::string Table::Print(const Look& look) const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    for (const Row& row : rows_)
      widths[column] = std::max(widths[column], WidthOf(row.cells[column]));
    if (widths[column] > 0)
      widths[column] = std::max(widths[column], WidthOf(columns_[column].header));
  }
  const auto line = [&](const auto& cell_of, Tone tone) {
    std::string text;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      if (widths[column] == 0) continue;
      const std::string& cell = cell_of(column);
      const std::string blanks(widths[column] - WidthOf(cell), ' ');
      text += text.empty() ? " " : "  ";
      text += columns_[column].align == Align::kRight ? blanks + cell : cell + blanks;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return Colored(text, tone, look) + "\n";
  };
  std::string text =
      line([&](std::size_t c) -> const std::string& { return columns_[c].header; }, Tone::kDim);
  for (const Row& row : rows_)
    text += line([&](std::size_t c) -> const std::string& { return row.cells[c]; }, row.tone);
  return text;
}
}  // namespace shardplan
