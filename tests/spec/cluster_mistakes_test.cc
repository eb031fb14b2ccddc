// SPDX-License-Identifier: Apache-2.0
// One mistake each, and the whole text that a user gets to see: what a cluster refers to.
#include "tests/spec/mistakes.h"

namespace shardplan {
namespace {

const Mistake kMistakes[] = {
    {"No cluster.",
     R"(
model: {preset: llama-3-8b}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml: cluster: missing
  give gpu, nodes and gpus_per_node, or preset (a file in configs/clusters))"},
    {"An unknown cluster.",
     R"(
cluster: {preset: dgx-h10}
model: {preset: llama-3-8b}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:1:19: cluster.preset: unknown name dgx-h10
  1 | cluster: {preset: dgx-h10}
    |                   ^^^^^^^
  did you mean dgx-h100?)"},
    {"An unknown GPU.",
     R"(
cluster: {gpu: h100}
model: {preset: llama-3-8b}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:1:16: cluster.gpu: unknown name h100
  1 | cluster: {gpu: h100}
    |                ^^^^
  did you mean h100-nvl, h100-pcie-80gb or h100-sxm-80gb?)"},
    {"An unknown GPU as a base.",
     R"(
cluster:
  gpu: {base: h100-sxm-8gb, memory: 96GiB}
model: {preset: llama-3-8b}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:2:15: cluster.gpu.base: unknown name h100-sxm-8gb
  2 |   gpu: {base: h100-sxm-8gb, memory: 96GiB}
    |               ^^^^^^^^^^^^
  did you mean h100-sxm-80gb?)"},
    {"No GPU.",
     R"(
cluster: {nodes: 4}
model: {preset: llama-3-8b}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:1:1: cluster.gpu: missing, or less than a whole GPU
  1 | cluster: {nodes: 4}
    | ^^^^^^^
  name a file in configs/gpus, as in gpu: h100-sxm-80gb, or give at least architecture, memory, memory_bandwidth and bf16)"},
    {"Half a GPU.",
     R"(
cluster: {gpu: {memory: 80GiB}}
model: {preset: llama-3-8b}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:1:16: cluster.gpu: missing, or less than a whole GPU
  1 | cluster: {gpu: {memory: 80GiB}}
    |                ^
  name a file in configs/gpus, as in gpu: h100-sxm-80gb, or give at least architecture, memory, memory_bandwidth and bf16)"},
    {"An unknown link.",
     R"(
cluster: {gpu: h100-sxm-80gb, scale_up: nvlnk4}
model: {preset: llama-3-8b}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:1:41: cluster.scale_up: unknown name nvlnk4
  1 | cluster: {gpu: h100-sxm-80gb, scale_up: nvlnk4}
    |                                         ^^^^^^
  did you mean nvlink4? configs/links has nvlink2, nvlink3, nvlink4, nvlink5, pcie3, pcie4, pcie5, pcie6, xgmi)"},
    {"A network without a kind.",
     R"(
cluster:
  gpu: h100-sxm-80gb
  scale_out: 8x400Gb/s
model: {preset: llama-3-8b}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:3:14: cluster.scale_out: 8x400Gb/s is no network
  3 |   scale_out: 8x400Gb/s
    |              ^^^^^^^^^
  expected NICs per node x rate of one, then the kind, as in 8x400Gb/s infiniband)"},
    {"An unknown kind of network.",
     R"(
cluster:
  gpu: h100-sxm-80gb
  scale_out: 8x400Gb/s infinibund
model: {preset: llama-3-8b}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:3:14: cluster.scale_out: unknown kind of network infinibund
  3 |   scale_out: 8x400Gb/s infinibund
    |              ^^^^^^^^^^^^^^^^^^^^
  did you mean infiniband? the kinds are infiniband, roce, efa, omni-path, slingshot, tcpxo, ethernet)"},
    {"A rate without a unit.",
     R"(
cluster:
  gpu: h100-sxm-80gb
  scale_out: 8x400 infiniband
model: {preset: llama-3-8b}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:3:14: cluster.scale_out: 400 is no rate of a NIC
  3 |   scale_out: 8x400 infiniband
    |              ^^^^^^^^^^^^^^^^
  expected NICs per node x rate of one, then the kind, as in 8x400Gb/s infiniband)"},
    {"No number of NICs.",
     R"(
cluster:
  gpu: h100-sxm-80gb
  scale_out: 0x400Gb/s infiniband
model: {preset: llama-3-8b}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:3:14: cluster.scale_out: 0 is no number of NICs
  3 |   scale_out: 0x400Gb/s infiniband
    |              ^^^^^^^^^^^^^^^^^^^^
  expected NICs per node x rate of one, then the kind, as in 8x400Gb/s infiniband)"},
    {"Nodes that nothing connects.",
     R"(
cluster:
  gpu: rtx-4090
  nodes: 2
model: {preset: llama-3-8b}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:1:1: cluster.scale_out: missing: nothing connects the 2 nodes
  1 | cluster:
    | ^^^^^^^
  give NICs per node x rate of one and the kind, as in 1x100Gb/s ethernet)"},
    {"More GPUs than there are.",
     R"(
cluster:
  gpu: h100-sxm-80gb
  nodes: 1000000000
model: {preset: llama-3-8b}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:3:10: cluster.nodes: makes 8000000000 GPUs in all
  3 |   nodes: 1000000000
    |          ^^^^^^^^^^
  expected up to 10000000)"},
    {"An unknown key of NCCL.",
     R"(
cluster:
  gpu: h100-sxm-80gb
  nccl: {NVLS: 0}
model: {preset: llama-3-8b}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:3:10: cluster.nccl.NVLS: unknown key
  3 |   nccl: {NVLS: 0}
    |          ^^^^
  nccl takes version, and NCCL's environment variables by their names)"},
    {"An unknown NCCL.",
     R"(
cluster:
  gpu: h100-sxm-80gb
  nccl: {version: "3"}
model: {preset: llama-3-8b}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:3:19: cluster.nccl.version: 3 is no version of NCCL
  3 |   nccl: {version: "3"}
    |                   ^^^
  expected one like 2.28 or 2.28.3)"},
    {"A list as a variable.",
     R"(
cluster:
  gpu: h100-sxm-80gb
  nccl: {NCCL_ALGO: [Ring, Tree]}
model: {preset: llama-3-8b}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:3:21: cluster.nccl.NCCL_ALGO: is not one value
  3 |   nccl: {NCCL_ALGO: [Ring, Tree]}
    |                     ^
  expected what the environment variable is set to)"},
    {"A profile that is not there.",
     R"(
cluster:
  gpu: h100-sxm-80gb
  profile: nowhere.yaml
model: {preset: llama-3-8b}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:3:12: cluster.profile: nowhere.yaml: no such file
  3 |   profile: nowhere.yaml
    |            ^^^^^^^^^^^^)"},
};

class ClusterMistake : public testing::TestWithParam<Mistake> {};
TEST_P(ClusterMistake, IsExplained) { ExpectExplained(GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, ClusterMistake, testing::ValuesIn(kMistakes), NameOfMistake);

}  // namespace
}  // namespace shardplan
