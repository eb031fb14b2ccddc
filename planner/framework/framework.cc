// SPDX-License-Identifier: Apache-2.0
#include "planner/framework/framework.h"

#include <algorithm>

#include "planner/base/check.h"
#include "planner/framework/conventions.h"
#include "planner/framework/stages.h"

namespace shardplan {
namespace {
template <class... Schedules>
constexpr std::uint8_t SetOf(Schedules... schedules) {
  return static_cast<std::uint8_t>((... | (1u << static_cast<unsigned>(schedules))));
}
constexpr std::uint8_t kSingle = SetOf(Schedule::k1F1B);
// PyTorch's zero bubbles take two stages a rank or more: ZB-H1, which has one, is not among them.
constexpr std::uint8_t kTorchSchedules = SetOf(
    Schedule::kGpipe, Schedule::k1F1B, Schedule::kInterleaved, Schedule::kZbV, Schedule::kDualPipe);
}  // namespace

// What is not said is false.
const std::vector<Framework>& Frameworks() {
  static const std::vector<Framework> frameworks = {
      {.id = FrameworkId::kMegatron,
       .name = "megatron",
       .newest_version = "0.18",
       .zero_stages = {0, 1, 2, 3},  // 2 and 3 are Megatron-FSDP
       .tensor = true,
       .sequence = true,
       .pipeline = true,
       .interleaved = true,
       .context = true,
       .ulysses = true,
       .expert = true,
       .uneven_stages = true,
       .offload_optimizer = true,
       .offload_activations = true,
       .hybrid_shard = true,
       .default_zero = 0,
       .ring = true,
       .expert_tensor = true,
       .experts_follow_tensor = true,
       // The zero-bubble schedules are in forks (sail-sg, Primus): legal where asked, not searched.
       .schedules = SetOf(Schedule::k1F1B, Schedule::kInterleaved, Schedule::kZbH1, Schedule::kZbV),
       .conventions = MegatronConventions,
       .split = SplitMegatron},
      {.id = FrameworkId::kTorchtitan,
       .name = "torchtitan",
       .newest_version = "0.2",
       .zero_stages = {0, 2, 3},
       .tensor = true,
       .sequence = true,
       .pipeline = true,
       .interleaved = true,
       .context = true,
       .expert = true,
       .uneven_stages = true,
       .offload_params = true,
       .hybrid_shard = true,
       .default_zero = 3,
       .ring = true,
       .expert_tensor = true,
       .schedules = kTorchSchedules,
       .conventions = TorchtitanConventions,
       .split = SplitTorch},
      // PyTorch's FSDP1/2 and what is built on it: TP, PP and EP as in NeMo AutoModel.
      {.id = FrameworkId::kFsdp,
       .name = "fsdp",
       .newest_version = "2.11",
       .zero_stages = {0, 2, 3},  // NO_SHARD, SHARD_GRAD_OP, FULL_SHARD
       .tensor = true,
       .sequence = true,
       .pipeline = true,
       .interleaved = true,
       .context = true,
       .expert = true,
       .uneven_stages = true,
       .offload_params = true,
       .offload_activations = true,
       .hybrid_shard = true,
       .default_zero = 3,
       .ring = true,
       .schedules = kTorchSchedules,
       .conventions = FsdpConventions,
       .split = SplitTorch},
      {.id = FrameworkId::kDeepspeed,
       .name = "deepspeed",
       .newest_version = "0.19",
       .zero_stages = {0, 1, 2, 3},
       .tensor = true,
       .sequence = true,
       .pipeline = true,
       .context = true,
       .ulysses = true,
       .expert = true,
       .uneven_stages = true,
       .offload_optimizer = true,
       .offload_params = true,
       .offload_activations = true,
       .hybrid_shard = true,
       .default_zero = 0,
       .schedules = kSingle,
       .conventions = DeepspeedConventions,
       .split = SplitDeepspeed},
      {.id = FrameworkId::kDdp,
       .name = "ddp",
       .newest_version = "2.11",
       .zero_stages = {0, 1},  // 1 is ZeroRedundancyOptimizer
       .default_zero = 0,
       .schedules = kSingle,
       .conventions = DdpConventions,
       .split = SplitNot},
      // transformers' Trainer over accelerate: DDP, FSDP or DeepSpeed below, TP by
      // parallelize_module.
      {.id = FrameworkId::kHf,
       .name = "hf",
       .newest_version = "5.17",
       .zero_stages = {0, 1, 2, 3},
       .tensor = true,
       .context = true,
       .ulysses = true,
       .offload_optimizer = true,
       .offload_params = true,
       .hybrid_shard = true,
       .default_zero = 0,
       .ring = true,
       .schedules = kSingle,
       .conventions = HfConventions,
       .split = SplitNot},
      {.id = FrameworkId::kNanotron,
       .name = "nanotron",
       .newest_version = "0.4",
       .zero_stages = {0, 1},
       .tensor = true,
       .sequence = true,
       .pipeline = true,
       .expert = true,
       .uneven_stages = true,
       .default_zero = 1,
       .expert_tensor = true,
       .experts_follow_tensor = true,
       .schedules = SetOf(Schedule::kGpipe, Schedule::k1F1B),  // gpipe is its AFAB
       .conventions = NanotronConventions,
       .split = SplitNanotron},
      {.id = FrameworkId::kNative,
       .name = "native",
       .newest_version = "0.1",
       .zero_stages = {0, 1, 2, 3},
       .tensor = true,
       .sequence = true,
       .pipeline = true,
       .interleaved = true,
       .context = true,
       .ulysses = true,
       .expert = true,
       .uneven_stages = true,
       .hybrid_shard = true,
       .default_zero = 1,
       .ring = true,
       .expert_tensor = true,
       .schedules = SetOf(Schedule::kGpipe, Schedule::k1F1B, Schedule::kInterleaved),
       .conventions = NativeConventions,
       .split = SplitBalanced},
  };
  return frameworks;
}

const Framework& FrameworkOf(FrameworkId id) {
  const auto found = std::find_if(Frameworks().begin(), Frameworks().end(),
                                  [id](const Framework& f) { return f.id == id; });
  SHARDPLAN_CHECK(found != Frameworks().end());  // the reader of the spec knows which there are
  return *found;
}
}  // namespace shardplan
