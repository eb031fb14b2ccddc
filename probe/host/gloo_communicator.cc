// SPDX-License-Identifier: Apache-2.0
#include "probe/host/gloo_communicator.h"

#include <fmt/format.h>
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/broadcast.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "probe/collective.h"
#include "probe/host/host_stream.h"

namespace shardplan::probe {
namespace {

// Our store as Gloo wants one; keys begin with the communicator's name.
class Rendezvous : public gloo::rendezvous::Store {
 public:
  Rendezvous(World& world, std::string prefix) : world_(world), prefix_(std::move(prefix)) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    const auto done = world_.store().Set(prefix_ + key, std::string(data.begin(), data.end()));
    if (!done) throw gloo::IoException(done.error().message);
  }
  std::vector<char> get(const std::string& key) override {
    const auto value = world_.store().Get(prefix_ + key, world_.limits().join);
    if (!value) throw gloo::IoException(value.error().message);
    return {value->begin(), value->end()};
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) get(key);
  }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override {
    wait(keys);
  }

 private:
  World& world_;
  std::string prefix_;
};

// Gloo copies elements by their size alone; reductions bring their own function.
template <class F>
void WithWidth(Dtype dtype, F f) {
  switch (SizeOf(dtype)) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    default:
      return f(std::uint64_t{});
  }
}

auto SumOf(Dtype dtype) {
  return [dtype](void* to, const void* a, const void* b, std::size_t count) {
    AddArrays(dtype, to, a, b, count);
  };
}

// Gloo takes inputs as non-const and does not write them.
template <class T>
T* In(const CollectiveCall& call) {
  return static_cast<T*>(const_cast<void*>(call.send));
}
template <class T>
T* Out(const CollectiveCall& call) {
  return static_cast<T*>(call.receive);
}

// Gloo's own collectives number their messages from 1 << 56 up by kind (gloo/types.h); these kinds
// are ours.
constexpr std::uint64_t kScatterSlot = std::uint64_t{0xf0} << 56;
constexpr std::uint64_t kSendSlot = std::uint64_t{0xf1} << 56;
}  // namespace

GlooCommunicator::GlooCommunicator(World& world, std::vector<int> members, std::string name)
    : world_(world), members_(std::move(members)), name_(std::move(name)) {
  const auto self = std::find(members_.begin(), members_.end(), world.rank());
  rank_ = static_cast<int>(self - members_.begin());
}

Result<std::unique_ptr<Communicator>> GlooCommunicator::Connect(World& world,
                                                                const std::vector<int>& members,
                                                                const std::string& name) {
  std::unique_ptr<GlooCommunicator> made(new GlooCommunicator(world, members, name));
  if (made->size() == 1) return made;
  try {
    gloo::transport::tcp::attr attributes;
    attributes.hostname = world.Address();
    // As torch's Gloo backend has it.
    if (const char* interface = std::getenv("GLOO_SOCKET_IFNAME")) {
      attributes.iface = interface;
      attributes.hostname.clear();
    }
    made->device_ = gloo::transport::tcp::CreateDevice(attributes);
    made->context_ = std::make_shared<gloo::rendezvous::Context>(made->rank_, made->size());
    // The monitor ends what takes longer than an operation may; this is only the last resort.
    const Seconds patience = world.limits().operation * 2 + Seconds{60};
    made->context_->setTimeout(
        std::chrono::milliseconds(static_cast<std::int64_t>(patience.value * 1e3)));
    Rendezvous store(world, name + "/");
    made->context_->connectFullMesh(store, made->device_);
  } catch (const std::exception& problem) {
    return tl::unexpected(Error{Code::kAborted, fmt::format("Gloo cannot connect {} ranks: {}",
                                                            members.size(), problem.what())});
  }
  return made;
}

Result<void> GlooCommunicator::Register(const Buffer&) {
  return tl::unexpected(
      Error{Code::kFailedPrecondition, "the host device has no buffers to register"});
}

Result<std::unique_ptr<Communicator>> GlooCommunicator::Split(int color, bool share) {
  if (share)
    return tl::unexpected(Error{Code::kFailedPrecondition,
                                "the host device's communicators have no buffers to share"});
  const std::string key = fmt::format("{}/split{}", name_, splits_++);
  std::vector<int> members;
  if (size() == 1) {
    if (color >= 0) members = members_;
  } else {
    const auto colors =
        world_.store().Gather(key, rank_, size(), std::to_string(color), world_.limits().operation);
    if (!colors) return tl::unexpected(colors.error());
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (color >= 0 && (*colors)[i] == std::to_string(color)) members.push_back(members_[i]);
  }
  if (members.empty()) return nullptr;
  return Connect(world_, members, fmt::format("{}/{}", key, color));
}

