// SPDX-License-Identifier: Apache-2.0
// Typed access to one family's config: aliases, defaults, types and ranges.
//
// A getter takes the common name of a key, finds the value under whichever of its names the config
// has, and falls back to the family's default. The first problem is kept; from then on getters
// return the least valid value, so that a family reads as straight-line code and checks nothing.
// A key that the family's row does not declare is a bug (CHECK).
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/model/config.h"
#include "planner/model/families.h"

namespace shardplan {

// Greatest values, far beyond any real model: products of a few of them still fit their types.
inline constexpr int kMostWidth = 1'000'000;
inline constexpr int kMostLayers = 10'000;
inline constexpr int kMostRows = 10'000'000;  // vocabulary
inline constexpr int kMostPositions = 1'000'000'000;

class ConfigReader {
 public:
  // `problem` outlives the reader.
  ConfigReader(const Family& family, const nlohmann::json& config,
               std::optional<ConfigProblem>& problem);
  // The mapping under `key`, with its own defaults; an absent one reads as empty.
  ConfigReader Nested(std::string_view key) const;

  // Keeps the problem, unless there is one already. `key` by its common name.
  void Refuse(std::string_view key, std::string message, std::string hint = {}) const;

  int Size(std::string_view key, int most = kMostWidth) const;   // 1..most
  int Count(std::string_view key, int most = kMostWidth) const;  // 0..most, null is 0
  std::optional<int> SizeIfAny(std::string_view key, int most = kMostWidth) const;  // null: none
  double Number(std::string_view key, double least, double most) const;
  std::optional<double> NumberIfAny(std::string_view key, double least, double most) const;
  bool Flag(std::string_view key) const;                      // null: the family's default
  std::optional<bool> FlagIfAny(std::string_view key) const;  // null: none
  std::string Word(std::string_view key) const;               // null: ""
  // One of `words`, without regard to case and with - for _; any other is refused.
  std::string Choice(std::string_view key, const std::vector<std::string>& words) const;
  bool IsList(std::string_view key) const;
  std::vector<int> Integers(std::string_view key, int most) const;  // of a list; null: empty
  std::vector<std::string> Words(std::string_view key) const;

  // Refuses `key` where it is given and is not `value`; `why` completes the sentence.
  void MustBe(std::string_view key, int value, std::string_view why) const;
  bool IsGiven(std::string_view key) const;
  // The key as the user wrote it, for messages about another one.
  std::string NameOf(std::string_view key) const;
  std::string_view model_type() const { return family_->model_type; }

 private:
  struct Found {
    const nlohmann::json* value = nullptr;  // never null; may be a JSON null
    std::string_view name;
    bool given = false;
  };
  ConfigReader(const ConfigReader& outer, const nlohmann::json& config,
               const nlohmann::json& defaults, std::string prefix);

  Found Find(std::string_view key) const;
  std::vector<std::string_view> NamesOf(std::string_view key) const;
  int Integer(std::string_view key, const Found& found, int least, int most) const;
  bool Boolean(std::string_view key, const Found& found) const;
  const nlohmann::json& List(std::string_view key) const;
  void RefuseValue(std::string_view key, const nlohmann::json& value, std::string expected) const;

  const Family* family_;
  const nlohmann::json* config_;
  const nlohmann::json* defaults_;
  std::string prefix_;
  std::optional<ConfigProblem>* problem_;
};

// The divisors of `n`, a dozen around `near` where there are more: "1 2 4 8".
std::string DivisorsNear(int n, int near);
}  // namespace shardplan
