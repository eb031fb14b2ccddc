// SPDX-License-Identifier: Apache-2.0
// Time of single kernels on one GPU: matrix products, attention, memory-bound passes.
//
// Pure functions of the GPU's figures (configs/gpus) and the shape. (planner/README.md, Eq. 3-6)
#pragma once
#include "planner/base/quantity.h"
#include "planner/machine/machine.h"

namespace shardplan {

FlopsPerSecond PeakOf(const Gpu& gpu, Number number);
// What a power cap leaves of the sustained rate: 1 at or above the TDP.
double PowerFactor(const Gpu& gpu);
// One product of m x k by k x n, `batch` of them. Zero for an empty shape.
Seconds GemmTime(const Gpu& gpu, Number number, double m, double n, double k, double batch = 1);
// Flash attention (in fp32 and tf32: the memory-efficient kernel), forward: `flops` executed, at
// head dimension `head_dim` over `keys` keys. `version_2`: FlashAttention-2, which uses neither
// wgmma nor TMA (35 % of an H100's peak, arXiv 2407.08608).
Seconds FlashTime(const Gpu& gpu, Number number, Flops flops, double head_dim, double keys,
                  bool version_2);
// A pass that reads and writes `bytes` in all, at `efficiency` of the streaming bandwidth.
Seconds StreamTime(const Gpu& gpu, Bytes bytes, double efficiency = 1);
}  // namespace shardplan
