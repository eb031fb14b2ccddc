// SPDX-License-Identifier: Apache-2.0
// The model as a Hugging Face config, and what it says that the shape does not.
#pragma once
#include <optional>

#include "planner/export/bundle.h"
#include "planner/export/job.h"

namespace shardplan {

// Values that change no cost and so are in the config alone; nothing where it does not say.
std::optional<double> RotaryBase(const Json& config);
std::optional<double> RotaryShare(const Json& config);
std::optional<double> NormEpsilon(const Json& config);

// config.json as transformers' own class of the family reads it.
File ModelConfigFile(const ExportJob& job);
}  // namespace shardplan
