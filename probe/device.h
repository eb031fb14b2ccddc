// SPDX-License-Identifier: Apache-2.0
// The seam between probes and what they measure: memory, streams, events, kernels.
//
// Two devices implement it: host (threads, OpenBLAS, Gloo) and cuda. A probe is written against
// this header alone, so that it runs for real on both. What a device cannot do is an Error that
// names it, never a silent substitute. Collectives run through communicator.h.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "planner/base/quantity.h"
#include "planner/base/result.h"
#include "probe/dtype.h"
#include "probe/pattern.h"

namespace shardplan::probe {

class Communicator;
class Watch;
class World;
struct CommunicatorOptions;

// Where memory lies. On the host device all three are ordinary memory.
enum class Place { kDevice, kPinned, kPageable };

// Memory that is freed with the last copy of the handle.
struct Buffer {
  std::shared_ptr<void> memory;
  std::size_t bytes = 0;
  void* at(std::size_t offset = 0) const { return static_cast<std::byte*>(memory.get()) + offset; }
};

// A point in a stream's order, with the time at which it was passed.
class Event {
 public:
  virtual ~Event() = default;
};

// Work in order; different streams run at once. Destroying one waits for what it holds.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual Result<std::shared_ptr<Event>> Record() = 0;
  // What is enqueued from here on begins after `event`, of this or another stream of the device.
  virtual Result<void> After(const std::shared_ptr<Event>& event) = 0;
  // Until all that was enqueued is done. Returns the first error of what ran, a fault that the
  // watch saw (watch.h) included, and does not outlast it.
  virtual Result<void> Wait() = 0;
};

// Something that is ready to run, memory allocated and plans made: a call enqueues it once.
using Work = std::function<Result<void>(Stream&)>;

// How a linear layer's three products lie in memory: y = x W^T, dx = dy W, dW = dy^T x, with W of
// outputs x inputs. cuBLAS calls them TN, NN, NT.
enum class GemmPass { kForward, kInput, kWeight };
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;  // C (m x n) = A (m x k) B (k x n)
  Dtype dtype = Dtype::kFp32;
  std::int64_t batch = 1;
  GemmPass pass = GemmPass::kForward;
  int candidates = 1;  // of the library's best guesses, the fastest as measured
};
struct AttentionShape {
  std::int64_t batch = 0, heads = 0, kv_heads = 0, seq = 0, head_dim = 0;
  bool causal = true, backward = false;
  Dtype dtype = Dtype::kBf16;
};
// A memory-bound pass by name (passes.h): `elements` in rows of `width`.
struct ElementwiseShape {
  std::string name;
  std::int64_t elements = 0, width = 0;
  Dtype dtype = Dtype::kFp32;
};
// A pattern of access by name (patterns.h) over `bytes` of memory.
struct MemoryShape {
  std::string pattern;
  std::int64_t bytes = 0;
  std::int64_t stride = 1;  // in words of 4 bytes, where the pattern has one
};
struct MemoryAccess {
  Work work;
  Work before;       // what sets the stage, not measured; may be empty
  double bytes = 0;  // that one run moves or asks for
};

// What one of our own kernels takes of a multiprocessor.
struct KernelFacts {
  std::string name;
  int registers = 0;                     // a thread
  std::int64_t spilled = 0, shared = 0;  // bytes a thread, bytes a block
  int threads = 0;                       // a block
  double occupancy = 0;                  // resident threads of those that fit
};

struct DeviceInfo {
  std::string kind;  // "cuda" or "host", as a record's machine.device says it
  std::string name;  // "NVIDIA H200"; the processor's on the host
  std::string driver, cuda, nccl, cublas, cudnn;  // versions; empty where there is none
  std::string id;                                 // of this GPU among all of its host
  std::size_t last_cache = 0;                     // bytes of the cache before memory
};

// What is left to allocate. `ours` counts what Allocate gave out and is still held, `refused` is
// what it last could not give.
struct MemoryState {
  std::size_t free = 0, total = 0, ours = 0, refused = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual Result<std::unique_ptr<Stream>> MakeStream() = 0;
  // Between two events that were passed.
  virtual Result<Seconds> Between(const Event& from, const Event& to) = 0;

  // Code::kResourceExhausted where there is no room; Memory() then says how things stand.
  virtual Result<Buffer> Allocate(std::size_t bytes, Place place = Place::kDevice) = 0;
  virtual MemoryState Memory() = 0;
  virtual Result<void> Copy(void* to, const void* from, std::size_t bytes, Stream& stream) = 0;

  // Over the ranks of the world that `members` names, in that order; this one must be among them.
  // `name` is the same on all of them and used once.
  virtual Result<std::unique_ptr<Communicator>> Connect(World& world,
                                                        const std::vector<int>& members,
                                                        const std::string& name,
                                                        const CommunicatorOptions& options) = 0;
  // Writes the elements of `span`, resp. counts those that differ from it.
  virtual Result<void> Fill(void* array, Dtype dtype, const Pattern& pattern, const Span& span,
                            Stream& stream) = 0;
  virtual Result<long> CountWrong(const void* array, Dtype dtype, const Pattern& pattern,
                                  const Span& span, Stream& stream) = 0;

  // Enqueues `work` once while recording, and returns one that replays it in a single launch.
  virtual Result<Work> Capture(const Work& work, Stream& stream);

  // Kernels, with operands of their own on random data.
  virtual Result<Work> Gemm(const GemmShape& shape);
  virtual Result<Work> Attention(const AttentionShape& shape);
  virtual Result<Work> Elementwise(const ElementwiseShape& shape);
  virtual Result<MemoryAccess> Access(const MemoryShape& shape);
  // The kernels that one run of `work` launches.
  virtual Result<std::vector<KernelFacts>> KernelsOf(const Work& work, Stream& stream);
  // A launch of nothing: what it takes is the launch itself.
  virtual Result<Work> Nothing() = 0;

 protected:
  // "the host device has no `what`"
  tl::unexpected<Error> Lacks(std::string_view what) const;
};

// "8.0 GiB refused: 3.1 GiB of 16 GiB are free, 1 GiB of the rest ours"
std::string Explain(const MemoryState& state);

// The devices of this build, by kind. `index` is the GPU's number; the host device has only 0.
// Where the build lacks one, the error says what was missing.
Result<std::unique_ptr<Device>> OpenDevice(std::string_view kind, int index, Watch& watch);
// "cuda" where this build has it and a GPU is there, else "host".
std::string_view DefaultDevice();
}  // namespace shardplan::probe
