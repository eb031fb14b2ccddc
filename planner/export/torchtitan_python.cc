// SPDX-License-Identifier: Apache-2.0
// A plan as torchtitan 0.3: a Python function that returns a Trainer.Config, and its start.
#include <fmt/format.h>

#include "planner/export/model_config.h"
#include "planner/export/python_script.h"
#include "planner/export/target.h"
#include "planner/export/torchtitan.h"

namespace shardplan {
namespace {

constexpr char kProgram[] = R"py(#!/usr/bin/env python3
"""The plan as torchtitan's Trainer.Config; run by torchrun it trains.

TOKENS=FILE.npy holds token ids; without it they are made up. STEPS=N replaces the plan's steps.
"""

import os
from dataclasses import dataclass

import numpy
import torch
from torch.utils.data import IterableDataset
from torchtitan.components.dataloader import ParallelAwareDataloader
from torchtitan.components.loss import CrossEntropyLoss
from torchtitan.components.metrics import MetricsProcessor
from torchtitan.components.optimizer import default_adamw
from torchtitan.components.tokenizer import BaseTokenizer
from torchtitan.config import CompileConfig, ParallelismConfig, TrainingConfig
from torchtitan.distributed.activation_checkpoint import FullAC, SelectiveAC
from torchtitan.distributed.pipeline_parallel import pipeline_llm
from torchtitan.models import llama3
from torchtitan.models.common import ComplexRoPE, Embedding, Linear, RMSNorm
from torchtitan.protocols.model_spec import ModelSpec
from torchtitan.tools.logging import init_logger
from torchtitan.trainer import Trainer

DIM, HEADS, KV_HEADS, FFN = @DIM@, @HEADS@, @KV_HEADS@, @FFN@
LAYERS, VOCABULARY, SEQUENCE = @LAYERS@, @VOCABULARY@, @SEQUENCE@


class Tokens(IterableDataset):
    def __init__(self, rank, ranks):
        path = os.environ.get("TOKENS")
        self.ids = numpy.load(path, mmap_mode="r").reshape(-1) if path else None
        self.at, self.ranks = rank, ranks

    def __iter__(self):
        while True:
            if self.ids is None:
                numbers = torch.Generator().manual_seed(self.at)
                ids = torch.randint(VOCABULARY, (SEQUENCE + 1,), generator=numbers)
            else:
                start = self.at * SEQUENCE % (len(self.ids) - SEQUENCE)
                ids = torch.from_numpy(self.ids[start:start + SEQUENCE + 1].astype("int64"))
            self.at += self.ranks
            yield {"input": ids[:-1], "positions": torch.arange(SEQUENCE)}, ids[1:]

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class Loader(ParallelAwareDataloader):
    @dataclass(kw_only=True, slots=True)
    class Config(ParallelAwareDataloader.Config):
        pass

    def __init__(self, config, *, dp_world_size, dp_rank, local_batch_size, **_):
        super().__init__(Tokens(dp_rank, dp_world_size), dp_rank=dp_rank, dp_world_size=dp_world_size,
                         batch_size=local_batch_size)


class NoTokenizer(BaseTokenizer):
    """Sequences are token ids already."""

    @dataclass(kw_only=True, slots=True)
    class Config(BaseTokenizer.Config):
        pass

    def __init__(self, config, **_):
        super().__init__()

    def encode(self, *_, **__):
        raise NotImplementedError

    def decode(self, *_, **__):
        raise NotImplementedError

