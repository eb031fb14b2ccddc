// SPDX-License-Identifier: Apache-2.0
// Puts a bundle on disk, whole or not at all.
#pragma once
#include <string>

#include "planner/base/result.h"
#include "planner/export/bundle.h"

namespace shardplan {

// Writes into a new directory beside `directory` and renames it. What is there already is an error
// and stays as it is, unless `force`: then it is replaced, if it holds nothing but a bundle's
// files.
Result<void> WriteBundle(const Bundle& bundle, const std::string& directory, bool force);
}  // namespace shardplan
