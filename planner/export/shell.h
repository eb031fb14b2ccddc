// SPDX-License-Identifier: Apache-2.0
// Text of bash scripts: words that need quotes get them, arrays are a word or a flag a line.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "planner/export/bundle.h"

namespace shardplan {

// A word that bash reads as `text`, with quotes only where it needs them.
std::string Quoted(std::string_view text);
// A JSON value as one word or several: 4, true, "1 2".
std::string ShellWords(const Json& value);

// name=(
//   --flag value
// )
std::string ArrayOf(std::string_view name, const Settings& settings);

inline constexpr char kBash[] = "#!/usr/bin/env bash\n";
}  // namespace shardplan
