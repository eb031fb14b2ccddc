// SPDX-License-Identifier: Apache-2.0
// "Did you mean ...": the nearest valid word to a mistyped one.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace shardplan {

// The candidates with the fewest edits (insert, delete, replace, swap of neighbours; case and `_-`
// count nothing) to `word`, four at most; empty where all are further away than a slip of the
// finger. Nearest of all are those that begin with it: `h100` means `h100-sxm-80gb`.
std::vector<std::string> NearestWords(std::string_view word,
                                      const std::vector<std::string>& candidates);

// "did you mean tp? it takes tp, pp, cp": `lead` is the part before the list. A list that is long
// is left out where a near word is found, else cut.
std::string Suggest(std::string_view word, const std::vector<std::string>& candidates,
                    std::string_view lead);
// "did you mean tp or cp? ", or nothing.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates);
}  // namespace shardplan
