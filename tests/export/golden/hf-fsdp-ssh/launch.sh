#!/usr/bin/env bash
# usage: ./launch.sh HOST ...   one host a node, 4 in all; the first is where ranks meet.
# Copies this directory to the same path of each host and runs train.sh there.
# Variables that train.sh reads are passed on with FORWARD="NAME NAME ...".
# shellcheck disable=SC2029  # hosts get this machine's values
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
if (($# != 4)); then
  echo "usage: ./launch.sh HOST ...   with 4 hosts, and here are $#" >&2
  exit 2
fi

variables="MASTER_ADDR=$1 MASTER_PORT=${MASTER_PORT:-29400}"
for name in ${FORWARD:-}; do
  variables+=" $name=$(printf %q "${!name}")"
done
here=$(printf %q "$PWD")
rank=0
nodes=()
# One node that fails ends all: ssh -tt ends what it started.
trap '((${#nodes[@]})) && kill "${nodes[@]}" 2>/dev/null || true' EXIT
for host in "$@"; do
  ssh "$host" "mkdir -p $here"
  tar -cf - . | ssh "$host" "tar -xf - -C $here"
  ssh -tt "$host" "cd $here && $variables NODE_RANK=$rank bash ./train.sh" </dev/null &
  nodes+=($!)
  rank=$((rank + 1))
done
for _ in "${nodes[@]}"; do
  wait -n "${nodes[@]}"
done
