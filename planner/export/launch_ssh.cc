// SPDX-License-Identifier: Apache-2.0
// Plain ssh: the bundle is copied to every host, and train.sh is started on each.
#include <fmt/format.h>

#include "planner/export/launcher.h"
#include "planner/export/shell.h"

namespace shardplan {

std::vector<File> LaunchSsh(const Launch& launch) {
  std::string text = kBash;
  text += fmt::format(
      "# usage: ./launch.sh HOST ...   one host a node, {0} in all; the first is where ranks "
      "meet.\n"
      "# Copies this directory to the same path of each host and runs train.sh there.\n"
      "# Variables that train.sh reads are passed on with FORWARD=\"NAME NAME ...\".\n"
      "# shellcheck disable=SC2029  # hosts get this machine's values\n"
      "set -euo pipefail\n"
      "cd \"$(dirname \"${{BASH_SOURCE[0]}}\")\"\n"
      "if (($# != {0})); then\n"
      "  echo \"usage: ./launch.sh HOST ...   with {0} hosts, and here are $#\" >&2\n"
      "  exit 2\n"
      "fi\n"
      "\n"
      "variables=\"MASTER_ADDR=$1 MASTER_PORT=${{MASTER_PORT:-29400}}\"\n"
      "for name in ${{FORWARD:-}}; do\n"
      "  variables+=\" $name=$(printf %q \"${{!name}}\")\"\n"
      "done\n"
      "here=$(printf %q \"$PWD\")\n"
      "rank=0\n"
      "nodes=()\n"
      "# One node that fails ends all: ssh -tt ends what it started.\n"
      "trap '((${{#nodes[@]}})) && kill \"${{nodes[@]}}\" 2>/dev/null || true' EXIT\n"
      "for host in \"$@\"; do\n"
      "  ssh \"$host\" \"mkdir -p $here\"\n"
      "  tar -cf - . | ssh \"$host\" \"tar -xf - -C $here\"\n"
      "  ssh -tt \"$host\" \"cd $here && $variables NODE_RANK=$rank bash ./train.sh\" </dev/null "
      "&\n"
      "  nodes+=($!)\n"
      "  rank=$((rank + 1))\n"
      "done\n"
      "for _ in \"${{nodes[@]}}\"; do\n"
      "  wait -n \"${{nodes[@]}}\"\n"
      "done\n",
      launch.nodes);
  return {{"launch.sh", text, true}};
}
}  // namespace shardplan
