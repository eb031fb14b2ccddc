// SPDX-License-Identifier: Apache-2.0
// import FILE...: a user's launch files as a spec with a fixed plan.
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>

#include "planner/cli/command.h"
#include "planner/cli/import_files.h"
#include "planner/cli/options.h"

namespace shardplan {
namespace {

struct Options {
  ImportArguments import;
  Format format = Format::kYaml;
  bool all = false;
};

int ImportJob(const Options& options) {
  const Result<Imported> imported = ImportFiles(options.import);
  if (!imported) return Complain(imported.error());
  const std::string remarks = ImportedRemarks(*imported, options.all);
  std::fwrite(remarks.data(), 1, remarks.size(), stderr);
  if (options.format == Format::kJson) return Answer(ImportedJson(*imported), options.format);
  return Answer(ImportedYaml(*imported));
}
}  // namespace

std::function<int()> DeclareImport(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("FILE", options->import.paths,
                 "launch scripts, configurations, descriptions of a cluster; - is standard input")
      ->type_name("")
      ->required();
  AddImportOptions(app, options->import);
  AddFormat(app, options->format);
  app.add_flag("--all", options->all, "list also what does not matter");
  return [options] { return ImportJob(*options); };
}
}  // namespace shardplan
