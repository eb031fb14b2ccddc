// SPDX-License-Identifier: Apache-2.0
// Runs the real program as a shell would, and keeps what it printed.
#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace shardplan::testing {

struct Outcome {
  int code = -1;
  std::string out, err;
};

inline std::string PathOf(const std::string& name) {
  return ::testing::TempDir() + "shardplan_cli_" + std::to_string(getpid()) + "_" + name;
}

inline std::string ContentOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A file that holds `text`; the path is returned.
inline std::string FileWith(const std::string& name, const std::string& text) {
  const std::string path = PathOf(name);
  std::ofstream(path) << text;
  return path;
}

// `arguments` are the shell's words; `around` may set variables in front of the program.
inline Outcome RunProgram(const std::string& arguments, const std::string& input = "",
                          const std::string& around = "") {
  const std::string in = FileWith("in", input), out = PathOf("out"), err = PathOf("err");
  const std::string command = around + " '" SHARDPLAN_BINARY "' " + arguments + " <'" + in +
                              "' >'" + out + "' 2>'" + err + "'";
  const int status = std::system(command.c_str());  // NOLINT(cert-env33-c)
  Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : -1, ContentOf(out), ContentOf(err)};
  for (const std::string& path : {in, out, err}) unlink(path.c_str());
  return outcome;
}

// A job that is planned in milliseconds.
inline constexpr char kSpec[] = R"(model:
  model_type: llama
  num_hidden_layers: 8
  hidden_size: 1024
  num_attention_heads: 16
  num_key_value_heads: 4
  intermediate_size: 2816
  vocab_size: 32000
cluster: {gpu: h100-sxm-80gb, nodes: 1, gpus_per_node: 8}
train: {framework: megatron, seq_length: 2048, global_batch_size: 64}
)";

// The same job, 100 times too large for the cluster.
inline constexpr char kTooLarge[] = R"(model: {preset: llama-3.1-405b}
cluster: {gpu: h100-sxm-80gb, nodes: 1, gpus_per_node: 8}
train: {framework: megatron, seq_length: 8192, global_batch_size: 64}
plan: {offload: none}
)";
}  // namespace shardplan::testing
