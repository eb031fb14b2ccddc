// SPDX-License-Identifier: Apache-2.0
// Configs for the tests of the model layer: presets, config.json files, shapes and counts of them.
#pragma once
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "planner/model/config.h"

namespace shardplan {

inline std::string ReadText(const std::string& path) {
  std::ifstream file(std::string(SHARDPLAN_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(file) << "no file " << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline nlohmann::json Parse(const std::string& text) { return nlohmann::json::parse(text); }

// A file of configs/models. They are plain enough to read without a YAML library: one key a line,
// each value a JSON value or a bare word.
inline nlohmann::json Preset(const std::string& name) {
  nlohmann::json config = nlohmann::json::object();
  std::istringstream lines(ReadText("configs/models/" + name + ".yaml"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    if (line.empty() || line.front() == '#' || colon == std::string::npos) continue;
    const std::string text = line.substr(colon + 2);
    const nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
    config[line.substr(0, colon)] = value.is_discarded() ? nlohmann::json(text) : value;
  }
  return config;
}

inline DecoderShape ShapeOf(const nlohmann::json& config, bool hand_written = true) {
  const auto shape = ShapeFromConfig(config, hand_written);
  if (!shape) {
    ADD_FAILURE() << config << "\n"
                  << shape.error().key << ": " << shape.error().message << "\n"
                  << shape.error().hint;
    return {};
  }
  return *shape;
}
inline DecoderShape ShapeOf(const char* text) { return ShapeOf(Parse(text)); }

inline ParameterCount CountOf(const nlohmann::json& config, bool hand_written = true) {
  return CountParameters(BuildDecoder(ShapeOf(config, hand_written)));
}

// "key: message" and the hint on a line of its own, as a user reads them.
inline std::string ProblemOf(const nlohmann::json& config, bool hand_written = true) {
  const auto shape = ShapeFromConfig(config, hand_written);
  if (shape) return "no problem";
  return shape.error().key + ": " + shape.error().message + "\n  " + shape.error().hint;
}
inline std::string ProblemOf(const char* text) { return ProblemOf(Parse(text)); }
}  // namespace shardplan
