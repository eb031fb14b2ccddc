// SPDX-License-Identifier: Apache-2.0
// torchtitan: FSDP2 with its own models, per-op selective checkpointing and DTensor parallelism.
#include "planner/framework/common.h"
#include "planner/framework/conventions.h"

namespace shardplan {

Conventions TorchtitanConventions(const Training& training, const Model& model) {
  Conventions c = FsdpConventions(training, model);
  c.kernels = training.compile ? kCompiled : kTitan;
  c.selective_per_op = true;
  c.vocab_parallel = training.vocab_parallel;
  // The loss of the eager path keeps the logits, a float copy, log-softmax and both gradients.
  if (training.loss == LossImpl::kEager) c.logit_bytes_backward = 16;
  return c;
}
}  // namespace shardplan
