// SPDX-License-Identifier: Apache-2.0
// What a model is before any plan: parameters by layer, FLOPs, bytes of state.
#pragma once
#include <string>

#include "planner/report/json.h"
#include "planner/report/subject.h"
#include "planner/report/text.h"

namespace shardplan {

std::string ModelReport(const Subject& subject, const Look& look);
Json ModelJson(const Subject& subject);
}  // namespace shardplan
