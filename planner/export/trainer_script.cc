// SPDX-License-Identifier: Apache-2.0
// The program of a bundle for transformers' Trainer.
#include "planner/export/python_script.h"

namespace shardplan {
namespace {

constexpr char kProgram[] = R"py(#!/usr/bin/env python3
"""Trains the model of config.json with transformers' Trainer, as training_args.json says.

The weights are fresh unless MODEL names a checkpoint. TOKENS=FILE.npy holds token ids; without it
they are made up. KEY=VALUE arguments replace keys of training_args.json.
"""

import json
import os
import sys
from pathlib import Path

import numpy
import torch
from transformers import AutoConfig, AutoModelForCausalLM, Trainer, TrainingArguments

HERE = Path(__file__).resolve().parent
SEQUENCE = @SEQUENCE@
ATTENTION = "@ATTENTION@"
DTYPE = torch.@DTYPE@


class Tokens(torch.utils.data.Dataset):
    """Sequences of token ids, from a file or made up."""

    def __init__(self, vocabulary):
        self.vocabulary = vocabulary
        path = os.environ.get("TOKENS")
        self.ids = numpy.load(path, mmap_mode="r").reshape(-1) if path else None

    def __len__(self):
        return 1 << 24 if self.ids is None else len(self.ids) // SEQUENCE

    def __getitem__(self, index):
        if self.ids is None:
            numbers = torch.Generator().manual_seed(index)
            ids = torch.randint(self.vocabulary, (SEQUENCE,), generator=numbers)
        else:
            ids = torch.from_numpy(self.ids[index * SEQUENCE:(index + 1) * SEQUENCE].astype("int64"))
        return {"input_ids": ids, "labels": ids}


def arguments():
    values = json.loads((HERE / "training_args.json").read_text())
    for argument in sys.argv[1:]:
        key, value = argument.split("=", 1)
        try:
            values[key] = json.loads(value)
        except ValueError:
            values[key] = value
    for key in ("deepspeed",):
        if isinstance(values.get(key), str):
            values[key] = str(HERE / values[key])
@PARALLELISM@    return TrainingArguments(**values)


def main():
    args = arguments()  # first: under ZeRO-3 it decides how the model is built
    config = AutoConfig.from_pretrained(os.environ.get("MODEL", HERE))
    config.use_cache = False
    options = {"attn_implementation": ATTENTION, "dtype": DTYPE}
    if "MODEL" in os.environ:
        model = AutoModelForCausalLM.from_pretrained(os.environ["MODEL"], **options)
    else:
        model = AutoModelForCausalLM.from_config(config, **options)
    trainer = Trainer(model=model, args=args, train_dataset=Tokens(config.vocab_size))
    trainer.train()
    if torch.cuda.is_available():
        peak = torch.cuda.max_memory_allocated() / 2**30
        print(f"rank {args.process_index}: peak of allocated memory {peak:.2f} GiB", flush=True)


main()
)py";

// Ulysses, which accelerate sets up around DeepSpeed.
constexpr char kUlysses[] = R"py(    from accelerate.utils import ParallelismConfig

    values["parallelism_config"] = ParallelismConfig(sp_size=@SP@, sp_backend="deepspeed")
)py";
}  // namespace

File TrainerScript(const ExportJob& job) {
  const Training& t = job.training();
  const int sp = job.plan().sharding.cp;
  const char* dtype = t.precision == Precision::kBf16True   ? "bfloat16"
                      : t.precision == Precision::kFp16True ? "float16"
                                                            : "float32";
  const std::string ulysses = sp > 1 ? Filled(kUlysses, {{"@SP@", std::to_string(sp)}}) : "";
  return {"train.py", Filled(kProgram, {{"@SEQUENCE@", std::to_string(t.seq_length)},
                                        {"@ATTENTION@", AttentionName(t)},
                                        {"@DTYPE@", dtype},
                                        {"@PARALLELISM@", ulysses}})};
}
}  // namespace shardplan
