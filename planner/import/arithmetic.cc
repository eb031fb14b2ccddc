// SPDX-License-Identifier: Apache-2.0
#include "planner/import/arithmetic.h"

#include <cctype>
#include <initializer_list>

namespace shardplan {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 62;
constexpr int kMostDepth = 100;

// Precedence climbing; any fault ends it.
class Evaluator {
 public:
  explicit Evaluator(std::string_view text) : text_(text) {}

  std::optional<std::int64_t> Whole() {
    const std::int64_t value = Comparison();
    Blanks();
    if (fault_ || at_ != text_.size()) return std::nullopt;
    return value;
  }

 private:
  void Blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool Take(std::string_view token) {
    Blanks();
    if (text_.compare(at_, token.size(), token) != 0) return false;
    at_ += token.size();
    return true;
  }
  std::int64_t Bounded(bool overflows, std::int64_t value) {
    if (overflows || value > kMost || value < -kMost) fault_ = true;
    return fault_ ? 0 : value;
  }
  std::int64_t Plus(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    const bool overflows = __builtin_add_overflow(a, b, &sum);
    return Bounded(overflows, sum);
  }
  std::int64_t Times(std::int64_t a, std::int64_t b) {
    std::int64_t product = 0;
    const bool overflows = __builtin_mul_overflow(a, b, &product);
    return Bounded(overflows, product);
  }

  std::int64_t Comparison() {
    std::int64_t left = Sum();
    for (;;) {
      if (Take("=="))
        left = left == Sum();
      else if (Take("!="))
        left = left != Sum();
      else if (Take("<="))
        left = left <= Sum();
      else if (Take(">="))
        left = left >= Sum();
      else if (Take("<"))
        left = left < Sum();
      else if (Take(">"))
        left = left > Sum();
      else
        return left;
    }
  }
  std::int64_t Sum() {
    std::int64_t left = Product();
    for (;;) {
      if (Take("+"))
        left = Plus(left, Product());
      else if (Take("-"))
        left = Plus(left, -Product());
      else
        return left;
    }
  }
  std::int64_t Product() {
    std::int64_t left = Power();
    for (;;) {
      if (Take("*")) {
        left = Times(left, Power());
      } else if (Take("/") || Take("%")) {
        const bool divides = text_[at_ - 1] == '/';
        const std::int64_t right = Power();
        fault_ = fault_ || right == 0;
        if (!fault_) left = divides ? left / right : left % right;
      } else {
        return left;
      }
      if (fault_) return 0;
    }
  }
  std::int64_t Power() {
    const std::int64_t base = Unary();
    if (!Take("**")) return base;
    std::int64_t result = 1;
    for (std::int64_t n = Unary(); n > 0 && !fault_ && result != 0; --n) {
      if (base == 1) break;
      result = base == -1 ? (n % 2 == 0 ? 1 : -1) : Times(result, base);
      if (base == -1) break;
    }
    return result;
  }
  std::int64_t Unary() {
    if (++depth_ > kMostDepth) fault_ = true;
    std::int64_t value = 0;
    if (fault_)
      value = 0;
    else if (Take("-"))
      value = -Unary();
    else if (Take("+"))
      value = Unary();
    else if (Take("!"))
      value = Unary() == 0;
    else if (Take("("))
      value = Comparison(), fault_ = fault_ || !Take(")");
    else
      value = Number();
    --depth_;
    return value;
  }
  std::int64_t Number() {
    Blanks();
    const std::size_t begin = at_;
    std::int64_t value = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0)
      value = Plus(Times(value, 10), text_[at_++] - '0');
    if (at_ == begin) fault_ = true;
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool fault_ = false;
};
}  // namespace

std::optional<std::int64_t> EvaluateArithmetic(std::string_view text) {
  return Evaluator(text).Whole();
}
}  // namespace shardplan
