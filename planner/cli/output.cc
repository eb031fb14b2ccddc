// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "planner/base/text.h"
#include "planner/cli/yaml.h"

namespace shardplan {
namespace {

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

bool LocaleIsUtf8() {
  std::string locale;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    locale = Environment(name);
    if (!locale.empty()) break;
  }
  locale = Lower(locale);
  return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
}

// Text that is not UTF-8 (names in a user's files) must not make an answer fail.
std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}
}  // namespace

Look LookOfOutput() {
  const bool plain = !Environment("NO_COLOR").empty() || Environment("TERM") == "dumb";
  return {.color = !plain && isatty(STDOUT_FILENO) != 0, .unicode = !plain && LocaleIsUtf8()};
}

int Answer(std::string_view text, int code) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return code;
  if (errno == EPIPE) return kFailed;
  return Complain(fmt::format("cannot write to standard output: {}", std::strerror(errno)),
                  kFailed);
}

int Answer(const Json& json, Format format, int code) {
  return Answer(format == Format::kYaml ? YamlOf(json) : Dump(json) + "\n", code);
}

int Complain(std::string_view message, int code) {
  const std::string_view end = !message.empty() && message.back() == '\n' ? "" : "\n";
  const std::string line = fmt::format("shardplan: {}{}", message, end);
  std::fwrite(line.data(), 1, line.size(), stderr);
  return code;
}

int Complain(const Error& error) {
  const std::string line = error.message + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
  const bool users = error.code == Code::kInvalidArgument || error.code == Code::kNotFound;
  return users ? kUsage : kFailed;
}

int Refuse(const Error& error) {
  return error.code == Code::kFailedPrecondition ? Complain(error.message, kNothingFits)
                                                 : Complain(error);
}
}  // namespace shardplan
