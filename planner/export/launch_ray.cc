// SPDX-License-Identifier: Apache-2.0
// Ray Train: one worker a node, which holds its GPUs and runs train.sh.
#include <fmt/format.h>

#include "planner/export/launcher.h"
#include "planner/export/python_script.h"

namespace shardplan {
namespace {

constexpr char kProgram[] = R"py(#!/usr/bin/env python3
"""Starts the bundle on a Ray cluster: ray job submit --working-dir . -- python ray_train.py

Each of the @NODES@ workers stands for a node with @GPUS@ GPUs; storage that all nodes share goes into
STORAGE.
"""

import os
import socket
import subprocess
import sys

import ray
from ray.train import RunConfig, ScalingConfig, get_context
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

NODES, GPUS = @NODES@, @GPUS@


@ray.remote(num_cpus=0)
class Head:
    """Where the first node listens, told by it and asked by all."""

    def __init__(self):
        self.address = None

    def tell(self, address):
        self.address = address

    def ask(self):
        return self.address


def node(config):
    rank = get_context().get_world_rank()
    if rank == 0:
        with socket.socket() as probe:
            probe.bind(("", 0))
            port = probe.getsockname()[1]
        ray.get(config["head"].tell.remote((ray.util.get_node_ip_address(), port)))
    address = None
    while address is None:
        address = ray.get(config["head"].ask.remote())
    variables = dict(os.environ, NODE_RANK=str(rank), MASTER_ADDR=address[0], MASTER_PORT=str(address[1]))
    subprocess.run(["bash", "./train.sh", *config["arguments"]], check=True, env=variables)


def main():
    ray.init()
    trainer = DataParallelTrainer(
        node,
        train_loop_config={"head": Head.remote(), "arguments": sys.argv[1:]},
        scaling_config=ScalingConfig(
            num_workers=NODES,
            use_gpu=True,
            resources_per_worker={"GPU": GPUS},
            placement_strategy="@PLACEMENT@",
        ),
        run_config=RunConfig(name="@NAME@", storage_path=os.environ.get("STORAGE")),
    )
    trainer.fit()


main()
)py";
}  // namespace

std::vector<File> LaunchRay(const Launch& launch) {
  return {{"ray_train.py",
           Filled(kProgram, {{"@NODES@", std::to_string(launch.nodes)},
                             {"@GPUS@", std::to_string(launch.per_node)},
                             {"@PLACEMENT@", launch.nodes > 1 ? "STRICT_SPREAD" : "PACK"},
                             {"@NAME@", launch.name}})}};
}
}  // namespace shardplan
