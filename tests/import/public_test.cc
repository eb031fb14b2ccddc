// SPDX-License-Identifier: Apache-2.0
// Configurations of the frameworks' own repositories (tests/import/public/cases.yaml): each is
// imported without leftovers that matter, and check answers.
#include <gmock/gmock.h>
#include <yaml-cpp/yaml.h>

#include "planner/plan/axes.h"
#include "tests/import/import_fixtures.h"

namespace shardplan {
namespace {

using testing::Judge;
using testing::Judged;

const std::string kFolder = SHARDPLAN_SOURCE_DIR "/tests/import/public/";

struct Case {
  std::vector<std::string> files, sets;
  YAML::Node plan;
};
std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const YAML::Node& node : YAML::LoadFile(kFolder + "cases.yaml"))
    cases.push_back({node["files"].as<std::vector<std::string>>(),
                     node["sets"].as<std::vector<std::string>>(), node["plan"]});
  return cases;
}

Result<Imported> ImportCase(const Case& c) {
  std::vector<ImportFile> files;
  for (const std::string& name : c.files)
    files.push_back({name, testing::ReadText(kFolder + name)});
  return Import(files, {.sets = c.sets});
}

TEST(PublicConfigurations, AreEnough) { EXPECT_GE(Cases().size(), 15u); }

TEST(PublicConfigurations, LeaveNothingThatMatters) {
  for (const Case& c : Cases()) {
    const Result<Imported> imported = ImportCase(c);
    ASSERT_TRUE(imported.has_value()) << c.files[0] << '\n' << imported.error().message;
    EXPECT_THAT(testing::ThatMatter(*imported), ::testing::IsEmpty()) << c.files[0];
    for (const Missing& missing : imported->missing)
      ADD_FAILURE() << c.files[0] << " misses " << missing.key << ": " << missing.hint;
  }
}

TEST(PublicConfigurations, AreLegalPlansThatCheckJudges) {
  for (const Case& c : Cases()) {
    const Result<Imported> imported = ImportCase(c);
    ASSERT_TRUE(imported.has_value()) << c.files[0];
    const Result<Judged> judged = Judge(ImportedYaml(*imported));
    ASSERT_TRUE(judged.has_value()) << c.files[0] << '\n' << judged.error().message;
    for (const Reason& reason : judged->broken)
      ADD_FAILURE() << c.files[0] << ": " << reason.rule << ' ' << reason.text;
    ASSERT_TRUE(judged->evaluation.has_value()) << c.files[0];
    EXPECT_GT(judged->evaluation->step.Time().value, 0) << c.files[0];
  }
}

TEST(PublicConfigurations, ComeOutAsTheirAuthorsMeantThem) {
  for (const Case& c : Cases()) {
    const Result<Judged> judged = Judge(ImportedYaml(*ImportCase(c)));
    ASSERT_TRUE(judged.has_value()) << c.files[0];
    for (const auto& entry : c.plan) {
      const Axis* axis = FindAxis(entry.first.as<std::string>());
      ASSERT_NE(axis, nullptr) << entry.first;
      const nlohmann::ordered_json value = axis->json(judged->plan);
      const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      EXPECT_EQ(text, entry.second.as<std::string>()) << c.files[0] << ' ' << axis->key;
    }
  }
}
}  // namespace
}  // namespace shardplan
