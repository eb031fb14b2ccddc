// SPDX-License-Identifier: Apache-2.0
// What readers of words share.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace shardplan {

// ASCII letters in lower case.
std::string Lower(std::string_view text);
// The parts between separators, empty ones too: one more than there are separators.
std::vector<std::string> SplitAt(char separator, std::string_view text);
// Lower-case words and numbers of a name: "Llama-3.1-8B" is {llama, 3, 1, 8b}.
std::vector<std::string> WordsOf(std::string_view name);
}  // namespace shardplan
