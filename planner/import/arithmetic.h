// SPDX-License-Identifier: Apache-2.0
// Whole-number arithmetic of the shell: + - * / % ** ( ), comparisons.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace shardplan {

// Nothing where `text` is no such expression, divides by zero or overflows 62 bits.
std::optional<std::int64_t> EvaluateArithmetic(std::string_view text);
}  // namespace shardplan
