// SPDX-License-Identifier: Apache-2.0
#include "probe/point.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "planner/base/nearest.h"

namespace shardplan::probe {

PointReader::PointReader(std::string_view probe, const Json& point) : probe_(probe), point_(point) {
  if (!point.is_object()) error_ = fmt::format("{}: a point is an object of parameters", probe);
}

void PointReader::Fail(std::string_view key, std::string_view expected) {
  if (error_.empty())
    error_ = fmt::format("{}: {}: expected {}, in {}", probe_, key, expected, point_.dump());
}

const Json* PointReader::Find(const char* key, bool required) {
  asked_.emplace_back(key);
  if (!error_.empty()) return nullptr;
  const auto found = point_.find(key);
  if (found != point_.end()) return &*found;
  if (required) Fail(key, "a value");
  return nullptr;
}

std::int64_t PointReader::Count(const char* key) {
  const Json* value = Find(key, true);
  if (value != nullptr && value->is_number_integer() && value->get<std::int64_t>() > 0)
    return value->get<std::int64_t>();
  Fail(key, "a whole number above 0");
  return 1;
}

std::int64_t PointReader::Count(const char* key, std::int64_t otherwise) {
  if (point_.is_object() && point_.contains(key)) return Count(key);
  asked_.emplace_back(key);
  return otherwise;
}

std::int64_t PointReader::Whole(const char* key, std::int64_t otherwise) {
  const Json* value = Find(key, false);
  if (value == nullptr) return otherwise;
  if (value->is_number_integer() && value->get<std::int64_t>() >= 0)
    return value->get<std::int64_t>();
  Fail(key, "a whole number");
  return otherwise;
}

bool PointReader::Flag(const char* key, bool otherwise) {
  const Json* value = Find(key, false);
  if (value == nullptr) return otherwise;
  if (value->is_boolean()) return value->get<bool>();
  Fail(key, "true or false");
  return otherwise;
}

std::string PointReader::Word(const char* key, const std::vector<std::string>& words) {
  const Json* value = Find(key, true);
  const std::string word =
      value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
  if (std::find(words.begin(), words.end(), word) == words.end())
    Fail(key, fmt::format("one of {}", fmt::join(words, ", ")));
  return word;
}

std::string PointReader::Word(const char* key, const std::vector<std::string>& words,
                              const std::string& otherwise) {
  if (point_.is_object() && point_.contains(key)) return Word(key, words);
  asked_.emplace_back(key);
  return otherwise;
}

std::string PointReader::Text(const char* key, const std::string& otherwise) {
  const Json* value = Find(key, false);
  if (value == nullptr) return otherwise;
  if (value->is_string()) return value->get<std::string>();
  Fail(key, "a text");
  return otherwise;
}

Dtype PointReader::Type(const char* key) {
  return DtypeOf(Word(key, DtypeNames())).value_or(Dtype::kFp32);
}

Result<void> PointReader::Done() const {
  if (!error_.empty()) return Invalid(error_);
  for (const auto& [key, value] : point_.items())
    if (std::find(asked_.begin(), asked_.end(), key) == asked_.end())
      return Invalid(fmt::format("{}: there is no parameter '{}': {}", probe_, key,
                                 Suggest(key, asked_, "it takes")));
  return {};
}
}  // namespace shardplan::probe
