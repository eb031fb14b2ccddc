// SPDX-License-Identifier: Apache-2.0
// Options that several probes share, with errors that say what works.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/base/result.h"
#include "planner/base/text.h"

namespace shardplan::probe {

// "64MiB", "1G" (nccl-tests: binary), "4096".
std::optional<std::int64_t> ParseBytes(const std::string& text);

// A list of NxNx..., `rank` numbers each.
CLI::Option* AddShapes(CLI::App& app, const std::string& name,
                       std::vector<std::vector<std::int64_t>>& shapes, std::size_t rank,
                       const std::string& help);
// --dtypes fp32,bf16
CLI::Option* AddDtypes(CLI::App& app, std::vector<std::string>& dtypes);
// A list of words of a closed set.
CLI::Option* AddWords(CLI::App& app, const std::string& name, std::vector<std::string>& chosen,
                      const std::vector<std::string>& words, const std::string& help);
// A list of sizes.
CLI::Option* AddSizes(CLI::App& app, const std::string& name, std::vector<std::int64_t>& sizes,
                      const std::string& help);
}  // namespace shardplan::probe
