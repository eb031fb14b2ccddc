// SPDX-License-Identifier: Apache-2.0
// The commands of the program, one file and one row of a table each.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/cli/output.h"

namespace shardplan {

struct Command {
  std::string_view name, summary;
  // Declares the command's options on `app`; what is returned runs it once `app` has parsed, and
  // returns the exit code.
  std::function<int()> (*declare)(CLI::App& app);
};
const std::vector<Command>& Commands();
std::vector<std::string> CommandNames();

std::function<int()> DeclarePlan(CLI::App& app);
std::function<int()> DeclareCheck(CLI::App& app);
std::function<int()> DeclareExport(CLI::App& app);
std::function<int()> DeclareModel(CLI::App& app);
std::function<int()> DeclareCollectives(CLI::App& app);
std::function<int()> DeclareProbe(CLI::App& app);
std::function<int()> DeclareBench(CLI::App& app);
std::function<int()> DeclareDiff(CLI::App& app);
std::function<int()> DeclareImport(CLI::App& app);
std::function<int()> DeclareList(CLI::App& app);
std::function<int()> DeclareCompletion(CLI::App& app);
std::function<int()> DeclareVersion(CLI::App& app);

// The whole program. `argv` as main() gets it.
int RunCommandLine(int argc, const char* const* argv);
}  // namespace shardplan
