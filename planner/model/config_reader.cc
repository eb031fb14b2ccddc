// SPDX-License-Identifier: Apache-2.0
#include "planner/model/config_reader.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "planner/base/check.h"

namespace shardplan {
namespace {

char Folded(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c == '-' ? '_' : c;
}

using Json = nlohmann::json;

const Json& EmptyMapping() {
  static const Json mapping = Json::object();
  return mapping;
}
const Json& EmptyList() {
  static const Json list = Json::array();
  return list;
}

// For messages. Lists and mappings only by kind: they may be long, and deep.
std::string Show(const Json& value) {
  if (value.is_array()) return "a list";
  if (value.is_object()) return "a mapping";
  if (value.is_number_float()) {
    const double number = value.get<double>();  // a spec's integers arrive as doubles
    if (std::abs(number) < 1e15 && number == std::floor(number))
      return std::to_string(static_cast<long long>(number));
  }
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > 40) text = text.substr(0, 36) + "...";
  return text;
}

// Lists and mappings are never the same: no key with aliases takes them.
bool SameScalar(const Json& a, const Json& b) {
  return !a.is_structured() && !b.is_structured() && a == b;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}
}  // namespace

std::string DivisorsNear(int n, int near) {
  std::vector<int> divisors;
  for (int d = 1; d <= n / d; ++d) {
    if (n % d != 0) continue;
    divisors.push_back(d);
    if (d != n / d) divisors.push_back(n / d);
  }
  std::sort(divisors.begin(), divisors.end());
  constexpr std::ptrdiff_t kShown = 12;
  const auto at = std::lower_bound(divisors.begin(), divisors.end(), near) - divisors.begin();
  const std::ptrdiff_t size = static_cast<std::ptrdiff_t>(divisors.size());
  const std::ptrdiff_t first =
      std::clamp<std::ptrdiff_t>(at - kShown / 2, 0, std::max<std::ptrdiff_t>(0, size - kShown));
  std::string text;
  for (std::ptrdiff_t i = first; i < std::min(size, first + kShown); ++i)
    text += (text.empty() ? "" : " ") + std::to_string(divisors[static_cast<std::size_t>(i)]);
  return text;
}

ConfigReader::ConfigReader(const Family& family, const Json& config,
                           std::optional<ConfigProblem>& problem)
    : family_(&family), config_(&config), defaults_(&family.defaults), problem_(&problem) {
  SHARDPLAN_CHECK(config.is_object());
}

ConfigReader::ConfigReader(const ConfigReader& outer, const Json& config, const Json& defaults,
                           std::string prefix)
    : family_(outer.family_),
      config_(&config),
      defaults_(&defaults),
      prefix_(std::move(prefix)),
      problem_(outer.problem_) {}

ConfigReader ConfigReader::Nested(std::string_view key) const {
  const Json& defaults = defaults_->at(std::string(key));
  const Found found = Find(key);
  const bool given = found.given && found.value->is_object();
  if (found.given && !found.value->is_null() && !given)
    RefuseValue(key, *found.value, "expected a mapping");
  return ConfigReader(*this, given ? *found.value : EmptyMapping(), defaults,
                      prefix_ + std::string(key) + ".");
}

std::vector<std::string_view> ConfigReader::NamesOf(std::string_view key) const {
  std::vector<std::string_view> names{key};
  for (const KeyAlias& alias : family_->aliases)
    if (alias.common == key) names.push_back(alias.own);
  return names;
}

ConfigReader::Found ConfigReader::Find(std::string_view key) const {
  const auto fallback = defaults_->find(std::string(key));
  SHARDPLAN_CHECK(fallback != defaults_->end());
  Found found{.value = &*fallback, .name = key};
  for (std::string_view name : NamesOf(key)) {
    const auto at = config_->find(std::string(name));
    if (at == config_->end()) continue;
    if (found.given && !found.value->is_null()) {
      if (at->is_null() || SameScalar(*found.value, *at)) continue;
      if (!*problem_)
        *problem_ = ConfigProblem{
            prefix_ + std::string(name),
            Show(*at) + " contradicts " + std::string(found.name) + ": " + Show(*found.value),
            "the two are one setting under two names: give it once"};
      continue;
    }
    found = {.value = &*at, .name = name, .given = true};
  }
  return found;
}

void ConfigReader::Refuse(std::string_view key, std::string message, std::string hint) const {
  if (!*problem_)
    *problem_ = ConfigProblem{prefix_ + NameOf(key), std::move(message), std::move(hint)};
}

void ConfigReader::RefuseValue(std::string_view key, const Json& value,
                               std::string expected) const {
  const Json& fallback = defaults_->at(std::string(key));
  if (!fallback.is_null() && !fallback.is_structured())
    expected += "; " + std::string(model_type()) + " has " + Show(fallback) + " by default";
  Refuse(key, "is " + Show(value), std::move(expected));
}

