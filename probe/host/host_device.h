// SPDX-License-Identifier: Apache-2.0
// The host device: threads for streams, OpenBLAS for products, the references of kernels/ for the
// rest, ordinary memory.
#pragma once
#include <atomic>
#include <memory>

#include "probe/device.h"
#include "probe/watch.h"

namespace shardplan::probe {

class HostDevice : public Device {
 public:
  explicit HostDevice(Watch& watch);
  const DeviceInfo& info() const override { return info_; }
  Result<std::unique_ptr<Stream>> MakeStream() override;
  Result<Seconds> Between(const Event& from, const Event& to) override;
  Result<Buffer> Allocate(std::size_t bytes, Place place) override;
  MemoryState Memory() override;
  Result<void> Copy(void* to, const void* from, std::size_t bytes, Stream& stream) override;
  Result<std::unique_ptr<Communicator>> Connect(World& world, const std::vector<int>& members,
                                                const std::string& name,
                                                const CommunicatorOptions& options) override;
  Result<void> Fill(void* array, Dtype dtype, const Pattern& pattern, const Span& span,
                    Stream& stream) override;
  Result<long> CountWrong(const void* array, Dtype dtype, const Pattern& pattern, const Span& span,
                          Stream& stream) override;
  Result<Work> Gemm(const GemmShape& shape) override;
  Result<Work> Attention(const AttentionShape& shape) override;
  Result<Work> Elementwise(const ElementwiseShape& shape) override;
  Result<Work> Nothing() override;

 private:
  Watch& watch_;
  DeviceInfo info_;
  std::shared_ptr<std::atomic<std::size_t>> ours_;  // outlives the device in buffers' deleters
  std::size_t refused_ = 0;
};
}  // namespace shardplan::probe
