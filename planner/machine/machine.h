// SPDX-License-Identifier: Apache-2.0
// The machine: accelerators, their memory, hosts and the tiers of links between them.
//
// Plain values read from configs/ and the spec. Every figure is what a data sheet or a measurement
// says; the cost model never asks which (`measured` only labels the answer). Bandwidths are per
// direction.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "planner/base/quantity.h"

namespace shardplan {

struct CollectiveProfile;  // planner/machine/profile.h
struct KernelProfile;

enum class Architecture { kVolta, kTuring, kAmpere, kAda, kHopper, kBlackwell, kCdna };
enum class Number { kFp32, kTf32, kFp16, kBf16, kFp8, kFp4 };  // what a matrix product runs in

struct Gpu {
  std::string name;
  Architecture architecture = Architecture::kHopper;
  Bytes memory;                     // the total that nvidia-smi shows, not the number on the box
  BytesPerSecond memory_bandwidth;  // data sheet
  double memory_efficiency = 0.85;  // of it that a large streaming kernel reaches
  FlopsPerSecond fp32, tf32, fp16, bf16, fp8, fp4;  // dense peaks; 0: not there
  double gemm_efficiency = 0.75;  // of the peak that large matrix products sustain within a step
  double fp8_gemm_efficiency = 0.65;  // of the fp8 peak, quantization of inputs included
  double attention_efficiency =
      0.45;  // of the 16-bit peak, flash forward at head_dim 128, long sequence
  int sm_count = 100;
  double tdp_watts = 0, power_limit_watts = 0;  // a limit below the tdp lowers what is sustained
  double l2_bytes = 50e6;
  Seconds launch{4e-6};  // GPU-side cost of one kernel that cannot be hidden
  int nvlinks = 0;       // links per GPU, for NCCL's channel search
  double pcie_gen = 5;
  std::shared_ptr<const KernelProfile> profile;  // measurements; may be null
};

// Workspaces that PyTorch gives cuBLAS and cuBLASLt, allocated for good at the first product: 32 MiB
// each from Hopper on, 8.1 MiB before (aten/src/ATen/cuda/CublasHandlePool.cpp). An H200 holds
// 64 MiB between steps beyond its tensors.
inline Bytes BlasWorkspaces(const Gpu& gpu) {
  const bool large =
      gpu.architecture == Architecture::kHopper || gpu.architecture == Architecture::kBlackwell;
  return Bytes{2 * (large ? 32 : 8.125) * (1 << 20)};
}

enum class Fabric { kSwitch, kMesh, kBridge, kPcie };  // how GPUs of one domain reach each other
struct ScaleUp {
  std::string kind = "pcie4";  // name in configs/links
  Fabric fabric = Fabric::kPcie;
  BytesPerSecond bandwidth;  // of one GPU, per direction
  Seconds latency{2e-6};
  bool peer_to_peer = true;  // GPUs read each other's memory (not on consumer cards)
};

struct ScaleOut {
  std::string kind =
      "infiniband";          // infiniband | roce | efa | omni-path | slingshot | tcpxo | ethernet
  int nics = 0;              // per node; 0: nodes are not connected
  BytesPerSecond rate;       // of one NIC
  double efficiency = 0.95;  // of the rate that large messages reach
  Seconds latency{2e-6};
  double oversubscription = 1;  // >= 1, above the leaf
  BytesPerSecond PerNode() const { return rate * (nics * efficiency); }
};

struct Host {
  Bytes memory;                     // per node
  BytesPerSecond memory_bandwidth;  // per node, all sockets
  BytesPerSecond gpu_link;          // host <-> one GPU (PCIe or C2C), pinned
  Bytes nvme;
  BytesPerSecond nvme_read, nvme_write;
};

struct NcclSettings {
  double version = 2.28;
  bool nvls = true;
  std::map<std::string, std::string> variables;  // NCCL_* as given
};

struct Machine {
  std::string name;
  int nodes = 1, gpus_per_node = 8;
  int scale_up_domain = 8;  // GPUs in one NVLink (xGMI, PCIe) domain; may span nodes (NVL72)
  Gpu gpu;
  ScaleUp scale_up;
  ScaleOut scale_out;
  Host host;
  NcclSettings nccl;
  double price_per_gpu_hour = 0;
  std::shared_ptr<const CollectiveProfile> profile;  // measurements; may be null
  int Gpus() const { return nodes * gpus_per_node; }
};
}  // namespace shardplan
