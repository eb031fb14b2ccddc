#!/usr/bin/env python3
"""Trains the model of config.json under accelerate, as accelerate.yaml says.

The weights are fresh. TOKENS=FILE.npy holds token ids; without it they are made up. --steps N and
--lr X replace the plan's.
"""

import argparse
import os
import time
from pathlib import Path

import numpy
import torch
from accelerate import Accelerator
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
    accelerator = Accelerator(cpu=not CUDA, gradient_accumulation_steps=MICRO_BATCHES)
    torch.manual_seed(0)
    config = AutoConfig.from_pretrained(HERE)
    config.use_cache = False
    model = AutoModelForCausalLM.from_config(
        config, attn_implementation="sdpa", dtype=torch.float32)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=wanted.lr, weight_decay=0.1, foreach=True)
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
