// SPDX-License-Identifier: Apache-2.0
// What several frameworks share when they fill Conventions. Private to planner/framework.
#pragma once
#include <algorithm>

#include "planner/framework/framework.h"

namespace shardplan {

inline double BytesOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFp32:
      return 4;
    case Dtype::kBf16:
    case Dtype::kFp16:
      return 2;
    case Dtype::kFp8:
    case Dtype::kInt8:
      return 1;
  }
  return 4;
}
inline bool IsMixed(Precision p) {
  return p != Precision::kBf16True && p != Precision::kFp16True && p != Precision::kFp32 &&
         p != Precision::kTf32;
}
inline bool IsFull(Precision p) { return p == Precision::kFp32 || p == Precision::kTf32; }
inline bool IsNarrow(Precision p) {
  return p == Precision::kFp8 || p == Precision::kMxfp8 || p == Precision::kNvfp4;
}

// Bytes of optimizer moments per parameter. `width` is that of
// one moment.
inline double MomentBytes(Optimizer optimizer, double width) {
  switch (optimizer) {
    case Optimizer::kAdam:
    case Optimizer::kAdamW:
    case Optimizer::kLamb:
      return 2 * width;
    case Optimizer::kSgd:
      return 0;
    case Optimizer::kSgdMomentum:
    case Optimizer::kLion:
    case Optimizer::kMuon:
      return width;
    case Optimizer::kAdafactor:
      return 0;  // rows and columns only
    case Optimizer::kAdamW8bit:
      return 2 + 8.0 / 2048;  // two bytes and a block scale
  }
  return 2 * width;
}

// Bytes per logit of an eager cross entropy (log-softmax in fp32, its gradient and nll's gradient).
inline void EagerLoss(const Training& training, Conventions& c) {
  const double logit = IsFull(training.precision) ? 4 : 2;
  const double copy = IsFull(training.precision) ? 0 : 4;
  c.logit_bytes_forward = logit + copy + 4;
  c.logit_bytes_backward = 12;
  c.logit_kept_bytes = training.keep_logits ? logit : 0;
}

// Losses that do not make fp32 copies of the whole logits.
inline void LossBytes(const Training& training, Conventions& c) {
  switch (training.loss) {
    case LossImpl::kEager:
      EagerLoss(training, c);
      break;
    case LossImpl::kVocabParallel:
      c.logit_bytes_forward = c.logit_bytes_backward = 6;
      break;  // one fp32 buffer, reused in place
    case LossImpl::kNative:
      c.logit_bytes_forward = c.logit_bytes_backward = 10;
      break;
    case LossImpl::kTe:
      c.logit_bytes_forward = c.logit_bytes_backward = 2;
      c.head_gradient_at_loss = true;
      break;
    case LossImpl::kCompiled:
      c.logit_bytes_forward = 2;
      c.logit_bytes_backward = 6;
      break;
    case LossImpl::kChunked: {
      // torchtune's CEWithChunkedOutputLoss: eight chunks of 16-bit logits, each upcast by itself.
      // Eager code keeps their fp32 log-softmax to the backward pass; compiled code makes it again,
      // and turns logits into gradients chunk by chunk. The head's gradient is summed over chunks.
      const double chunk = 1.0 / 8;
      c.logit_bytes_forward = training.compile ? 2 + 2 * chunk : 6 + 8 * chunk;
      c.logit_bytes_backward = training.compile ? 2 + 4 * chunk : 6 + 8 * chunk;
      c.head_gradient_at_loss = true;
      break;
    }
  }
  if (training.loss != LossImpl::kEager && training.keep_logits) c.logit_kept_bytes = 2;
}

// State of a PyTorch module and its optimizer, without a framework's own masters.
inline void TorchStates(const Training& training, Conventions& c) {
  const bool full = IsFull(training.precision), mixed = IsMixed(training.precision);
  c.parameter_bytes = full || mixed ? 4 : 2;
  c.gradient_bytes = c.wire_gradient_bytes = c.parameter_bytes;
  c.gather_bytes = full ? 4 : 2;
  c.master_bytes = 0;
  c.moment_bytes = MomentBytes(training.optimizer, c.parameter_bytes);
  c.compute_bytes = c.residual_bytes = full ? 4 : 2;
  c.gradient_life = GradientLife::kFromBackward;
  switch (training.optimizer_impl) {
    case OptimizerImpl::kForeach:
      c.optimizer_temporary_bytes = training.optimizer == Optimizer::kSgd ? 0 : c.parameter_bytes;
      break;
    default:
      c.optimizer_temporary_bytes = 0;
  }
  // torchao's AdamW8bit, which is no single kernel as bitsandbytes' is: parameter and both moments
  // of one tensor at a time in fp32.
  if (training.optimizer == Optimizer::kAdamW8bit &&
      training.optimizer_impl != OptimizerImpl::kFused &&
      training.optimizer_impl != OptimizerImpl::kPaged) {
    c.optimizer_temporary_bytes = 12;
    c.updates_one_by_one = true;
  }
  // Nothing in PyTorch is called selective; core attention is what users recompute by hand.
  c.selective_modules = 1u << static_cast<int>(Module::kCoreAttention);
  c.fused_pointwise = false;
  // Separate q, k, v and gate, up products and memory-bound passes between them: Llama steps on an
  // H200 sustain 0.66 of the peak where Transformer Engine's fused products reach 0.72.
  c.gemm_factor = 0.92;
  c.flash_attention_2 = training.attention == AttentionImpl::kFlash;  // sdpa dispatches to cuDNN
  // Python, the dispatcher and autograd per launch (H200 host: about 6 us forward).
  c.host_seconds_per_launch = 6e-6;
  c.fixed_step_seconds = 5e-3;
  // Within 1.2 % on 22 steps of an H200; what a compiler keeps was read off one ladder of runs.
  c.doubt = {.state = 0.001, .activations = training.compile ? 0.05 : 0.009, .buffers = 0.02};
}
}  // namespace shardplan
