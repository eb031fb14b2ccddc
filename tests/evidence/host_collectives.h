// SPDX-License-Identifier: Apache-2.0
// How well a profile of collectives predicts sizes that it does not have (host-collectives/).
#pragma once
#include <string>
#include <vector>

#include "planner/base/quantity.h"
#include "planner/base/result.h"
#include "planner/machine/collective.h"

namespace shardplan::evidence {

struct PredictedCollective {
  Collective op = Collective::kAllReduce;
  Bytes bytes;
  Seconds measured, predicted;
  double Error() const { return predicted / measured - 1; }
};

// Every record of the file `truth`, of collectives over four nodes of one rank each, beside what
// the planner says with the file `profile` as cluster.profile.
Result<std::vector<PredictedCollective>> PredictFromProfile(const std::string& profile,
                                                            const std::string& truth);
}  // namespace shardplan::evidence
