// SPDX-License-Identifier: Apache-2.0
// Reads the keys of a point: each missing, unknown or ill-typed one is one clear error.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "planner/base/result.h"
#include "probe/dtype.h"
#include "probe/record.h"

namespace shardplan::probe {

// Reads one point. The first error sticks; Done() reports it, or a key that nobody asked for.
class PointReader {
 public:
  PointReader(std::string_view probe, const Json& point);
  // Whole and positive.
  std::int64_t Count(const char* key);
  std::int64_t Count(const char* key, std::int64_t otherwise);
  // Whole, 0 too.
  std::int64_t Whole(const char* key, std::int64_t otherwise);
  bool Flag(const char* key, bool otherwise);
  std::string Word(const char* key, const std::vector<std::string>& words);
  std::string Word(const char* key, const std::vector<std::string>& words,
                   const std::string& otherwise);
  std::string Text(const char* key, const std::string& otherwise);
  Dtype Type(const char* key = "dtype");
  Result<void> Done() const;

 private:
  const Json* Find(const char* key, bool required);
  void Fail(std::string_view key, std::string_view expected);
  std::string probe_;
  const Json& point_;
  std::vector<std::string> asked_;
  std::string error_;
};
}  // namespace shardplan::probe
