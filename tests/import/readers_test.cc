// SPDX-License-Identifier: Apache-2.0
// What each format's settings become, and what is left.
#include <gmock/gmock.h>

#include "planner/import/megatron_layout.h"
#include "planner/import/names.h"
#include "tests/import/import_fixtures.h"

namespace shardplan {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ImportText;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::ThatMatter;

// A small Megatron job with more arguments.
std::string Megatron(const std::string& more, const std::string& before = "") {
  return before +
         "torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 16 --hidden-size "
         "1024 "
         "--num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 "
         "--micro-batch-size 2 --global-batch-size 64 --vocab-size 32000 --bf16 " +
         more + "\n";
}
v1::Spec SpecOf(const std::string& text, std::vector<std::string> sets = {}) {
  const Result<Imported> imported = ImportText("job.sh", text, std::move(sets));
  EXPECT_TRUE(imported.has_value()) << imported.error().message;
  return imported ? imported->spec : v1::Spec();
}

TEST(Megatron, FixesEveryAxis) {
  const v1::Plan plan = SpecOf(Megatron("")).plan();
  for (const auto* field : {&plan.tp(), &plan.pp(), &plan.vpp(), &plan.cp()})
    EXPECT_THAT(*field, ElementsAre(1));
  EXPECT_THAT(plan.zero_stage(), ElementsAre(0));
  EXPECT_THAT(plan.sp(), ElementsAre(false));
  EXPECT_FALSE(plan.overlap().grad_reduce());
  EXPECT_EQ(plan.recompute(0).kind(), v1::RECOMPUTE_KIND_NONE);
}

TEST(Megatron, ReadsStateAndOverlap) {
  const v1::Spec spec = SpecOf(Megatron(
      "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather "
      "--num-distributed-optimizer-instances 2 --tensor-model-parallel-size 2 --sequence-parallel "
      "--tp-comm-overlap --optimizer-cpu-offload --use-precision-aware-optimizer"));
  EXPECT_THAT(spec.plan().zero_stage(), ElementsAre(1));
  EXPECT_THAT(spec.plan().zero_group(), ElementsAre(4));
  EXPECT_THAT(spec.plan().offload(), ElementsAre(v1::OFFLOAD_OPTIMIZER));
  EXPECT_TRUE(spec.plan().overlap().param_gather());
  EXPECT_TRUE(spec.plan().overlap().tp());
  EXPECT_THAT(SpecOf(Megatron("--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads"))
                  .plan()
                  .zero_stage(),
              ElementsAre(2));
}

TEST(Megatron, ReadsStages) {
  const v1::Plan virtual_stages =
      SpecOf(Megatron("--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2"))
          .plan();
  EXPECT_THAT(virtual_stages.vpp(), ElementsAre(2));
  EXPECT_THAT(virtual_stages.schedule(), ElementsAre(v1::SCHEDULE_INTERLEAVED));
  EXPECT_TRUE(virtual_stages.overlap().p2p());
  const v1::Plan uneven = SpecOf(Megatron("--pipeline-model-parallel-size 4 "
                                          "--decoder-first-pipeline-num-layers 3 "
                                          "--decoder-last-pipeline-num-layers 5"))
                              .plan();
  EXPECT_THAT(uneven.stage_layers(0).layers(), ElementsAre(3, 4, 4, 5));
  const v1::Plan layout =
      SpecOf(Megatron("--pipeline-model-parallel-size 2 "
                      "--pipeline-model-parallel-layout \"Ettt|(ttttt|)*2tttL\""))
          .plan();
  EXPECT_THAT(layout.stage_layers(0).layers(), ElementsAre(3, 5, 5, 3));
  EXPECT_THAT(layout.vpp(), ElementsAre(2));
}

TEST(Megatron, LayoutsThatAreNone) {
  for (const char* text : {"", "Ex", "(t", "t)", "((t))", "E(t|)*999999999L"})
    EXPECT_EQ(LayersOfLayout(text), std::nullopt) << text;
  EXPECT_EQ(LayersOfLayout("Et*3|tt,m|L"), (std::vector<int>{3, 2, 0}));
}

TEST(Megatron, ReadsRecomputation) {
  const auto recompute = [](const std::string& more) {
    return SpecOf(Megatron(more)).plan().recompute(0);
  };
  EXPECT_EQ(recompute("--recompute-activations").kind(), v1::RECOMPUTE_KIND_SELECTIVE);
  EXPECT_EQ(
      recompute("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1")
          .kind(),
      v1::RECOMPUTE_KIND_FULL);
  EXPECT_THAT(recompute("--recompute-granularity full --recompute-method block "
                        "--recompute-num-layers 3 --pipeline-model-parallel-size 2")
                  .layers(),
              ElementsAre(3, 3));
  EXPECT_THAT(recompute("--recompute-granularity selective --recompute-modules moe_act layernorm")
                  .modules(),
              ElementsAre(v1::RECOMPUTE_MODULE_MOE_ACT, v1::RECOMPUTE_MODULE_LAYERNORM));
}

TEST(Megatron, ReadsTheModel) {
  const v1::Spec spec = SpecOf(Megatron(
      "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear "
      "--untie-embeddings-and-output-weights --group-query-attention --num-query-groups 4"));
  const auto& keys = spec.model().keys().fields();
  EXPECT_EQ(keys.at("activation").string_value(), "swiglu");
  EXPECT_EQ(keys.at("num_key_value_heads").number_value(), 4);
  EXPECT_EQ(keys.at("intermediate_size").number_value(), 2688) << "4h * 2/3 in multiples of 64";
  EXPECT_FALSE(keys.at("add_bias").bool_value());
  EXPECT_FALSE(keys.at("tie_word_embeddings").bool_value());
  EXPECT_EQ(spec.train().dropout(), 0.1) << "Megatron's default";
}

TEST(Megatron, ListsWhatItDoesNotKnow) {
  const Result<Imported> imported = ImportText("job.sh", Megatron("--frobnicate 3 --lr 1e-4"));
  ASSERT_TRUE(imported.has_value());
  ASSERT_EQ(imported->leftovers[0].text, "--frobnicate 3");
  EXPECT_TRUE(imported->leftovers[0].matters);
  EXPECT_EQ(imported->leftovers[0].file, "job.sh");
  EXPECT_EQ(imported->leftovers[0].line, 1);
  EXPECT_THAT(ThatMatter(*imported), ElementsAre("--frobnicate 3: not known to shardplan"));
}

TEST(Megatron, SaysWhereValuesComeFrom) {
  const Result<Imported> imported =
      ImportText("job.sh", Megatron("--tensor-model-parallel-size ${TP}", "#!/bin/bash\nTP=4\n"));
  ASSERT_TRUE(imported.has_value());
  EXPECT_EQ(imported->origins.at("plan.tp"), "--tensor-model-parallel-size 4, job.sh:3");
  EXPECT_THAT(ImportedYaml(*imported),
              HasSubstr("\n  tp: 4  # --tensor-model-parallel-size 4, job.sh:3\n"));
}

TEST(Megatron, TakesVariablesFromOutside) {
  const std::string script = Megatron("--tensor-model-parallel-size $TP");
  const Result<Imported> unknown = ImportText("job.sh", script);
  ASSERT_TRUE(unknown.has_value());
  EXPECT_THAT(ThatMatter(*unknown), ElementsAre(HasSubstr("--define NAME=VALUE")));
  const Result<Imported> known = ImportText("job.sh", script, {}, {"TP=8"});
  ASSERT_TRUE(known.has_value());
  EXPECT_THAT(known->spec.plan().tp(), ElementsAre(8));
}

TEST(Slurm, SaysNodesAndGpus) {
  const v1::Spec spec =
      SpecOf(std::string(
                 "#!/bin/bash\n#SBATCH -N 4 --gres=gpu:h100:8\n#SBATCH --time 1:00\nsrun python ") +
             Megatron("").substr(Megatron("").find("pretrain_gpt.py")));
  EXPECT_EQ(spec.cluster().nodes(), 4);
  EXPECT_EQ(spec.cluster().gpus_per_node(), 8);
  EXPECT_EQ(spec.cluster().gpu().base(), "h100-sxm-80gb");
}

TEST(Names, OfGpusAndModels) {
  EXPECT_THAT(GpuEntriesOf("a100"), ElementsAre("a100-sxm-40gb", "a100-sxm-80gb"));
  EXPECT_THAT(GpuEntriesOf("NVIDIA A100-SXM4-80GB"), ElementsAre("a100-sxm-80gb"));
  EXPECT_THAT(GpuEntriesOf("NVIDIA H100 80GB HBM3", 81559.0 * (1 << 20)),
              ElementsAre("h100-sxm-80gb"));
  EXPECT_THAT(GpuEntriesOf("gpu_p5"), IsEmpty());
  EXPECT_EQ(ModelPresetOf("meta-llama/Llama-2-7b-hf"), "llama-2-7b");
  EXPECT_EQ(ModelPresetOf("/data/Meta-Llama-3-70B-Instruct/"), "llama-3-70b");
  EXPECT_EQ(ModelPresetOf("Qwen/Qwen2.5-7B-Instruct"), "qwen2.5-7b");
  EXPECT_EQ(ModelPresetOf("mistralai/Mixtral-8x7B-v0.1"), "mixtral-8x7b");
  EXPECT_EQ(ModelPresetOf("my/own-model"), std::nullopt);
}

// ---- DeepSpeed and the Trainer ----

constexpr char kTrainer[] =
    "deepspeed --num_gpus=8 train.py --deepspeed ds.json --model_name_or_path "
    "meta-llama/Llama-2-7b-hf "
    "--per_device_train_batch_size 4 --gradient_accumulation_steps 2 --bf16 True --max_seq_length "
    "2048 --gradient_checkpointing true --output_dir out\n";

TEST(DeepSpeed, AutoTakesTheTrainersValues) {
  const Result<Imported> imported =
      Import({{"run.sh", kTrainer},
              {"ds.json",
               R"({"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto",
            "gradient_accumulation_steps": "auto", "bf16": {"enabled": "auto"},
            "zero_optimization": {"stage": 2, "reduce_bucket_size": "auto"}})"}},
             {.sets = {"cluster.gpu=a100-sxm-80gb"}});
  ASSERT_TRUE(imported.has_value()) << imported.error().message;
  const v1::Spec& spec = imported->spec;
  EXPECT_EQ(spec.train().framework(), v1::FRAMEWORK_DEEPSPEED);
  EXPECT_EQ(spec.train().precision(), v1::PRECISION_BF16_MIXED);
  EXPECT_EQ(spec.train().global_batch_size(), 64);
  EXPECT_EQ(spec.train().deepspeed().reduce_bucket_size(), 4096.0 * 4096);
  EXPECT_FALSE(spec.train().deepspeed().overlap_comm());
  EXPECT_THAT(spec.plan().zero_stage(), ElementsAre(2));
  EXPECT_THAT(spec.plan().micro_batch_size(), ElementsAre(4));
  EXPECT_EQ(spec.model().preset(), "llama-2-7b");
  EXPECT_THAT(ThatMatter(*imported), IsEmpty());
  EXPECT_THAT(imported->missing, IsEmpty());
}

TEST(DeepSpeed, RefusedBatchesAreSaid) {
  const Result<Imported> imported =
      ImportText("ds.json",
                 R"({"train_batch_size": 100, "train_micro_batch_size_per_gpu": 4,
          "gradient_accumulation_steps": 2, "zero_optimization": {"stage": 1}})",
                 {"cluster.gpu=a100-sxm-80gb", "cluster.nodes=1", "cluster.gpus_per_node=8"});
  ASSERT_TRUE(imported.has_value()) << imported.error().message;
  EXPECT_THAT(ThatMatter(*imported), ElementsAre(HasSubstr("D1: DeepSpeed refuses it")));
}

