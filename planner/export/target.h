// SPDX-License-Identifier: Apache-2.0
// Targets: the frameworks and versions that a plan can be exported to, one row each.
//
// A row names the framework whose rules judge a plan for the target and whose conventions predict
// it. A new target is a file with one function and a row in target.cc.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "planner/base/result.h"
#include "planner/export/bundle.h"
#include "planner/export/job.h"
#include "planner/framework/training.h"

namespace shardplan {

struct Target {
  std::string_view name;
  std::vector<std::string_view> versions;  // whose flags are recorded, newest last
  // The first plans for it by default; a spec that names another of them keeps it.
  std::vector<FrameworkId> frameworks;
  // An error of code kFailedPrecondition: the target cannot run such a plan, and why.
  Result<Script> (*write)(const ExportJob& job, std::string_view version);
  std::string_view what;
};
const std::vector<Target>& Targets();

// "megatron", "torchtitan@0.3": a row and one of its versions.
struct Chosen {
  const Target* target = nullptr;
  std::string version;
};
// Without @VERSION: `wanted`, the spec's own, where it is recorded, else an error that says which
// are; the newest where `wanted` is empty.
Result<Chosen> ChooseTarget(std::string_view name, std::string_view wanted);

// A refusal of `write`: the plan has what the target lacks.
tl::unexpected<Error> Cannot(std::string message);

Result<Script> WriteMegatron(const ExportJob& job, std::string_view version);
Result<Script> WriteDeepspeed(const ExportJob& job, std::string_view version);
Result<Script> WriteTorchtitan(const ExportJob& job, std::string_view version);
Result<Script> WriteTorchtitanToml(const ExportJob& job, std::string_view version);
Result<Script> WriteTorchtitanPython(const ExportJob& job, std::string_view version);
Result<Script> WriteNanotron(const ExportJob& job, std::string_view version);
Result<Script> WriteHf(const ExportJob& job, std::string_view version);
Result<Script> WriteAccelerate(const ExportJob& job, std::string_view version);
Result<Script> WriteFsdp(const ExportJob& job, std::string_view version);
Result<Script> WriteDdp(const ExportJob& job, std::string_view version);
}  // namespace shardplan
