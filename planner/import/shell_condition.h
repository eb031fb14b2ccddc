// SPDX-License-Identifier: Apache-2.0
// The conditions of a script: [ ... ] and [[ ... ]], and the patterns of case.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "planner/import/placed.h"

namespace shardplan {

// `words` from `[`, `[[` or `test` on, expanded. Nothing where it hangs on what is not known. A
// variable without a value counts as empty, as in a shell that was started afresh; no file exists.
std::optional<bool> EvaluateShellTest(const std::vector<Placed>& words);

// * and ? match as a shell has them, [abc] one of them.
bool MatchesShellPattern(const std::string& text, const std::string& pattern);
}  // namespace shardplan
