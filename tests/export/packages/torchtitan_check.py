# SPDX-License-Identifier: Apache-2.0
"""Puts bundles before torchtitan 0.2: its reader of TOML, its dimensions, its model of the plan.

usage: torchtitan_check.py TORCHTITAN BUNDLE ...
TORCHTITAN is an unpacked wheel of torchtitan 0.2.
"""
import importlib
import os
import sys

sys.path.insert(0, sys.argv[1])
sys.path.insert(0, os.path.dirname(__file__))

import torch
from capture import capture, value
from torchtitan.config import ConfigManager
from torchtitan.distributed import ParallelDims
from torchtitan.protocols import train_spec


def check(bundle):
    words = capture(bundle)["argv"]
    world = int(value(words, "--nnodes")) * int(value(words, "--nproc-per-node"))
    job = ConfigManager().parse_args(["--job.config_file", bundle + "/plan.toml"])
    p = job.parallelism
    dims = ParallelDims(dp_replicate=p.data_parallel_replicate_degree, dp_shard=p.data_parallel_shard_degree,
                        cp=p.context_parallel_degree, tp=p.tensor_parallel_degree, pp=p.pipeline_parallel_degree,
                        ep=p.expert_parallel_degree, etp=p.expert_tensor_parallel_degree, world_size=world)
    assert job.training.seq_len % dims.seq_len_divisor == 0, "seq_len"
    batch = dims.dp_replicate * dims.dp_shard
    assert job.training.global_batch_size % (job.training.local_batch_size * batch) == 0, "batch"
    if p.pipeline_parallel_degree > 1:
        assert len(p.module_fqns_per_model_part) % p.pipeline_parallel_degree == 0, "stages"
        assert job.training.local_batch_size % p.pipeline_parallel_microbatch_size == 0, "micro batch"
    train_spec._extra_train_specs.clear()
    sys.modules.pop("plan_model", None)
    sys.path.insert(0, bundle)
    try:
        spec = importlib.import_module("plan_model").spec
    finally:
        sys.path.remove(bundle)
    args = spec.model_args["plan"]
    args.update_from_config(job)
    with torch.device("meta"):
        model = spec.model_cls(args)
    names = {name for name, _ in model.named_children()} | {f"layers.{i}" for i in model.layers}
    for stage in p.module_fqns_per_model_part or []:
        assert set(stage) <= names, set(stage) - names
    return sum(x.numel() for x in model.parameters())


failed, bundles = 0, sys.argv[2:]
for path in bundles:
    try:
        check(path)
    except (Exception, SystemExit) as error:  # one line a bundle, whatever is wrong
        failed += 1
        print(f"{path}: {type(error).__name__}: {str(error)[:300]}")
print(f"{len(bundles) - failed} of {len(bundles)} bundles are read")
sys.exit(1 if failed else 0)
