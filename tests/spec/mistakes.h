// SPDX-License-Identifier: Apache-2.0
// Specs with one mistake each, compared with the whole message.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "planner/spec/problem.h"

namespace shardplan {

struct Mistake {
  const char* what;   // a sentence
  const char* spec;   // one line break at its start is not part of it
  const char* error;  // the same; ends in "..." where other people's words follow
  std::vector<std::string> sets = {};
};

// gtest would print its bytes, and valgrind complain.
inline void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.what; }

inline std::string NameOfMistake(const testing::TestParamInfo<Mistake>& info) {
  std::string name;
  bool upper = true;
  for (const char* c = info.param.what; *c; ++c) {
    const auto byte = static_cast<unsigned char>(*c);
    if (std::isalnum(byte)) name += static_cast<char>(upper ? std::toupper(byte) : byte);
    upper = !std::isalnum(byte);
  }
  return name;
}

inline std::string_view WithoutFirstBreak(std::string_view text) {
  if (text.starts_with('\n')) text.remove_prefix(1);
  return text;
}

inline void ExpectExplained(const Mistake& mistake) {
  const std::string spec(WithoutFirstBreak(mistake.spec));
  const Result<Problem> read = ParseProblem(spec, "spec.yaml", mistake.sets, Needs::kAll);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, Code::kInvalidArgument);
  std::string_view expected = WithoutFirstBreak(mistake.error);
  std::string message = read.error().message;
  if (expected.ends_with("...")) {
    expected.remove_suffix(3);
    message.resize(std::min(message.size(), expected.size()));
  }
  EXPECT_EQ(message, expected);
}
}  // namespace shardplan
