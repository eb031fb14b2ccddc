// SPDX-License-Identifier: Apache-2.0
// What import makes of a user's files: a spec with a fixed plan, and all that it did not take over.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "planner/base/result.h"
#include "planner/report/json.h"
#include "shardplan/v1/spec.pb.h"

namespace shardplan {

// A setting that the spec does not say.
struct Leftover {
  std::string file;
  int line = 0;
  std::string text;      // as written: "--moe-layer-recompute"
  std::string why;       // why it was left
  bool matters = false;  // it may change memory, time or legality
};

// A fact that the files do not hold and a prediction needs.
struct Missing {
  std::string key;   // of the spec
  std::string hint;  // what to add
};

struct Imported {
  v1::Spec spec;
  // Where the value of a key comes from, as "--micro-batch-size 4, train.sh:31".
  std::map<std::string, std::string> origins;
  std::vector<Leftover> leftovers;  // those that matter first, then in the order of the files
  std::vector<Missing> missing;
  std::vector<std::string> warnings;  // what was assumed, and what is degraded
  std::vector<std::string> formats;   // what each file was taken for, "Megatron-LM arguments"
};

// The spec with its origins as comments, below a comment that lists what is missing and left.
std::string ImportedYaml(const Imported& imported);
Json ImportedJson(const Imported& imported);
// What to say beside the spec: "train.sh:14: --foo 3: not known; it may matter", a line each.
// What does not matter is counted, and listed only where `all`.
std::string ImportedRemarks(const Imported& imported, bool all);
}  // namespace shardplan
