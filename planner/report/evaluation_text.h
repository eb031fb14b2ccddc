// SPDX-License-Identifier: Apache-2.0
// Figures of an evaluation that several reports show.
#pragma once
#include <string>
#include <vector>

#include "planner/cost/cost.h"
#include "planner/report/json.h"
#include "planner/report/text.h"
#include "planner/search/hint.h"

namespace shardplan {

// Of the step: communication that computation does not hide, the pipeline's bubble.
double ExposedShare(const Evaluation& evaluation);
double BubbleShare(const Evaluation& evaluation);

Tone ToneOf(Verdict verdict);

// "79.6 GiB", or "77.6 GiB (79.6 GiB less 2.0 GiB kept free)".
std::string AvailableText(const Evaluation& evaluation, Bytes reserve);

// Why a plan is tight or does not fit, one sentence; empty where it fits.
std::string LimitText(const Evaluation& evaluation, Bytes reserve);

// "  try: recompute: full fits in 71.3 GiB of 79.6 GiB at +21% step time", a line a hint.
// `instead_of`: what the step times are compared with; may be null.
std::string HintLines(const std::vector<Hint>& hints, const Evaluation* instead_of,
                      const Look& look);

Json HintsJson(const std::vector<Hint>& hints);

// "gradient_reduce" as eyes read it.
std::string Words(std::string_view name);
}  // namespace shardplan
