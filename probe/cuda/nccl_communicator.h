// SPDX-License-Identifier: Apache-2.0
// Collectives through NCCL, without blocking: every call is polled, so that a rank whose peer died
// can abort and end.
#pragma once
#include <nccl.h>

#include <memory>
#include <string>
#include <vector>

#include "probe/communicator.h"
#include "probe/cuda/cuda_device.h"

namespace shardplan::probe {

class NcclCommunicator : public Communicator, public CudaUser {
 public:
  static Result<std::unique_ptr<Communicator>> Connect(CudaDevice& device, World& world,
                                                       const std::vector<int>& members,
                                                       const std::string& name,
                                                       const CommunicatorOptions& options);
  // Finalizes; aborts where the watch was cancelled.
  ~NcclCommunicator() override;
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Result<void> Enqueue(const CollectiveCall& call, Stream& stream) override;
  Result<std::optional<Seconds>> Predict(const CollectiveCall& call, Stream& stream) override;
  Result<void> Register(const Buffer& buffer) override;
  Result<std::unique_ptr<Communicator>> Split(int color, bool share) override;

  Result<void> Health() override;
  void Abort() override;

 private:
  NcclCommunicator(CudaDevice& device, int rank, int size);
  // Waits until a call that returned `status` has been taken in.
  Result<void> Settle(ncclResult_t status, const char* call);

  CudaDevice& device_;
  int rank_, size_;
  ncclComm_t comm_ = nullptr;
  // A blocking copy that shares the buffers: NCCL predicts nothing on non-blocking ones.
  ncclComm_t oracle_ = nullptr;
  std::vector<std::pair<Buffer, void*>> registered_;
};

std::string NcclVersion();
}  // namespace shardplan::probe
