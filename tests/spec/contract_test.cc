// SPDX-License-Identifier: Apache-2.0
// Every key that users were promised, and the specs that the accuracy harness writes.
#include <gtest/gtest.h>

#include "planner/spec/problem.h"
#include "planner/spec/spec_text.h"

namespace shardplan {
namespace {

// Each key is read, those of later releases too.
TEST(Contract, EveryKeyIsKnown) {
  const char* const text = R"(
model:
  config: llama-3-70b/
  preset: llama-3-70b
  model_type: llama
  num_hidden_layers: 80
  hidden_size: 8192
  tie_word_embeddings: false
  parts:
    - {name: vision, config: {model_type: clip}, trainable: false, parallel: {tp: 1}}
    - {name: text, preset: llama-3-8b, hidden_size: 4096}
cluster:
  preset: dgx-h100
  nodes: 16
  gpus_per_node: 8
  gpu: {base: h100-sxm-80gb, memory: 96GiB, memory_bandwidth: 2400GB/s, power_limit: 500W}
  scale_up: {bandwidth: 450GB/s, latency: 3us}
  scale_up_domain: 8
  scale_out: {nics: 8, rate: 400Gb/s, kind: infiniband, latency: 2us, oversubscription: 1.5}
  nccl: {version: 2.28, NCCL_NVLS_ENABLE: 0}
  host_memory: 2TiB
  host_bandwidth: 600GB/s
  nvme: {capacity: 28TB, read: 50GB/s, write: 28GB/s}
  price: 2.5
  profile: profile.yaml
train:
  framework: megatron
  framework_version: "0.14"
  seq_length: 8192
  decoder_seq_length: 128
  image_size: 224
  max_sample_length: 16384
  global_batch_size: 1024
  tokens: 2e12
  precision: bf16-mixed
  fp8: {recipe: delayed, params: false, all_gather: false}
  gradient_dtype: fp32
  reduce_dtype: fp32
  optimizer_state_dtype: fp32
  optimizer: adamw
  optimizer_impl: fused
  optimizer_in_backward: false
  attention: flash
  loss: eager
  keep_logits: false
  dropout: 0
  task: lora
  lora: {rank: 16, targets: [q_proj, v_proj], parameters: 4194304}
  moe: {capacity_factor: null, dispatcher: alltoall, imbalance: 1.1}
  compile: false
  cuda_graphs: false
  allocator: {expandable_segments: false}
  vocab_parallel: true
plan:
  tp: 8
  sp: true
  pp: 4
  vpp: 2
  cp: 1
  cp_kind: ring
  ep: 1
  etp: 1
  dp: 4
  zero_stage: 1
  zero_group: 8
  micro_batch_size: 1
  schedule: 1f1b
  stage_layers: [19, 21, 21, 19]
  recompute: {modules: [core_attn, mlp, moe, layernorm, moe_act, mla_up_proj]}
  offload: optimizer+params
  offload_to: nvme
  overlap: {grad_reduce: true, param_gather: true, tp: false, p2p: true, moe: false}
search:
  objective: throughput
  memory_reserve: 2GiB
  keep: 20
)";
  const Result<SpecText> read = ReadSpec(MakeSource("contract.yaml", text), "", {});
  ASSERT_TRUE(read.has_value()) << read.error().message;
}

TEST(Contract, EveryValueIsKnown) {
  const std::vector<std::pair<const char*, const char*>> keys = {
      {"train.framework", "megatron torchtitan fsdp deepspeed ddp hf nanotron colossalai native"},
      {"train.precision", "bf16-mixed fp16-mixed bf16-true fp16-true fp32 tf32 fp8 mxfp8 nvfp4"},
      {"train.optimizer", "adamw adam sgd sgd-momentum adafactor lamb lion muon adamw-8bit"},
      {"train.optimizer_impl", "fused foreach for-loop paged"},
      {"train.attention", "flash sdpa eager"},
      {"train.loss", "eager vocab_parallel native te compiled chunked"},
      {"train.task", "pretrain sft lora qlora freeze dpo grpo ppo distill"},
      {"train.fp8.recipe", "delayed current tensorwise rowwise rowwise_with_gw_hp blockwise"},
      {"plan.cp_kind", "ring ulysses allgather"},
      {"plan.schedule", "gpipe 1f1b interleaved zb-h1 zb-v dualpipe"},
      {"plan.recompute", "none selective full"},
      {"plan.recompute.modules", "core_attn mlp moe layernorm moe_act mla_up_proj norm act"},
      {"plan.offload", "none optimizer optimizer+params activations"},
      {"plan.offload_to", "cpu nvme"},
      {"plan.zero_stage", "0 1 2 3"},
      {"search.objective", "throughput memory cost gpus"},
      {"cluster.scale_out.kind", "infiniband roce efa omni-path slingshot tcpxo ethernet"},
  };
  for (const auto& [key, values] : keys) {
    std::istringstream words(values);
    for (std::string word; words >> word;) {
      const Result<SpecText> read = ReadSpec(MakeSource("s", "plan:"), "", {key + ("=" + word)});
      EXPECT_TRUE(read.has_value()) << read.error().message;
    }
  }
}

struct Harness {
  const char* id;
  const char* spec;
};

// As an accuracy harness writes them, one of each kind.
constexpr Harness kHarness[] = {
    {"a DeepSeek row",
     R"({"model": {"model_type": "deepseek_v3", "num_hidden_layers": 61, "hidden_size": 7168,
      "num_attention_heads": 128, "intermediate_size": 18432, "vocab_size": 129280, "num_experts_per_tok": 8,
      "moe_intermediate_size": 2048, "n_shared_experts": 1, "first_k_dense_replace": 3, "q_lora_rank": 1536,
      "kv_lora_rank": 512, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 256, "qk_nope_head_dim": 128,
      "num_nextn_predict_layers": 1},
      "cluster": {"gpu": "gb200", "gpus_per_node": 4, "nodes": 64, "scale_up": "nvlink5", "scale_up_domain": 72},
      "train": {"framework": "megatron", "seq_length": 4096, "global_batch_size": 2048, "precision": "mxfp8",
      "optimizer": "adam", "loss": "te"},
      "plan": {"tp": 1, "pp": 4, "vpp": 4, "cp": 1, "ep": 64, "zero_stage": 1, "etp": 1, "sp": false,
      "micro_batch_size": 1, "recompute": {"modules": ["mla_up_proj", "mlp"]}, "offload": "none",
      "overlap": {"moe": true}}})"},
    {"a Megatron GPT row",
     R"({"model": {"model_type": "megatron_gpt", "num_hidden_layers": 96, "hidden_size": 18432,
      "num_attention_heads": 96, "num_key_value_heads": 8, "intermediate_size": 73728, "vocab_size": 256000,
      "activation": "squared-relu"},
      "cluster": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8, "nodes": 128, "scale_up": "nvlink4",
      "scale_out": "8x400Gb/s infiniband"},
      "train": {"framework": "megatron", "seq_length": 4096, "global_batch_size": 64, "precision": "fp8",
      "optimizer": "adamw", "fp8": {"recipe": "current"}},
      "plan": {"tp": 8, "pp": 8, "vpp": 12, "cp": 2, "ep": 1, "zero_stage": 1, "sp": true, "cp_kind": "ulysses",
      "micro_batch_size": 1, "recompute": {"layers": 48}, "offload": "none", "schedule": "interleaved"}})"},
    {"another memory",
     R"({"model": {"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096,
      "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256},
      "cluster": {"gpu": {"base": "h100-sxm-80gb", "memory": "96GiB", "memory_bandwidth": "2400GB/s",
      "power_limit": "500W"}, "gpus_per_node": 8, "nodes": 16, "scale_out": "8x50Gb/s roce"},
      "train": {"framework": "torchtitan", "seq_length": 8192, "global_batch_size": 256, "precision": "bf16-mixed",
      "optimizer": "adamw", "compile": true},
      "plan": {"tp": 1, "pp": 1, "vpp": 1, "cp": 1, "ep": 1, "zero_stage": 3, "zero_group": 8, "micro_batch_size": 2,
      "recompute": "selective", "offload": "none", "overlap": {"tp": false}}})"},
    {"an H200 step", R"({"model": {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12,
      "n_positions": 1024, "vocab_size": 50257},
      "cluster": {"gpu": "h200-sxm", "gpus_per_node": 1, "nodes": 1},
      "train": {"seq_length": 1024, "dropout": 0.1, "framework": "hf", "global_batch_size": 8,
      "precision": "bf16-true", "optimizer": "sgd-momentum", "attention": "sdpa", "optimizer_impl": "foreach",
      "keep_logits": true},
      "plan": {"micro_batch_size": 8, "zero_stage": 0, "recompute": "none"}})"},
    {"ranks under tensor parallelism", R"({"model": {"model_type": "llama", "num_hidden_layers": 8,
      "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
      "vocab_size": 32000, "max_position_embeddings": 32768},
      "cluster": {"gpu": "h200-sxm", "gpus_per_node": 2, "nodes": 1, "scale_up": "nvlink4"},
      "train": {"framework": "hf", "seq_length": 2048, "global_batch_size": 2, "precision": "bf16-true",
      "optimizer": "adamw", "attention": "sdpa", "optimizer_impl": "for-loop", "vocab_parallel": false},
      "plan": {"tp": 2, "sp": false, "zero_stage": 0, "micro_batch_size": 2, "recompute": "none"}})"},
    {"an A100 iteration",
     R"({"model": {"model_type": "gpt2", "num_hidden_layers": 40, "hidden_size": 6144,
      "num_attention_heads": 48, "vocab_size": 51200},
      "cluster": {"gpu": "a100-sxm-80gb", "gpus_per_node": 8, "nodes": 8, "scale_up": "nvlink3",
      "scale_out": "4x200Gb/s infiniband"},
      "train": {"framework": "megatron", "seq_length": 2048, "global_batch_size": 512, "precision": "fp16-mixed",
      "optimizer": "adam", "attention": "eager"},
      "plan": {"tp": 4, "pp": 4, "dp": 4, "zero_stage": 0, "micro_batch_size": 2, "recompute": "full",
      "schedule": "1f1b"}})"},
};

