// SPDX-License-Identifier: Apache-2.0
// Which start-up rules of the frameworks are covered, and where: in the table that prunes the
// search, or because no export can break them. A rule that is in neither is a gap, and fails here.
#include <map>
#include <set>

#include "tests/export/jobs.h"

namespace shardplan {
namespace {

using testing::Exported;
using ::testing::IsEmpty;
using testing::ProblemOf;

// Why a plan cannot break the rule, whatever its values.
const std::map<std::string, std::string>& HeldByExport() {
  static const std::map<std::string, std::string> held{
      {"M4", "one option alone lays out virtual stages"},
      {"M14", "env.sh sets CUDA_DEVICE_MAX_CONNECTIONS"},
      {"M19", "no graph of a full iteration is asked for"},
      {"D2", "one precision is enabled"},
      {"D4", "the offloaded share is left at 1"},
      {"D6", "16-bit master weights are never asked for"},
      {"D7", "gradients are averaged"},
      {"D10", "no 1-bit optimizer is written"},
      {"T6", "torchtitan 0.3 gets FlexAttention"},
      {"A2", "cp and sp are not written together"},
      {"A4", "parallelism_config goes with fsdp_version 2"},
  };
  return held;
}

// ColossalAI is no framework of the planner yet, so there is no plan to judge.
const std::set<std::string> kOpen{"C1", "C2", "C3", "C4", "C5"};

std::vector<std::string> AllIds() {
  const std::pair<char, int> kinds[] = {{'M', 19}, {'D', 10}, {'T', 10}, {'A', 4}, {'C', 5}};
  std::vector<std::string> ids;
  for (const auto& [letter, count] : kinds)
    for (int i = 1; i <= count; ++i) ids.push_back(letter + std::to_string(i));
  return ids;
}

TEST(RuleIds, EachIsInTheTableOrHeldByEveryExportOrOpen) {
  std::set<std::string> table;
  for (const Rule& rule : Rules()) table.insert(rule.id);
  std::vector<std::string> missing, twice;
  for (const std::string& id : AllIds()) {
    const bool in_table = table.count(id) > 0, held = HeldByExport().count(id) > 0;
    if (!in_table && !held && kOpen.count(id) == 0) missing.push_back(id);
    if (in_table && held) twice.push_back(id);
  }
  EXPECT_THAT(missing, IsEmpty());
  EXPECT_THAT(twice, IsEmpty());
}

std::set<std::string> KeysOf(const Bundle& bundle) {
  std::set<std::string> keys;
  for (const Settings& settings : bundle.settings)
    for (const Settings::Setting& setting : settings.list) keys.insert(setting.key);
  return keys;
}

std::string FileOf(const Bundle& bundle, const std::string& path) {
  for (const File& file : bundle.files)
    if (file.path == path) return file.text;
  return {};
}

constexpr char kHead[] =
    "model: {preset: llama-3-8b}\ncluster: {preset: dgx-h100, nodes: 2}\n"
    "train: {seq_length: 8192, global_batch_size: 64, framework: ";

Bundle BundleOf(const std::string& framework, const std::string& target, const std::string& plan) {
  Problem problem = ProblemOf(kHead + framework + "}\nplan: " + plan + "\n");
  const Plan fixed = FixedPlan(problem);
  EXPECT_THAT(BrokenRules(problem.model, problem.machine, problem.training, fixed), IsEmpty());
  const Exported exported(std::move(problem), fixed);
  const Result<Bundle> bundle = exported.To(target);
  EXPECT_TRUE(bundle) << bundle.error().message;
  return bundle ? *bundle : Bundle{};
}

TEST(HeldByExport, MegatronHasOneLayoutOption) {
  for (const char* plan :
       {"{pp: 2, tp: 8, vpp: 4}", "{pp: 2, tp: 8, stage_layers: [15, 17]}", "{pp: 1, tp: 8}"}) {
    const std::set<std::string> keys = KeysOf(BundleOf("megatron", "megatron@0.18", plan));
    EXPECT_LE(keys.count("--pipeline-model-parallel-layout") +
                  keys.count("--num-virtual-stages-per-pipeline-rank") +
                  keys.count("--num-layers-per-virtual-pipeline-stage"),
              1u)
        << plan;
    EXPECT_EQ(keys.count("--decoder-first-pipeline-num-layers"), 0u);
  }
}

TEST(HeldByExport, MegatronsEnvironmentHoldsTheQueues) {
  const Bundle tensor = BundleOf("megatron", "megatron@0.18", "{tp: 8, zero_stage: 1}");
  EXPECT_THAT(FileOf(tensor, "env.sh"),
              ::testing::HasSubstr("export CUDA_DEVICE_MAX_CONNECTIONS=1 "));
  const Bundle sharded = BundleOf("megatron", "megatron@0.18", "{tp: 1, zero_stage: 3}");
  EXPECT_THAT(FileOf(sharded, "env.sh"),
              ::testing::HasSubstr("unset CUDA_DEVICE_MAX_CONNECTIONS "));
}

TEST(HeldByExport, DeepspeedEnablesOnePrecisionAndNoOptionThatExcludesAnother) {
  const std::set<std::string> keys =
      KeysOf(BundleOf("deepspeed", "deepspeed", "{zero_stage: 2, offload: optimizer}"));
  EXPECT_EQ(keys.count("bf16.enabled") + keys.count("fp16.enabled"), 1u);
  for (const char* key :
       {"zero_optimization.offload_optimizer.ratio", "bf16.bf16_master_weights_and_grads",
        "bf16.bf16_optimizer_states", "gradient_allreduce_op"})
    EXPECT_EQ(keys.count(key), 0u) << key;
}

TEST(HeldByExport, AcceleratesMeshGoesWithFsdp2) {
  const std::set<std::string> keys =
      KeysOf(BundleOf("fsdp", "accelerate", "{zero_stage: 3, zero_group: 8}"));
  EXPECT_EQ(keys.count("parallelism_config.parallelism_config_dp_shard_size"), 1u);
  EXPECT_EQ(keys.count("fsdp_config.fsdp_version"), 1u);
  EXPECT_EQ(keys.count("parallelism_config.parallelism_config_sp_size"), 0u);
}
}  // namespace
}  // namespace shardplan
