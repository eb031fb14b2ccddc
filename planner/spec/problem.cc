// SPDX-License-Identifier: Apache-2.0
#include "planner/spec/problem.h"

#include <filesystem>
#include <iostream>
#include <iterator>

#include "planner/spec/resolve.h"
#include "planner/spec/writer.h"

namespace shardplan {
namespace {

namespace fs = std::filesystem;

Result<Problem> Resolve(const SourcePtr& source, const std::string& directory,
                        const std::vector<std::string>& sets, Needs needs,
                        const std::string& fallback_title) {
  Result<SpecText> text = ReadSpec(source, directory, sets);
  if (!text) return tl::unexpected(text.error());
  Problem problem;
  if (needs != Needs::kCluster) {
    Result<ResolvedModel> model = ResolveModel(*text, fallback_title);
    if (!model) return tl::unexpected(model.error());
    problem.title = std::move(model->title);
    problem.model = std::move(model->model);
    problem.shape = std::move(model->shape);
    problem.model_keys = std::move(model->keys);
    problem.notes = std::move(model->notes);
  }
  if (needs != Needs::kModel) {
    Result<Machine> machine = ResolveCluster(*text);
    if (!machine) return tl::unexpected(machine.error());
    problem.machine = std::move(*machine);
  }
  if (needs == Needs::kAll) {
    Result<Training> training = ResolveTrain(*text, problem.model.family);
    if (!training) return tl::unexpected(training.error());
    problem.training = std::move(*training);
    Result<Wishes> wishes = ResolvePlan(*text);
    if (!wishes) return tl::unexpected(wishes.error());
    problem.wishes = std::move(*wishes);
  } else {
    problem.training.seq_length = text->spec.train().seq_length();
  }
  problem.search = ResolveSearch(*text);
  problem.memory_reserve = {text->spec.search().memory_reserve()};
  problem.spec_hash = HashOf(text->spec);
  return problem;
}

}  // namespace

Result<Problem> ReadProblem(const std::string& path, const std::vector<std::string>& sets,
                            Needs needs) {
  if (path == "-") {
    const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    return ParseProblem(text, "stdin", sets, needs);
  }
  const Result<SourcePtr> source = ReadSource(path, {});
  if (!source) return tl::unexpected(source.error());
  return Resolve(*source, fs::path(path).parent_path().string(), sets, needs,
                 fs::path(path).stem().string());
}

Result<Problem> ParseProblem(const std::string& text, const std::string& name,
                             const std::vector<std::string>& sets, Needs needs) {
  return Resolve(MakeSource(name, text), fs::path(name).parent_path().string(), sets, needs, "");
}

Job JobOf(const Problem& problem) {
  return MakeJob(problem.model, problem.machine, problem.training, problem.memory_reserve);
}

Space SpaceOf(const Problem& problem) {
  return Space(problem.model, problem.machine, problem.training, problem.wishes);
}

Plan FixedPlan(const Problem& problem) {
  return FixedPlan(problem.model, problem.machine, problem.training, problem.wishes);
}
}  // namespace shardplan
