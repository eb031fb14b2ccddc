// SPDX-License-Identifier: Apache-2.0
// The judgement of one plan: does it fit, what takes the memory, where does the time go?
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "planner/report/json.h"
#include "planner/report/subject.h"
#include "planner/report/text.h"
#include "planner/search/hint.h"
#include "planner/space/space.h"

namespace shardplan {

// Of a plan that obeys the rules. `hints`: what would fit, where it does not.
std::string CheckReport(const Subject& subject, const Evaluation& evaluation,
                        const std::vector<Hint>& hints, const Look& look);
Json CheckJson(const Subject& subject, const Evaluation& evaluation,
               const std::vector<Hint>& hints);

// Of a plan that breaks rules; it has no memory and no time. REQUIRES: !broken.empty().
std::string IllegalReport(const Subject& subject, const Plan& plan,
                          const std::vector<Reason>& broken, const Look& look);
Json IllegalJson(const Subject& subject, const Plan& plan, const std::vector<Reason>& broken);

Json ReasonsJson(const std::vector<Reason>& reasons);

// The `memory` and `time` objects, which `plan` shows too.
Json MemoryJson(const Evaluation& evaluation);
Json TimeJson(const Evaluation& evaluation);

// The whole run, where the spec says how many tokens it has.
struct Run {
  Seconds time;
  double gpu_hours = 0, cost = 0;  // cost 0: no price given
};
std::optional<Run> RunOf(const Subject& subject, const Evaluation& evaluation);
Json RunJson(const Run& run);
}  // namespace shardplan
