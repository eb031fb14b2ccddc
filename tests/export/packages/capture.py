# SPDX-License-Identifier: Apache-2.0
"""What a bundle's train.sh starts: its argument list and environment, seen by a stand-in."""
import json
import os
import stat
import subprocess
import tempfile
from pathlib import Path

STAND_IN = """#!/usr/bin/env python3
import json, os, sys
with open(os.environ["SHARDPLAN_CAPTURE"], "w") as out:
    json.dump({"argv": sys.argv, "env": dict(os.environ)}, out)
"""


def capture(bundle, node=0):
    """The words and variables of torchrun (or accelerate) on one node of the bundle."""
    with tempfile.TemporaryDirectory() as directory:
        for name in ("torchrun", "accelerate"):
            path = Path(directory) / name
            path.write_text(STAND_IN)
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        out = Path(directory) / "captured"
        env = dict(os.environ, PATH=f"{directory}:{os.environ['PATH']}", SHARDPLAN_CAPTURE=str(out),
                   NODE_RANK=str(node), MASTER_ADDR="localhost")
        subprocess.run(["bash", str(Path(bundle) / "train.sh")], check=True, env=env)
        return json.loads(out.read_text())


def after(words, program):
    """The words that follow the one that ends with `program`."""
    at = next(i for i, word in enumerate(words) if word.endswith(program))
    return words[at + 1:]


def value(words, flag):
    return words[words.index(flag) + 1]
