// SPDX-License-Identifier: Apache-2.0
// One mistake each, and the whole text that a user gets to see: keys, types, ranges and units.
#include "tests/spec/mistakes.h"

namespace shardplan {
namespace {

const Mistake kMistakes[] = {
    {"An unknown section.",
     R"(
modle:
  preset: llama-3-8b
)",
     R"(
spec.yaml:1:1: modle: unknown key
  1 | modle:
    | ^^^^^
  did you mean model? the keys are model, cluster, train, plan, search)"},
    {"An unknown key, one slip away.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
plan:
  tpp: 8
)",
     R"(
spec.yaml:5:3: plan.tpp: unknown key
  5 |   tpp: 8
    |   ^^^
  did you mean tp, pp or vpp? the keys of plan are tp, sp, pp, vpp, cp, cp_kind, ep, etp, dp, zero_stage, zero_group, micro_batch_size, schedule, stage_layers, recompute, offload, offload_to, overlap)"},
    {"An unknown key, like none.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
plan:
  parallelism: 8
)",
     R"(
spec.yaml:5:3: plan.parallelism: unknown key
  5 |   parallelism: 8
    |   ^^^^^^^^^^^
  the keys of plan are tp, sp, pp, vpp, cp, cp_kind, ep, etp, dp, zero_stage, zero_group, micro_batch_size, schedule, stage_layers, recompute, offload, offload_to, overlap)"},
    {"An unknown key deep down.",
     R"(
train:
  fp8: {recipes: delayed}
)",
     R"(
spec.yaml:2:9: train.fp8.recipes: unknown key
  2 |   fp8: {recipes: delayed}
    |         ^^^^^^^
  did you mean recipe? the keys of train.fp8 are recipe, params, all_gather)"},
    {"Text for a whole number.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
plan:
  tp: eight
)",
     R"(
spec.yaml:5:7: plan.tp: eight is not a whole number
  5 |   tp: eight
    |       ^^^^^
  expected a whole number from 1 to 1000000)"},
    {"A fraction for a whole number.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
plan:
  tp: 2.5
)",
     R"(
spec.yaml:5:7: plan.tp: 2.5 is not a whole number
  5 |   tp: 2.5
    |       ^^^
  expected a whole number from 1 to 1000000)"},
    {"Underscores in a number.",
     R"(
train:
  global_batch_size: 1_024
)",
     R"(
spec.yaml:2:22: train.global_batch_size: 1_024 is not a whole number
  2 |   global_batch_size: 1_024
    |                      ^^^^^
  expected a whole number from 1 to 1000000000)"},
    {"A unit where none belongs.",
     R"(
train:
  seq_length: 8k
)",
     R"(
spec.yaml:2:15: train.seq_length: 8k is not a whole number
  2 |   seq_length: 8k
    |               ^^
  expected a whole number from 1 to 100000000)"},
    {"Zero ranks.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
plan:
  tp: 0
)",
     R"(
spec.yaml:5:7: plan.tp: 0 is out of range
  5 |   tp: 0
    |       ^
  expected a whole number from 1 to 1000000)"},
    {"A negative number.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
plan:
  micro_batch_size: -1
)",
     R"(
spec.yaml:5:21: plan.micro_batch_size: -1 is out of range
  5 |   micro_batch_size: -1
    |                     ^^
  expected a whole number from 1 to 1000000)"},
    {"A number beyond every range.",
     R"(
train:
  seq_length: 1000000000000000000
)",
     R"(
spec.yaml:2:15: train.seq_length: 1000000000000000000 is out of range
  2 |   seq_length: 1000000000000000000
    |               ^^^^^^^^^^^^^^^^^^^
  expected a whole number from 1 to 100000000)"},
    {"A number beyond even a double.",
     R"(
train:
  tokens: 1e999
)",
     R"(
spec.yaml:2:11: train.tokens: 1e999 is too large
  2 |   tokens: 1e999
    |           ^^^^^
  expected a number from 0 to 1e+18)"},
    {"Not a number.",
     R"(
train:
  tokens: .nan
)",
     R"(
spec.yaml:2:11: train.tokens: .nan is not a number
  2 |   tokens: .nan
    |           ^^^^
  expected a number from 0 to 1e+18)"},
    {"Infinity.",
     R"(
cluster:
  price: .inf
)",
     R"(
spec.yaml:2:10: cluster.price: .inf is not a number
  2 |   price: .inf
    |          ^^^^
  expected a number from 0 on)"},
    {"A negative price.",
     R"(
cluster:
  price: -2.5
)",
     R"(
spec.yaml:2:10: cluster.price: -2.5 is out of range
  2 |   price: -2.5
    |          ^^^^
  expected a number from 0 on)"},
    {"A probability above one.",
     R"(
train:
  dropout: 1.5
)",
     R"(
spec.yaml:2:12: train.dropout: 1.5 is out of range
  2 |   dropout: 1.5
    |            ^^^
  expected a number from 0 to 1)"},
    {"Above, not from.",
     R"(
train:
  moe: {capacity_factor: 0}
)",
     R"(
spec.yaml:2:26: train.moe.capacity_factor: 0 is out of range
  2 |   moe: {capacity_factor: 0}
    |                          ^
  expected a number above 0, up to 1000)"},
    {"An unknown ZeRO stage.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
plan:
  zero_stage: 4
)",
     R"(
spec.yaml:5:15: plan.zero_stage: 4 is out of range
  5 |   zero_stage: 4
    |               ^
  expected a whole number from 0 to 3)"},
    {"An empty list.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
plan:
  tp: []
)",
     R"(
spec.yaml:5:7: plan.tp: the list is empty
  5 |   tp: []
    |       ^
  give at least one value, or leave the key out)"},
    {"One bad value in a list.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
plan:
  tp: [1, 2, four]
)",
     R"(
