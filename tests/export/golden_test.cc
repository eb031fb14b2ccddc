// SPDX-License-Identifier: Apache-2.0
// Whole bundles, byte for byte, beside the specs that they were made of.
//
// SHARDPLAN_UPDATE_GOLDEN=1 writes what is made now; read the difference before committing it.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "tests/export/jobs.h"

namespace shardplan {
namespace {

namespace fs = std::filesystem;
using testing::Exported;
using testing::ProblemOf;
using testing::TextOf;

constexpr char kDense[] = R"(
model: {preset: llama-3-8b}
cluster: {preset: dgx-h100, nodes: 4}
train: {framework: FRAMEWORK, seq_length: 8192, global_batch_size: 256, tokens: 1e11}
)";
constexpr char kExperts[] = R"(
model: {preset: deepseek-v3}
cluster: {preset: dgx-h100, nodes: 128}
train: {framework: FRAMEWORK, seq_length: 4096, global_batch_size: 8192}
)";

struct Case {
  std::string name, spec, framework, target, launcher;
  std::vector<std::string> sets;
};

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases{
      {"megatron-dense-slurm",
       kDense,
       "megatron",
       "megatron@0.18",
       "slurm",
       {"plan.tp=4", "plan.pp=2", "plan.vpp=4", "plan.cp=2", "plan.zero_stage=1",
        "plan.recompute=selective"}},
      {"megatron-experts-torchrun",
       kExperts,
       "megatron",
       "megatron@0.19",
       "torchrun",
       {"plan.tp=2", "plan.pp=16", "plan.ep=32", "plan.zero_stage=1", "plan.etp=1",
        "plan.recompute={modules: [mla_up_proj, moe_act]}", "train.framework_version=\"0.19\""}},
      {"deepspeed-zero3-kubernetes",
       kDense,
       "deepspeed",
       "deepspeed",
       "kubernetes",
       {"plan.zero_stage=3", "plan.offload=optimizer", "plan.recompute=full"}},
      {"torchtitan-pipeline-jobset",
       kDense,
       "torchtitan",
       "torchtitan@0.2",
       "jobset",
       {"plan.tp=4", "plan.pp=2", "plan.vpp=2", "plan.zero_stage=2", "plan.recompute=selective"}},
      {"torchtitan-experts-ray",
       kExperts,
       "torchtitan",
       "torchtitan@0.2",
       "ray",
       {"plan.tp=4", "plan.ep=64", "plan.recompute=full"}},
      {"hf-fsdp-ssh",
       kDense,
       "hf",
       "hf",
       "ssh",
       {"plan.zero_stage=3", "plan.recompute={layers: 16}"}},
      {"accelerate-hsdp-pytorchjob",
       kDense,
       "fsdp",
       "accelerate",
       "pytorchjob",
       {"plan.zero_stage=3", "plan.zero_group=8", "plan.recompute=full"}},
      {"fsdp-offload-slurm",
       kDense,
       "fsdp",
       "fsdp",
       "slurm",
       {"plan.zero_stage=2", "plan.offload=optimizer+params", "plan.recompute=selective"}},
      {"torchtitan-python-torchrun",
       kDense,
       "torchtitan",
       "torchtitan@0.3",
       "torchrun",
       {"train.framework_version=\"0.3\"", "plan.tp=2", "plan.pp=2", "plan.zero_stage=3",
        "plan.recompute=full"}},
      {"nanotron-slurm",
       kDense,
       "nanotron",
       "nanotron",
       "slurm",
       {"plan.tp=4", "plan.pp=2", "plan.zero_stage=1"}},
      {"ddp-zero1-torchrun", kDense, "ddp", "ddp", "torchrun", {"plan.zero_stage=1"}},
  };
  return cases;
}

class Golden : public ::testing::TestWithParam<Case> {};

TEST_P(Golden, BundleIsTheOneInTheTree) {
  const Case& c = GetParam();
  std::string spec = c.spec;
  spec.replace(spec.find("FRAMEWORK"), 9, c.framework);
  Problem problem = ProblemOf(spec, c.sets);
  const Plan plan = FixedPlan(problem);
  for (const Reason& reason : BrokenRules(problem.model, problem.machine, problem.training, plan))
    ADD_FAILURE() << reason.rule << ": " << reason.text;
  const Exported exported(std::move(problem), plan);
  const Result<Bundle> bundle = exported.To(c.target, c.launcher);
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_THAT(testing::ProblemsOf(*bundle), ::testing::IsEmpty());

  const fs::path directory = fs::path(SHARDPLAN_SOURCE_DIR "/tests/export/golden") / c.name;
  const bool update = std::getenv("SHARDPLAN_UPDATE_GOLDEN") != nullptr;
  if (update) fs::remove_all(directory);
  std::set<std::string> made, there;
  for (const File& file : bundle->files) {
    // The predictions have tests of their own and change with the model.
    if (file.path == "README.md") continue;
    made.insert(file.path);
    if (update) {
      fs::create_directories((directory / file.path).parent_path());
      std::ofstream(directory / file.path, std::ios::binary) << file.text;
    }
    EXPECT_EQ(file.text, TextOf((directory / file.path).string())) << file.path;
  }
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    if (entry.is_regular_file()) there.insert(entry.path().lexically_relative(directory).string());
  EXPECT_EQ(made, there);
}

INSTANTIATE_TEST_SUITE_P(Bundles, Golden, ::testing::ValuesIn(Cases()), [](const auto& one) {
  std::string name = one.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});
}  // namespace
}  // namespace shardplan
