// SPDX-License-Identifier: Apache-2.0
#include "probe/cuda/nccl_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "probe/collective.h"

namespace shardplan::probe {
namespace {

ncclDataType_t TypeOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFp64:
      return ncclFloat64;
    case Dtype::kFp32:
    case Dtype::kTf32:
      return ncclFloat32;
    case Dtype::kFp16:
      return ncclFloat16;
    case Dtype::kBf16:
      return ncclBfloat16;
    case Dtype::kFp8:
      return ncclFloat8e4m3;
    case Dtype::kInt8:
      return ncclInt8;
    case Dtype::kUint8:
      return ncclUint8;
    case Dtype::kInt32:
      return ncclInt32;
    case Dtype::kInt64:
      break;
  }
  return ncclInt64;
}

ncclResult_t Call(const CollectiveCall& call, int rank, int size, ncclComm_t comm,
                  cudaStream_t stream) {
  const ncclDataType_t type = TypeOf(call.dtype);
  switch (call.op) {
    case Collective::kAllReduce:
      return ncclAllReduce(call.send, call.receive, call.count, type, ncclSum, comm, stream);
    case Collective::kAllGather:
      return ncclAllGather(call.send, call.receive, call.count, type, comm, stream);
    case Collective::kReduceScatter:
      return ncclReduceScatter(call.send, call.receive, call.count, type, ncclSum, comm, stream);
    case Collective::kBroadcast:
      return ncclBroadcast(call.send, call.receive, call.count, type, call.root, comm, stream);
    case Collective::kReduce:
      return ncclReduce(call.send, call.receive, call.count, type, ncclSum, call.root, comm,
                        stream);
    case Collective::kAllToAll:
      return ncclAlltoAll(call.send, call.receive, call.count, type, comm, stream);
    case Collective::kSendRecv:
      break;
  }
  ncclGroupStart();
  const ncclResult_t sent = ncclSend(call.send, call.count, type, (rank + 1) % size, comm, stream);
  const ncclResult_t received =
      ncclRecv(call.receive, call.count, type, (rank + size - 1) % size, comm, stream);
  const ncclResult_t ended = ncclGroupEnd();
  for (const ncclResult_t status : {sent, received})
    if (status != ncclSuccess && status != ncclInProgress) return status;
  return ended;
}

// ncclCommSplit of a non-blocking communicator returns success at once, and the child later (seen
// with NCCL 2.28.9): what has only begun.
ncclResult_t Begun(ncclResult_t status) { return status == ncclSuccess ? ncclInProgress : status; }

// The root's id, by the store; a world of one rank needs none.
Result<ncclUniqueId> ShareId(World& world, int rank, const std::string& name) {
  ncclUniqueId id{};
  if (rank == 0 && ncclGetUniqueId(&id) != ncclSuccess)
    return tl::unexpected(
        Error{Code::kInternal, fmt::format("ncclGetUniqueId: {}", ncclGetLastError(nullptr))});
  if (world.size() == 1) return id;
  const std::string key = "nccl/" + name;
  if (rank == 0) {
    const Result<void> set = world.store().Set(key, std::string(id.internal, sizeof id.internal));
    if (!set) return tl::unexpected(set.error());
    return id;
  }
  const Result<std::string> got = world.store().Get(key, world.limits().join);
  if (!got) return tl::unexpected(got.error());
  std::memcpy(id.internal, got->data(), std::min(got->size(), sizeof id.internal));
  return id;
}
}  // namespace

std::string NcclVersion() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess) return "";
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

NcclCommunicator::NcclCommunicator(CudaDevice& device, int rank, int size)
    : device_(device), rank_(rank), size_(size) {
  device_.Enter(this);
}

NcclCommunicator::~NcclCommunicator() {
  for (const auto& [buffer, handle] : registered_)
    if (comm_ != nullptr) ncclCommDeregister(comm_, handle);
  if (oracle_ != nullptr) ncclCommDestroy(oracle_);
  if (comm_ != nullptr && Settle(ncclCommFinalize(comm_), "ncclCommFinalize"))
    ncclCommDestroy(comm_);
  device_.Leave(this);
}

