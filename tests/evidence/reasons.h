// SPDX-License-Identifier: Apache-2.0
// reasons.yaml: why rows miss, written by hand, by the ids of rows and points or their beginnings.
#pragma once
#include <string>
#include <vector>

#include "tests/evidence/evidence.h"

namespace shardplan::evidence {

enum class Figure { kMemory, kTime, kCollectives };
inline constexpr Figure kFigures[] = {Figure::kMemory, Figure::kTime, Figure::kCollectives};

struct Why {
  std::string text;
  bool contradiction = false;  // of the row with itself or its source
};

class Reasons {
 public:
  // Every reason must fit a row or point of `evidence`: one that fits none is an error.
  static Result<Reasons> Read(const std::string& path, const Evidence& evidence);

  // The reason with the longest beginning of `id` that speaks of misses of this sign; null: nobody
  // has found one.
  const Why* Find(const std::string& id, Figure figure, double error) const;
  // Why the row contradicts itself; null: it does not.
  const Why* Contradiction(const std::string& id, Figure figure) const;

 private:
  struct Entry {
    std::string begins;
    Figure figure;
    bool low = true, high = true;  // the misses that it explains
    Why why;
  };
  template <class Fits>
  const Why* Longest(const std::string& id, Figure figure, const Fits& fits) const;

  std::vector<Entry> entries_;
};
}  // namespace shardplan::evidence
