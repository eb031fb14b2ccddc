// SPDX-License-Identifier: Apache-2.0
// One mistake each, and the whole text that a user gets to see: --set key.path=value.
#include "tests/spec/mistakes.h"

namespace shardplan {
namespace {

const Mistake kMistakes[] = {
    {"--set without a value.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
--set: no value
  plan.tp
  ^^^^^^^
  write --set key.path=value, as in --set plan.tp=4)",
     {"plan.tp"}},
    {"--set of nothing.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
--set: plan.tp: found no value
  plan.tp=
          ^
  expected a value or a list of values)",
     {"plan.tp="}},
    {"--set without a key.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
--set: a key is empty
  plan..tp=4
       ^
  write --set key.path=value, as in --set plan.tp=4)",
     {"plan..tp=4"}},
    {"--set of an unknown key.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
--set: plan.tq: unknown key
  plan.tq=4
       ^^
  did you mean tp? the keys of plan are tp, sp, pp, vpp, cp, cp_kind, ep, etp, dp, zero_stage, zero_group, micro_batch_size, schedule, stage_layers, recompute, offload, offload_to, overlap)",
     {"plan.tq=4"}},
    {"--set below a value.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
--set: plan.tp: a mapping is not a whole number
  plan.tp.size=4
          ^^^^
  expected a whole number from 1 to 1000000)",
     {"plan.tp.size=4"}},
    {"--set of a wrong value.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
--set: plan.tp: twelve is not a whole number
  plan.tp=twelve
          ^^^^^^
  expected a whole number from 1 to 1000000)",
     {"plan.tp=twelve"}},
    {"--set of half a list.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
--set: plan.tp: a [ is never closed
  plan.tp=[1, 2
          ^
  close it with ])",
     {"plan.tp=[1, 2"}},
    {"--set of an unknown GPU.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
--set: cluster.gpu: unknown name h300
  cluster.gpu=h300
              ^^^^
  did you mean gb300 or gh200?)",
     {"cluster.gpu=h300"}},
    {"--set in a section that no one wrote.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
)",
     R"(
--set: train.global_batch_size: missing
  train.seq_length=4096
  ^^^^^
  give the sequences per optimizer step, as in 1024)",
     {"train.seq_length=4096"}},
};

class SetMistake : public testing::TestWithParam<Mistake> {};
TEST_P(SetMistake, IsExplained) { ExpectExplained(GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, SetMistake, testing::ValuesIn(kMistakes), NameOfMistake);

}  // namespace
}  // namespace shardplan
