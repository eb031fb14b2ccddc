#!/usr/bin/env bash
# What each of the job's 4 nodes runs; its arguments go to the training program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=/dev/null
source ./env.sh

node_rank=${NODE_RANK:?number of this node, 0 to 3}
master_addr=${MASTER_ADDR:?address of node 0}
master_port=${MASTER_PORT:-29400}

exec accelerate launch --config_file accelerate.yaml --num_machines 4 --num_processes 32 \
  --machine_rank "$node_rank" --main_process_ip "$master_addr" --main_process_port "$master_port" \
  train.py "$@"
