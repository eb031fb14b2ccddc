// SPDX-License-Identifier: Apache-2.0
#include "planner/framework/defaults.h"

#include "planner/base/check.h"

namespace shardplan {
namespace {

// Dtypes are those under mixed precision with bf16 (fp8 and fp4 train as bf16 does).
struct Row {
  FrameworkId framework;
  Dtype gradients, reduction, moments;
  OptimizerImpl impl;
  AttentionImpl attention;
  LossImpl loss;
  bool vocab_parallel;
  bool expandable_segments = false;
};

constexpr Dtype k32 = Dtype::kFp32, k16 = Dtype::kBf16;
constexpr OptimizerImpl kFused = OptimizerImpl::kFused, kForeach = OptimizerImpl::kForeach;
constexpr AttentionImpl kFlash = AttentionImpl::kFlash, kSdpa = AttentionImpl::kSdpa;

constexpr Row kRows[] = {
    // Main gradients and their reduction in fp32 (README: 18 bytes a parameter, 6 + 12/d sharded).
    {FrameworkId::kMegatron, k32, k32, k32, kFused, kFlash, LossImpl::kVocabParallel, true},
    // mixed_precision_reduce float32 over fp32 shards; [optimizer] implementation = fused;
    // run_train.sh sets PYTORCH_ALLOC_CONF=expandable_segments:True.
    {FrameworkId::kTorchtitan, k32, k32, k32, kFused, kSdpa, LossImpl::kEager, true, true},
    // fp32 shards; torch.optim's own choice on CUDA is foreach.
    {FrameworkId::kFsdp, k32, k32, k32, kForeach, kSdpa, LossImpl::kEager, false},
    // 16-bit weights and gradients, FusedAdam over fp32 partitions.
    {FrameworkId::kDeepspeed, k16, k16, k32, kFused, kSdpa, LossImpl::kEager, false},
    // Autocast over fp32 weights: gradients are fp32.
    {FrameworkId::kDdp, k32, k32, k32, kForeach, kSdpa, LossImpl::kEager, false},
    // The Trainer's default is adamw_torch_fused.
    {FrameworkId::kHf, k32, k32, k32, kFused, kSdpa, LossImpl::kEager, false},
    // fp32 accumulators, never sharded.
    {FrameworkId::kNanotron, k32, k32, k32, kFused, kFlash, LossImpl::kVocabParallel, true},
    {FrameworkId::kColossalai, k16, k16, k32, kFused, kFlash, LossImpl::kEager, true},
    {FrameworkId::kNative, k32, k32, k32, kFused, kFlash, LossImpl::kTe, true, true},
};

}  // namespace

TrainingDefaults DefaultsOf(FrameworkId framework, Precision precision, std::string_view family,
                            bool compiles_loss) {
  const Row& row = kRows[static_cast<int>(framework)];
  SHARDPLAN_CHECK(row.framework == framework);
  TrainingDefaults defaults{
      row.gradients,          row.reduction, row.moments,        row.impl,
      row.attention,          row.loss,      row.vocab_parallel, MoeDispatcher::kAllToAll,
      row.expandable_segments};
  const auto all = [&](Dtype dtype) {
    defaults.gradient_dtype = defaults.reduce_dtype = defaults.optimizer_state_dtype = dtype;
  };
  switch (precision) {
    case Precision::kFp32:
    case Precision::kTf32:
      all(Dtype::kFp32);
      break;
    // One dtype for weights, gradients and moments.
    case Precision::kBf16True:
      all(Dtype::kBf16);
      break;
    case Precision::kFp16True:
      all(Dtype::kFp16);
      break;
    case Precision::kFp16Mixed:
      // Megatron keeps fp16 main gradients (README: 20 bytes a parameter, 4 + 16/d sharded).
      if (framework == FrameworkId::kMegatron) defaults.gradient_dtype = Dtype::kFp16;
      if (framework == FrameworkId::kMegatron) defaults.reduce_dtype = Dtype::kFp16;
      if (defaults.gradient_dtype == Dtype::kBf16) defaults.gradient_dtype = Dtype::kFp16;
      if (defaults.reduce_dtype == Dtype::kBf16) defaults.reduce_dtype = Dtype::kFp16;
      break;
    default:
      break;
  }
  // NeMo AutoModel, which is how experts train under FSDP, ships with DeepEP; Megatron-Bridge's
  // recipes choose it or HybridEP (moe_token_dispatcher_type flex).
  if (framework == FrameworkId::kFsdp || framework == FrameworkId::kMegatron)
    defaults.moe_dispatcher = MoeDispatcher::kDeepEp;
  // torch.compile covers the blocks; torchtitan's covers the loss too since February 2025. A spec
  // that does not tell gets the older, larger loss: its plans fit either way.
  if (framework == FrameworkId::kTorchtitan && compiles_loss) defaults.loss = LossImpl::kCompiled;
  // MPT is LLM Foundry's architecture, whose loss_fn is fused_crossentropy: flash-attn's kernel,
  // which writes the gradient over the logits as Transformer Engine's does.
  if (framework == FrameworkId::kFsdp && family == "mpt") defaults.loss = LossImpl::kTe;
  return defaults;
}
}  // namespace shardplan
