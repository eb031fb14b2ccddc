// SPDX-License-Identifier: Apache-2.0
// Random legal plans of each target's framework: every export stands up to its target's tables and
// to the readers of its formats.
//
// SHARDPLAN_BUNDLES=DIRECTORY keeps the bundles, for the real packages (tests/export/packages).
#include <sys/wait.h>
#include <toml++/toml.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "planner/framework/framework.h"
#include "planner/plan/axes.h"
#include "tests/export/random_plans.h"

namespace shardplan {
namespace {

namespace fs = std::filesystem;
using testing::Exported;
using testing::ForPlans;

// Scripts by bash itself and shellcheck, the structured files by their readers.
void ReadFiles(const fs::path& directory) {
  std::string scripts;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const fs::path& path = entry.path();
    const std::string text = testing::TextOf(path.string()), kind = path.extension().string();
    if (kind == ".sh" || kind == ".sbatch") scripts += " '" + path.string() + "'";
    if (kind == ".json") {
      EXPECT_FALSE(Json::parse(text, nullptr, false).is_discarded()) << path;
    } else if (kind == ".yaml") {
      EXPECT_NO_THROW(YAML::LoadAll(text)) << path;
    } else if (kind == ".toml") {
      EXPECT_NO_THROW(toml::parse(text)) << path;
    }
  }
  const std::string each = "for f in" + scripts + "; do bash -n \"$f\" || exit 1; done";
  EXPECT_EQ(std::system(each.c_str()), 0) << directory;                      // NOLINT(cert-env33-c)
  EXPECT_EQ(std::system(("shellcheck" + scripts).c_str()), 0) << directory;  // NOLINT(cert-env33-c)
}

void Write(const Bundle& bundle, const fs::path& directory) {
  for (const File& file : bundle.files) {
    fs::create_directories((directory / file.path).parent_path());
    std::ofstream(directory / file.path, std::ios::binary) << file.text;
  }
}

class EachTarget : public ::testing::TestWithParam<std::string> {};

TEST_P(EachTarget, TakesRandomLegalPlans) {
  constexpr int kPlans = 240;
  const Chosen chosen = *ChooseTarget(GetParam(), {});
  const char* keep = std::getenv("SHARDPLAN_BUNDLES");
  const fs::path root =
      keep != nullptr ? fs::path(keep)
                      : fs::path(::testing::TempDir()) / ("bundles" + std::to_string(getpid()));
  int made = 0;
  std::map<std::string, int> refused;
  ForPlans(chosen, kPlans, 200, 30,
           [&](const Problem& problem, const Plan& plan, std::uint64_t seed, auto& random) {
             const Exported exported(Problem(problem), plan);
             const Launcher& launcher = Launchers()[random() % Launchers().size()];
             const Result<Bundle> bundle = MakeBundle(exported.Job(), chosen, launcher);
             if (!bundle) {
               EXPECT_EQ(bundle.error().code, Code::kFailedPrecondition) << bundle.error().message;
               ++refused[bundle.error().message.substr(0, 40)];
               return false;
             }
             EXPECT_THAT(testing::ProblemsOf(*bundle), ::testing::IsEmpty())
                 << "seed " << seed << ' ' << problem.title << ' ' << Key(plan);
             const fs::path directory = root / (GetParam() + "-" + std::to_string(made));
             Write(*bundle, directory);
             if (made % 30 == 0) ReadFiles(directory);
             if (keep == nullptr) fs::remove_all(directory);
             ++made;
             return true;
           });
  for (const auto& [why, times] : refused) RecordProperty(why, times);
  if (keep == nullptr) fs::remove_all(root);
}

std::vector<std::string> EveryTarget() {
  std::vector<std::string> names;
  for (const Target& target : Targets())
    for (const std::string_view version : target.versions)
      names.push_back(std::string(target.name) + "@" + std::string(version));
  return names;
}

INSTANTIATE_TEST_SUITE_P(Targets, EachTarget, ::testing::ValuesIn(EveryTarget()),
                         [](const auto& one) { return testing::TestName(one.param); });
}  // namespace
}  // namespace shardplan