Result<void> NcclCommunicator::Settle(ncclResult_t status, const char* call) {
  while (status == ncclInProgress) {
    if (device_.watch().cancelled()) {
      device_.Abort();
      return tl::unexpected(*device_.watch().reason());
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    if (ncclCommGetAsyncError(comm_, &status) != ncclSuccess) status = ncclInternalError;
  }
  if (status == ncclSuccess) return {};
  const Error error{Code::kAborted, fmt::format("{}: {} ({})", call, ncclGetErrorString(status),
                                                ncclGetLastError(comm_))};
  device_.Abort();
  return tl::unexpected(error);
}

Result<void> NcclCommunicator::Health() {
  if (comm_ == nullptr) return {};
  ncclResult_t state = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(comm_, &state);
  if (asked == ncclSuccess && (state == ncclSuccess || state == ncclInProgress)) return {};
  return Settle(asked == ncclSuccess ? state : asked, "NCCL");
}

void NcclCommunicator::Abort() {
  if (oracle_ != nullptr) ncclCommAbort(oracle_);
  if (comm_ != nullptr) ncclCommAbort(comm_);
  comm_ = oracle_ = nullptr;
}

Result<std::unique_ptr<Communicator>> NcclCommunicator::Connect(
    CudaDevice& device, World& world, const std::vector<int>& members, const std::string& name,
    const CommunicatorOptions& options) {
  const auto self = std::find(members.begin(), members.end(), world.rank());
  const int rank = static_cast<int>(self - members.begin());
  const Result<ncclUniqueId> id = ShareId(world, rank, name);
  if (!id) return tl::unexpected(id.error());
  std::unique_ptr<NcclCommunicator> made(
      new NcclCommunicator(device, rank, static_cast<int>(members.size())));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  if (options.channels > 0) config.minCTAs = config.maxCTAs = options.channels;
  const Result<void> settled = made->Settle(
      ncclCommInitRankConfig(&made->comm_, made->size_, *id, rank, &config), "ncclCommInitRank");
  if (!settled) return tl::unexpected(settled.error());
  return made;
}

Result<void> NcclCommunicator::Enqueue(const CollectiveCall& call, Stream& stream) {
  if (comm_ == nullptr)
    return tl::unexpected(Error{Code::kAborted, "the communicator was aborted"});
  return Settle(Call(call, rank_, size_, comm_, CudaStream::Of(stream)), Name(call.op));
}

Result<std::optional<Seconds>> NcclCommunicator::Predict(const CollectiveCall& call,
                                                         Stream& stream) {
  const bool modelled = call.op != Collective::kAllToAll && call.op != Collective::kSendRecv;
  if (size_ == 1 || !modelled || comm_ == nullptr) return std::optional<Seconds>();
  if (oracle_ == nullptr) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 1;
    config.splitShare = 1;
    const Result<void> split =
        Settle(Begun(ncclCommSplit(comm_, 0, rank_, &oracle_, &config)), "ncclCommSplit");
    if (!split) return tl::unexpected(split.error());
  }
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  ncclGroupStart();
  const ncclResult_t called = Call(call, rank_, size_, oracle_, CudaStream::Of(stream));
  const ncclResult_t simulated = ncclGroupSimulateEnd(&info);
  if (called != ncclSuccess || simulated != ncclSuccess || info.estimatedTime < 0)
    return std::optional<Seconds>();
  return std::optional<Seconds>(Seconds{info.estimatedTime * 1e-6});
}

Result<void> NcclCommunicator::Register(const Buffer& buffer) {
  void* handle = nullptr;
  const Result<void> done =
      Settle(ncclCommRegister(comm_, buffer.at(), buffer.bytes, &handle), "ncclCommRegister");
  if (done) registered_.emplace_back(buffer, handle);
  return done;
}

Result<std::unique_ptr<Communicator>> NcclCommunicator::Split(int color, bool share) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.splitShare = share ? 1 : 0;
  ncclComm_t child = nullptr;
  const ncclResult_t status =
      ncclCommSplit(comm_, color < 0 ? NCCL_SPLIT_NOCOLOR : color, rank_, &child, &config);
  const Result<void> split = Settle(Begun(status), "ncclCommSplit");
  if (!split) return tl::unexpected(split.error());
  if (color < 0 || child == nullptr) return nullptr;
  std::unique_ptr<NcclCommunicator> made(new NcclCommunicator(device_, 0, 1));
  made->comm_ = child;
  // The child settles by itself.
  if (const Result<void> settled = made->Settle(ncclInProgress, "ncclCommSplit"); !settled)
    return tl::unexpected(settled.error());
  ncclCommUserRank(child, &made->rank_);
  ncclCommCount(child, &made->size_);
  return made;
}
}  // namespace shardplan::probe
