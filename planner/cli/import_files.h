// SPDX-License-Identifier: Apache-2.0
// Files of a user's that are imported, for the commands that take them.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "planner/import/import.h"

namespace shardplan {

struct ImportArguments {
  std::vector<std::string> paths;  // "-" is standard input
  std::vector<std::string> sets, defines;
};
// --set and --define
void AddImportOptions(CLI::App& app, ImportArguments& arguments);

// Files that a script names are looked for beside it.
Result<Imported> ImportFiles(const ImportArguments& arguments);
}  // namespace shardplan
