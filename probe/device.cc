// SPDX-License-Identifier: Apache-2.0
#include "probe/device.h"

#include <fmt/format.h>

#include "probe/devices.h"

namespace shardplan::probe {

std::string Explain(const MemoryState& state) {
  const auto gib = [](std::size_t bytes) { return static_cast<double>(bytes) / (1 << 30); };
  return fmt::format("{:.1f} GiB refused: {:.1f} GiB of {:.1f} GiB are free, {:.1f} GiB are ours",
                     gib(state.refused), gib(state.free), gib(state.total), gib(state.ours));
}

tl::unexpected<Error> Device::Lacks(std::string_view what) const {
  return tl::unexpected(
      Error{Code::kFailedPrecondition, fmt::format("the {} device has no {}", info().kind, what)});
}

Result<Work> Device::Capture(const Work&, Stream&) { return Lacks("graphs to capture work in"); }
Result<Work> Device::Gemm(const GemmShape& shape) {
  return Lacks(fmt::format("matrix product in {}", Name(shape.dtype)));
}
Result<Work> Device::Attention(const AttentionShape& shape) {
  return Lacks(fmt::format("attention in {}", Name(shape.dtype)));
}
Result<Work> Device::Elementwise(const ElementwiseShape& shape) {
  return Lacks(fmt::format("{} in {}", shape.name, Name(shape.dtype)));
}
Result<MemoryAccess> Device::Access(const MemoryShape& shape) {
  return Lacks(fmt::format("access pattern '{}'", shape.pattern));
}
Result<std::vector<KernelFacts>> Device::KernelsOf(const Work&, Stream&) {
  return Lacks("kernels to ask about");
}

Result<std::unique_ptr<Device>> OpenDevice(std::string_view kind, int index, Watch& watch) {
  if (kind == "cuda") return OpenCuda(index, watch);
  if (kind == "host") return OpenHost(watch);
  return Invalid(fmt::format("there is no device '{}': it takes cuda, host", kind));
}

std::string_view DefaultDevice() { return CudaDevices() > 0 ? "cuda" : "host"; }

#ifndef SHARDPLAN_PROBE_CUDA
int CudaDevices() { return 0; }
Result<std::unique_ptr<Device>> OpenCuda(int, Watch&) {
  return tl::unexpected(
      Error{Code::kFailedPrecondition,
            "this shardplan-probe was built without CUDA: the CUDA toolkit 13 and NCCL were not "
            "found then; --device=host works"});
}
#endif
#ifndef SHARDPLAN_PROBE_HOST
Result<std::unique_ptr<Device>> OpenHost(Watch&) {
  return tl::unexpected(Error{Code::kFailedPrecondition,
                              "this shardplan-probe was built without the host device: libgloo-dev "
                              "and libopenblas-dev were not found then; --device=cuda works"});
}
#endif
}  // namespace shardplan::probe