    def get_vocab_size(self):
        return VOCABULARY


def model():
    rope = ComplexRoPE.Config(dim=DIM // HEADS, max_seq_len=SEQUENCE, theta=@THETA@)
    return llama3.Llama3Model.Config(
        dim=DIM,
        vocab_size=VOCABULARY,
        enable_weight_tying=@TIED@,
        tok_embeddings=Embedding.Config(num_embeddings=VOCABULARY, embedding_dim=DIM,
                                        param_init=llama3._EMBEDDING_INIT),
        norm=RMSNorm.Config(normalized_shape=DIM, param_init=llama3._NORM_INIT),
        lm_head=Linear.Config(in_features=DIM, out_features=VOCABULARY,
                              param_init=llama3._output_linear_init(DIM)),
        layers=llama3._build_llama3_layers(n_layers=LAYERS, dim=DIM, n_heads=HEADS, n_kv_heads=KV_HEADS,
                                           hidden_dim=FFN, rope=rope, attn_backend="flex"),
    )


def config():
    spec = ModelSpec(name="llama3", flavor="plan", model=model(), parallelize_fn=llama3.parallelize_llama,
                     pipelining_fn=pipeline_llm, post_optimizer_build_fn=None, state_dict_adapter=None)
    plan = Trainer.Config(
        model_spec=spec,
        dump_folder="./output",
        tokenizer=NoTokenizer.Config(),
        dataloader=Loader.Config(),
        loss=CrossEntropyLoss.Config(global_vocab_size=VOCABULARY),
        metrics=MetricsProcessor.Config(log_freq=1),
        optimizer=default_adamw(lr=3e-4),
        training=TrainingConfig(
@TRAINING@        ),
        parallelism=ParallelismConfig(
@PARALLELISM@        ),
        compile=CompileConfig(@COMPILE@),
        activation_checkpoint=@CHECKPOINTING@,
    )
    plan.training.steps = int(os.environ.get("STEPS", plan.training.steps))
    return plan


if __name__ == "__main__":
    init_logger()
    trainer = config().build()
    try:
        trainer.train()
    finally:
        trainer.close()
)py";

// The keyword arguments of one class, a line each, of the settings of one section.
std::string Keywords(const Settings& keys, std::string_view section, const std::string& indent) {
  std::string text;
  for (const auto& [key, value] : keys.list) {
    if (key.rfind(section, 0) != 0) continue;
    const std::string name = key.substr(section.size());
    if (indent.empty())
      text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, PythonText(value));
    else
      text += fmt::format("{}{}={},\n", indent, name, PythonText(value));
  }
  return text;
}

// The same settings under the names of the classes that take them, for the table of flags.
Settings UnderClasses(const Settings& keys, std::string_view version) {
  Settings named{.table = fmt::format("torchtitan@{}", version), .list = {}};
  const std::pair<std::string_view, std::string_view> classes[] = {
      {"training.", "TrainingConfig."},
      {"parallelism.", "ParallelismConfig."},
      {"compile.", "CompileConfig."}};
  for (const auto& [key, value] : keys.list)
    for (const auto& [section, name] : classes)
      if (key.rfind(section, 0) == 0)
        named.Set(std::string(name) + key.substr(section.size()), value);
  return named;
}

const char* Checkpointing(const ExportJob& job, std::vector<Loss>& losses) {
  switch (job.plan().sharding.recompute.kind) {
    case RecomputeKind::kNone:
      return "None";
    case RecomputeKind::kFull:
      return "FullAC.Config()";
    case RecomputeKind::kSelective:
    case RecomputeKind::kModules:
      return "SelectiveAC.Config()";
    case RecomputeKind::kLayers:
      losses.push_back({"recompute of some layers", "per-op selective checkpointing of all"});
      return "SelectiveAC.Config()";
  }
  return "None";
}

bool IsLlama(const DecoderShape& s) {
  return s.experts == 0 && s.gated && s.activation == Activation::kSilu &&
         s.norm == NormKind::kRms && s.rotary && s.norms_per_layer == 2 && !s.sinks &&
         s.kv_lora_rank == 0 && s.qk_norm == QkNorm::kNone && !s.q_bias && !s.out_bias &&
         !s.mlp_bias && s.head_dim * s.heads == s.hidden;
}
}  // namespace

Result<Script> WriteTorchtitanPython(const ExportJob& job, std::string_view version) {
  if (const std::string why = WhyNotTorchtitan(job); !why.empty()) return Cannot(why);
  const DecoderShape& s = job.shape;
  const Training& t = job.training();
  if (!IsLlama(s))
    return Cannot(
        fmt::format("{}: this target writes Llama's shape for torchtitan 0.3; "
                    "torchtitan@0.2 has Qwen3's and DeepSeek-V3's too",
                    s.family));
  Script script;
  Settings keys;
  AddTorchtitan(job, true, keys, script.losses);
  keys.Set("training.disable_cuda_graphs", !t.cuda_graphs);
  if (job.plan().policy.overlap.tp) keys.Set("compile.enable_async_tensor_parallel");
  script.losses.push_back({"the attention kernel", "FlexAttention: no other masks its documents"});
  if (job.plan().sharding.cp > 1 && job.plan().sharding.cp_kind == CpKind::kRing)
    script.losses.push_back({"ring attention", "keys and values gathered"});
  if (t.precision == Precision::kFp8 || t.precision == Precision::kMxfp8)
    script.losses.push_back({"products in 8 bits", "bf16: converters are added by hand"});
  if (t.optimizer_impl != OptimizerImpl::kFused)
    script.losses.push_back({"the optimizer's kernels", "torchtitan's, fused"});
  const std::string indent(12, ' ');
  script.files = {
      {"plan.py",
       Filled(kProgram, {{"@DIM@", std::to_string(s.hidden)},
                         {"@HEADS@", std::to_string(s.heads)},
                         {"@KV_HEADS@", std::to_string(s.kv_heads)},
                         {"@FFN@", std::to_string(s.ffn)},
                         {"@LAYERS@", std::to_string(s.layers)},
                         {"@VOCABULARY@", std::to_string(s.vocab)},
                         {"@SEQUENCE@", std::to_string(t.seq_length)},
                         {"@THETA@", PythonText(RotaryBase(job.config).value_or(10000.0))},
                         {"@TIED@", s.tied ? "True" : "False"},
                         {"@TRAINING@", Keywords(keys, "training.", indent)},
                         {"@PARALLELISM@", Keywords(keys, "parallelism.", indent)},
                         {"@COMPILE@", Keywords(keys, "compile.", "")},
                         {"@CHECKPOINTING@", Checkpointing(job, script.losses)}})}};
  script.program = {"plan.py"};
  script.needs = {fmt::format("torchtitan {}, and the torch that it was made for", version),
                  "`TOKENS`, a .npy file of token ids, for real data; made-up ones without it"};
  script.settings = {UnderClasses(keys, version)};
  return script;
}
}  // namespace shardplan
