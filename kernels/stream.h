// SPDX-License-Identifier: Apache-2.0
// What every kernel's header says once.
//
// Pointers are device memory, 16-byte aligned, rows contiguous unless a stride is named. A launcher
// returns at once, with the work queued on `stream`; as for every CUDA launch, cudaGetLastError()
// says whether it was accepted. Arithmetic is in fp32 whatever the data's format. What a launcher
// REQUIRES of a shape is a SHARDPLAN_CHECK.
#pragma once

struct CUstream_st;  // CUDA's, so that these headers compile without it

namespace shardplan::kernels {
using Stream = CUstream_st*;  // cudaStream_t
}  // namespace shardplan::kernels
