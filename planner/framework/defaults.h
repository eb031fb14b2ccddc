// SPDX-License-Identifier: Apache-2.0
// What each framework does where the `train` section of a spec leaves a key out.
//
// One table. What a framework does whatever the spec says is in its Conventions (framework.h).
#pragma once
#include <string_view>

#include "planner/framework/training.h"

namespace shardplan {

struct TrainingDefaults {
  Dtype gradient_dtype = Dtype::kFp32;
  Dtype reduce_dtype = Dtype::kFp32;
  Dtype optimizer_state_dtype = Dtype::kFp32;
  OptimizerImpl optimizer_impl = OptimizerImpl::kFused;
  AttentionImpl attention = AttentionImpl::kFlash;
  LossImpl loss = LossImpl::kEager;
  bool vocab_parallel = true;
  MoeDispatcher moe_dispatcher = MoeDispatcher::kAllToAll;
  bool expandable_segments = false;
};

// `family`: the model's. `compiles_loss`: the spec compiles, and names a version or a setting that
// only releases of torchtitan know whose torch.compile covers the loss too.
TrainingDefaults DefaultsOf(FrameworkId framework, Precision precision, std::string_view family,
                            bool compiles_loss);
}  // namespace shardplan
