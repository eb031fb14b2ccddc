// SPDX-License-Identifier: Apache-2.0
#include "planner/import/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "planner/import/detect.h"
#include "planner/import/documents.h"
#include "planner/import/launch.h"
#include "planner/import/names.h"
#include "planner/import/readers.h"
#include "planner/import/topology.h"
#include "planner/spec/free_value.h"
#include "planner/spec/reader.h"

namespace shardplan {
namespace {

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

struct Text {
  std::string name;
  Placed text;
  FileKind kind;
};

// How likely a command is the one that trains: settings that only training has.
int Weight(const LaunchCommand& launch) {
  int weight = launch.program.empty() ? 0 : 1;
  for (const char* name :
       {"num_layers", "micro_batch_size", "tensor_model_parallel_size", "seq_length",
        "per_device_train_batch_size", "model_name_or_path", "deepspeed", "deepspeed_config",
        "job.config_file", "training.local_batch_size", "bf16", "fp16"})
    weight += launch.script.Has(name);
  return weight;
}

class Importer {
 public:
  Importer(std::vector<SourcePtr> sources, const ImportOptions& options)
      : draft_(std::move(sources)), options_(options) {}

  Result<Imported> Run(std::vector<Text> texts) {
    texts_ = std::move(texts);
    for (const Text& text : texts_)
      draft_.Format(fmt::format("{}: {}", text.name, Describe(text.kind)));
    SetFirst();
    ReadClusterFiles();
    ReadModelConfig();
    RunScripts();
    ReadFramework();
    SetAll();
    AskForMissing();
    return draft_.Finish();
  }

 private:
  const Text* Find(FileKind kind) const {
    const auto found = std::find_if(texts_.begin(), texts_.end(),
                                    [&](const Text& text) { return text.kind == kind; });
    return found == texts_.end() ? nullptr : &*found;
  }

  // What --set says of the cluster and the model counts before batch sizes and stages are derived
  // from it.
  void SetFirst() {
    SourceMap map;
    for (const std::string& argument : options_.sets)
      if (argument.rfind("cluster", 0) == 0 || argument.rfind("model.preset", 0) == 0)
        Set(argument, map);
    draft_.SetCustomaryNode();
  }
  void ReadClusterFiles() {
    NodeFacts facts;
    for (const Text& text : texts_) ReadClusterFile(text.kind, text.text, facts, draft_);
    if (!draft_.failed()) SetCluster(facts, draft_);
  }
  void SetAll() {
    if (draft_.failed()) return;
    SourceMap map;
    // Keys of the model by hand join those of the spec.
    if (!draft_.model().empty())
      *draft_.spec().mutable_model()->mutable_keys() = StructOf(draft_.model());
    draft_.model().clear();
    for (const std::string& argument : options_.sets) {
      if (argument.rfind("model.preset", 0) == 0 || argument.rfind("model.config", 0) == 0)
        draft_.spec().mutable_model()->Clear();
      Set(argument, map);
      draft_.Given(argument.substr(0, argument.find('=')));
    }
  }
  void Set(const std::string& argument, SourceMap& map) {
    if (Result<void> set = SetKey(argument, &draft_.spec(), &map); !set) draft_.Fail(set.error());
  }

  void ReadModelConfig() {
    const Text* config = Find(FileKind::kModelConfig);
    if (config == nullptr) return;
    const auto keys = nlohmann::json::parse(config->text.text(), nullptr, false);
    if (!keys.is_object())
      return draft_.Fail({config->text.spot().file, 1}, "", "is not a JSON object",
                         "expected a Hugging Face config.json");
    *draft_.spec().mutable_model()->mutable_config()->mutable_keys() = StructOf(keys);
  }

