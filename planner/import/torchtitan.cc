// SPDX-License-Identifier: Apache-2.0
// torchtitan's TOML (torchtitan/config/job_config.py, 0.1 to 0.2.2), with options of its command
// line over it.
#include <fmt/format.h>

#include <algorithm>

#include "planner/import/names.h"
#include "planner/import/readers.h"

namespace shardplan {
namespace {

bool MayMatter(const Setting& setting) {
  static constexpr std::string_view kIdle[] = {"job.",
                                               "profiling.",
                                               "metrics.",
                                               "lr_scheduler.",
                                               "checkpoint.",
                                               "comm.",
                                               "validation.",
                                               "experimental.custom",
                                               "fault_tolerance.",
                                               "memory_estimation.",
                                               "debug.",
                                               "training.dataset",
                                               "training.steps",
                                               "training.max_norm",
                                               "training.warmup",
                                               "training.seed",
                                               "training.gc",
                                               "training.deterministic",
                                               "training.debug",
                                               "optimizer.",
                                               "model.hf_assets",
                                               "model.tokenizer",
                                               "model.print",
                                               "model.norm_type",
                                               "training.data_parallel_type",
                                               "symmetric",
                                               "actor",
                                               "parallelism.context_parallel_load",
                                               "parallelism.module_fqns",
                                               "compile.components",
                                               "compile.backend",
                                               "activation_checkpoint.per_op",
                                               "quantize.",
                                               "float8.",
                                               "mx.",
                                               "parallelism.expert_parallel_comm",
                                               "activation_checkpoint.early",
                                               "training.dtype",
                                               "activation_checkpoint.preserve",
                                               "activation_checkpoint.visualize",
                                               "training.dump"};
  const auto begins = [&](std::string_view idle) { return setting.name.starts_with(idle); };
  return std::none_of(std::begin(kIdle), std::end(kIdle), begins);
}

// A key under its newest name and those it had before.
std::optional<std::int64_t> WholeOf(SettingList& s, std::initializer_list<const char*> names,
                                    std::int64_t least, const std::string& key) {
  std::optional<std::int64_t> value;
  for (const char* name : names)
    if (const auto found = s.Whole(name, least, key); found && !value) value = found;
  return value;
}

int DegreeOf(SettingList& s, const std::string& name, const std::string& key, int least = 1) {
  std::optional<std::int64_t> value;
  for (const char* section : {"parallelism.", "experimental.", "training."})
    if (const auto found = s.Whole(section + name, least, key); found && !value) value = found;
  return static_cast<int>(std::min<std::int64_t>(value.value_or(1), 1'000'000));
}

void ReadModel(SettingList& s, Draft& d) {
  const Setting* flavor = s.Take("model.flavor");
  const auto name = s.Word("model.name", "");
  const auto size = flavor == nullptr ? std::nullopt : s.Word("model.flavor");
  if (!name || !size) {
    d.Need("model",
           "model.name and model.flavor do not both stand there: give --set model.preset=NAME");
    return;
  }
  static const std::pair<const char*, const char*> kOwn[] = {
      {"llama3-8B", "llama-3.1-8b"},           {"llama3-70B", "llama-3.1-70b"},
      {"llama3-405B", "llama-3.1-405b"},       {"llama4-17bx16e", "llama-4-scout"},
      {"llama4-17bx128e", "llama-4-maverick"}, {"deepseek_v3-671B", "deepseek-v3"},
      {"gpt_oss-20b", "gpt-oss-20b"},          {"gpt_oss-120b", "gpt-oss-120b"}};
  const std::string full = *name + "-" + *size;
  for (const auto& [own, preset] : kOwn)
    if (Lower(full) == Lower(own)) {
      d.spec().mutable_model()->set_preset(preset);
      d.From("model.preset", *flavor);
      return;
    }
  SetModelByName(full, *flavor, d);
}

struct Degrees {
  int shard, replicate, tp, pp, cp;
};

// -1 stands for the ranks that the others leave.
void ReadDataParallel(SettingList& s, Draft& d, Degrees degrees) {
  v1::Plan& plan = d.plan();
  const std::int64_t others =
      std::int64_t{degrees.replicate} * degrees.tp * degrees.pp * degrees.cp;
  int shard = degrees.shard;
  if (shard == -1) shard = static_cast<int>(std::max<std::int64_t>(1, d.Gpus() / others));
  if (degrees.shard == -1 && d.Gpus() == 0)
    d.Need("cluster.nodes",
           "data_parallel_shard_degree is -1, the rest of the GPUs: give --set "
           "cluster.nodes=N and --set cluster.gpus_per_node=N");
  const auto reshard = s.OneOf("parallelism.fsdp_reshard_after_forward",
                               {"default", "always", "never"}, "plan.zero_stage")
                           .value_or("default");
  const bool sharded = shard > 1 || degrees.cp > 1;
  Fix(plan.mutable_zero_stage(), !sharded ? 0 : reshard == "never" ? 2 : 3);
  if (sharded && degrees.replicate > 1) {
    Fix(plan.mutable_zero_group(), shard * degrees.cp);
    if (const Setting* from = s.Take("parallelism.data_parallel_replicate_degree"))
      d.From("plan.zero_group", *from);
  }
  if (d.Gpus() > 0 || degrees.shard != -1) Fix(plan.mutable_dp(), shard * degrees.replicate);
}

// Layers of each stage, whose modules are named one by one.
std::vector<int> StagesOf(const std::vector<std::string>& parts) {
  std::vector<int> stages;
  for (const std::string& part : parts) {
    int layers = 0;
    for (std::size_t at = part.find("layers."); at != std::string::npos;
         at = part.find("layers.", at + 1))
      ++layers;
    stages.push_back(layers);
  }
  return stages;
}

void ReadPipeline(SettingList& s, Draft& d, int pp) {
  v1::Plan& plan = d.plan();
  std::string schedule;
  for (const char* section : {"parallelism.", "experimental."})
    if (const auto word = s.Word(std::string(section) + "pipeline_parallel_schedule",
                                 pp > 1 ? "plan.schedule" : ""))
      schedule = Lower(*word);
  s.Skip("parallelism.pipeline_parallel_schedule_csv");
  const auto layers =
      s.Whole("parallelism.pipeline_parallel_layers_per_stage", 1, pp > 1 ? "plan.vpp" : "");
  for (const char* end : {"first", "last"})
    s.Skip(fmt::format("parallelism.pipeline_parallel_{}_stage_less_layers", end));
  const Setting* parts = s.Take("parallelism.module_fqns_per_model_part", "plan.vpp");
  if (pp == 1) {
    Fix(plan.mutable_vpp(), 1);
    return;
  }
  const bool interleaved = schedule.rfind("interleaved", 0) == 0;
  const bool two = schedule == "zbvzerobubble" || schedule == "dualpipev" || interleaved ||
                   schedule == "loopedbfs";
  int vpp = two ? 2 : 1;
  if (const auto count = LayersOfModel(d); layers && count && *layers > 0)
    // Embedding and head count as a layer each (generate_llm_fqn_per_model_part).
    vpp = static_cast<int>(std::max<std::int64_t>(1, (*count + 2 + *layers - 1) / *layers / pp));
  if (parts != nullptr) {
    SetStages(d, StagesOf(parts->values), *parts);
    vpp = std::max(1, static_cast<int>(parts->values.size()) / pp);
  }
  Fix(plan.mutable_vpp(), vpp);
  Fix(plan.mutable_schedule(), schedule == "gpipe"           ? v1::SCHEDULE_GPIPE
                               : schedule == "zbvzerobubble" ? v1::SCHEDULE_ZB_V
                               : schedule == "dualpipev"     ? v1::SCHEDULE_DUALPIPE
                               : vpp > 1                     ? v1::SCHEDULE_INTERLEAVED
                                                             : v1::SCHEDULE_1F1B);
}

void ReadBatch(SettingList& s, Draft& d, int pp) {
  v1::Train& train = d.train();
  const auto local = WholeOf(s, {"training.local_batch_size", "training.batch_size"}, 1,
                             pp > 1 ? "train.global_batch_size" : "plan.micro_batch_size");
  const int batch = static_cast<int>(std::min<std::int64_t>(local.value_or(8), 1'000'000));
  const auto micro = s.Size("parallelism.pipeline_parallel_microbatch_size",
                            pp > 1 ? "plan.micro_batch_size" : "");
  Fix(d.plan().mutable_micro_batch_size(), pp > 1 ? micro.value_or(1) : batch);
  const auto all = WholeOf(s, {"training.global_batch_size"}, -1, "train.global_batch_size");
  if (all && *all > 0)
    train.set_global_batch_size(std::min<std::int64_t>(*all, 1'000'000'000));
  else if (d.plan().dp_size() > 0)
    train.set_global_batch_size(std::int64_t{batch} * d.plan().dp(0));
  else
    d.Need("train.global_batch_size",
           "local_batch_size x data-parallel ranks, which are not known");
  train.set_seq_length(static_cast<int>(std::min<std::int64_t>(
      WholeOf(s, {"training.seq_len"}, 1, "train.seq_length").value_or(2048), 100'000'000)));
}

void ReadRecompute(SettingList& s, Draft& d) {
  const auto mode = s.OneOf("activation_checkpoint.mode",
                            {"none", "selective", "full", "memory_budget"}, "plan.recompute")
                        .value_or("selective");
  v1::Recompute& recompute = *d.plan().add_recompute();
  const auto option =
      s.Word("activation_checkpoint.selective_ac_option", "plan.recompute").value_or("2");
  s.Skip("activation_checkpoint.memory_budget");
  if (mode == "full" || mode == "none") {
    recompute.set_kind(mode == "full" ? v1::RECOMPUTE_KIND_FULL : v1::RECOMPUTE_KIND_NONE);
  } else if (mode == "memory_budget" || option == "op") {
    recompute.set_kind(v1::RECOMPUTE_KIND_SELECTIVE);
    if (mode == "memory_budget")
      s.Leave("activation_checkpoint.memory_budget", "taken as selective");
  } else {
    // Every n-th layer in full.
    const auto layers = LayersOfModel(d);
    const int every = std::max(1, std::atoi(option.c_str()));
    if (layers)
      recompute.add_layers(std::max(1, *layers / every));
    else
      recompute.set_kind(v1::RECOMPUTE_KIND_SELECTIVE);
  }
}

void ReadPrecision(SettingList& s, Draft& d) {
  v1::Train& train = d.train();
  const auto words = s.Words("model.converters", "train.precision");
  const auto has = [&](const char* word) {
    return std::any_of(words.begin(), words.end(),
                       [&](const std::string& w) { return w.find(word) != std::string::npos; });
  };
  const bool fp32 = s.Word("training.mixed_precision_param", "train.precision") == "float32";
  train.set_precision(fp32 ? v1::PRECISION_FP32 : v1::PRECISION_BF16_MIXED);
  if (s.Word("training.dtype") == "bfloat16") train.set_precision(v1::PRECISION_BF16_TRUE);
  if (s.Word("training.mixed_precision_reduce", "train.reduce_dtype") == "bfloat16")
    train.set_reduce_dtype(v1::DTYPE_BF16);
  if (has("mx")) train.set_precision(v1::PRECISION_MXFP8);
  if (!has("float8") && !s.On("float8.enable_float8_linear", "train.precision")) return;
  train.set_precision(v1::PRECISION_FP8);
  for (const char* section : {"quantize.linear.float8.", "float8."}) {
    const auto recipe = s.Word(std::string(section) + "recipe_name", "train.fp8.recipe");
    if (recipe)
      train.mutable_fp8()->set_recipe(*recipe == "rowwise" ? v1::FP8_RECIPE_ROWWISE
                                      : *recipe == "rowwise_with_gw_hp"
                                          ? v1::FP8_RECIPE_ROWWISE_WITH_GW_HP
                                          : v1::FP8_RECIPE_TENSORWISE);
    if (s.On(std::string(section) + "enable_fsdp_float8_all_gather", "train.fp8.all_gather"))
      train.mutable_fp8()->set_all_gather(true);
  }
  if (!train.fp8().has_recipe()) train.mutable_fp8()->set_recipe(v1::FP8_RECIPE_TENSORWISE);
}
}  // namespace

void ReadTorchtitan(SettingList& s, Draft& d) {
  v1::Train& train = d.train();
  v1::Plan& plan = d.plan();
  train.set_framework(v1::FRAMEWORK_TORCHTITAN);
  train.set_framework_version("0.2");
  ReadModel(s, d);
  const int tp = DegreeOf(s, "tensor_parallel_degree", "plan.tp");
  const int pp = DegreeOf(s, "pipeline_parallel_degree", "plan.pp");
  const int cp = DegreeOf(s, "context_parallel_degree", "plan.cp");
  const int replicate = DegreeOf(s, "data_parallel_replicate_degree", "plan.dp");
  int shard = -1;
  for (const char* name : {"parallelism.data_parallel_shard_degree",
                           "training.data_parallel_shard_degree", "training.data_parallel_degree"})
    if (const auto degree = s.Whole(name, -1, "plan.dp"))
      shard = *degree < 1 ? -1 : static_cast<int>(std::min<std::int64_t>(*degree, 1'000'000));
  Fix(plan.mutable_tp(), tp);
  Fix(plan.mutable_pp(), pp);
  Fix(plan.mutable_cp(), cp);
  if (cp > 1) {
    const auto method = s.Word("parallelism.context_parallel_rotate_method", "plan.cp_kind");
    Fix(plan.mutable_cp_kind(), method == "alltoall" ? v1::CP_KIND_RING : v1::CP_KIND_ALLGATHER);
  }
  s.Skip("parallelism.context_parallel_rotate_method");
  const int ep = DegreeOf(s, "expert_parallel_degree", "plan.ep");
  const int etp = DegreeOf(s, "expert_tensor_parallel_degree", "plan.etp");
  if (ep > 1) Fix(plan.mutable_ep(), ep);
  if (etp > 1) Fix(plan.mutable_etp(), etp);
  Fix(plan.mutable_sp(), tp > 1);
  ReadDataParallel(s, d, {shard, replicate, tp, pp, cp});
  ReadPipeline(s, d, pp);
  ReadBatch(s, d, pp);
  ReadRecompute(s, d);
  ReadPrecision(s, d);
  Fix(plan.mutable_offload(), s.On("training.enable_cpu_offload", "plan.offload")
                                  ? v1::OFFLOAD_OPTIMIZER_AND_PARAMS
                                  : v1::OFFLOAD_NONE);
  if (s.On("compile.enable", "train.compile") || s.On("training.compile", "train.compile"))
    train.set_compile(true);
  bool async = false;
  for (const char* section : {"parallelism.", "experimental."})
    async = s.On(std::string(section) + "enable_async_tensor_parallel", "plan.overlap.tp") || async;
  if (async) plan.mutable_overlap()->set_tp(true);
  for (const char* section : {"parallelism.", "training."})
    if (s.On(std::string(section) + "disable_loss_parallel"))
      s.Leave(std::string(section) + "disable_loss_parallel", "the loss is taken as cut over tp");
  if (s.On("optimizer.early_step_in_backward", "train.optimizer_in_backward"))
    train.set_optimizer_in_backward(true);
  const auto optimizer = s.OneOf("optimizer.name", {"Adam", "AdamW"}, "train.optimizer");
  if (optimizer == "Adam") train.set_optimizer(v1::OPTIMIZER_ADAM);
  const auto impl =
      s.OneOf("optimizer.implementation", {"fused", "foreach", "for-loop"}, "train.optimizer_impl");
  if (impl == "foreach") train.set_optimizer_impl(v1::OPTIMIZER_IMPL_FOREACH);
  if (impl == "for-loop") train.set_optimizer_impl(v1::OPTIMIZER_IMPL_FOR_LOOP);
  s.LeaveRest(MayMatter);
}
}  // namespace shardplan