TEST(Contract, HarnessSpecsAreRead) {
  for (const Harness& row : kHarness) {
    const Result<Problem> read = ParseProblem(row.spec, row.id, {}, Needs::kAll);
    EXPECT_TRUE(read.has_value()) << row.id << '\n' << read.error().message;
  }
}

TEST(Contract, CollectivesNeedTheClusterAlone) {
  const char* const specs[] = {
      "cluster: {gpu: h100-pcie-80gb, gpus_per_node: 2, nodes: 1, scale_up_domain: 2, scale_up: "
      "nvlink4}",
      "cluster: {gpu: rtx-4090, gpus_per_node: 8, nodes: 1, scale_up_domain: 1}",
      "cluster: {gpu: h100-sxm-80gb, gpus_per_node: 4, nodes: 4, scale_up_domain: 4, scale_up: "
      "nvlink4, "
      "scale_out: 4x200Gb/s slingshot, nccl: {NCCL_NVLS_ENABLE: 0}}"};
  for (const char* spec : specs) {
    const Result<Problem> read = ParseProblem(spec, "c.yaml", {}, Needs::kCluster);
    ASSERT_TRUE(read.has_value()) << read.error().message;
  }
}

TEST(Contract, ModelNeedsTheModelAlone) {
  const Result<Problem> read =
      ParseProblem("model: {preset: llama-3-8b}", "m.yaml", {}, Needs::kModel);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->title, "llama-3-8b");
  EXPECT_EQ(read->model.facts.layers, 32);
}

}  // namespace
}  // namespace shardplan
