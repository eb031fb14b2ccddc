// SPDX-License-Identifier: Apache-2.0
// What a plan asks of the machine: products and attention by shape, collectives by group and size.
//
// What to measure follows from it. Each entry carries the time that a step of the plan is predicted
// to spend in it, hidden or not, so that the most telling can be measured first. Not for costing:
// that is CostLayers and CostStage.
#pragma once
#include <vector>

#include "planner/cost/cost.h"

namespace shardplan {

struct Demand {
  // Of the products of a linear layer: y = x W^T, the input's gradient and the weight's.
  enum class Pass { kForward, kInput, kWeight };
  struct Gemm {
    Pass pass = Pass::kForward;
    Number number = Number::kBf16;
    double m = 0, n = 0, k = 0, batch = 1;
    Seconds step;
  };
  struct Attention {
    Number number = Number::kBf16;
    double batch = 0, heads = 0, kv_heads = 0, seq = 0, head_dim = 0;
    Seconds step;
  };
  struct Traffic {
    Collective op = Collective::kAllReduce;
    Group group;
    Bytes bytes;  // the largest
    Seconds step;
  };
  std::vector<Gemm> gemms;
  std::vector<Attention> attentions;
  std::vector<Traffic> traffic;
};
// REQUIRES: the plan is legal and complete.
Demand DemandOf(const Job& job, const Plan& plan);
}  // namespace shardplan
