# SPDX-License-Identifier: Apache-2.0
"""Puts bundles before transformers, accelerate and DeepSpeed: their own readers of what is written.

usage: hf_check.py BUNDLE ...
"""
import json
import os
import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
os.environ["ACCELERATE_USE_CPU"] = "true"
sys.path.insert(0, os.path.dirname(__file__))

from capture import capture, value


def world(words):
    if "--num_processes" in words:
        return int(value(words, "--num_processes"))
    return int(value(words, "--nnodes")) * int(value(words, "--nproc-per-node"))


def check_deepspeed(path, size):
    """DeepSpeed's own reader, which checks the batch (D1) and what excludes what."""
    from deepspeed import comm
    from deepspeed.runtime.config import DeepSpeedConfig

    config = json.loads(path.read_text())
    comm.get_world_size = lambda group=None: size // max(1, config.get("tensor_parallel", {}).get("autotp_size", 1))
    comm.get_rank = lambda group=None: 0
    comm.is_initialized = lambda: True
    DeepSpeedConfig(config)


def check_arguments(path, size):
    """TrainingArguments, and what of them must match DeepSpeed's keys."""
    from transformers import TrainingArguments
    from transformers.integrations import HfTrainerDeepSpeedConfig

    arguments = json.loads(path.read_text())
    # Numbers and words are what is judged here; devices and other engines are not there.
    for key in ("tf32", "deepspeed", "fsdp", "fsdp_config", "torch_compile"):
        arguments.pop(key, None)
    half = arguments.pop("fp16", False)
    args = TrainingArguments(**dict(arguments, use_cpu=True, output_dir="/tmp/none"))
    args.fp16 = half
    other = path.with_name("deepspeed.json")
    if other.exists():
        TrainingArguments.world_size = property(lambda self: size)
        config = HfTrainerDeepSpeedConfig(json.loads(other.read_text()))
        config.trainer_config_process(args)
        assert not config.mismatches, config.mismatches


def check_accelerate(path, size):
    from accelerate.commands.config.config_args import load_config_from_file

    config = load_config_from_file(str(path))
    assert config.num_processes == size, (config.num_processes, size)
    if config.fsdp_config:
        from accelerate.utils import FullyShardedDataParallelPlugin

        for key, entry in config.fsdp_config.items():
            os.environ["FSDP_" + key.removeprefix("fsdp_").upper()] = str(entry)
        FullyShardedDataParallelPlugin(fsdp_version=2)
    parallel = config.parallelism_config or {}
    product = 1
    for key, degree in parallel.items():
        product *= degree
    assert not parallel or product == size, (parallel, size)  # A1


def check_model(path, size):
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.from_pretrained(path.parent)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    assert model._no_split_modules


CHECKS = {"deepspeed.json": check_deepspeed, "training_args.json": check_arguments,
          "accelerate.yaml": check_accelerate, "config.json": check_model}

failed, bundles = 0, sys.argv[1:]
for bundle in bundles:
    try:
        size = world(capture(bundle)["argv"])
        for name, check in CHECKS.items():
            if (Path(bundle) / name).exists():
                check(Path(bundle) / name, size)
    except Exception as error:  # one line a bundle, whatever is wrong
        failed += 1
        print(f"{bundle}: {name}: {type(error).__name__}: {str(error)[:300]}")
print(f"{len(bundles) - failed} of {len(bundles)} bundles are read")
sys.exit(1 if failed else 0)
