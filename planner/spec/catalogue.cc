// SPDX-License-Identifier: Apache-2.0
#include "planner/spec/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "planner/base/build_config.h"
#include "planner/base/nearest.h"
#include "planner/spec/problem.h"
#include "planner/spec/reader.h"

namespace shardplan {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostBytes = 4u << 20;

// Names without suffix of the YAML files in a folder, sorted.
std::vector<std::string> NamesIn(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".yaml") names.push_back(it->path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Result<SourcePtr> ReadSource(const std::string& path, const Reference& from) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  const auto fail = [&](const std::string& what, const std::string& hint) {
    return InvalidAt(from.place, from.path, fmt::format("{}: {}", Shown(path, 1000), what), hint);
  };
  if (path.find('\0') != std::string::npos || status.type() == fs::file_type::not_found) {
    const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : ".";
    std::string hint = DidYouMean(fs::path(path).stem().string(), NamesIn(folder));
    if (!hint.empty()) hint += fmt::format("(in {})", folder.string());
    return fail("no such file", hint);
  }
  if (status.type() == fs::file_type::directory) return fail("is a folder", "name a file in it");
  if (status.type() != fs::file_type::regular) return fail("is not a regular file", "");
  if (fs::file_size(path, error) > kMostBytes || error)
    return fail("is too large", fmt::format("files up to {} MiB are read", kMostBytes >> 20));
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail("cannot be opened", "look at its permissions");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return fail("cannot be read", "");
  return MakeSource(path, std::move(text));
}

std::vector<std::string> EntryNames(std::string_view folder) {
  return NamesIn(fs::path(ConfigDirectory()) / folder);
}

Result<void> ReadEntry(std::string_view folder, const std::string& name, const Reference& from,
                       google::protobuf::Message* entry, SourceMap* map) {
  const fs::path home = fs::path(ConfigDirectory()) / folder;
  const std::vector<std::string> names = NamesIn(home);
  if (names.empty())
    return InvalidAt(from.place, from.path, fmt::format("{} holds no entries", home.string()),
                     "name the folder configs/ in the environment variable SHARDPLAN_CONFIGS");
  if (std::find(names.begin(), names.end(), name) == names.end())
    return InvalidAt(from.place, from.path, fmt::format("unknown name {}", Shown(name)),
                     Suggest(name, names, fmt::format("configs/{} has", folder)));
  const Result<SourcePtr> source = ReadSource((home / (name + ".yaml")).string(), from);
  if (!source) return tl::unexpected(source.error());
  return ReadMessage(*source, entry, map);
}

std::string ConfigDirectory() {
  if (const char* named = std::getenv("SHARDPLAN_CONFIGS"); named && *named) return named;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    fs::path beside = program.parent_path().parent_path() / "share/shardplan/configs";
    if (fs::is_directory(beside, error)) return beside.string();
  }
  return fs::is_directory(kSourceConfigDir, error) ? kSourceConfigDir : kInstallConfigDir;
}
}  // namespace shardplan
