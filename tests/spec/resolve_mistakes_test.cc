// SPDX-License-Identifier: Apache-2.0
// One mistake each, and the whole text that a user gets to see: names, and keys together.
#include "tests/spec/mistakes.h"

namespace shardplan {
namespace {

const Mistake kMistakes[] = {
    {"No model.",
     R"(
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml: model: missing
  give preset (a file in configs/models), config (a config.json) or model_type with its keys)"},
    {"A model of nothing.",
     R"(
model:
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:1:1: model: missing
  1 | model:
    | ^^^^^
  give preset (a file in configs/models), config (a config.json) or model_type with its keys)"},
    {"No model_type.",
     R"(
model: {hidden_size: 4096}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:1:1: model: model_type is missing: it says what the other keys mean
...)"},
    {"An unknown preset.",
     R"(
model: {preset: llama-3-80b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:1:17: model.preset: unknown name llama-3-80b
  1 | model: {preset: llama-3-80b}
    |                 ^^^^^^^^^^^
  did you mean llama-3-70b or llama-3-8b?)"},
    {"A preset out of the folder.",
     R"(
model: {preset: ../gpus/t4}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:1:17: model.preset: unknown name ../gpus/t4
...)"},
    {"A family that is no decoder.",
     R"(
model: {model_type: t5, d_model: 1024}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:1:21: model.model_type: t5 is not supported: it is an encoder-decoder, and shardplan has no builder for those yet
...)"},
    {"An unknown family.",
     R"(
model: {model_type: lama}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:1:21: model.model_type: is "lama", which is no known family
...)"},
    {"A key of no family.",
     R"(
model:
  preset: llama-3-8b
  hidden_sise: 4096
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:3:3: model.hidden_sise: is not a key of llama
  3 |   hidden_sise: 4096
    |   ^^^^^^^^^^^
  did you mean hidden_size?)"},
    {"A key of another family.",
     R"(
model:
  preset: llama-3-8b
  kv_lora_rank: 512
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:3:3: model.kv_lora_rank: is not a key of llama
  3 |   kv_lora_rank: 512
    |   ^^^^^^^^^^^^
  it is a key of deepseek_v2, deepseek_v3, kimi_k2)"},
    {"A size of the wrong type.",
     R"(
model:
  preset: llama-3-8b
  hidden_size: wide
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:3:16: model.hidden_size: is "wide"
  3 |   hidden_size: wide
    |                ^^^^
  expected an integer from 1 to 1000000; llama has 4096 by default)"},
    {"A size that does not divide.",
     R"(
model:
  preset: llama-3-8b
  num_key_value_heads: 5
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:3:24: model.num_key_value_heads: 5 does not divide num_attention_heads (32)
  3 |   num_key_value_heads: 5
    |                        ^
  each key/value head serves as many heads as the others; these work: 1 2 4 8 16 32)"},
    {"Config and preset.",
     R"(
model: {preset: llama-3-8b, config: llama/}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:1:17: model.preset: config and preset are both given
  1 | model: {preset: llama-3-8b, config: llama/}
    |                 ^^^^^^^^^^
  keep one)"},
    {"A config that is not there.",
     R"(
model: {config: no/such/config.json}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:1:17: model.config: no/such/config.json: no such file
  1 | model: {config: no/such/config.json}
    |                 ^^^^^^^^^^^^^^^^^^^)"},
    {"A mistake in an inline config.",
     R"(
model:
  config:
    model_type: llama
    hidden_size: -1
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:4:18: model.config.hidden_size: is -1
  4 |     hidden_size: -1
    |                  ^^
  expected an integer from 1 to 1000000; llama has 4096 by default)"},
    {"Several models.",
     R"(
model: {parts: [{name: a, preset: llama-3-8b}]}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
)",
     R"(
spec.yaml:1:16: model.parts: several models in one job are not supported yet
  1 | model: {parts: [{name: a, preset: llama-3-8b}]}
    |                ^
  describe one model by preset, config or its keys)"},
    {"No train section.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
)",
     R"(
spec.yaml: train.seq_length: missing
  give the tokens of one sequence, as in 4096)"},
    {"No batch.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train:
  seq_length: 4096
)",
     R"(
spec.yaml:3:1: train.global_batch_size: missing
  3 | train:
    | ^^^^^
  give the sequences per optimizer step, as in 1024)"},
    {"No sequence length.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train:
  global_batch_size: 64
)",
     R"(
spec.yaml:3:1: train.seq_length: missing
  3 | train:
    | ^^^^^
  give the tokens of one sequence, as in 4096)"},
    {"A task of later.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train:
  seq_length: 4096
  global_batch_size: 64
  task: lora
  lora: {rank: 16, targets: [q_proj]}
)",
     R"(
spec.yaml:6:9: train.task: lora is not supported yet
  6 |   task: lora
    |         ^^^^
  supported are pretrain and sft, which train all parameters)"},
    {"Adapters without their task.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train:
  seq_length: 4096
  global_batch_size: 64
  lora: {parameters: 1000000}
)",
     R"(
spec.yaml:6:9: train.lora: adapters are not supported yet
  6 |   lora: {parameters: 1000000}
    |         ^
  leave it out: task pretrain and sft train all parameters)"},
    {"A framework of later.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train:
  framework: colossalai
  seq_length: 4096
  global_batch_size: 64
)",
     R"(
spec.yaml:4:14: train.framework: colossalai is not supported yet
  4 |   framework: colossalai
    |              ^^^^^^^^^^
  supported are megatron, torchtitan, fsdp, deepspeed, ddp, hf, nanotron, native)"},
    {"A version that is none.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train:
  framework_version: newest
  seq_length: 4096
  global_batch_size: 64
)",
     R"(
spec.yaml:4:22: train.framework_version: newest is no version
  4 |   framework_version: newest
    |                      ^^^^^^
  expected one like "0.14", in quotes)"},
    {"Pictures.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train:
  image_size: 224
  seq_length: 4096
  global_batch_size: 64
)",
     R"(
spec.yaml:4:15: train.image_size: vision models are not supported yet
  4 |   image_size: 224
    |               ^^^
  give seq_length of a language model)"},
    {"A longest sample that is not.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train:
  max_sample_length: 2048
  seq_length: 4096
  global_batch_size: 64
)",
     R"(
spec.yaml:4:22: train.max_sample_length: 2048 is less than seq_length
  4 |   max_sample_length: 2048
    |                      ^^^^
  expected 4096 or more)"},
    {"Recomputation said twice.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
plan:
  recompute: {kind: full, layers: 4}
)",
     R"(
spec.yaml:5:14: plan.recompute: says more than one thing
  5 |   recompute: {kind: full, layers: 4}
    |              ^
  expected none, selective, full, or a mapping of modules or of layers)"},
    {"Recomputation of nothing.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
plan:
  recompute: [full, {}]
)",
     R"(
spec.yaml:5:21: plan.recompute[1]: says nothing
  5 |   recompute: [full, {}]
    |                     ^
  expected none, selective, full, or a mapping of modules or of layers)"},
};

class ResolveMistake : public testing::TestWithParam<Mistake> {};
TEST_P(ResolveMistake, IsExplained) { ExpectExplained(GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, ResolveMistake, testing::ValuesIn(kMistakes), NameOfMistake);

}  // namespace
}  // namespace shardplan
