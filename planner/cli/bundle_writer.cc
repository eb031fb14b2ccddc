// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/bundle_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace shardplan {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> Failed(std::string message) {
  return tl::unexpected<Error>(Error{Code::kFailedPrecondition, std::move(message)});
}

Result<void> WriteFile(const fs::path& path, const File& file) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream out(path, std::ios::binary);
  out << file.text;
  out.close();
  if (error || !out) return Failed(fmt::format("cannot write {}", path.string()));
  if (file.executable)
    fs::permissions(path, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                    fs::perm_options::add, error);
  if (error)
    return Failed(fmt::format("cannot make {} executable: {}", path.string(), error.message()));
  return {};
}

// A directory that an export made has its three files; --force replaces no other.
bool IsBundle(const fs::path& directory) {
  std::error_code error;
  for (const char* name : {"README.md", "env.sh", "train.sh"})
    if (!fs::is_regular_file(directory / name, error)) return false;
  return true;
}
}  // namespace

Result<void> WriteBundle(const Bundle& bundle, const std::string& directory, bool force) {
  const fs::path target = fs::path(directory).lexically_normal();
  const fs::path whole = target.has_filename() ? target : target.parent_path();
  std::error_code error;
  const bool there = fs::exists(fs::symlink_status(whole, error));
  error.clear();  // nothing there is no error
  if (there && !force)
    return Failed(
        fmt::format("{} exists already, and nothing was written; --force replaces a "
                    "bundle, or choose another directory",
                    whole.string()));
  if (there && !IsBundle(whole))
    return Failed(
        fmt::format("{} exists and is no bundle of shardplan's, so --force does not "
                    "replace it; choose another directory",
                    whole.string()));
  const fs::path fresh = fmt::format("{}.{}.part", whole.string(), getpid());
  for (const File& file : bundle.files) {
    if (Result<void> written = WriteFile(fresh / file.path, file); !written) {
      fs::remove_all(fresh, error);
      return written;
    }
  }
  const fs::path old = fmt::format("{}.{}.old", whole.string(), getpid());
  if (there) fs::rename(whole, old, error);
  if (!error) fs::rename(fresh, whole, error);
  if (error) {
    const std::string why = error.message();
    if (fs::exists(old, error)) fs::rename(old, whole, error);
    fs::remove_all(fresh, error);
    return Failed(fmt::format("cannot write {}: {}", whole.string(), why));
  }
  if (there) fs::remove_all(old, error);
  return {};
}
}  // namespace shardplan
