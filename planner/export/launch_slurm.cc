// SPDX-License-Identifier: Apache-2.0
// A Slurm batch job: one task a node, which starts the node's ranks.
#include <fmt/format.h>

#include "planner/export/launcher.h"
#include "planner/export/shell.h"

namespace shardplan {

std::vector<File> LaunchSlurm(const Launch& launch) {
  std::string text = kBash;
  text += fmt::format(
      "#SBATCH --job-name={}\n"
      "#SBATCH --nodes={}\n"
      "#SBATCH --ntasks-per-node=1\n"
      "#SBATCH --gpus-per-node={}\n"
      "#SBATCH --exclusive\n"
      "#SBATCH --mem=0\n"
      "#SBATCH --output=%x-%j.out\n"
      "#SBATCH --open-mode=append\n",
      launch.name, launch.nodes, launch.per_node);
  // An NVLink domain of several nodes: their ranks must come from one block.
  if (launch.domain > launch.per_node && launch.nodes > 1)
    text += fmt::format("#SBATCH --segment={}\n",
                        std::min(launch.nodes, launch.domain / launch.per_node));
  text +=
      "# Account, partition and time are the site's: sbatch --account=... --time=... job.sbatch\n"
      "set -euo pipefail\n"
      "cd \"${SLURM_SUBMIT_DIR:?submit it with sbatch, from this directory}\"\n"
      "\n"
      "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n"
      "MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))\n"
      "export MASTER_ADDR MASTER_PORT\n"
      "\n"
      "# shellcheck disable=SC2016  # each task reads its own SLURM_NODEID\n"
      "srun --kill-on-bad-exit=1 --cpu-bind=none \\\n"
      "  bash -c 'NODE_RANK=$SLURM_NODEID exec ./train.sh \"$@\"' train.sh \"$@\"\n";
  return {{"job.sbatch", text, true}};
}
}  // namespace shardplan
