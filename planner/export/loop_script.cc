// SPDX-License-Identifier: Apache-2.0
// The programs of bundles for DDP, FSDP2 and accelerate: one loop, and how each wraps the model.
#include <fmt/format.h>

#include "planner/export/python_script.h"
#include "planner/framework/common.h"

namespace shardplan {
namespace {

constexpr char kHead[] = R"py(#!/usr/bin/env python3
"""Trains the model of config.json under @WHAT@.

The weights are fresh. TOKENS=FILE.npy holds token ids; without it they are made up. --steps N and
--lr X replace the plan's.
"""

import argparse
import os
import time
from pathlib import Path

import numpy
import torch
@IMPORTS@from transformers import AutoConfig, AutoModelForCausalLM

HERE = Path(__file__).resolve().parent
SEQUENCE, MICRO_BATCH, MICRO_BATCHES = @SEQUENCE@, @MICRO_BATCH@, @MICRO_BATCHES@
CUDA = torch.cuda.is_available()


class Tokens:
    """Micro batches of token ids of one data-parallel rank, from a file or made up."""

    def __init__(self, vocabulary, rank, ranks):
        path = os.environ.get("TOKENS")
        self.ids = numpy.load(path, mmap_mode="r").reshape(-1) if path else None
        self.numbers = torch.Generator().manual_seed(rank)
        self.vocabulary, self.at, self.ranks = vocabulary, rank, ranks

    def take(self):
        if self.ids is None:
            return torch.randint(self.vocabulary, (MICRO_BATCH, SEQUENCE), generator=self.numbers)
        rows = []
        for _ in range(MICRO_BATCH):
            start = self.at * SEQUENCE % (len(self.ids) - SEQUENCE + 1)
            rows.append(torch.from_numpy(self.ids[start:start + SEQUENCE].astype("int64")))
            self.at += self.ranks
        return torch.stack(rows)


def layers_of(model):
    """The repeated blocks of a transformers model."""
    names = set(model._no_split_modules or [])
    return [module for module in model.modules() if type(module).__name__ in names]


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=@STEPS@)
    parser.add_argument("--lr", type=float, default=3e-4)
    return parser.parse_args()


def report(step, loss, start):
    line = f"step {step} loss {loss:.4f} seconds {time.perf_counter() - start:.3f}"
    if CUDA:
        line += f" allocated {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB"
        line += f" reserved {torch.cuda.max_memory_reserved() / 2**30:.2f} GiB"
    print(line, flush=True)


)py";

constexpr char kDdp[] = R"py(def main():
    wanted = options()
    dist.init_process_group("nccl" if CUDA else "gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if CUDA else torch.device("cpu")
    if CUDA:
        torch.cuda.set_device(device)
@TF32@    torch.manual_seed(0)
    config = AutoConfig.from_pretrained(HERE)
    config.use_cache = False
    model = AutoModelForCausalLM.from_config(
        config, attn_implementation="@ATTENTION@", dtype=torch.@DTYPE@)
    model.to(device).train()
@CHECKPOINTS@@COMPILE@    model = DistributedDataParallel(
        model, device_ids=[device] if CUDA else None, gradient_as_bucket_view=@BUCKET_VIEW@)
    optimizer = @OPTIMIZER@
    scaler = torch.amp.GradScaler(device.type, enabled=@SCALES@)
    tokens = Tokens(config.vocab_size, rank, ranks)
    for step in range(1, wanted.steps + 1):
        start, total = time.perf_counter(), 0.0
        for micro in range(MICRO_BATCHES):
            ids = tokens.take().to(device)
            last = micro + 1 == MICRO_BATCHES
            with nullcontext() if last else model.no_sync(), @AUTOCAST@:
                loss = model(input_ids=ids, labels=ids).loss / MICRO_BATCHES
                scaler.scale(loss).backward()
            total += loss.item()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        if rank == 0:
            report(step, total, start)
    dist.destroy_process_group()


main()
)py";

constexpr char kFsdp[] = R"py(def main():
    wanted = options()
    dist.init_process_group("@BACKENDS@" if CUDA else "gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if CUDA else torch.device("cpu")
    if CUDA:
        torch.cuda.set_device(device)
@TF32@    torch.manual_seed(0)
    config = AutoConfig.from_pretrained(HERE)
    config.use_cache = False
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(
            config, attn_implementation="@ATTENTION@", dtype=torch.@DTYPE@)
    model.train()
@MESH@    how = {
        "mesh": mesh,
        "reshard_after_forward": @RESHARD@,
        "mp_policy": @PRECISION@,
@OFFLOAD@    }
@CHECKPOINTS@    for layer in layers_of(model):
@COMPILE@        fully_shard(layer, **how)
    fully_shard(model, **how)
    model.to_empty(device=@HOME@)
    with torch.no_grad():
        model.apply(model._init_weights)
    model.tie_weights()
    optimizer = @OPTIMIZER@
    tokens = Tokens(config.vocab_size, rank, ranks)
    for step in range(1, wanted.steps + 1):
        start, total = time.perf_counter(), 0.0
        for _ in range(MICRO_BATCHES):
            ids = tokens.take().to(device)
            loss = model(input_ids=ids, labels=ids).loss / MICRO_BATCHES
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if rank == 0:
            report(step, total, start)
    dist.destroy_process_group()


main()
)py";

