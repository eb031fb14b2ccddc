// SPDX-License-Identifier: Apache-2.0
// Runs a command as a shell would, and keeps what it printed.
#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace shardplan::testing {

using Json = nlohmann::ordered_json;

struct Outcome {
  int code = -1;
  std::string out, err;
  // The lines of `out`, which are records.
  std::vector<Json> Records() const {
    std::vector<Json> records;
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);) records.push_back(Json::parse(line));
    return records;
  }
};

inline std::string TempPath(const std::string& name) {
  return ::testing::TempDir() + "shardplan_probe_" + std::to_string(getpid()) + "_" + name;
}

inline std::string ContentOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline Outcome RunShell(const std::string& command) {
  const std::string out = TempPath("out"), err = TempPath("err");
  const int status =  // NOLINTNEXTLINE(cert-env33-c)
      std::system((command + " </dev/null >'" + out + "' 2>'" + err + "'").c_str());
  Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : -1, ContentOf(out), ContentOf(err)};
  unlink(out.c_str());
  unlink(err.c_str());
  return outcome;
}

// shardplan-probe with the shell's words.
inline Outcome RunProbe(const std::string& arguments, const std::string& around = "") {
  return RunShell(around + " '" SHARDPLAN_PROBE_BINARY "' " + arguments);
}
}  // namespace shardplan::testing