  void RunScripts() {
    Shell shell;
    for (const std::string& define : options_.defines) {
      const std::size_t equals = define.find('=');
      if (equals == std::string::npos || equals == 0)
        return draft_.Fail({}, "--define", fmt::format("'{}' is not NAME=VALUE", define),
                           "expected a variable of the script, as in MODEL_SIZE=7B");
      shell.Set(define.substr(0, equals), define.substr(equals + 1));
    }
    SettingList slurm(draft_);
    for (const Text& text : texts_)
      if (text.kind == FileKind::kShell) AddSlurm(text.text, slurm);
    if (!slurm.empty()) ReadSlurm(slurm, draft_);
    SetSlurmVariables(shell);
    for (const Text& text : texts_)
      if (text.kind == FileKind::kShell) shell.Keep(BaseName(text.name), text.text);
    for (const Text& text : texts_)
      if (text.kind == FileKind::kShell && !shell.WasSourced(BaseName(text.name)))
        shell.Run(text.text);
    documents_ = shell.files();
    ChooseCommand(shell);
  }

  // Variables that Slurm sets for the job.
  void SetSlurmVariables(Shell& shell) {
    const v1::Cluster& cluster = draft_.spec().cluster();
    const std::string nodes = std::to_string(cluster.nodes());
    const std::string gpus = std::to_string(cluster.gpus_per_node());
    if (cluster.has_nodes())
      for (const char* name : {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}) shell.Set(name, nodes);
    if (cluster.has_gpus_per_node())
      for (const char* name : {"SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"}) shell.Set(name, gpus);
    if (draft_.Gpus() > 0) shell.Set("SLURM_NTASKS", std::to_string(draft_.Gpus()));
  }

  void ChooseCommand(const Shell& shell) {
    std::vector<LaunchCommand> launches;
    for (const ShellCommand& command : shell.commands())
      launches.push_back(TakeApart(command, draft_));
    const auto best = std::max_element(
        launches.begin(), launches.end(),
        [](const LaunchCommand& a, const LaunchCommand& b) { return Weight(a) < Weight(b); });
    if (best != launches.end() && Weight(*best) > 0) {
      for (const LaunchCommand& other : launches)
        if (&other != &*best && Weight(other) == Weight(*best) && Weight(other) > 2)
          draft_.Leave(other.spot, other.program, "another training command; the first is read",
                       true);
      const std::size_t index = static_cast<std::size_t>(best - launches.begin());
      ReadLauncher(*best, draft_);
      ReadEnvironment(shell, shell.commands()[index], draft_);
      launch_.emplace(*best);
    } else if (Find(FileKind::kShell) != nullptr && texts_.size() == 1) {
      draft_.Fail({0, 1}, "", "starts no training that is known",
                  "expected a command with Megatron's, the Trainer's or torchtitan's arguments, as "
                  "in torchrun ... pretrain_gpt.py --num-layers 24 ...");
    }
    for (const ShellDoubt& doubt : shell.doubts())
      draft_.Leave(doubt.spot, doubt.text, doubt.why, true);
  }

  // The text that an argument names: a file given, a here-document, or one beside the script.
  std::optional<Text> Open(const std::string& path, FileKind kind) {
    for (const Text& text : texts_)
      if (text.kind == kind && BaseName(text.name) == BaseName(path)) return text;
    for (const auto& [name, text] : documents_)
      if (WithoutMarks(BaseName(name)) == WithoutMarks(BaseName(path)))
        return Text{WithoutMarks(BaseName(name)), text, kind};
    if (options_.open && !IsUnknown(path))
      if (const auto text = options_.open(path)) {
        const int file = draft_.AddFile(MakeSource(path, *text));
        return Text{path, Placed::File(*text, file), kind};
      }
    if (const Text* only = Find(kind)) return *only;
    return std::nullopt;
  }

  std::optional<Text> Named(SettingList& settings, const char* name, FileKind kind) {
    const Setting* setting = settings.Take(name);
    if (setting == nullptr || setting->values.size() != 1) return std::nullopt;
    std::optional<Text> text = Open(setting->values[0], kind);
    if (!text) draft_.Leave(*setting, "the file is not there: give it too", true);
    return text;
  }

