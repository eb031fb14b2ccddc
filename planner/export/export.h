// SPDX-License-Identifier: Apache-2.0
// From a plan to the files that start it.
#pragma once
#include "planner/base/result.h"
#include "planner/export/bundle.h"
#include "planner/export/job.h"
#include "planner/export/launcher.h"
#include "planner/export/target.h"

namespace shardplan {

// Pure: equal jobs make equal bundles, to the byte.
Result<Bundle> MakeBundle(const ExportJob& job, const Chosen& chosen, const Launcher& launcher);
}  // namespace shardplan
