// SPDX-License-Identifier: Apache-2.0
// PyTorch DistributedDataParallel, optionally with ZeroRedundancyOptimizer (zero_stage 1).
#include "planner/framework/common.h"
#include "planner/framework/conventions.h"

namespace shardplan {

Conventions DdpConventions(const Training& training, const Model& model) {
  Conventions c = HfConventions(training, model);
  // Buckets hold one copy of all gradients from construction on; views into them are the gradients.
  if (training.gradient_as_bucket_view)
    c.gradient_life = GradientLife::kWholeStep;
  else
    c.bucket_copy_bytes = c.gradient_bytes;
  c.default_overlap = {
      .grad_reduce = true, .param_gather = false, .tp = false, .p2p = false, .moe = false};
  return c;
}
}  // namespace shardplan
