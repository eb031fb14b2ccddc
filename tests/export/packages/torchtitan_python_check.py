# SPDX-License-Identifier: Apache-2.0
"""Puts bundles before torchtitan 0.3: its Trainer.Config, its dimensions, its model of the plan.

usage: torchtitan_python_check.py TORCHTITAN BUNDLE ...
TORCHTITAN is an unpacked wheel of torchtitan 0.3.
"""
import importlib.util
import os
import sys

sys.path.insert(0, sys.argv[1])
sys.path.insert(0, os.path.dirname(__file__))

import torch
from capture import capture, value


def check(bundle):
    words = capture(bundle)["argv"]
    world = int(value(words, "--nnodes")) * int(value(words, "--nproc-per-node"))
    spec = importlib.util.spec_from_file_location("plan", bundle + "/plan.py")
    plan = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plan)
    config = plan.config()  # raises where the settings clash
    p, t = config.parallelism, config.training
    batch = p.data_parallel_replicate_degree * p.data_parallel_shard_degree
    degrees = batch * p.context_parallel_degree * p.tensor_parallel_degree * p.pipeline_parallel_degree
    assert degrees == world, (degrees, world)
    assert t.global_batch_size % (t.local_batch_size * batch) == 0, "batch"
    with torch.device("meta"):
        model = config.model_spec.model.build()
    names = {name for name, _ in model.named_children()} | {f"layers.{i}" for i in model.layers}
    for stage in p.module_fqns_per_model_part or []:
        assert set(stage) <= names, set(stage) - names


failed, bundles = 0, sys.argv[2:]
for path in bundles:
    try:
        check(path)
    except (Exception, SystemExit) as error:  # one line a bundle, whatever is wrong
        failed += 1
        print(f"{path}: {type(error).__name__}: {str(error)[:300]}")
print(f"{len(bundles) - failed} of {len(bundles)} bundles are read")
sys.exit(1 if failed else 0)
