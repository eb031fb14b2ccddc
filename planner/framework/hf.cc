// SPDX-License-Identifier: Apache-2.0
// Hugging Face transformers under its Trainer or a plain loop (accelerate), PyTorch eager.
#include "planner/framework/common.h"
#include "planner/framework/conventions.h"

namespace shardplan {

Conventions HfConventions(const Training& training, const Model&) {
  Conventions c;
  TorchStates(training, c);
  c.kernels = training.compile ? kCompiled : IsMixed(training.precision) ? kAutocast : kEager;
  if (training.compile) c.fused_pointwise = true;
  if (IsMixed(training.precision)) {
    c.autocast_copy_bytes = 2;
    c.residual_bytes = 4;
  }
  LossBytes(training, c);
  c.vocab_parallel = training.vocab_parallel;
  return c;
}
}  // namespace shardplan
