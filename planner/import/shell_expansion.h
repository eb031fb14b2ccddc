// SPDX-License-Identifier: Apache-2.0
// Expansion of one word of a script: quotes, $variables, ${...}, $((...)), splitting into words.
// Private to planner/import's shell.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "planner/import/shell.h"

namespace shardplan {

class ShellExpansion {
 public:
  explicit ShellExpansion(Shell& shell) : shell_(shell) {}

  // The words that `raw` becomes.
  std::vector<Placed> Words(const Placed& raw);
  // One word, as in an assignment: nothing is split.
  Placed Word(const Placed& raw);
  // Variables replaced in a text that has no quotes (a here-document).
  Placed Document(const Placed& raw);
  // Of what stands in $(( )); nothing where it cannot be known.
  std::optional<std::int64_t> Arithmetic(const Placed& expression);

 private:
  struct Expanded {
    std::vector<Placed> items;
    bool is_list = false;  // of "${A[@]}": each item is a word
    bool is_unset = false;
  };
  // What stands at the $ at `i`, which moves behind it.
  Expanded Dollar(const Placed& raw, std::size_t& i);
  Expanded Braces(const Placed& inner, const Placed& whole);
  Expanded Substitution(const Placed& inner, const Placed& whole);
  // `set`: whether the variable has a value.
  Expanded Variable(const std::string& name, const Placed& whole, bool list);
  Expanded Alternative(const Expanded& value, const Placed& inner, std::size_t at,
                       const Placed& whole, const std::string& name);
  Placed Joined(const Expanded& expanded);
  std::vector<Placed> Split(const Placed& raw, bool split);

  Shell& shell_;
  int depth_ = 0;
};
}  // namespace shardplan