constexpr char kAccelerate[] = R"py(def main():
    wanted = options()
    accelerator = Accelerator(cpu=not CUDA, gradient_accumulation_steps=MICRO_BATCHES)
@TF32@    torch.manual_seed(0)
    config = AutoConfig.from_pretrained(HERE)
    config.use_cache = False
    model = AutoModelForCausalLM.from_config(
        config, attn_implementation="@ATTENTION@", dtype=torch.@DTYPE@)
    model.train()
@CHECKPOINTS@    optimizer = @OPTIMIZER@
    model, optimizer = accelerator.prepare(model, optimizer)
    rank, ranks = accelerator.process_index, accelerator.num_processes
    tokens = Tokens(config.vocab_size, rank, ranks)
    for step in range(1, wanted.steps + 1):
        start, total = time.perf_counter(), 0.0
        for _ in range(MICRO_BATCHES):
            with accelerator.accumulate(model):
                ids = tokens.take().to(accelerator.device)
                loss = model(input_ids=ids, labels=ids).loss
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
            total += loss.item() / MICRO_BATCHES
        if accelerator.is_main_process:
            report(step, total, start)
    accelerator.end_training()


main()
)py";

// Which layers are recomputed in full, as lines of `main`.
std::string Checkpoints(const ExportJob& job, bool wraps) {
  const Recompute& recompute = job.plan().sharding.recompute;
  const int layers = job.shape.layers;
  std::string chosen;
  switch (recompute.kind) {
    case RecomputeKind::kNone:
      return {};
    case RecomputeKind::kFull:
    case RecomputeKind::kModules:
      chosen = fmt::format("range({})", layers);
      break;
    case RecomputeKind::kSelective:
      // What loops over FSDP call selective: every second block. Under DDP attention recomputes
      // its scores by itself, and nothing else is meant.
      if (!wraps) return {};
      chosen = fmt::format("range(0, {}, 2)", layers);
      break;
    case RecomputeKind::kLayers: {
      int asked = 0;
      for (const int count : recompute.layers) asked += count;
      if (asked == 0) return {};
      chosen = fmt::format("{{i * {} // {} for i in range({})}}", layers, asked, asked);
      break;
    }
  }
  return fmt::format(
      "    recomputed = {}\n"
      "    model.gradient_checkpointing_enable({{\"use_reentrant\": False}})\n"
      "    for i, layer in enumerate(layers_of(model)):\n"
      "        layer.gradient_checkpointing = i in recomputed\n",
      chosen);
}

std::string OptimizerText(const ExportJob& job) {
  const Training& t = job.training();
  const bool zero = t.framework == FrameworkId::kDdp && job.plan().policy.zero_stage == 1;
  const bool sgd = t.optimizer == Optimizer::kSgd || t.optimizer == Optimizer::kSgdMomentum;
  std::string name = sgd ? "SGD" : t.optimizer == Optimizer::kAdam ? "Adam" : "AdamW";
  if (t.optimizer == Optimizer::kAdafactor) name = "Adafactor";
  std::string options = "lr=wanted.lr";
  if (t.optimizer == Optimizer::kSgdMomentum) options += ", momentum=0.9";
  if (!sgd) options += ", weight_decay=0.1";
  const bool fuses = t.optimizer_impl == OptimizerImpl::kFused && name != "Adafactor";
  options += fuses                                         ? ", fused=True"
             : t.optimizer_impl == OptimizerImpl::kForLoop ? ", foreach=False"
                                                           : ", foreach=True";
  if (!zero) return fmt::format("torch.optim.{}(model.parameters(), {})", name, options);
  return fmt::format(
      "ZeroRedundancyOptimizer(\n        model.parameters(), optimizer_class=torch.optim.{}, {})",
      name, options);
}

const char* Half(Precision precision) {
  return precision == Precision::kFp16Mixed || precision == Precision::kFp16True ? "float16"
                                                                                 : "bfloat16";
}
bool IsTrue(Precision p) { return p == Precision::kBf16True || p == Precision::kFp16True; }

std::string Tf32(const ExportJob& job) {
  return job.training().precision == Precision::kTf32
             ? "    torch.set_float32_matmul_precision(\"high\")\n"
             : "";
}

