// SPDX-License-Identifier: Apache-2.0
#include "planner/export/launcher.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/export/shell.h"

namespace shardplan {
namespace {

// Where this node stands; a job of one node needs nobody to tell.
std::string Place(const Launch& launch) {
  if (launch.nodes == 1)
    return "node_rank=0\nmaster_addr=127.0.0.1\nmaster_port=${MASTER_PORT:-29400}\n";
  return fmt::format(
      "node_rank=${{NODE_RANK:?number of this node, 0 to {}}}\n"
      "master_addr=${{MASTER_ADDR:?address of node 0}}\n"
      "master_port=${{MASTER_PORT:-29400}}\n",
      launch.nodes - 1);
}

std::string Starter(const Script& script, const Launch& launch) {
  if (!script.accelerate_config.empty())
    return fmt::format(
        "accelerate launch --config_file {} --num_machines {} --num_processes {} \\\n"
        "  --machine_rank \"$node_rank\" --main_process_ip \"$master_addr\" "
        "--main_process_port \"$master_port\"",
        script.accelerate_config, launch.nodes, launch.nodes * launch.per_node);
  return fmt::format(
      "torchrun --nnodes {} --nproc-per-node {} --node-rank \"$node_rank\" \\\n"
      "  --master-addr \"$master_addr\" --master-port \"$master_port\"",
      launch.nodes, launch.per_node);
}
}  // namespace

const std::vector<Launcher>& Launchers() {
  static const std::vector<Launcher> launchers{
      {"torchrun", LaunchTorchrun, "./train.sh", "torchrun on each node, started by hand"},
      {"slurm", LaunchSlurm, "sbatch job.sbatch", "a Slurm batch job"},
      {"kubernetes", LaunchTrainJob, "kubectl apply -f configmap.yaml -f trainjob.yaml",
       "Kubeflow Trainer's TrainJob"},
      {"pytorchjob", LaunchPyTorchJob, "kubectl apply -f configmap.yaml -f pytorchjob.yaml",
       "Kubeflow's older PyTorchJob"},
      {"jobset", LaunchJobSet, "kubectl apply -f configmap.yaml -f jobset.yaml",
       "a JobSet, with Kueue's topology"},
      {"ray", LaunchRay, "ray job submit --working-dir . -- python ray_train.py", "Ray Train"},
      {"ssh", LaunchSsh, "./launch.sh HOST ...", "ssh to each node"},
  };
  return launchers;
}

const Launcher* FindLauncher(std::string_view name) {
  const auto found = std::find_if(Launchers().begin(), Launchers().end(),
                                  [&](const Launcher& l) { return l.name == name; });
  return found == Launchers().end() ? nullptr : &*found;
}

std::vector<std::string> LauncherNames() {
  std::vector<std::string> names;
  for (const Launcher& launcher : Launchers()) names.emplace_back(launcher.name);
  return names;
}

File TrainFile(const Script& script, const Launch& launch) {
  std::string text = kBash;
  text += fmt::format(
      "# What each of the job's {} runs; its arguments go to the training program.\n"
      "set -euo pipefail\n"
      "cd \"$(dirname \"${{BASH_SOURCE[0]}}\")\"\n"
      "# shellcheck source=/dev/null\n"
      "source ./env.sh\n",
      launch.nodes == 1 ? "one node" : fmt::format("{} nodes", launch.nodes));
  text += "\n" + Place(launch);
  if (!script.setup.empty()) text += "\n" + script.setup;
  text += "\nexec " + Starter(script, launch) + " \\\n  ";
  for (const std::string& word : script.program) text += word + " ";
  return {"train.sh", text + "\"$@\"\n", true};
}

// Nothing to add: whoever starts train.sh on each node sets its three variables.
std::vector<File> LaunchTorchrun(const Launch&) { return {}; }
}  // namespace shardplan