TEST(DeepSpeed, NamesWhatTheFileDoesNotTell) {
  const Result<Imported> imported =
      ImportText("ds.json", R"({"zero_optimization": {"stage": 3}, "train_batch_size": 32})");
  ASSERT_TRUE(imported.has_value()) << imported.error().message;
  std::vector<std::string> keys;
  for (const Missing& missing : imported->missing) keys.push_back(missing.key);
  EXPECT_THAT(keys, ::testing::IsSupersetOf({"model", "cluster.gpu", "cluster.gpus_per_node",
                                             "train.seq_length", "plan.micro_batch_size"}));
}

TEST(Trainer, FileThatIsNotThereIsSaid) {
  const Result<Imported> imported = ImportText("run.sh", kTrainer);
  ASSERT_TRUE(imported.has_value()) << imported.error().message;
  EXPECT_THAT(ThatMatter(*imported), Contains(HasSubstr("the file is not there: give it too")));
}

TEST(Trainer, FullShardIsFsdp) {
  const v1::Spec spec = SpecOf(
      "torchrun --nproc_per_node 4 t.py --model_name_or_path gpt2 --fsdp \"hybrid_shard offload\" "
      "--per_device_train_batch_size 2 --block_size 1024 --output_dir o --optim adamw_8bit");
  EXPECT_EQ(spec.train().framework(), v1::FRAMEWORK_FSDP);
  EXPECT_THAT(spec.plan().zero_stage(), ElementsAre(3));
  EXPECT_THAT(spec.plan().zero_group(), ElementsAre(4));
  EXPECT_THAT(spec.plan().offload(), ElementsAre(v1::OFFLOAD_OPTIMIZER_AND_PARAMS));
  EXPECT_EQ(spec.train().optimizer(), v1::OPTIMIZER_ADAMW_8BIT);
  EXPECT_EQ(spec.train().global_batch_size(), 8);
}

