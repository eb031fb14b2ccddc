// SPDX-License-Identifier: Apache-2.0
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "kernels/launch.cuh"
#include "kernels/launch.h"
#include "planner/base/check.h"

namespace shardplan::kernels {
namespace {

struct Noted {
  const void* kernel;
  int threads;
  bool operator==(const Noted&) const = default;
};
thread_local std::vector<Noted>* listener = nullptr;

// "void (anonymous namespace)::Turn<float>(...)" without return type, namespaces and parameters.
std::string ShortName(const void* kernel) {
  const char* mangled = "";
  SHARDPLAN_CHECK(cudaFuncGetName(&mangled, kernel) == cudaSuccess);
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(
      abi::__cxa_demangle(mangled, nullptr, nullptr, &status), std::free);
  if (status != 0) return mangled;
  std::string name = demangled.get();
  name.resize(std::min(name.size(), name.rfind(">(") + 1 ? name.rfind(">(") + 1 : name.rfind('(')));
  const size_t own = name.rfind("namespace)::", name.find('<'));
  return own == std::string::npos ? name : name.substr(own + sizeof("namespace)::") - 1);
}

KernelResources Describe(const Noted& noted) {
  cudaFuncAttributes attributes;
  SHARDPLAN_CHECK(cudaFuncGetAttributes(&attributes, noted.kernel) == cudaSuccess);
  int blocks = 0;
  SHARDPLAN_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, noted.kernel,
                                                                noted.threads, 0) == cudaSuccess);
  int device = 0;
  int most = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxThreadsPerMultiProcessor, device);
  return {.name = ShortName(noted.kernel),
          .registers = attributes.numRegs,
          .local = static_cast<int64_t>(attributes.localSizeBytes),
          .shared = static_cast<int64_t>(attributes.sharedSizeBytes),
          .block_threads = noted.threads,
          .blocks_resident = blocks,
          .occupancy = static_cast<double>(blocks) * noted.threads / most};
}
}  // namespace

void NoteLaunch(const void* kernel, dim3 block) {
  if (!listener) return;
  const Noted noted{kernel, static_cast<int>(block.x * block.y * block.z)};
  if (std::find(listener->begin(), listener->end(), noted) == listener->end())
    listener->push_back(noted);
}

std::vector<KernelResources> ResourcesOf(const std::function<void()>& launches) {
  std::vector<Noted> noted;
  listener = &noted;
  launches();
  listener = nullptr;
  std::vector<KernelResources> resources;
  for (const Noted& each : noted) resources.push_back(Describe(each));
  return resources;
}
}  // namespace shardplan::kernels
