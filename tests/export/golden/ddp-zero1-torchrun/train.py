#!/usr/bin/env python3
"""Trains the model of config.json under PyTorch's DistributedDataParallel.

The weights are fresh. TOKENS=FILE.npy holds token ids; without it they are made up. --steps N and
--lr X replace the plan's.
"""

import argparse
import os
import time
from pathlib import Path

import numpy
import torch
from contextlib import nullcontext

import torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
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
    dist.init_process_group("nccl" if CUDA else "gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if CUDA else torch.device("cpu")
    if CUDA:
        torch.cuda.set_device(device)
    torch.manual_seed(0)
    config = AutoConfig.from_pretrained(HERE)
    config.use_cache = False
    model = AutoModelForCausalLM.from_config(
        config, attn_implementation="sdpa", dtype=torch.float32)
    model.to(device).train()
    model = DistributedDataParallel(
        model, device_ids=[device] if CUDA else None, gradient_as_bucket_view=False)
    optimizer = ZeroRedundancyOptimizer(
        model.parameters(), optimizer_class=torch.optim.AdamW, lr=wanted.lr, weight_decay=0.1, foreach=True)
    scaler = torch.amp.GradScaler(device.type, enabled=False)
    tokens = Tokens(config.vocab_size, rank, ranks)
    for step in range(1, wanted.steps + 1):
        start, total = time.perf_counter(), 0.0
        for micro in range(MICRO_BATCHES):
            ids = tokens.take().to(device)
            last = micro + 1 == MICRO_BATCHES
            with nullcontext() if last else model.no_sync(), torch.autocast(device.type, torch.bfloat16):
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
