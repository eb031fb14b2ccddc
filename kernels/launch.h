// SPDX-License-Identifier: Apache-2.0
// What the compiler gave the kernels of this library, and how many of their threads fit at once.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace shardplan::kernels {

struct KernelResources {
  std::string name;         // demangled, without its parameters
  int registers = 0;        // a thread
  int64_t local = 0;        // bytes a thread spills or indexes at run time
  int64_t shared = 0;       // bytes a block
  int block_threads = 0;    // as launched
  int blocks_resident = 0;  // on one multiprocessor
  double occupancy = 0;     // of the multiprocessor's threads
};

// The kernels that `launches` launches from this thread, each once.
std::vector<KernelResources> ResourcesOf(const std::function<void()>& launches);
}  // namespace shardplan::kernels
