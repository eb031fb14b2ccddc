// SPDX-License-Identifier: Apache-2.0
// Kubernetes: Kubeflow Trainer's TrainJob, the older PyTorchJob, and a plain JobSet.
//
// Each is two files: a ConfigMap with the bundle's own, mounted at /shardplan, and the job. IMAGE
// and the queue are the site's and stand in one place each.
#include <fmt/format.h>

#include "planner/export/launcher.h"
#include "planner/export/yaml_text.h"

namespace shardplan {
namespace {

constexpr char kImage[] = "nvcr.io/nvidia/pytorch:25.10-py3";
constexpr char kQueue[] = "kueue.x-k8s.io/queue-name";

std::string Files(const Launch& launch) { return launch.name + "-files"; }

File ConfigMap(const Launch& launch) {
  Json data;
  for (const File& file : launch.files) data[file.path] = file.text;
  return {"configmap.yaml", YamlText({{"apiVersion", "v1"},
                                      {"kind", "ConfigMap"},
                                      {"metadata", {{"name", Files(launch)}}},
                                      {"data", data}})};
}

Json Gpus(const Launch& launch) {
  const Json amount{{"nvidia.com/gpu", launch.per_node}};
  return {{"limits", amount}, {"requests", amount}};
}

// The ConfigMap is read-only and programs write beside themselves.
Json Command(const std::string& place) {
  return Json::array({"bash", "-c",
                      "cp -rL /shardplan /tmp/shardplan && cd /tmp/shardplan\n" + place +
                          "exec bash ./train.sh\n"});
}

Json Mounts() {
  return Json::array({{{"name", "bundle"}, {"mountPath", "/shardplan"}},
                      {{"name", "shm"}, {"mountPath", "/dev/shm"}}});
}
Json Volumes(const Launch& launch) {
  return Json::array({{{"name", "bundle"}, {"configMap", {{"name", Files(launch)}}}},
                      {{"name", "shm"}, {"emptyDir", {{"medium", "Memory"}}}}});
}

// Kueue's topology-aware scheduling: nodes of one NVLink domain together where it spans several,
// else the job as close as there is room.
Json Annotations(const Launch& launch) {
  if (launch.domain > launch.per_node && launch.nodes > 1) {
    const int slice = std::min(launch.nodes, launch.domain / launch.per_node);
    return {{"kueue.x-k8s.io/podset-preferred-topology", "cloud.provider.com/topology-block"},
            {"kueue.x-k8s.io/podset-slice-required-topology", "nvidia.com/gpu.clique"},
            {"kueue.x-k8s.io/podset-slice-size", std::to_string(slice)}};
  }
  return {{"kueue.x-k8s.io/podset-preferred-topology", "cloud.provider.com/topology-block"}};
}

Json Metadata(const Launch& launch) {
  return {{"name", launch.name}, {"labels", {{kQueue, "user-queue"}}}};
}

// Where torch's runtimes say which node this is.
constexpr char kFromTorch[] =
    "export NODE_RANK=\"$PET_NODE_RANK\" MASTER_ADDR=\"$PET_MASTER_ADDR\" "
    "MASTER_PORT=\"$PET_MASTER_PORT\"\n";
}  // namespace

std::vector<File> LaunchTrainJob(const Launch& launch) {
  const Json pod{{"containers", Json::array({{{"name", "node"}, {"volumeMounts", Mounts()}}})},
                 {"volumes", Volumes(launch)}};
  const Json patch{{"manager", "shardplan.dev/export"},
                   {"trainingRuntimeSpec",
                    {{"template",
                      {{"spec",
                        {{"replicatedJobs",
                          Json::array({{{"name", "node"},
                                        {"template",
                                         {{"spec",
                                           {{"template",
                                             {{"metadata", {{"annotations", Annotations(launch)}}},
                                              {"spec", pod}}}}}}}}})}}}}}}}};
  const Json job{{"apiVersion", "trainer.kubeflow.org/v1alpha1"},
                 {"kind", "TrainJob"},
                 {"metadata", Metadata(launch)},
                 {"spec",
                  {{"runtimeRef",
                    {{"apiGroup", "trainer.kubeflow.org"},
                     {"kind", "ClusterTrainingRuntime"},
                     {"name", "torch-distributed"}}},
                   {"trainer",
                    {{"image", kImage},
                     {"numNodes", launch.nodes},
                     {"numProcPerNode", launch.per_node},
                     {"command", Command(kFromTorch)},
                     {"resourcesPerNode", Gpus(launch)}}},
                   {"runtimePatches", Json::array({patch})}}}};
  return {ConfigMap(launch), {"trainjob.yaml", YamlText(job)}};
}

std::vector<File> LaunchPyTorchJob(const Launch& launch) {
  const auto replicas = [&](int count) {
    return Json{{"replicas", count},
                {"restartPolicy", "OnFailure"},
                {"template",
                 {{"metadata", {{"annotations", Annotations(launch)}}},
                  {"spec",
                   {{"containers", Json::array({{{"name", "pytorch"},
                                                 {"image", kImage},
                                                 {"command", Command(kFromTorch)},
                                                 {"resources", Gpus(launch)},
                                                 {"volumeMounts", Mounts()}}})},
                    {"volumes", Volumes(launch)}}}}}};
  };
  Json specs{{"Master", replicas(1)}};
  if (launch.nodes > 1) specs["Worker"] = replicas(launch.nodes - 1);
  const Json job{{"apiVersion", "kubeflow.org/v1"},
                 {"kind", "PyTorchJob"},
                 {"metadata", Metadata(launch)},
                 {"spec",
                  {{"nprocPerNode", std::to_string(launch.per_node)},
                   {"runPolicy", {{"cleanPodPolicy", "None"}}},
                   {"pytorchReplicaSpecs", specs}}}};
  return {ConfigMap(launch), {"pytorchjob.yaml", YamlText(job)}};
}

std::vector<File> LaunchJobSet(const Launch& launch) {
  // JobSet gives each pod a name under the headless service of its own name.
  const std::string place = fmt::format(
      "export NODE_RANK=\"$JOB_COMPLETION_INDEX\" MASTER_ADDR={0}-node-0-0.{0} "
      "MASTER_PORT=29400\n",
      launch.name);
  const Json pod{{"restartPolicy", "Never"},
                 {"containers", Json::array({{{"name", "node"},
                                              {"image", kImage},
                                              {"command", Command(place)},
                                              {"ports", Json::array({{{"containerPort", 29400}}})},
                                              {"resources", Gpus(launch)},
                                              {"volumeMounts", Mounts()}}})},
                 {"volumes", Volumes(launch)}};
  const Json nodes{
      {"name", "node"},
      {"replicas", 1},
      {"template",
       {{"spec",
         {{"parallelism", launch.nodes},
          {"completions", launch.nodes},
          {"completionMode", "Indexed"},
          {"backoffLimit", 0},
          {"template", {{"metadata", {{"annotations", Annotations(launch)}}}, {"spec", pod}}}}}}}};
  const Json job{{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                 {"kind", "JobSet"},
                 {"metadata", Metadata(launch)},
                 {"spec",
                  {{"network", {{"enableDNSHostnames", true}}},
                   {"failurePolicy", {{"maxRestarts", 3}}},
                   {"replicatedJobs", Json::array({nodes})}}}};
  return {ConfigMap(launch), {"jobset.yaml", YamlText(job)}};
}
}  // namespace shardplan