  void ReadFramework() {
    if (draft_.failed()) return;
    SettingList none(draft_);
    SettingList& script = launch_ ? launch_->script : none;
    const bool megatron = script.Has("tensor_model_parallel_size") ||
                          (script.Has("num_layers") && script.Has("hidden_size"));
    if (megatron) {
      ReadMegatronLaunch(script);
    } else if (const Text* titan = Find(FileKind::kTorchtitan);
               titan != nullptr || script.Has("job.config_file") ||
               script.Has("training.local_batch_size")) {
      ReadTorchtitanLaunch(script, titan);
    } else {
      ReadTrainerLaunch(script);
    }
    if (launch_) launch_->launcher.LeaveRest([](const Setting&) { return false; });
  }

  void ReadMegatronLaunch(SettingList& script) {
    ReadMegatron(script, draft_);
    const bool zero = draft_.spec().plan().zero_stage(0) >= 2 && draft_.spec().plan().pp(0) == 1;
    std::optional<Text> json;
    if (script.Has("deepspeed_config"))
      json = Named(script, "deepspeed_config", FileKind::kDeepspeed);
    if (!json) return;
    SettingList settings(draft_);
    AddYaml(json->text, json->name, settings, draft_);
    if (draft_.failed()) return;
    // The engine shards and offloads; the model and its kernels are Megatron's.
    const v1::Train train = draft_.spec().train();
    const v1::Plan plan = draft_.spec().plan();
    ReadDeepspeed(settings, draft_);
    const bool stage2 = zero || draft_.spec().plan().zero_stage(0) >= 2;
    if (!stage2) {
      const v1::Plan own = draft_.spec().plan();
      draft_.train() = train;
      draft_.plan() = plan;
      Fix(draft_.plan().mutable_zero_stage(), std::max(own.zero_stage(0), plan.zero_stage(0)));
      *draft_.plan().mutable_offload() = own.offload();
    }
  }

  void ReadTorchtitanLaunch(SettingList& script, const Text* titan) {
    SettingList settings(draft_);
    std::optional<Text> named;
    if (script.Has("job.config_file"))
      named = Named(script, "job.config_file", FileKind::kTorchtitan);
    if (named)
      AddToml(named->text, named->name, settings, draft_);
    else if (titan != nullptr)
      AddToml(titan->text, titan->name, settings, draft_);
    settings.Add(script);
    if (!draft_.failed()) ReadTorchtitan(settings, draft_);
  }

  // The Trainer, accelerate or DeepSpeed, in whichever files they stand.
  void ReadTrainerLaunch(SettingList& script) {
    SettingList arguments(draft_);
    const Text* document = Find(FileKind::kTrainer);
    if (document != nullptr) AddYaml(document->text, document->name, arguments, draft_);
    std::optional<Text> accelerate, deepspeed;
    if (launch_ && launch_->launcher.Has("config_file"))
      accelerate = Named(launch_->launcher, "config_file", FileKind::kAccelerate);
    if (!accelerate)
      if (const Text* only = Find(FileKind::kAccelerate)) accelerate = *only;
    arguments.Add(script);
    for (const char* name : {"deepspeed", "deepspeed_config", "ds_config"})
      if (arguments.Has(name)) {
        const Setting* setting = arguments.Take(name);
        if (setting->values.size() == 1 && !deepspeed)
          deepspeed = Named(arguments, name, FileKind::kDeepspeed);
      }
    if (!deepspeed)
      if (const Text* only = Find(FileKind::kDeepspeed)) deepspeed = *only;
    const bool nothing = arguments.empty() && !accelerate && !deepspeed;
    if (nothing || draft_.failed()) return;

    SettingList config(draft_);
    if (accelerate) AddYaml(accelerate->text, accelerate->name, config, draft_);
    const bool launched = launch_ && std::find(launch_->launchers.begin(), launch_->launchers.end(),
                                               "accelerate") != launch_->launchers.end();
    if (launched) AddLaunchOptions(config);
    if (draft_.failed()) return;
    const bool by_deepspeed = deepspeed || Lower(config.Text("distributed_type")) == "deepspeed";
    SettingList engine(draft_);
    if (!config.empty()) {
      config.Move("deepspeed_config.", engine);
      ReadAccelerate(config, draft_);
    }
    if (deepspeed) AddYaml(deepspeed->text, deepspeed->name, engine, draft_);
    if (draft_.failed()) return;
    if (!arguments.empty() || config.empty()) {
      if (!arguments.empty()) ReadTrainer(arguments, draft_);
    } else {
      draft_.Need("plan.micro_batch_size",
                  "accelerate leaves it to the script: give --set plan.micro_batch_size=N");
    }
    if (by_deepspeed || !engine.empty()) ReadDeepspeed(engine, draft_);
  }

