// SPDX-License-Identifier: Apache-2.0
#include "planner/import/shell_condition.h"

#include <fnmatch.h>

#include <algorithm>

#include "planner/import/arithmetic.h"

namespace shardplan {
namespace {

// A variable's name alone was unknown: it is unset here, and so empty. What programs print is not.
std::optional<std::string> ValueOf(const Placed& word) {
  if (!IsUnknown(word.text())) return word.text();
  const std::string source = WithoutMarks(word.text());
  const bool variable = source.size() > 1 && source[0] == '$' && source[1] != '(';
  if (variable) return std::string();
  return std::nullopt;
}

class Test {
 public:
  explicit Test(const std::vector<Placed>& words) : words_(words) {}

  std::optional<bool> Or() {
    std::optional<bool> left = And();
    while (Take("||") || Take("-o")) {
      const std::optional<bool> right = And();
      if (left == true || right == true)
        left = true;
      else if (!left || !right)
        left = std::nullopt;
    }
    return left;
  }

 private:
  std::optional<bool> And() {
    std::optional<bool> left = Not();
    while (Take("&&") || Take("-a")) {
      const std::optional<bool> right = Not();
      if (left == false || right == false)
        left = false;
      else if (!left || !right)
        left = std::nullopt;
    }
    return left;
  }

  std::optional<bool> Not() {
    bool negates = false;
    while (Take("!")) negates = !negates;
    const std::optional<bool> value = Inner();
    if (!value) return std::nullopt;
    return *value != negates;
  }

  std::optional<bool> Inner() {
    if (!Take("(")) return Primary();
    if (depth_ > 50) return std::nullopt;
    ++depth_;
    const std::optional<bool> value = Or();
    --depth_;
    Take(")");
    return value;
  }

  std::optional<bool> Primary() {
    if (at_ >= words_.size()) return false;
    const std::string& op = words_[at_].text();
    const bool unary = op.size() == 2 && op[0] == '-' && at_ + 1 < words_.size();
    if (unary) {
      const std::optional<std::string> value = ValueOf(words_[at_ + 1]);
      at_ += 2;
      if (op == "-z" || op == "-n") {
        if (!value) return std::nullopt;
        return value->empty() == (op == "-z");
      }
      return std::nullopt;  // files and the like
    }
    if (at_ + 2 < words_.size() && IsBinary(words_[at_ + 1].text())) {
      const std::optional<std::string> left = ValueOf(words_[at_]),
                                       right = ValueOf(words_[at_ + 2]);
      const std::string& relation = words_[at_ + 1].text();
      at_ += 3;
      if (!left || !right) return std::nullopt;
      return Compare(*left, relation, *right);
    }
    const std::optional<std::string> value = ValueOf(words_[at_++]);
    if (!value) return std::nullopt;
    return !value->empty();
  }

  static bool IsBinary(const std::string& word) {
    static const std::vector<std::string> kWords = {"=",   "==",  "!=",  "=~",  "-eq", "-ne",
                                                    "-lt", "-le", "-gt", "-ge", "<",   ">"};
    return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
  }

  static std::optional<bool> Compare(const std::string& left, const std::string& relation,
                                     const std::string& right) {
    if (relation == "=" || relation == "==") return MatchesShellPattern(left, right);
    if (relation == "!=") return !MatchesShellPattern(left, right);
    if (relation == "<" || relation == ">") return relation == "<" ? left < right : left > right;
    if (relation == "=~") return std::nullopt;
    const auto a = EvaluateArithmetic(left), b = EvaluateArithmetic(right);
    if (!a || !b) return std::nullopt;
    if (relation == "-eq") return *a == *b;
    if (relation == "-ne") return *a != *b;
    if (relation == "-lt") return *a < *b;
    if (relation == "-le") return *a <= *b;
    if (relation == "-gt") return *a > *b;
    return *a >= *b;
  }

  bool Take(std::string_view word) {
    if (at_ >= words_.size() || words_[at_].text() != word) return false;
    ++at_;
    return true;
  }

  const std::vector<Placed>& words_;
  std::size_t at_ = 0;
  int depth_ = 0;
};
}  // namespace

std::optional<bool> EvaluateShellTest(const std::vector<Placed>& words) {
  std::vector<Placed> inner(words.begin() + (words.empty() ? 0 : 1), words.end());
  if (!inner.empty() && (inner.back().text() == "]" || inner.back().text() == "]]"))
    inner.pop_back();
  return Test(inner).Or();
}

bool MatchesShellPattern(const std::string& text, const std::string& pattern) {
  return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}
}  // namespace shardplan
