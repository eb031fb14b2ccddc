#!/usr/bin/env python3
"""Trains the model of config.json under PyTorch's FSDP2 (fully_shard).

The weights are fresh. TOKENS=FILE.npy holds token ids; without it they are made up. --steps N and
--lr X replace the plan's.
"""

import argparse
import os
import time
from pathlib import Path

import numpy
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
from transformers import AutoConfig, AutoModelForCausalLM

HERE = Path(__file__).resolve().parent
SEQUENCE, MICRO_BATCH, MICRO_BATCHES = 8192, 1, 8
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
    parser.add_argument("--steps", type=int, default=47683)
    parser.add_argument("--lr", type=float, default=3e-4)
    return parser.parse_args()


def report(step, loss, start):
    line = f"step {step} loss {loss:.4f} seconds {time.perf_counter() - start:.3f}"
    if CUDA:
        line += f" allocated {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB"
        line += f" reserved {torch.cuda.max_memory_reserved() / 2**30:.2f} GiB"
    print(line, flush=True)


def main():
    wanted = options()
    dist.init_process_group("cuda:nccl,cpu:gloo" if CUDA else "gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if CUDA else torch.device("cpu")
    if CUDA:
        torch.cuda.set_device(device)
    torch.manual_seed(0)
    config = AutoConfig.from_pretrained(HERE)
    config.use_cache = False
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(
            config, attn_implementation="sdpa", dtype=torch.float32)
    model.train()
    mesh = init_device_mesh(device.type, (ranks,))
    how = {
        "mesh": mesh,
        "reshard_after_forward": False,
        "mp_policy": MixedPrecisionPolicy(
            param_dtype=torch.bfloat16, reduce_dtype=torch.float32),
        "offload_policy": CPUOffloadPolicy(pin_memory=CUDA),
    }
    recomputed = range(0, 32, 2)
    model.gradient_checkpointing_enable({"use_reentrant": False})
    for i, layer in enumerate(layers_of(model)):
        layer.gradient_checkpointing = i in recomputed
    for layer in layers_of(model):
        fully_shard(layer, **how)
    fully_shard(model, **how)
    model.to_empty(device="cpu")
    with torch.no_grad():
        model.apply(model._init_weights)
    model.tie_weights()
    optimizer = torch.optim.AdamW(model.parameters(), lr=wanted.lr, weight_decay=0.1, foreach=True)
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
