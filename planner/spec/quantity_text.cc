// SPDX-License-Identifier: Apache-2.0
#include "planner/spec/quantity_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <vector>

#include "planner/base/nearest.h"

namespace shardplan {
namespace {

struct UnitName {
  Dimension dimension;
  const char* text;
  double factor;
};

constexpr double kKi = 1024.0, kMi = kKi * kKi, kGi = kMi * kKi, kTi = kGi * kKi;

constexpr UnitName kUnits[] = {
    {Dimension::kBytes, "B", 1},
    {Dimension::kBytes, "kB", 1e3},
    {Dimension::kBytes, "KB", 1e3},
    {Dimension::kBytes, "MB", 1e6},
    {Dimension::kBytes, "GB", 1e9},
    {Dimension::kBytes, "TB", 1e12},
    {Dimension::kBytes, "PB", 1e15},
    {Dimension::kBytes, "KiB", kKi},
    {Dimension::kBytes, "MiB", kMi},
    {Dimension::kBytes, "GiB", kGi},
    {Dimension::kBytes, "TiB", kTi},
    {Dimension::kBytesPerSecond, "B/s", 1},
    {Dimension::kBytesPerSecond, "kB/s", 1e3},
    {Dimension::kBytesPerSecond, "MB/s", 1e6},
    {Dimension::kBytesPerSecond, "GB/s", 1e9},
    {Dimension::kBytesPerSecond, "TB/s", 1e12},
    {Dimension::kBytesPerSecond, "KiB/s", kKi},
    {Dimension::kBytesPerSecond, "MiB/s", kMi},
    {Dimension::kBytesPerSecond, "GiB/s", kGi},
    {Dimension::kBytesPerSecond, "TiB/s", kTi},
    {Dimension::kBytesPerSecond, "Mb/s", 1e6 / 8},
    {Dimension::kBytesPerSecond, "Gb/s", 1e9 / 8},
    {Dimension::kBytesPerSecond, "Tb/s", 1e12 / 8},
    {Dimension::kBytesPerSecond, "Mbit/s", 1e6 / 8},
    {Dimension::kBytesPerSecond, "Gbit/s", 1e9 / 8},
    {Dimension::kBytesPerSecond, "Tbit/s", 1e12 / 8},
    {Dimension::kFlopsPerSecond, "FLOP/s", 1},
    {Dimension::kFlopsPerSecond, "MFLOP/s", 1e6},
    {Dimension::kFlopsPerSecond, "GFLOP/s", 1e9},
    {Dimension::kFlopsPerSecond, "TFLOP/s", 1e12},
    {Dimension::kFlopsPerSecond, "PFLOP/s", 1e15},
    {Dimension::kFlopsPerSecond, "TFLOPS", 1e12},
    {Dimension::kFlopsPerSecond, "PFLOPS", 1e15},
    {Dimension::kSeconds, "s", 1},
    {Dimension::kSeconds, "ms", 1e-3},
    {Dimension::kSeconds, "us", 1e-6},
    {Dimension::kSeconds, "\xc2\xb5s", 1e-6},
    {Dimension::kSeconds, "ns", 1e-9},
    {Dimension::kSeconds, "min", 60},
    {Dimension::kSeconds, "h", 3600},
    {Dimension::kWatts, "W", 1},
    {Dimension::kWatts, "kW", 1e3},
};

std::vector<std::string> UnitsOf(Dimension dimension) {
  std::vector<std::string> units;
  for (const UnitName& unit : kUnits)
    if (unit.dimension == dimension) units.emplace_back(unit.text);
  return units;
}

}  // namespace

ParsedNumber ParseNumber(std::string_view text, Dimension dimension) {
  ParsedNumber parsed{.fault = NumberFault::kNotANumber};
  // from_chars takes `inf` and `nan` too.
  if (text.find_first_not_of("+-.0123456789") == 0) return parsed;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, parsed.value);
  if (error == std::errc::result_out_of_range) parsed.fault = NumberFault::kNotFinite;
  if (error != std::errc() || !std::isfinite(parsed.value)) return parsed;
  parsed.unit = text.substr(static_cast<std::size_t>(rest - text.data()));
  while (!parsed.unit.empty() && parsed.unit.front() == ' ') parsed.unit.remove_prefix(1);
  if (parsed.unit.empty()) {
    parsed.fault = NumberFault::kNone;
    return parsed;
  }
  if (dimension == Dimension::kNone) return parsed;
  for (const UnitName& unit : kUnits) {
    if (unit.dimension != dimension || parsed.unit != unit.text) continue;
    parsed.value *= unit.factor;
    parsed.fault = std::isfinite(parsed.value) ? NumberFault::kNone : NumberFault::kNotFinite;
    return parsed;
  }
  parsed.fault = NumberFault::kUnknownUnit;
  return parsed;
}

std::optional<std::int64_t> ParseWhole(std::string_view text) {
  std::int64_t whole = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, whole);
  if (error == std::errc() && rest == end) return whole;
  const ParsedNumber number = ParseNumber(text, Dimension::kNone);
  constexpr double kExact = 9007199254740992.0;  // 2^53: beyond it a double skips whole numbers
  if (number.fault != NumberFault::kNone || std::trunc(number.value) != number.value) return {};
  if (number.value > kExact || number.value < -kExact)
    return number.value > 0 ? INT64_MAX : INT64_MIN;  // out of every range
  return static_cast<std::int64_t>(number.value);
}

std::string Expectation(Dimension dimension) {
  switch (dimension) {
    case Dimension::kNone:
      return "a number";
    case Dimension::kBytes:
      return "bytes, as in 80GiB; units B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB";
    case Dimension::kBytesPerSecond:
      return "bytes or bits per second and direction, as in 450GB/s or 400Gb/s; units MB/s, GB/s, "
             "TB/s, GiB/s, Mb/s, Gb/s, Tb/s";
    case Dimension::kFlopsPerSecond:
      return "FLOPs per second, as in 989TFLOP/s; units GFLOP/s, TFLOP/s, PFLOP/s";
    case Dimension::kSeconds:
      return "seconds, as in 3us; units ns, us, ms, s, min, h";
    case Dimension::kWatts:
      return "watts, as in 700W; units W, kW";
  }
  return "";
}

std::string DidYouMeanUnit(std::string_view unit, Dimension dimension) {
  return DidYouMean(unit, UnitsOf(dimension));
}

std::string NumberText(double value) { return fmt::format("{}", value); }
}  // namespace shardplan
