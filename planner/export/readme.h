// SPDX-License-Identifier: Apache-2.0
// README.md of a bundle: how to start it, what is predicted, what the target could not express.
#pragma once
#include <vector>

#include "planner/export/launcher.h"
#include "planner/export/target.h"

namespace shardplan {
File ReadmeFile(const ExportJob& job, const Chosen& chosen, const Launcher& launcher,
                const Script& script, const std::vector<File>& files);
}  // namespace shardplan
