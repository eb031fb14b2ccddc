// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/import_files.h"

#include <filesystem>
#include <iostream>
#include <iterator>

#include "planner/spec/catalogue.h"

namespace shardplan {
namespace {

namespace fs = std::filesystem;

// `path` as a script names it: as it stands, or beside one of the files.
std::optional<std::string> OpenBeside(const std::vector<std::string>& files,
                                      const std::string& path) {
  std::vector<fs::path> places = {path};
  for (const std::string& file : files) {
    places.push_back(fs::path(file).parent_path() / path);
    places.push_back(fs::path(file).parent_path() / fs::path(path).filename());
  }
  std::error_code error;
  for (const fs::path& place : places)
    if (fs::is_regular_file(place, error))
      if (const Result<SourcePtr> source = ReadSource(place.string(), {})) return (*source)->text;
  return std::nullopt;
}
}  // namespace

void AddImportOptions(CLI::App& app, ImportArguments& arguments) {
  app.add_option("--set", arguments.sets,
                 "set a key of the spec, as in cluster.gpu=h100-sxm-80gb; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--define", arguments.defines,
                 "a variable that a script takes from outside, as in MODEL_SIZE=7B; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

Result<Imported> ImportFiles(const ImportArguments& arguments) {
  std::vector<ImportFile> files;
  for (const std::string& path : arguments.paths) {
    if (path == "-") {
      files.push_back({"stdin", std::string{std::istreambuf_iterator<char>(std::cin), {}}});
      continue;
    }
    const Result<SourcePtr> source = ReadSource(path, {});
    if (!source) return tl::unexpected(source.error());
    files.push_back({path, (*source)->text});
  }
  return Import(
      files, {.sets = arguments.sets,
              .defines = arguments.defines,
              .open = [&](const std::string& path) { return OpenBeside(arguments.paths, path); }});
}
}  // namespace shardplan
