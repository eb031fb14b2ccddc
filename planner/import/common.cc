// SPDX-License-Identifier: Apache-2.0
// What several readers share.
#include <fmt/format.h>

#include <algorithm>

#include "planner/import/names.h"
#include "planner/import/readers.h"
#include "planner/spec/catalogue.h"
#include "planner/spec/free_value.h"
#include "planner/spec/reader.h"

namespace shardplan {

bool SetModelByName(const std::string& name, const Setting& from, Draft& draft) {
  if (const auto preset = ModelPresetOf(name)) {
    draft.spec().mutable_model()->set_preset(*preset);
    draft.From("model.preset", from);
    return true;
  }
  draft.Need("model", fmt::format("configs/models has no {}: give --set model.config=FOLDER, its "
                                  "config.json, or --set model.preset=NAME",
                                  Shown(WithoutMarks(name))));
  draft.Leave(from, "the model is not in the catalogue", true);
  return false;
}

namespace {
// A key of the model under its preset's names.
std::optional<int> ModelSize(Draft& draft, std::initializer_list<const char*> names) {
  nlohmann::json keys = draft.model();
  if (draft.spec().model().has_preset()) {
    v1::ModelConfig config;
    SourceMap map;
    if (!ReadEntry("models", draft.spec().model().preset(), {}, &config, &map)) return std::nullopt;
    keys = JsonOf(config.keys());
  }
  for (const char* name : names)
    if (keys.contains(name) && keys[name].is_number_integer()) return keys[name].get<int>();
  return std::nullopt;
}
}  // namespace

std::optional<int> HiddenSizeOf(Draft& draft) {
  return ModelSize(draft, {"hidden_size", "n_embd", "d_model"});
}
std::optional<int> LayersOfModel(Draft& draft) {
  return ModelSize(draft, {"num_hidden_layers", "num_layers", "n_layer", "n_layers"});
}

void SetStages(Draft& draft, const std::vector<int>& layers, const Setting& from) {
  v1::Plan& plan = draft.plan();
  plan.clear_stage_layers();
  v1::StageLayers& stages = *plan.add_stage_layers();
  for (const int count : layers) stages.add_layers(count);
  draft.From("plan.stage_layers", from);
}

void SetReplicas(int replicas, const Setting& from, Draft& draft) {
  const v1::Plan& plan = draft.plan();
  const int gpus = draft.Gpus();
  const int shard = gpus / std::max(1, plan.tp(0) * plan.pp(0) * replicas);
  if (gpus == 0 || shard < 1) {
    draft.Leave(from, "hangs on the number of GPUs, which is not known", true);
    return;
  }
  Fix(draft.plan().mutable_zero_group(), shard);
  draft.From("plan.zero_group", from);
}

void SetBatchByAccumulation(int accumulation, const Setting* from, Draft& draft) {
  const v1::Plan& plan = draft.plan();
  const int gpus = draft.Gpus();
  if (gpus == 0) {
    draft.Need("train.global_batch_size",
               "micro batch x accumulation x data-parallel ranks, and the number of GPUs is not "
               "known: give --set cluster.nodes=N and --set cluster.gpus_per_node=N");
    return;
  }
  if (plan.micro_batch_size_size() == 0) {
    draft.Need("train.global_batch_size", "give --set train.global_batch_size=N");
    return;
  }
  const auto one = [](const auto& field) { return field.empty() ? 1 : field.Get(0); };
  const std::int64_t cut = std::int64_t{1} * one(plan.tp()) * one(plan.pp()) * one(plan.cp());
  const std::int64_t ranks = std::max<std::int64_t>(1, gpus / std::max<std::int64_t>(1, cut));
  const std::int64_t batch = ranks * plan.micro_batch_size(0) * accumulation;
  draft.train().set_global_batch_size(std::min<std::int64_t>(batch, 1'000'000'000));
  if (from != nullptr) draft.From("train.global_batch_size", *from);
}
}  // namespace shardplan
