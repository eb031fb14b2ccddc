// SPDX-License-Identifier: Apache-2.0
// version
#include <fmt/format.h>

#include "planner/base/build_config.h"
#include "planner/cli/command.h"

namespace shardplan {

std::function<int()> DeclareVersion(CLI::App&) {
  return [] { return Answer(fmt::format("shardplan {}\n", kVersion)); };
}
}  // namespace shardplan
