// SPDX-License-Identifier: Apache-2.0
#include "probe/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "planner/base/nearest.h"
#include "probe/dtype.h"

namespace shardplan::probe {
namespace {

// A whole number above 0 at the beginning of `text`, which is cut off.
std::optional<std::int64_t> TakeWhole(std::string_view& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value <= 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<std::vector<std::int64_t>> ParseShape(const std::string& text, std::size_t rank) {
  std::vector<std::int64_t> shape;
  for (const std::string& word : SplitAt('x', text)) {
    std::string_view rest = word;
    const auto value = TakeWhole(rest);
    if (!value || !rest.empty()) return std::nullopt;
    shape.push_back(*value);
  }
  if (shape.size() != rank) return std::nullopt;
  return shape;
}
}  // namespace

std::optional<std::int64_t> ParseBytes(const std::string& text) {
  struct Unit {
    std::string_view name;
    std::int64_t bytes;
  };
  constexpr std::array<Unit, 15> kUnits{{{"", 1},
                                         {"B", 1},
                                         {"K", 1 << 10},
                                         {"k", 1 << 10},
                                         {"KiB", 1 << 10},
                                         {"M", 1 << 20},
                                         {"m", 1 << 20},
                                         {"MiB", 1 << 20},
                                         {"G", 1 << 30},
                                         {"g", 1 << 30},
                                         {"GiB", 1 << 30},
                                         {"kB", 1000},
                                         {"KB", 1000},
                                         {"MB", 1'000'000},
                                         {"GB", 1'000'000'000}}};
  std::string_view rest = text;
  const auto value = TakeWhole(rest);
  if (!value) return std::nullopt;
  for (const Unit& unit : kUnits)
    if (rest == unit.name && *value <= (std::int64_t{1} << 50) / unit.bytes)
      return *value * unit.bytes;
  return std::nullopt;
}

CLI::Option* AddShapes(CLI::App& app, const std::string& name,
                       std::vector<std::vector<std::int64_t>>& shapes, std::size_t rank,
                       const std::string& help) {
  return app
      .add_option_function<std::string>(
          name,
          [&shapes, rank](const std::string& text) {
            shapes.clear();
            for (const std::string& word : SplitAt(',', text))
              shapes.push_back(*ParseShape(word, rank));
          },
          help)
      ->type_name("SHAPE,...")
      ->check([rank](const std::string& text) -> std::string {
        for (const std::string& word : SplitAt(',', text))
          if (!ParseShape(word, rank))
            return fmt::format("'{}' is not a shape: it takes {} whole numbers above 0 joined by x",
                               word, rank);
        return "";
      });
}

CLI::Option* AddWords(CLI::App& app, const std::string& name, std::vector<std::string>& chosen,
                      const std::vector<std::string>& words, const std::string& help) {
  return app
      .add_option_function<std::string>(
          name, [&chosen](const std::string& text) { chosen = SplitAt(',', text); },
          fmt::format("{}: {}", help, fmt::join(words, ", ")))
      ->type_name("WORD,...")
      ->check([words](const std::string& text) -> std::string {
        for (const std::string& word : SplitAt(',', text))
          if (std::find(words.begin(), words.end(), word) == words.end())
            return fmt::format("there is no '{}': {}", word, Suggest(word, words, "it takes"));
        return "";
      });
}

CLI::Option* AddDtypes(CLI::App& app, std::vector<std::string>& dtypes) {
  return AddWords(app, "--dtypes", dtypes, DtypeNames(), "number formats");
}

CLI::Option* AddSizes(CLI::App& app, const std::string& name, std::vector<std::int64_t>& sizes,
                      const std::string& help) {
  return app
      .add_option_function<std::string>(
          name,
          [&sizes](const std::string& text) {
            sizes.clear();
            for (const std::string& word : SplitAt(',', text)) sizes.push_back(*ParseBytes(word));
          },
          help)
      ->type_name("SIZE,...")
      ->check([](const std::string& text) -> std::string {
        for (const std::string& word : SplitAt(',', text))
          if (!ParseBytes(word))
            return fmt::format("'{}' is not a size: it takes bytes, as in 1KiB,64MiB,1048576",
                               word);
        return "";
      });
}
}  // namespace shardplan::probe
