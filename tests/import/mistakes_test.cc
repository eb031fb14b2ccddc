// SPDX-License-Identifier: Apache-2.0
// Bad input: one clear error, its whole text; and no input that ends the program.
#include <gmock/gmock.h>

#include <filesystem>
#include <random>

#include "tests/import/import_fixtures.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using testing::ImportError;

constexpr char kBegin[] =
    "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 16 --hidden-size 1024 \\\n";

TEST(Mistakes, ValueThatIsNoNumber) {
  EXPECT_EQ(ImportError("run.sh", std::string(kBegin) + "  --tensor-model-parallel-size two\n"),
            "run.sh:2:5: tensor_model_parallel_size: 'two' is not a whole number of at least 1\n"
            "  2 |   --tensor-model-parallel-size two\n"
            "    |     ^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
            "  expected one such as 8");
}

TEST(Mistakes, ValueThatIsMissing) {
  EXPECT_EQ(ImportError("run.sh", std::string(kBegin) + "  --micro-batch-size --bf16\n"),
            "run.sh:2:5: micro_batch_size: has no value\n"
            "  2 |   --micro-batch-size --bf16\n"
            "    |     ^^^^^^^^^^^^^^^^\n"
            "  expected one value");
}

TEST(Mistakes, WordThatNoSettingTakes) {
  EXPECT_EQ(ImportError("run.sh", std::string(kBegin) + "  --recompute-granularity ful\n"),
            "run.sh:2:5: recompute_granularity: does not take 'ful'\n"
            "  2 |   --recompute-granularity ful\n"
            "    |     ^^^^^^^^^^^^^^^^^^^^^\n"
            "  did you mean full? it takes full, selective");
}

TEST(Mistakes, LayersThatDoNotDivide) {
  EXPECT_THAT(
      ImportError("run.sh",
                  std::string(kBegin) +
                      " --pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 3\n"),
      HasSubstr("decoder_first_pipeline_num_layers: leaves 13 layers for 3 stages"));
}

TEST(Mistakes, BrokenDocuments) {
  EXPECT_EQ(
      ImportError("ds.json", "{\"train_batch_size\": 4,\n \"zero_optimization\": {\"stage\": 9}}"),
      "ds.json:2:25: zero_optimization.stage: 9 is no stage\n"
      "  2 |  \"zero_optimization\": {\"stage\": 9}}\n"
      "    |                         ^^^^^\n"
      "  expected 0, 1, 2 or 3");
  EXPECT_THAT(ImportError("ds.json", "{\"zero_optimization\": {\"stage\": 2}"),
              HasSubstr("ds.json:1"));
  EXPECT_THAT(ImportError("c.toml", "[model]\nname = \"llama3\nflavor = 1\n"),
              HasSubstr("c.toml:2"));
}

TEST(Mistakes, FormatThatIsNone) {
  EXPECT_THAT(
      ImportError("notes.txt", "Dear diary\n"),
      HasSubstr("notes.txt: is in no format that import knows\n  import reads launch scripts"));
  EXPECT_THAT(ImportError("spec.yaml", "model: {preset: gpt2}\n"),
              HasSubstr("spec.yaml: is a spec already: shardplan check judges it"));
  EXPECT_THAT(ImportError("empty", ""), HasSubstr("empty: is in no format"));
}

TEST(Mistakes, ScriptThatTrainsNothing) {
  EXPECT_EQ(ImportError("a.sh", "#!/bin/bash\nls\n"),
            "a.sh:1:1: starts no training that is known\n"
            "  1 | #!/bin/bash\n"
            "    | ^\n"
            "  expected a command with Megatron's, the Trainer's or torchtitan's arguments, as in "
            "torchrun ... pretrain_gpt.py --num-layers 24 ...");
}

// Texts cut short, with bytes changed, lines doubled and swapped: an answer or an error, no crash.
TEST(Robustness, MutatedTextsEndInAnAnswerOrAnError) {
  namespace fs = std::filesystem;
  std::vector<std::string> texts;
  for (const auto& entry : fs::directory_iterator(SHARDPLAN_SOURCE_DIR "/tests/import/public"))
    texts.push_back(testing::ReadText(entry.path().string()));
  ASSERT_GE(texts.size(), 15u);
  std::size_t answers = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
    std::string text = texts[below(texts.size())];
    for (std::size_t changes = below(6); changes > 0 && !text.empty(); --changes) {
      const std::size_t at = below(text.size());
      switch (below(5)) {
        case 0:
          text.resize(at);
          break;
        case 1:
          text[at] = static_cast<char>(random());
          break;
        case 2:
          text.insert(at, text.substr(below(text.size()), 40));
          break;
        case 3:
          text.erase(at, below(30));
          break;
        default:
          text.insert(at, std::string(1, "\"'(){}[]$`\\#=|&;<>*-0"[below(21)]));
          break;
      }
    }
    const Result<Imported> imported = testing::ImportText("mutated", text);
    if (!imported) {
      EXPECT_FALSE(imported.error().message.empty()) << "seed " << seed;
      continue;
    }
    ++answers;
    EXPECT_FALSE(ImportedYaml(*imported).empty()) << "seed " << seed;
    EXPECT_TRUE(ImportedJson(*imported).is_object()) << "seed " << seed;
  }
  EXPECT_GT(answers, 300u) << "most texts stay readable";
}
}  // namespace
}  // namespace shardplan