spec.yaml:5:14: plan.tp[2]: four is not a whole number
  5 |   tp: [1, 2, four]
    |              ^^^^
  expected a whole number from 1 to 1000000)"},
    {"A list where one value belongs.",
     R"(
train:
  framework: [megatron, fsdp]
)",
     R"(
spec.yaml:2:14: train.framework: found a list
  2 |   framework: [megatron, fsdp]
    |              ^
  it takes megatron, torchtitan, fsdp, deepspeed, ddp, hf, nanotron, colossalai, native)"},
    {"A mapping where a value belongs.",
     R"(
train:
  seq_length: {tokens: 4096}
)",
     R"(
spec.yaml:2:15: train.seq_length: a mapping is not a whole number
  2 |   seq_length: {tokens: 4096}
    |               ^
  expected a whole number from 1 to 100000000)"},
    {"A value where a mapping belongs.",
     R"(
train:
  fp8: delayed
)",
     R"(
spec.yaml:2:8: train.fp8: found delayed
  2 |   fp8: delayed
    |        ^^^^^^^
  expected a mapping with keys of recipe, params, all_gather)"},
    {"A value where a list belongs.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
plan:
  stage_layers: 20
)",
     R"(
spec.yaml:5:17: plan.stage_layers: found 20
  5 |   stage_layers: 20
    |                 ^^
  expected a list, as in [1, 2])"},
    {"No value.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
plan:
  tp:
)",
     R"(
spec.yaml:5:3: plan.tp: found no value
  5 |   tp:
    |   ^^
  expected a value or a list of values)"},
    {"No value for a mapping with a short form.",
     R"(
cluster:
  gpu:
)",
     R"(
spec.yaml:2:3: cluster.gpu: found no value
...)"},
    {"A word for true or false.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
plan:
  sp: yes
)",
     R"(
spec.yaml:5:7: plan.sp: yes is neither true nor false
  5 |   sp: yes
    |       ^^^
  expected true or false)"},
    {"A quoted truth.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
plan:
  sp: "true"
)",
     R"(
spec.yaml:5:7: plan.sp: true is neither true nor false
  5 |   sp: "true"
    |       ^^^^^^
  expected true or false)"},
    {"An unknown framework.",
     R"(
train:
  framework: megatorn
)",
     R"(
spec.yaml:2:14: train.framework: unknown value megatorn
  2 |   framework: megatorn
    |              ^^^^^^^^
  did you mean megatron? it takes megatron, torchtitan, fsdp, deepspeed, ddp, hf, nanotron, colossalai, native)"},
    {"An unknown precision.",
     R"(
train:
  precision: bf16
)",
     R"(
spec.yaml:2:14: train.precision: unknown value bf16
  2 |   precision: bf16
    |              ^^^^
  did you mean bf16-mixed or bf16-true? it takes bf16-mixed, fp16-mixed, bf16-true, fp16-true, fp32, tf32, fp8, mxfp8, nvfp4)"},
    {"An unknown value, like none.",
     R"(
train:
  optimizer: 17
)",
     R"(
spec.yaml:2:14: train.optimizer: unknown value 17
  2 |   optimizer: 17
    |              ^^
  it takes adamw, adam, sgd, sgd-momentum, adafactor, lamb, lion, muon, adamw-8bit)"},
    {"An unknown recomputation.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
plan:
  recompute: some
)",
     R"(
spec.yaml:5:14: plan.recompute: unknown value some
  5 |   recompute: some
    |              ^^^^
  did you mean none? it takes none, selective, full)"},
    {"An unknown module.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
plan:
  recompute: {modules: [core_attn, mpl]}
)",
     R"(
spec.yaml:5:36: plan.recompute.modules[1]: unknown value mpl
  5 |   recompute: {modules: [core_attn, mpl]}
    |                                    ^^^
  did you mean mlp? it takes core_attn, mlp, moe, layernorm, moe_act, mla_up_proj, shared_experts, act, norm)"},
    {"An unknown unit.",
     R"(
cluster:
  host_memory: 2Tib
)",
     R"(
spec.yaml:2:16: cluster.host_memory: unknown unit Tib
  2 |   host_memory: 2Tib
    |                ^^^^
  did you mean TiB? expected bytes, as in 80GiB; units B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB)"},
    {"A unit of something else.",
     R"(
cluster:
  host_memory: 450GB/s
)",
     R"(
spec.yaml:2:16: cluster.host_memory: unknown unit GB/s
  2 |   host_memory: 450GB/s
    |                ^^^^^^^
  expected bytes, as in 80GiB; units B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB)"},
    {"A number in text.",
     R"(
cluster:
  gpu: 4090
)",
     R"(
spec.yaml:2:8: cluster.gpu: 4090 is a number
  2 |   gpu: 4090
    |        ^^^^
  expected a text; in quotes where it is meant as one)"},
    {"True in text.",
     R"(
model:
  preset: true
)",
     R"(
spec.yaml:2:11: model.preset: true is true or false
  2 |   preset: true
    |           ^^^^
  expected a text; in quotes where it is meant as one)"},
    {"A memory of zero.",
     R"(
cluster:
  gpu: {base: h100-sxm-80gb, memory: 0}
)",
     R"(
spec.yaml:2:38: cluster.gpu.memory: 0 is out of range
  2 |   gpu: {base: h100-sxm-80gb, memory: 0}
    |                                      ^
  expected bytes, as in 80GiB; units B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (a number from 1000000 on))"},
};

class ValueMistake : public testing::TestWithParam<Mistake> {};
TEST_P(ValueMistake, IsExplained) { ExpectExplained(GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, ValueMistake, testing::ValuesIn(kMistakes), NameOfMistake);

}  // namespace
}  // namespace shardplan