// The head, then `body`, with what both share.
std::string Program(const ExportJob& job, const char* body, const std::string& what,
                    const std::string& imports) {
  const Training& t = job.training();
  const auto& [s, p, q] = job.plan();
  return Filled(kHead, {{"@WHAT@", what},
                        {"@IMPORTS@", imports},
                        {"@SEQUENCE@", std::to_string(t.seq_length)},
                        {"@MICRO_BATCH@", std::to_string(s.micro_batch_size)},
                        {"@MICRO_BATCHES@", std::to_string(p.microbatches)},
                        {"@STEPS@", std::to_string(job.Steps())}}) +
         Filled(body, {{"@ATTENTION@", AttentionName(t)},
                       {"@TF32@", Tf32(job)},
                       {"@DTYPE@", IsTrue(t.precision) ? Half(t.precision) : "float32"},
                       {"@OPTIMIZER@", OptimizerText(job)}});
}

std::string MeshText(int ranks, int group) {
  if (group == 0 || group >= ranks) return "    mesh = init_device_mesh(device.type, (ranks,))\n";
  return fmt::format(
      "    # Shards over {} ranks, copies of them over the others.\n"
      "    mesh = init_device_mesh(device.type, (ranks // {}, {}),\n"
      "                            mesh_dim_names=(\"replicate\", \"shard\"))\n",
      group, group, group);
}
}  // namespace

File DdpScript(const ExportJob& job) {
  const Training& t = job.training();
  const bool mixed = t.precision == Precision::kBf16Mixed || t.precision == Precision::kFp16Mixed;
  const bool zero = job.plan().policy.zero_stage == 1;
  const std::string imports =
      std::string("from contextlib import nullcontext\n\nimport torch.distributed as dist\n") +
      (zero ? "from torch.distributed.optim import ZeroRedundancyOptimizer\n" : "") +
      "from torch.nn.parallel import DistributedDataParallel\n";
  const std::string text =
      Filled(Program(job, kDdp, "PyTorch's DistributedDataParallel", imports),
             {{"@CHECKPOINTS@", Checkpoints(job, false)},
              {"@COMPILE@", t.compile ? "    model = torch.compile(model)\n" : ""},
              {"@BUCKET_VIEW@", t.gradient_as_bucket_view ? "True" : "False"},
              {"@SCALES@", t.precision == Precision::kFp16Mixed ? "CUDA" : "False"},
              {"@AUTOCAST@",
               mixed ? fmt::format("torch.autocast(device.type, torch.{})", Half(t.precision))
                     : "nullcontext()"}});
  return {"train.py", text};
}

File FsdpScript(const ExportJob& job) {
  const Training& t = job.training();
  const Policy& q = job.plan().policy;
  const bool offload = q.offload == Offload::kOptimizerAndParams;
  const bool plain = IsFull(t.precision) || IsTrue(t.precision);
  std::string imports =
      "import torch.distributed as dist\n"
      "from torch.distributed.device_mesh import init_device_mesh\n"
      "from torch.distributed.fsdp import ";
  imports += offload ? "CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard\n"
                     : "MixedPrecisionPolicy, fully_shard\n";
  const char* reduce = t.reduce_dtype == Dtype::kFp32   ? "float32"
                       : t.reduce_dtype == Dtype::kFp16 ? "float16"
                                                        : "bfloat16";
  return {
      "train.py",
      Filled(Program(job, kFsdp, "PyTorch's FSDP2 (fully_shard)", imports),
             {{"@CHECKPOINTS@", Checkpoints(job, true)},
              {"@COMPILE@", t.compile ? "        layer.compile()\n" : ""},
              {"@MESH@", MeshText(job.plan().placement.dp, q.zero_group)},
              {"@RESHARD@", q.zero_stage == 3 ? "True" : "False"},
              {"@BACKENDS@", offload ? "cuda:nccl,cpu:gloo" : "nccl"},
              {"@PRECISION@", plain ? "MixedPrecisionPolicy()"
                                    : fmt::format("MixedPrecisionPolicy(\n            "
                                                  "param_dtype=torch.{}, reduce_dtype=torch.{})",
                                                  Half(t.precision), reduce)},
              {"@OFFLOAD@",
               offload ? "        \"offload_policy\": CPUOffloadPolicy(pin_memory=CUDA),\n" : ""},
              {"@HOME@", offload ? "\"cpu\"" : "device"}})};
}

File AccelerateScript(const ExportJob& job) {
  return {"train.py", Filled(Program(job, kAccelerate, "accelerate, as accelerate.yaml says",
                                     "from accelerate import Accelerator\n"),
                             {{"@CHECKPOINTS@",
                               job.plan().policy.zero_stage >= 2 ? "" : Checkpoints(job, false)}})};
}
}  // namespace shardplan
