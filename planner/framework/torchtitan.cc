// SPDX-License-Identifier: Apache-2.0
// torchtitan: FSDP2 with its own models, per-op selective checkpointing and DTensor parallelism.
#include "planner/framework/common.h"
#include "planner/framework/conventions.h"

namespace shardplan {

Conventions TorchtitanConventions(const Training& training, const Model& model) {
  Conventions c = FsdpConventions(training, model);
  c.kernels = training.compile ? kCompiled : kTitan;
  c.selective_per_op = true;
  // Releases that compile the loss wrap tok_embeddings and [norm, output] each by itself
  // (models/llama3/infra/parallelize.py).
  c.root_in_parts = training.compile && training.loss == LossImpl::kCompiled;
  c.loading = LoadingStyle::kOwnShard;  // built on the meta device
  c.selective_every_second_block = false;
  c.default_sp = true;
  c.tensor_rate = 0.85;
  c.time_deviation = 0.09;
  c.vocab_parallel = training.vocab_parallel;
  // The training loop's `pred` keeps the 16-bit logits alive until the backward pass.
  if (training.loss == LossImpl::kEager) c.logit_bytes_backward += 2;
  return c;
}
}  // namespace shardplan
