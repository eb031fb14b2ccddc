# SPDX-License-Identifier: Apache-2.0
"""Puts bundles before Megatron's own parser, start-up checks and configuration classes.

usage: megatron_check.py MEGATRON BUNDLE ...
MEGATRON is an unpacked wheel of megatron-core (0.18 on, which carries megatron.training). Nothing
runs on a GPU: the device is a stand-in of the plan's generation, and Transformer Engine's version,
which decides a few checks, is taken to be new.
"""
import contextlib
import io
import logging
import os
import sys
import typing
import warnings

warnings.filterwarnings("ignore")
typing.override = getattr(typing, "override", lambda f: f)  # Python 3.11
sys.path.insert(0, sys.argv[1])
sys.path.insert(0, os.path.dirname(__file__))

import torch
from capture import after, capture, value

torch.cuda.get_device_capability = lambda *_: (9, 0)
torch.cuda.get_device_properties = lambda *_: type("Hopper", (), {"major": 9, "minor": 0})()

import megatron.core.utils as core
from packaging.version import Version

core.get_te_version = lambda: Version("2.9.0")
from megatron.core.models.common.embeddings import rope_utils
from megatron.core.transformer.moe import moe_utils

for name in ("fused_permute", "fused_permute_with_probs", "fused_sort_chunks_by_index",
             "fused_sort_chunks_by_index_with_probs", "fused_unpermute"):
    setattr(moe_utils, name, print)

logging.disable(logging.INFO)
rope_utils.fused_apply_rotary_pos_emb = rope_utils.fused_apply_rotary_pos_emb_thd = print
from megatron.training import arguments, utils
from megatron.training.argument_utils import core_transformer_config_from_args


def check(bundle):
    captured = capture(bundle)
    words = captured["argv"]
    world = int(value(words, "--nnodes")) * int(value(words, "--nproc-per-node"))
    for name in ("CUDA_DEVICE_MAX_CONNECTIONS",):
        os.environ.pop(name, None)
        if name in captured["env"]:
            os.environ[name] = captured["env"][name]
    os.environ.update(RANK="0", WORLD_SIZE=str(world))
    sys.argv = ["pretrain_gpt.py"] + after(words, "pretrain_gpt.py")
    args = arguments.parse_args()
    arguments.validate_args(args, {"tokenizer_type": "NullTokenizer"})
    core_transformer_config_from_args(args)


failed, bundles = 0, sys.argv[2:]
for path in bundles:
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            check(path)
    except (Exception, SystemExit) as error:  # one line a bundle, whatever is wrong
        failed += 1
        print(f"{path}: {type(error).__name__}: {error}")
print(f"{len(bundles) - failed} of {len(bundles)} bundles start")
sys.exit(1 if failed else 0)
