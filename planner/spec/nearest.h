// SPDX-License-Identifier: Apache-2.0
// "Did you mean ...": the nearest valid word to a mistyped one.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace shardplan {

// The candidate with the fewest edits (insert, delete, replace, swap of neighbours; case and `_-`
// count nothing) to `word`; empty where all are further away than a slip of the finger.
std::string NearestWord(std::string_view word, const std::vector<std::string>& candidates);

// "did you mean tp? it takes tp, pp, cp": `lead` is the part before the list. A long list is cut.
std::string Suggest(std::string_view word, const std::vector<std::string>& candidates,
                    std::string_view lead);
}  // namespace shardplan
