// SPDX-License-Identifier: Apache-2.0
#include "planner/export/export.h"

#include <cctype>

#include "planner/export/environment.h"
#include "planner/export/readme.h"

namespace shardplan {
namespace {

// What Kubernetes and Slurm take for a name.
std::string JobName(const std::string& title) {
  std::string name;
  for (const char c : title) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (plain)
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  name.resize(std::min<std::size_t>(name.size(), 40));
  while (!name.empty() && name.back() == '-') name.pop_back();
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front()))) name = "job-" + name;
  return name.back() == '-' ? name.substr(0, name.size() - 1) : name;
}
}  // namespace

Result<Bundle> MakeBundle(const ExportJob& job, const Chosen& chosen, const Launcher& launcher) {
  Result<Script> script = chosen.target->write(job, chosen.version);
  if (!script) return tl::unexpected(script.error());
  Bundle bundle;
  std::vector<Variable> environment = CommonVariables(job);
  environment.insert(environment.begin(), script->environment.begin(), script->environment.end());
  bundle.files = script->files;
  bundle.files.push_back(EnvironmentFile(environment));
  const Launch launch{.name = JobName(job.subject.title),
                      .nodes = job.Nodes(),
                      .per_node = job.PerNode(),
                      .domain = job.machine().scale_up_domain,
                      .files = bundle.files};
  bundle.files.push_back(TrainFile(*script, launch));
  for (File& file : launcher.write(launch)) bundle.files.push_back(std::move(file));
  bundle.settings = script->settings;
  bundle.losses = script->losses;
  bundle.files.push_back(ReadmeFile(job, chosen, launcher, *script, bundle.files));
  return bundle;
}
}  // namespace shardplan
