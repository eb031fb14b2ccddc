// SPDX-License-Identifier: Apache-2.0
// shardplan-accuracy [--update]: holds the planner against the evidence.
//
// Without an argument it is the test `accuracy`: it fails when a figure is worse than recorded or a
// generated file is out of date. With --update it writes the record and the generated files.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "tests/evidence/page.h"

namespace shardplan::evidence {
namespace {

const char kUpdate[] =
    "When the change is meant, record it and write the tables anew:\n"
    "  ninja -C " SHARDPLAN_BUILD_DIR
    " accuracy_update\n"
    "and commit tests/evidence/recorded.csv, docs/accuracy.md and README.md with it.\n";

const std::string kRoot = SHARDPLAN_SOURCE_DIR "/";
const std::string kEvidence = kRoot + "tests/evidence";
const std::string kRecord = kEvidence + "/recorded.csv";

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool WriteText(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return true;
  fmt::print(stderr, "{}: cannot be written\n", path);
  return false;
}

// A generated file and what it should hold.
struct Generated {
  std::string path, text;
};

struct State {
  Evidence evidence;
  Judged judged;
  std::vector<Generated> pages;
};

Result<State> Compute() {
  Result<Evidence> evidence = ReadEvidence(kEvidence);
  if (!evidence) return tl::unexpected(evidence.error());
  State state{.evidence = std::move(*evidence)};
  const int threads =
      static_cast<int>(std::min(8u, std::max(1u, std::thread::hardware_concurrency())));
  state.judged = {JudgeAll(state.evidence.rows, threads), JudgePoints(state.evidence)};
  const Result<Reasons> reasons = Reasons::Read(kEvidence + "/reasons.yaml", state.evidence);
  if (!reasons) return tl::unexpected(reasons.error());
  const Result<std::vector<GoalLine>> goals =
      ReadGoals(kEvidence + "/goals.yaml", state.evidence, state.judged);
  if (!goals) return tl::unexpected(goals.error());
  const Result<std::string> readme = WithSummary(ReadText(kRoot + "README.md"), Summary(*goals));
  if (!readme) return tl::unexpected(readme.error());
  state.pages = {
      {kRoot + "docs/accuracy.md", AccuracyPage(state.evidence, state.judged, *goals, *reasons)},
      {kRoot + "README.md", *readme}};
  return state;
}

// The first line in which a file differs from what it should hold.
std::string FirstDifference(const Generated& page) {
  std::istringstream is(ReadText(page.path)), should(page.text);
  std::string now, then;
  for (int line = 1;; ++line) {
    const bool more_is = static_cast<bool>(std::getline(is, then));
    const bool more_should = static_cast<bool>(std::getline(should, now));
    if (more_is != more_should || then != now)
      return fmt::format("{}:{}: out of date\n  committed: {}\n  computed:  {}\n", page.path, line,
                         more_is ? then : "(ends)", more_should ? now : "(ends)");
    if (!more_is) return "";
  }
}

int Check(const State& state) {
  const Result<Record> recorded = ReadRecord(kRecord);
  std::string faults;
  if (!recorded)
    faults = recorded.error().message + "\n";
  else
    faults = Worsened(state.evidence, state.judged, *recorded);
  for (const Generated& page : state.pages) faults += FirstDifference(page);
  for (std::size_t i = 0; i < state.evidence.rows.size(); ++i)
    if (state.judged.rows[i].parameters_off != 0)
      faults += fmt::format("{}: {:+.0f} parameters counted\n", state.evidence.rows[i].id,
                            state.judged.rows[i].parameters_off);
  if (faults.empty()) return 0;
  fmt::print(stderr, "{}\n{}", faults, kUpdate);
  return 1;
}

int Update(const State& state) {
  if (const Result<Record> recorded = ReadRecord(kRecord))
    fmt::print("{}", Worsened(state.evidence, state.judged, *recorded));
  bool written = WriteText(kRecord, PrintRecord(RecordOf(state.evidence, state.judged)));
  for (const Generated& page : state.pages) written = WriteText(page.path, page.text) && written;
  return written ? 0 : 1;
}

int Main(int argc, const char* const* argv) {
  const bool update = argc == 2 && std::string(argv[1]) == "--update";
  if (argc > 1 && !update) {
    fmt::print(stderr, "usage: shardplan-accuracy [--update]\n");
    return 2;
  }
  const Result<State> state = Compute();
  if (!state) {
    fmt::print(stderr, "{}\n", state.error().message);
    return 1;
  }
  return update ? Update(*state) : Check(*state);
}
}  // namespace
}  // namespace shardplan::evidence

int main(int argc, char** argv) { return shardplan::evidence::Main(argc, argv); }
