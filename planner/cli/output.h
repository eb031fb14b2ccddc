// SPDX-License-Identifier: Apache-2.0
// Where answers and messages go, and in which form.
//
// Answers go to standard output in one piece, messages to standard error. All writes are checked.
#pragma once
#include <string>
#include <string_view>

#include "planner/base/result.h"
#include "planner/report/json.h"
#include "planner/report/text.h"

namespace shardplan {

enum class Format { kText, kJson, kYaml };

// Exit codes (contract.md section 3).
inline constexpr int kDone = 0, kFailed = 1, kUsage = 2, kNothingFits = 3, kInterrupted = 130;

// What standard output can show: colours on a terminal unless NO_COLOR says no, block characters
// where the locale's encoding has them.
Look LookOfOutput();

// Writes an answer and returns `code`; kFailed where it cannot be written. A reader that has gone
// (`| head`) needs no message.
int Answer(std::string_view text, int code = kDone);
// The same in a machine's form. REQUIRES: format is not kText.
int Answer(const Json& json, Format format, int code = kDone);

// "shardplan: message" on standard error; returns `code`.
int Complain(std::string_view message, int code);
// An operating error, whose message says where it happened; kUsage where the input is at fault.
int Complain(const Error& error);
// The same; kNothingFits where what was asked for is well said and cannot be.
int Refuse(const Error& error);
}  // namespace shardplan