Result<void> GlooCommunicator::Enqueue(const CollectiveCall& call, Stream& stream) {
  return HostStream::Of(stream).Run([this, call]() -> Result<void> {
    try {
      Run(call);
      return {};
    } catch (const std::exception& problem) {
      return tl::unexpected(
          Error{Code::kAborted, fmt::format("Gloo's {}: {}", Name(call.op), problem.what())});
    }
  });
}

void GlooCommunicator::Run(const CollectiveCall& call) {
  const std::size_t all = call.count * static_cast<std::size_t>(size());
  const bool in_place = InPlaceOf(call, rank_, size()) && [&] {
    const BufferSizes sizes = SizesOf(call, size());
    const auto* send = static_cast<const char*>(call.send);
    const auto* receive = static_cast<const char*>(call.receive);
    return send < receive + sizes.receive && receive < send + sizes.send;
  }();
  if (size() == 1) {
    if (call.send != call.receive) std::memcpy(call.receive, call.send, SizesOf(call, 1).send);
    return;
  }
  WithWidth(call.dtype, [&](auto element) {
    using T = decltype(element);
    switch (call.op) {
      case Collective::kAllReduce: {
        gloo::AllreduceOptions options(context_);
        if (!in_place) options.setInput(In<T>(call), call.count);
        options.setOutput(Out<T>(call), call.count);
        options.setReduceFunction(SumOf(call.dtype));
        gloo::allreduce(options);
        return;
      }
      case Collective::kAllGather: {
        gloo::AllgatherOptions options(context_);
        if (!in_place) options.setInput(In<T>(call), call.count);
        options.setOutput(Out<T>(call), all);
        gloo::allgather(options);
        return;
      }
      case Collective::kBroadcast: {
        gloo::BroadcastOptions options(context_);
        if (!in_place && rank_ == call.root) options.setInput(In<T>(call), call.count);
        options.setOutput(Out<T>(call), call.count);
        options.setRoot(call.root);
        gloo::broadcast(options);
        return;
      }
      case Collective::kReduce: {
        gloo::ReduceOptions options(context_);
        if (!in_place) options.setInput(In<T>(call), call.count);
        options.setOutput(Out<T>(call), call.count);
        options.setRoot(call.root);
        options.setReduceFunction(SumOf(call.dtype));
        gloo::reduce(options);
        return;
      }
      case Collective::kAllToAll: {
        gloo::AlltoallOptions options(context_);
        options.setInput(In<T>(call), all);
        options.setOutput(Out<T>(call), all);
        gloo::alltoall(options);
        return;
      }
      case Collective::kReduceScatter:
        return ReduceScatter(call);
      case Collective::kSendRecv:
        return SendRecv(call);
    }
  });
}

// A ring, which this Gloo does not bring: in step s rank r passes on the partial sum of block
// r - 1 - s and adds its own part to block r - 2 - s; after n - 1 steps it holds block r.
void GlooCommunicator::ReduceScatter(const CollectiveCall& call) {
  const std::size_t block = call.count * SizeOf(call.dtype);
  const auto ranks = static_cast<std::size_t>(size()), self = static_cast<std::size_t>(rank_);
  const auto* send = static_cast<const char*>(call.send);
  const auto block_of = [&](std::size_t step) { return (self + 2 * ranks - 1 - step) % ranks; };
  if (scratch_.size() < 2 * block) scratch_.resize(2 * block);
  char *partial = scratch_.data(), *arriving = scratch_.data() + block;
  std::memcpy(partial, send + block_of(0) * block, block);
  for (std::size_t step = 0; step + 1 < ranks; ++step) {
    const auto out = context_->createUnboundBuffer(partial, block);
    const auto in = context_->createUnboundBuffer(arriving, block);
    in->recv(static_cast<int>((self + ranks - 1) % ranks), kScatterSlot);
    out->send(static_cast<int>((self + 1) % ranks), kScatterSlot);
    in->waitRecv(context_->getTimeout());
    out->waitSend(context_->getTimeout());
    const char* own = send + block_of(step + 1) * block;
    const bool last = step + 2 == ranks;
    AddArrays(call.dtype, last ? call.receive : arriving, arriving, own, call.count);
    std::swap(partial, arriving);
  }
}

void GlooCommunicator::SendRecv(const CollectiveCall& call) {
  const std::size_t bytes = call.count * SizeOf(call.dtype);
  const auto out = context_->createUnboundBuffer(const_cast<void*>(call.send), bytes);
  const auto in = context_->createUnboundBuffer(call.receive, bytes);
  in->recv((rank_ + size() - 1) % size(), kSendSlot);
  out->send((rank_ + 1) % size(), kSendSlot);
  in->waitRecv(context_->getTimeout());
  out->waitSend(context_->getTimeout());
}
}  // namespace shardplan::probe
