// SPDX-License-Identifier: Apache-2.0
#include "planner/report/model_report.h"

#include <gmock/gmock.h>

#include "tests/report/fixtures.h"

namespace shardplan {
namespace {
using testing::Example;
using ::testing::HasSubstr;

TEST(ModelReport, CountsParametersFlopsAndState) {
  const Example example;
  EXPECT_EQ(ModelReport(example.subject, {}),
            R"(tinyllama (llama): 1,100,048,384 parameters
 part       count  parameters each   parameters  share
 embedding      1       65,536,000   65,536,000   6.0%
 dense         22       44,044,288  968,974,336    88%
 head           1       65,538,048   65,538,048   6.0%
7.31 GFLOP per token, forward and backward, at seq_length 2048
state, bf16-mixed with megatron: 18.4 GiB (18 bytes a parameter: parameters 2, gradients 4, optimizer 12)
)");
}

TEST(ModelReport, OfExpertsSaysWhatIsActive) {
  Example example;
  example.model = testing::Mixtral();
  EXPECT_THAT(ModelReport(example.subject, {}), HasSubstr(" active\n"));
}

TEST(ModelReport, ShowsNotes) {
  Example example;
  example.subject.notes = {"the vision tower is left out"};
  EXPECT_THAT(ModelReport(example.subject, {}),
              HasSubstr("\nnote: the vision tower is left out\n"));
  EXPECT_EQ(ModelJson(example.subject)["notes"][0], "the vision tower is left out");
}

TEST(ModelJson, PartsAddUpToTheModel) {
  Example example;
  for (const Model& model : {testing::TinyLlama(), testing::Mixtral(), testing::Llama70b()}) {
    example.model = model;
    const Json json = ModelJson(example.subject);
    EXPECT_EQ(json["schema"], "shardplan/v1");
    double sum = json["embedding_parameters"].get<double>() + json["head_parameters"].get<double>();
    int layers = 0;
    for (const Json& group : json["layers"]) {
      sum += group["count"].get<double>() * group["parameters"].get<double>();
      layers += group["count"].get<int>();
    }
    EXPECT_EQ(sum, json["parameters"].get<double>()) << model.name;
    EXPECT_EQ(layers, model.facts.layers) << model.name;
    EXPECT_LE(json["active_parameters"].get<double>(), json["parameters"].get<double>());
    EXPECT_GT(json["flops_per_token"].get<double>(), 0);
  }
}
}  // namespace
}  // namespace shardplan
