// SPDX-License-Identifier: Apache-2.0
// Launchers: how the nodes of a job are started, one row each.
//
// Every launcher runs the bundle's train.sh once on each node, with NODE_RANK, MASTER_ADDR and
// MASTER_PORT set; so a target knows no launcher and a launcher no target. A new launcher is a
// file with one function and a row in launcher.cc.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "planner/export/bundle.h"
#include "planner/export/job.h"

namespace shardplan {

// What a launcher sees of a job.
struct Launch {
  std::string name;  // of the job: lower-case letters, digits and dashes
  int nodes = 1, per_node = 1;
  int domain = 8;                  // GPUs in one NVLink domain
  const std::vector<File>& files;  // of the target, train.sh among them
};

struct Launcher {
  std::string_view name;
  std::vector<File> (*write)(const Launch& launch);
  std::string_view start;  // the command that starts the job, for the README
  std::string_view what;
};
const std::vector<Launcher>& Launchers();
const Launcher* FindLauncher(std::string_view name);  // null: none such
std::vector<std::string> LauncherNames();

// What each node runs, whatever starts it.
File TrainFile(const Script& script, const Launch& launch);

std::vector<File> LaunchTorchrun(const Launch& launch);
std::vector<File> LaunchSlurm(const Launch& launch);
std::vector<File> LaunchTrainJob(const Launch& launch);
std::vector<File> LaunchPyTorchJob(const Launch& launch);
std::vector<File> LaunchJobSet(const Launch& launch);
std::vector<File> LaunchRay(const Launch& launch);
std::vector<File> LaunchSsh(const Launch& launch);
}  // namespace shardplan
