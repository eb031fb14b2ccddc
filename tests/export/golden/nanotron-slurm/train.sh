#!/usr/bin/env bash
# What each of the job's 4 nodes runs; its arguments go to the training program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=/dev/null
source ./env.sh

node_rank=${NODE_RANK:?number of this node, 0 to 3}
master_addr=${MASTER_ADDR:?address of node 0}
master_port=${MASTER_PORT:-29400}

exec torchrun --nnodes 4 --nproc-per-node 8 --node-rank "$node_rank" \
  --master-addr "$master_addr" --master-port "$master_port" \
  "${NANOTRON_PATH:-/opt/nanotron}/run_train.py" --config-file config.yaml "$@"
