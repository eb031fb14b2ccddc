// SPDX-License-Identifier: Apache-2.0
// How a model is trained: what the `train` section of a spec says, defaults resolved.
//
// Everything here is fixed for all plans of a spec; what varies between plans is in plan/plan.h.
#pragma once
#include <cstdint>
#include <string>

namespace shardplan {

enum class FrameworkId : std::uint8_t {
  kMegatron,
  kTorchtitan,
  kFsdp,
  kDeepspeed,
  kDdp,
  kHf,
  kNanotron,
  kColossalai,
  kNative
};
enum class Precision : std::uint8_t {
  kBf16Mixed,
  kFp16Mixed,
  kBf16True,
  kFp16True,
  kFp32,
  kTf32,
  kFp8,
  kMxfp8,
  kNvfp4
};
enum class Optimizer : std::uint8_t {
  kAdamW,
  kAdam,
  kSgd,
  kSgdMomentum,
  kAdafactor,
  kLamb,
  kLion,
  kMuon,
  kAdamW8bit
};
enum class OptimizerImpl : std::uint8_t { kFused, kForeach, kForLoop, kPaged };
enum class AttentionImpl : std::uint8_t { kFlash, kSdpa, kEager };
enum class LossImpl : std::uint8_t { kEager, kVocabParallel, kNative, kTe, kCompiled, kChunked };
enum class Task : std::uint8_t {
  kPretrain,
  kSft,
  kLora,
  kQlora,
  kFreeze,
  kDpo,
  kGrpo,
  kPpo,
  kDistill
};
enum class Dtype : std::uint8_t { kFp32, kBf16, kFp16, kFp8, kInt8 };
enum class MoeDispatcher : std::uint8_t { kAllToAll, kAllGather, kDeepEp };
// How a checkpoint is written: each rank its shard, the same from pinned host memory behind the
// next steps, or gathered whole.
enum class CheckpointStyle : std::uint8_t { kSharded, kAsync, kFull };
enum class Fp8Recipe : std::uint8_t {
  kDelayed,
  kCurrent,
  kTensorwise,
  kRowwise,
  kRowwiseWithGwHp,
  kBlockwise,
  kMx
};

struct Training {
  FrameworkId framework = FrameworkId::kMegatron;
  std::string framework_version;       // resolved: never empty
  int seq_length = 0;                  // tokens
  int max_sample_length = 0;           // tokens of the longest sample; 0: none is longer
  int eval_batch_size = 0;             // sequences per rank in evaluation; 0: not said
  std::int64_t global_batch_size = 0;  // sequences per optimizer step
  double tokens = 0;                   // of the whole run; 0: not said
  Precision precision = Precision::kBf16Mixed;
  Fp8Recipe fp8_recipe = Fp8Recipe::kDelayed;
  bool fp8_params = false, fp8_all_gather = false;
  Dtype gradient_dtype = Dtype::kFp32;  // of the gradients that are kept
  Dtype reduce_dtype = Dtype::kFp32;    // of the data-parallel reduction
  Dtype optimizer_state_dtype = Dtype::kFp32;
  Optimizer optimizer = Optimizer::kAdamW;
  OptimizerImpl optimizer_impl = OptimizerImpl::kFused;
  bool optimizer_in_backward = false;
  AttentionImpl attention = AttentionImpl::kFlash;
  LossImpl loss = LossImpl::kEager;
  bool keep_logits = false;
  double dropout = 0;
  Task task = Task::kPretrain;
  MoeDispatcher moe_dispatcher = MoeDispatcher::kAllToAll;
  // The fullest rank's tokens over the mean, after what a capacity factor drops; 1: balanced.
  double moe_imbalance = 1.0;
  // DeepSpeed's buckets, in elements, and what ZeRO-3 may hold gathered, in parameters.
  double reduce_bucket_size = 5e8, max_live_parameters = 1e9;
  bool overlap_comm = true;              // DeepSpeed: two buckets
  bool gradient_as_bucket_view = false;  // DDP
  bool compile = false, cuda_graphs = false;
  bool expandable_segments = false;
  bool vocab_parallel = true;
  CheckpointStyle checkpoint = CheckpointStyle::kSharded;
};
}  // namespace shardplan