  // Options of `accelerate launch` under the names of its file.
  void AddLaunchOptions(SettingList& config) {
    for (Setting setting : launch_->launcher.all()) {
      if (setting.read) continue;
      launch_->launcher.Skip(setting.name);
      const std::string& name = setting.name;
      if (name.rfind("fsdp_", 0) == 0)
        setting.name = "fsdp_config." + name;
      else if (name.rfind("parallelism_config_", 0) == 0)
        setting.name = "parallelism_config." + name;
      else if (name == "zero_stage" || name.rfind("offload_", 0) == 0 ||
               name.rfind("zero3_", 0) == 0 || name == "gradient_accumulation_steps" ||
               name.rfind("deepspeed_", 0) == 0)
        setting.name = "deepspeed_config." + name;
      config.Add(std::move(setting));
    }
  }

  void AskForMissing() {
    if (draft_.failed()) return;
    const v1::Spec& spec = draft_.spec();
    const bool cluster_alone = std::all_of(
        texts_.begin(), texts_.end(), [](const Text& text) { return DescribesCluster(text.kind); });
    const v1::Cluster& cluster = spec.cluster();
    if (!cluster.has_gpu() && !cluster.has_preset())
      draft_.Need("cluster.gpu",
                  "the files do not tell the GPU: give --set cluster.gpu=NAME, as in "
                  "h100-sxm-80gb (shardplan list gpus)");
    if (!cluster.has_preset() && !cluster.has_gpus_per_node())
      draft_.Need("cluster.gpus_per_node",
                  "the files do not tell it: give --set "
                  "cluster.gpus_per_node=N, and --set cluster.nodes=N");
    if (cluster_alone) return;
    const v1::Model& model = spec.model();
    if (!model.has_preset() && !model.has_config() && !model.has_keys())
      draft_.Need("model",
                  "the files do not tell the model: give --set model.preset=NAME or its "
                  "config.json as another file");
    if (!spec.train().has_seq_length())
      draft_.Need("train.seq_length", "the files do not tell it: give --set train.seq_length=N");
    if (!spec.train().has_global_batch_size())
      draft_.Need("train.global_batch_size",
                  "the files do not tell it: give --set train.global_batch_size=N");
  }

  Draft draft_;
  const ImportOptions& options_;
  std::vector<Text> texts_;
  std::map<std::string, Placed> documents_;
  std::optional<LaunchCommand> launch_;
};
}  // namespace

Result<Imported> Import(const std::vector<ImportFile>& files, const ImportOptions& options) {
  std::vector<SourcePtr> sources;
  std::vector<Text> texts;
  for (const ImportFile& file : files) {
    const FileKind kind = KindOf(file.text);
    if (kind == FileKind::kUnknown || kind == FileKind::kSpec)
      return Invalid(fmt::format(
          "{}: {}\n  import reads launch scripts and arguments (Megatron-LM, transformers, "
          "accelerate, DeepSpeed, torchtitan, Slurm),\n  DeepSpeed's JSON, accelerate's YAML, "
          "torchtitan's TOML, TrainingArguments as JSON or YAML, config.json;\n  and of clusters: "
          "nvidia-smi topo -m, nvidia-smi -q -x, NCCL's topology, scontrol show node or topology, "
          "kubectl get nodes -o json, lspci -vv",
          file.name,
          kind == FileKind::kSpec ? "is a spec already: shardplan check judges it"
                                  : "is in no format that import knows"));
    const int index = static_cast<int>(sources.size());
    sources.push_back(MakeSource(file.name, file.text));
    texts.push_back({file.name, Placed::File(file.text, index), kind});
  }
  return Importer(std::move(sources), options).Run(std::move(texts));
}
}  // namespace shardplan