TEST(ModelConfig, BesideAScriptIsTheModel) {
  const Result<Imported> imported = Import(
      {{"run.sh",
        "torchrun --nproc_per_node 8 t.py --per_device_train_batch_size 1 --max_seq_length 512 "
        "--output_dir o"},
       {"config.json", R"({"model_type": "llama", "hidden_size": 512, "num_hidden_layers": 4})"}},
      {});
  ASSERT_TRUE(imported.has_value()) << imported.error().message;
  EXPECT_EQ(imported->spec.model().config().keys().fields().at("hidden_size").number_value(), 512);
}

TEST(Torchtitan, OptionsOfTheCommandLineWin) {
  const Result<Imported> imported =
      Import({{"run.sh",
               "torchrun --nproc_per_node=8 --nnodes 2 -m torchtitan.train --job.config_file "
               "c.toml --parallelism.tensor_parallel_degree 4"},
              {"c.toml",
               "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 2\n"
               "seq_len = 4096\n[parallelism]\ntensor_parallel_degree = 1\n"
               "data_parallel_replicate_degree = 2\n"}},
             {});
  ASSERT_TRUE(imported.has_value()) << imported.error().message;
  const v1::Plan& plan = imported->spec.plan();
  EXPECT_THAT(plan.tp(), ElementsAre(4));
  EXPECT_THAT(plan.dp(), ElementsAre(4));
  EXPECT_THAT(plan.zero_group(), ElementsAre(2));
  EXPECT_EQ(imported->spec.train().global_batch_size(), 8);
  EXPECT_EQ(imported->origins.at("plan.tp"), "--parallelism.tensor_parallel_degree 4, run.sh:1");
}

TEST(Sets, ComeOverWhatFilesSay) {
  const Result<Imported> imported = ImportText("job.sh", Megatron("--tensor-model-parallel-size 2"),
                                               {"plan.tp=4", "model.preset=gpt2"});
  ASSERT_TRUE(imported.has_value()) << imported.error().message;
  EXPECT_THAT(imported->spec.plan().tp(), ElementsAre(4));
  EXPECT_EQ(imported->spec.model().preset(), "gpt2");
  EXPECT_EQ(imported->origins.count("plan.tp"), 0u);
}

TEST(Environment, OfNcclAndTheAllocatorCounts) {
  const v1::Spec spec = SpecOf(Megatron("",
                                        "export NCCL_NVLS_ENABLE=0\nexport PYTORCH_CUDA_ALLOC_CONF="
                                        "expandable_segments:True\nexport NCCL_DEBUG=INFO\n"));
  EXPECT_EQ(spec.cluster().nccl().variables().fields().at("NCCL_NVLS_ENABLE").string_value(), "0");
  EXPECT_EQ(spec.cluster().nccl().variables().fields().count("NCCL_DEBUG"), 0u);
  EXPECT_TRUE(spec.train().allocator().expandable_segments());
}
}  // namespace
}  // namespace shardplan