bool ConfigReader::IsGiven(std::string_view key) const {
  const Found found = Find(key);
  return found.given && !found.value->is_null();
}

std::string ConfigReader::NameOf(std::string_view key) const { return std::string(Find(key).name); }

int ConfigReader::Integer(std::string_view key, const Found& found, int least, int most) const {
  const Json& value = *found.value;
  // A spec's numbers arrive as doubles, so 4096.0 is an integer.
  const double number = value.is_number() ? value.get<double>() : NAN;
  if (number >= least && number <= most && number == std::floor(number))
    return static_cast<int>(number);
  RefuseValue(key, value,
              "expected an integer from " + std::to_string(least) + " to " + std::to_string(most));
  return least;
}

int ConfigReader::Size(std::string_view key, int most) const {
  const Found found = Find(key);
  if (!found.given && found.value->is_null()) {
    Refuse(key, "is missing", std::string(model_type()) + " has no default for it");
    return 1;
  }
  return Integer(key, found, 1, most);
}

int ConfigReader::Count(std::string_view key, int most) const {
  const Found found = Find(key);
  return found.value->is_null() ? 0 : Integer(key, found, 0, most);
}

std::optional<int> ConfigReader::SizeIfAny(std::string_view key, int most) const {
  const Found found = Find(key);
  if (found.value->is_null()) return std::nullopt;
  return Integer(key, found, 1, most);
}

double ConfigReader::Number(std::string_view key, double least, double most) const {
  const Json& value = *Find(key).value;
  const double number = value.is_number() ? value.get<double>() : NAN;
  if (number >= least && number <= most) return number;
  RefuseValue(key, value, "expected a number from " + Show(least) + " to " + Show(most));
  return least;
}

std::optional<double> ConfigReader::NumberIfAny(std::string_view key, double least,
                                                double most) const {
  if (Find(key).value->is_null()) return std::nullopt;
  return Number(key, least, most);
}

bool ConfigReader::Boolean(std::string_view key, const Found& found) const {
  if (found.value->is_boolean()) return found.value->get<bool>();
  RefuseValue(key, *found.value, "expected true or false");
  return false;
}

bool ConfigReader::Flag(std::string_view key) const {
  Found found = Find(key);
  if (found.value->is_null()) found.value = &defaults_->at(std::string(key));
  return Boolean(key, found);
}

std::optional<bool> ConfigReader::FlagIfAny(std::string_view key) const {
  const Found found = Find(key);
  if (found.value->is_null()) return std::nullopt;
  return Boolean(key, found);
}

std::string ConfigReader::Word(std::string_view key) const {
  const Json& value = *Find(key).value;
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_null()) RefuseValue(key, value, "expected a word");
  return {};
}

std::string ConfigReader::Choice(std::string_view key,
                                 const std::vector<std::string>& words) const {
  std::string word = Word(key);
  std::transform(word.begin(), word.end(), word.begin(), Folded);
  if (std::find(words.begin(), words.end(), word) != words.end()) return word;
  RefuseValue(key, *Find(key).value, "expected one of " + Joined(words));
  return words.front();
}

const Json& ConfigReader::List(std::string_view key) const {
  const Json& value = *Find(key).value;
  if (value.is_array()) return value;
  if (!value.is_null()) RefuseValue(key, value, "expected a list");
  return EmptyList();
}

bool ConfigReader::IsList(std::string_view key) const { return Find(key).value->is_array(); }

std::vector<int> ConfigReader::Integers(std::string_view key, int most) const {
  std::vector<int> integers;
  for (const Json& element : List(key)) {
    const double number = element.is_number() ? element.get<double>() : NAN;
    if (!(number >= 0 && number <= most && number == std::floor(number))) {
      Refuse(key, "has " + Show(element) + " in its list",
             "expected integers from 0 to " + std::to_string(most));
      return integers;
    }
    integers.push_back(static_cast<int>(number));
  }
  return integers;
}

std::vector<std::string> ConfigReader::Words(std::string_view key) const {
  std::vector<std::string> words;
  for (const Json& element : List(key)) {
    if (!element.is_string()) {
      Refuse(key, "has " + Show(element) + " in its list", "expected words");
      return words;
    }
    words.push_back(element.get<std::string>());
  }
  return words;
}

void ConfigReader::MustBe(std::string_view key, int value, std::string_view why) const {
  if (!IsGiven(key)) return;
  const int given = Count(key, kMostPositions);
  if (given != value)
    Refuse(key, "is " + std::to_string(given) + ", not " + std::to_string(value), std::string(why));
}
}  // namespace shardplan
