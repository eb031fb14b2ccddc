// SPDX-License-Identifier: Apache-2.0
#include "probe/patterns.h"

namespace shardplan::probe {

const std::vector<AccessPattern>& AccessPatterns() {
  static const std::vector<AccessPattern> patterns{
      {"copy", "our own copy, read and written", false},
      {"read", "words `stride` apart: 1 is coalesced", true},
      {"packed_rows", "rows of an odd width, one after another", false},
      {"pitched_rows", "the same rows, each on a 512-byte boundary", false},
      {"last_cache", "the buffer again and again, past the first cache", false},
      {"shared", "shared memory, a warp's words `stride` apart: gcd(stride, 32) meet in a bank",
       true},
      {"constant", "constant memory, a warp's words `stride` - 1 apart: 1 is one word for all",
       true},
      {"texture_rows", "a texture along its rows", false},
      {"texture_columns", "a texture along its columns", false},
      {"managed_fault", "managed memory that lies on the host, fetched page by page as read",
       false},
      {"managed_prefetch", "the same, moved beforehand in one go", false},
      {"managed_remote", "the same, read over the link where it lies, as advised", false},
      {"allocate", "cudaMalloc and cudaFree", false},
      {"allocate_from_pool", "cudaMallocAsync and cudaFreeAsync, from a pool that keeps its memory",
       false},
  };
  return patterns;
}

const AccessPattern* FindPattern(std::string_view name) {
  for (const AccessPattern& pattern : AccessPatterns())
    if (pattern.name == name) return &pattern;
  return nullptr;
}

std::vector<std::string> PatternNames() {
  std::vector<std::string> names;
  for (const AccessPattern& pattern : AccessPatterns()) names.emplace_back(pattern.name);
  return names;
}
}  // namespace shardplan::probe
