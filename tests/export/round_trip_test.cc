// SPDX-License-Identifier: Apache-2.0
// What was exported is imported as the plan that it was.
#include <algorithm>
#include <map>

#include "planner/framework/stages.h"
#include "planner/import/import.h"
#include "planner/plan/axes.h"
#include "planner/spec/writer.h"
#include "tests/export/random_plans.h"

namespace shardplan {
namespace {
using testing::Exported;
using testing::ForPlans;

// The files of a bundle that a user would name: the script and what it reads.
std::vector<ImportFile> Named(const Bundle& bundle) {
  std::vector<ImportFile> files;
  for (const File& file : bundle.files)
    if (file.path != "env.sh" && !file.path.ends_with(".md") && !file.path.ends_with(".py"))
      files.push_back({file.path, file.text});
  return files;
}

// The bundle's job as a user gets it: what the files do not tell is given, the GPU, and where a
// target only names the model or leaves the length to its data, those.
Result<Problem> Back(const Bundle& bundle, const Problem& problem, const Plan& plan) {
  ImportOptions options{.sets = {"cluster.gpu=" + problem.machine.gpu.name},
                        .open = [&](const std::string& path) -> std::optional<std::string> {
                          for (const File& file : bundle.files)
                            if (path.ends_with(file.path)) return file.text;
                          return std::nullopt;
                        }};
  Result<Imported> imported = Import(Named(bundle), options);
  if (imported && !imported->spec.has_model())
    options.sets.push_back("model.preset=" + problem.title);
  const auto give = [&](const char* key, std::int64_t value) {
    options.sets.push_back(std::string(key) + "=" + std::to_string(value));
  };
  if (imported && !imported->spec.train().has_seq_length())
    give("train.seq_length", problem.training.seq_length);
  if (imported && !imported->spec.train().has_global_batch_size()) {
    give("train.global_batch_size", problem.training.global_batch_size);
    give("plan.micro_batch_size", plan.sharding.micro_batch_size);
  }
  if (imported) imported = Import(Named(bundle), options);
  if (!imported) return tl::unexpected(imported.error());
  return ParseProblem(PrintYaml(imported->spec), "imported.yaml", {}, Needs::kAll);
}

// In one of the ways to say it: with the layers of each stage, as exports have to where they do not
// divide; recomputing no layer is recomputing nothing; attention's core alone is selective.
Plan Spelled(const Problem& problem, Plan plan) {
  Recompute& recompute = plan.sharding.recompute;
  if (recompute.kind == RecomputeKind::kLayers &&
      std::all_of(recompute.layers.begin(), recompute.layers.end(), [](int n) { return n == 0; }))
    recompute = {};
  // A rank without copies shards nothing, and overlaps nothing with that.
  if (plan.placement.dp * plan.sharding.cp == 1) {
    plan.policy.zero_stage = plan.policy.zero_group = 0;
    plan.policy.overlap.grad_reduce = plan.policy.overlap.param_gather = false;
  }
  // Of all layers, where one number stands; stage by stage else.
  const int pp = plan.placement.pp;
  if (recompute.kind == RecomputeKind::kLayers && recompute.layers.size() == 1 && pp > 1)
    recompute.layers.assign(static_cast<std::size_t>(pp), recompute.layers.front() / pp);
  if (recompute.kind == RecomputeKind::kModules &&
      recompute.modules == 1u << static_cast<int>(Module::kCoreAttention))
    recompute = {.kind = RecomputeKind::kSelective, .modules = 0, .layers = {}};
  plan.placement.stage_layers =
      ChunkLayers(FrameworkOf(problem.training.framework), problem.model, plan.placement);
  return plan;
}

class RoundTrip : public ::testing::TestWithParam<const char*> {};

TEST_P(RoundTrip, GivesThePlanBack) {
  const Chosen chosen = *ChooseTarget(GetParam(), {});
  const Launcher& launcher = *FindLauncher("torchrun");
  ForPlans(chosen, 1000, 600, 60,
           [&](const Problem& problem, const Plan& plan, std::uint64_t seed, auto&) {
             const Exported exported(Problem(problem), plan);
             const Result<Bundle> bundle = MakeBundle(exported.Job(), chosen, launcher);
             // What the target cannot say is lost.
             if (!bundle || !bundle->losses.empty()) return false;
             const Result<Problem> read = Back(*bundle, problem, plan);
             EXPECT_TRUE(read) << (read ? "" : read.error().message) << Key(plan);
             if (read) {
               EXPECT_EQ(Key(Spelled(*read, FixedPlan(*read))), Key(Spelled(problem, plan)))
                   << "seed " << seed << ' ' << problem.title;
             }
             return true;
           });
}
INSTANTIATE_TEST_SUITE_P(Targets, RoundTrip,
                         ::testing::Values("megatron@0.18", "megatron@0.19", "torchtitan@0.2"),
                         [](const auto& one) { return testing::TestName(one.param); });
}  // namespace
}  // namespace shardplan
