// SPDX-License-Identifier: Apache-2.0
// One NVIDIA GPU through the CUDA runtime.
#pragma once
#include <cuda_runtime_api.h>

#include <atomic>
#include <memory>
#include <vector>

#include "probe/device.h"
#include "probe/watch.h"

namespace shardplan::probe {

// Whoever can fail while the GPU works, and can be made to let it go: communicators.
class CudaUser {
 public:
  virtual ~CudaUser() = default;
  virtual Result<void> Health() = 0;
  virtual void Abort() = 0;
};

class CudaDevice;

class CudaEvent : public Event {
 public:
  explicit CudaEvent(cudaEvent_t event) : event_(event) {}
  ~CudaEvent() override { cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_;
};

class CudaStream : public Stream {
 public:
  CudaStream(cudaStream_t stream, CudaDevice& device) : stream_(stream), device_(device) {}
  // Destroying a stream does not wait: CUDA frees it once its work is done.
  ~CudaStream() override { cudaStreamDestroy(stream_); }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  Result<std::shared_ptr<Event>> Record() override;
  Result<void> After(const std::shared_ptr<Event>& event) override;
  // Polls the stream, the watch and the device's users: a kernel that never ends (a collective
  // whose peer died) must not hold the rank. On a fault all users are aborted.
  Result<void> Wait() override;
  cudaStream_t get() const { return stream_; }
  static cudaStream_t Of(Stream& stream) { return static_cast<CudaStream&>(stream).get(); }

 private:
  cudaStream_t stream_;
  CudaDevice& device_;
};

class CudaDevice : public Device {
 public:
  static Result<std::unique_ptr<Device>> Open(int index, Watch& watch);
  const DeviceInfo& info() const override { return info_; }
  Result<std::unique_ptr<Stream>> MakeStream() override;
  Result<Seconds> Between(const Event& from, const Event& to) override;
  Result<Buffer> Allocate(std::size_t bytes, Place place) override;
  MemoryState Memory() override;
  Result<void> Copy(void* to, const void* from, std::size_t bytes, Stream& stream) override;
  Result<Work> Capture(const Work& work, Stream& stream) override;
  Result<Work> Gemm(const GemmShape& shape) override;
  Result<Work> Attention(const AttentionShape& shape) override;
  Result<Work> Elementwise(const ElementwiseShape& shape) override;
  Result<MemoryAccess> Access(const MemoryShape& shape) override;
  Result<std::vector<KernelFacts>> KernelsOf(const Work& work, Stream& stream) override;
  Result<Work> Nothing() override;
  Result<std::unique_ptr<Communicator>> Connect(World& world, const std::vector<int>& members,
                                                const std::string& name,
                                                const CommunicatorOptions& options) override;
  Result<void> Fill(void* array, Dtype dtype, const Pattern& pattern, const Span& span,
                    Stream& stream) override;
  Result<long> CountWrong(const void* array, Dtype dtype, const Pattern& pattern, const Span& span,
                          Stream& stream) override;

  void Enter(CudaUser* user) { users_.push_back(user); }
  void Leave(CudaUser* user) { std::erase(users_, user); }
  // The first fault of a user.
  Result<void> Health();
  void Abort();
  int index() const { return index_; }
  Watch& watch() { return watch_; }

 private:
  CudaDevice(int index, Watch& watch) : index_(index), watch_(watch) {}
  int index_;
  Watch& watch_;
  DeviceInfo info_;
  std::vector<CudaUser*> users_;
  std::shared_ptr<std::atomic<std::size_t>> ours_ = std::make_shared<std::atomic<std::size_t>>(0);
  std::size_t refused_ = 0;
};
}  // namespace shardplan::probe
