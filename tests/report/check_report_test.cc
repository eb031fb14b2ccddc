// SPDX-License-Identifier: Apache-2.0
#include "planner/report/check_report.h"

#include <gmock/gmock.h>

#include "planner/machine/profile.h"
#include "tests/report/fixtures.h"

namespace shardplan {
namespace {
using namespace shardplan::literals;
using testing::Example;
using testing::ExampleEvaluation;
using testing::ExampleOom;
using testing::ExamplePlan;
using ::testing::HasSubstr;
using ::testing::Not;

// The lines of `text` from the one that begins with `first`, `count` of them.
std::string LinesFrom(const std::string& text, const std::string& first, int count) {
  std::size_t begin = text.find("\n" + first);
  if (begin == std::string::npos) return "no line begins with " + first;
  std::size_t end = ++begin;
  for (int i = 0; i < count && end < text.size(); ++i) end = text.find('\n', end) + 1;
  return text.substr(begin, end - begin);
}

TEST(CheckReport, OfAPlanThatFits) {
  const Example example;
  EXPECT_EQ(
      CheckReport(example.subject, ExampleEvaluation(), {}, {}),
      R"(tinyllama on 16 x h100-sxm-80gb (8 per node), seq_length 2048, global_batch_size 64, bf16-mixed, megatron 0.14
plan: tp 4, pp 2, vpp 1, cp 1, dp 2, sp yes, zero_stage 1, micro_batch_size 2, microbatches 16, recompute selective, overlap grad_reduce
verdict: fits   46.0 GiB of 80.0 GiB on the fullest GPU (rank 0), chance of running out of memory 2.0%

memory of each stage at its peak, GiB
 stage  allocated  parameters  gradients  optimizer states  activations  peaks at
     0      40.00        4.00       8.00             12.00        16.00  first layer backward
     1      36.00        4.00       8.00             12.00        12.00  loss backward

stage 0 at its peak, first layer backward: activations take the most; allocated 38.0 GiB to 42.0 GiB in 4 of 5 cases
                               GiB  share
 parameters                   4.00   5.0%  ##
 gradients                    8.00    10%  ###
 optimizer states            12.00    15%  #####
 activations                 16.00    20%  ######
 allocated                   40.00    50%  ###############
 free between tensors         0.50   0.6%
 cached, given back in need   1.50   1.9%  #
 reserved                    42.00    52%  ################
 CUDA context, libraries      3.00   3.8%  #
 NCCL, tensor group           1.00   1.2%
 device                      46.00    57%  #################
 free                        34.00    42%  #############

what takes the most then
 op               tensors             GiB
 q_proj           optimizer states  12.00
 input_layernorm  input              6.00

stage 0 over a step, GiB
 instant               allocated  reserved
 loss                      30.00     40.00  #######################
 first layer backward      40.00     42.00  ##############################

outside the step, GiB
             allocated  device  host a node
 loading          8.00   12.00        32.00  each rank makes its own weights
 checkpoint      16.00   20.00               each rank writes its shard

time of a step: 2.00 s; 1.75 s to 2.25 s in 4 of 5 cases
                     time  share
 compute           1.50 s    75%  #######################
 tensor comm       250 ms    12%  ####
 pipeline bubble   125 ms   6.2%  ##
 gradient reduce  62.5 ms   3.1%  #
 optimizer        62.5 ms   3.1%  #
 step              2.00 s

throughput: 4,096 tokens/s per GPU, 32.0 samples/s; 400 model TFLOP/s per GPU (40% MFU), 450 executed
numbers: predicted from data sheets; cluster.profile puts measured ones in their place
)");
}

TEST(CheckReport, OfAPlanThatDoesNotFitSaysWhyAndWhatWould) {
  Example example;
  example.subject.memory_reserve = 2_GiB;
  Hint hint{{"recompute: full"}, ExampleEvaluation()};
  hint.evaluation.step.time[0] = {1.92};
  const std::string text = CheckReport(example.subject, ExampleOom(), {hint}, {});
  EXPECT_EQ(
      LinesFrom(text, "verdict:", 3),
      R"(verdict: oom   92.0 GiB of 80.0 GiB on the fullest GPU (rank 0), chance of running out of memory 100%
  at least 90.0 GiB are needed of 78.0 GiB (80.0 GiB less 2.00 GiB kept free), and no allocator setting changes that
  try: recompute: full fits in 44.0 GiB of 80.0 GiB at +21% step time
)");
}

// Where no step but another moment is what does not fit, it is named with its cause.
TEST(CheckReport, NamesTheMomentThatDecides) {
  const Example example;
  Evaluation evaluation = ExampleOom();
  evaluation.limit_at = "checkpoint";
  EXPECT_EQ(
      LinesFrom(CheckReport(example.subject, evaluation, {}, {}), "verdict:", 2),
      R"(verdict: oom   92.0 GiB of 80.0 GiB on the fullest GPU (rank 0), chance of running out of memory 100%
  at least 90.0 GiB are needed of 80.0 GiB at checkpoint, and no allocator setting changes that: each rank writes its shard
)");
  evaluation.limit = "host";
  evaluation.limit_at = "loading";
  evaluation.step.host = 32_GiB;
  EXPECT_EQ(
      LinesFrom(CheckReport(example.subject, evaluation, {}, {}), "  loading takes", 1),
      "  loading takes 32.0 GiB of a node's memory, more than it has: each rank makes its own "
      "weights\n");
}

TEST(CheckReport, OfAnIllegalPlanNamesTheRulesAndNothingElse) {
  const Example example;
  const std::vector<Reason> broken{{"M2", "tp 12 does not divide num_attention_heads (64)"},
                                   {"G1", "global_batch_size 1000"}};
  EXPECT_EQ(
      IllegalReport(example.subject, ExamplePlan(), broken, {}),
      R"(tinyllama on 16 x h100-sxm-80gb (8 per node), seq_length 2048, global_batch_size 64, bf16-mixed, megatron 0.14
plan: tp 4, pp 2, vpp 1, cp 1, dp 2, sp yes, zero_stage 1, micro_batch_size 2, microbatches 16, recompute selective, overlap grad_reduce
verdict: illegal
 rule
 M2    tp 12 does not divide num_attention_heads (64)
 G1    global_batch_size 1000
)");
  const Json json = IllegalJson(example.subject, ExamplePlan(), broken);
  EXPECT_EQ(json["verdict"], "illegal");
  EXPECT_EQ(json["reasons"][0]["rule"], "M2");
  EXPECT_EQ(json["reasons"].size(), 2u);
  EXPECT_FALSE(json.contains("memory"));
  EXPECT_FALSE(json.contains("time"));
}

TEST(CheckReport, ColoursOnlyWhereAsked) {
  const Example example;
  EXPECT_THAT(CheckReport(example.subject, ExampleEvaluation(), {}, {}), Not(HasSubstr("\033")));
  EXPECT_THAT(CheckReport(example.subject, ExampleEvaluation(), {}, {.color = true}),
              HasSubstr("\033[32mfits\033[0m"));
  EXPECT_THAT(CheckReport(example.subject, ExampleEvaluation(), {}, {.unicode = true}),
              HasSubstr("█"));
}

TEST(CheckReport, SaysHowLongAndDearTheRunIs) {
  Example example;
  example.training.tokens = 2e12;
  example.machine.price_per_gpu_hour = 2.5;
  EXPECT_EQ(LinesFrom(CheckReport(example.subject, ExampleEvaluation(), {}, {}), "the run:", 1),
            "the run: 2.00 T tokens in 353.2 days, 135,634 GPU-hours, 339,084 for the GPUs\n");
  const Json run = CheckJson(example.subject, ExampleEvaluation(), {})["run"];
  EXPECT_DOUBLE_EQ(run["seconds"].get<double>() / 3600 * example.machine.Gpus(), run["gpu_hours"]);
  EXPECT_DOUBLE_EQ(run["gpu_hours"].get<double>() * 2.5, run["cost"]);
  example.training.tokens = 0;
  EXPECT_FALSE(CheckJson(example.subject, ExampleEvaluation(), {}).contains("run"));
}

TEST(CheckReport, SaysWhetherNumbersAreMeasured) {
  Example example;
  const auto expect = [&](const char* basis, const char* line) {
    EXPECT_EQ(CheckJson(example.subject, ExampleEvaluation(), {})["basis"], basis);
    EXPECT_THAT(CheckReport(example.subject, ExampleEvaluation(), {}, {}), HasSubstr(line));
  };
  expect("datasheet", "numbers: predicted from data sheets; cluster.profile puts measured ones");
  example.machine.gpu.profile = std::make_shared<KernelProfile>();
  expect("mixed",
         "numbers: predicted from measurements of kernels, and data sheets of the network");
  example.machine.profile = std::make_shared<CollectiveProfile>();
  expect("measured", "numbers: predicted from measurements\n");
  example.machine.gpu.profile = nullptr;
  expect("mixed",
         "numbers: predicted from measurements of the network, and data sheets of the GPU");
}

// Contract section 4, key by key.
TEST(CheckJson, HasTheKeysOfTheContract) {
  const Example example;
  const Json json = CheckJson(example.subject, ExampleEvaluation(), {});
  EXPECT_EQ(json["schema"], "shardplan/v1");
  EXPECT_EQ(json["version"], "0.1.0");
  EXPECT_EQ(json["spec_hash"], "0123456789abcdef");
  EXPECT_EQ(json["model"]["parameters"], 1100048384);
  EXPECT_EQ(json["model"]["active_parameters"], 1100048384);
  EXPECT_TRUE(json["model"]["flops_per_token"].is_number());
  EXPECT_EQ(json["plan"]["tp"], 4);
  EXPECT_EQ(json["verdict"], "fits");
  EXPECT_EQ(json["p_oom"], 0.02);
  EXPECT_EQ(json["reasons"], Json::array());
  EXPECT_EQ(json["basis"], "datasheet");
  const Json& memory = json["memory"];
  EXPECT_EQ(memory["capacity"], 80LL << 30);
  EXPECT_EQ(memory["peak_allocated"], 40LL << 30);
  EXPECT_EQ(memory["peak_reserved"], 42LL << 30);
  EXPECT_EQ(memory["peak_device"], 46LL << 30);
  EXPECT_EQ(memory["interval"], (Json{38LL << 30, 42LL << 30}));
  EXPECT_EQ(memory["host_per_node"], 0);
  EXPECT_EQ(memory["peak_rank"], 0);
  const Json& stage = memory["stages"][0];
  EXPECT_EQ(stage["stage"], 0);
  EXPECT_EQ(stage["instant"], "first layer backward");
  double sum = 0;
  for (const Json& part : stage["parts"]) sum += part.get<double>();
  EXPECT_EQ(sum, stage["peak_allocated"].get<double>());
  EXPECT_EQ(stage["at_peak"][0], (Json{{"part", "optimizer_states"},
                                       {"op", "q_proj"},
                                       {"what", "optimizer states"},
                                       {"bytes", 12LL << 30}}));
  EXPECT_EQ(stage["peaks"][0], (Json{{"name", "loading"}, {"allocated", 8LL << 30}}));
  EXPECT_EQ(memory["peaks"][0], (Json{{"name", "loading"},
                                      {"stage", 0},
                                      {"allocated", 8LL << 30},
                                      {"device", 12LL << 30},
                                      {"host_per_node", 32LL << 30},
                                      {"why", "each rank makes its own weights"}}));
  const Json& outside = memory["outside_allocator"];
  sum = outside["context"].get<double>();
  for (const Json& group : outside["nccl"]) sum += group.get<double>();
  EXPECT_EQ(sum, memory["peak_device"].get<double>() - memory["peak_reserved"].get<double>());
  const Json& time = json["time"];
  EXPECT_EQ(time["step_seconds"], 2.0);
  EXPECT_EQ(time["interval"], (Json{1.75, 2.25}));
  sum = 0;
  for (const Json& part : time["parts"]) sum += part.get<double>();
  EXPECT_EQ(sum, 2.0);
  EXPECT_EQ(time["tokens_per_second_per_gpu"], 4096.0);
  EXPECT_EQ(time["samples_per_second"], 32.0);
  EXPECT_EQ(time["model_tflops_per_gpu"], 400.0);
  EXPECT_EQ(time["hardware_tflops_per_gpu"], 450.0);
  EXPECT_EQ(time["mfu"], 0.404);
}

TEST(CheckJson, OfAPlanThatDoesNotFitNamesWhatIsShort) {
  const Example example;
  Evaluation evaluation = ExampleOom();
  EXPECT_EQ(CheckJson(example.subject, evaluation, {})["reasons"][0]["rule"], "memory");
  for (const char* limit : {"host", "nvme"}) {
    evaluation.limit = limit;
    const Json json = CheckJson(example.subject, evaluation, {});
    EXPECT_EQ(json["verdict"], "oom");
    EXPECT_EQ(json["reasons"][0]["rule"], "host");
  }
}
}  // namespace
}  // namespace shardplan
