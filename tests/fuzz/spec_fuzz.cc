// SPDX-License-Identifier: Apache-2.0
// Any bytes as a spec, with the catalogue at hand: a problem or one error, never a crash or a hang.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "planner/spec/problem.h"

// The bytes up to the first NUL are the file; each further run of them is a --set argument.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] == 0 && parts.size() < 4)
      parts.emplace_back();
    else
      parts.back() += static_cast<char>(data[i]);
  }
  const std::string text = parts.front();
  const std::vector<std::string> sets(parts.begin() + 1, parts.end());
  for (const shardplan::Needs needs :
       {shardplan::Needs::kAll, shardplan::Needs::kModel, shardplan::Needs::kCluster}) {
    const auto problem = shardplan::ParseProblem(text, "fuzz.yaml", sets, needs);
    if (!problem && problem.error().message.empty()) std::abort();
    if (problem && problem->spec_hash.empty()) std::abort();
  }
  return 0;
}
