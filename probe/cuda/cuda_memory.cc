// SPDX-License-Identifier: Apache-2.0
// The access patterns of patterns.h on the CUDA device.
#include <algorithm>

#include "kernels/memory_hierarchy.h"
#include "probe/cuda/cuda_error.h"
#include "probe/cuda/operands.h"

namespace shardplan::probe {
namespace {

using namespace kernels;  // NOLINT: all that this file does is to call it

// A reader of `memory`: returns the bytes that it asks for.
using Reader = std::function<std::int64_t(const std::uint32_t*, std::uint32_t* sum, cudaStream_t)>;

constexpr std::int64_t kOddColumns = 1001;  // words: no row but the first is aligned
constexpr std::int64_t kPitch = 1024;       // of the same rows, 512-byte boundaries
constexpr std::int64_t kSmallReads = 4096;  // a thread's, of shared or constant memory
constexpr std::int64_t kCacheTraffic = std::int64_t{4} << 30;  // bytes of all passes together

MemoryAccess ReadBy(std::shared_ptr<void> held, const std::uint32_t* in, std::uint32_t* sum,
                    const Reader& reader) {
  const auto bytes = static_cast<double>(reader(in, sum, nullptr));
  return {.work = LaunchWork(std::move(held), [=](cudaStream_t s) { reader(in, sum, s); }),
          .bytes = bytes};
}

// Readers of ordinary device memory, and of what a block holds itself.
Reader ReaderOf(const MemoryShape& shape) {
  const std::int64_t words = shape.bytes / 4, stride = shape.stride, bytes = shape.bytes;
  if (shape.pattern == "read")
    return [=](auto* in, auto* sum, auto s) { return ReadStrided(words, stride, in, sum, s); };
  if (shape.pattern == "packed_rows" || shape.pattern == "pitched_rows") {
    const std::int64_t pitch = shape.pattern == "packed_rows" ? kOddColumns : kPitch;
    return [=](auto* in, auto* sum, auto s) {
      return ReadPitched(words / kPitch, kOddColumns, pitch, in, sum, s);
    };
  }
  if (shape.pattern == "last_cache") {
    const std::int64_t passes = std::max<std::int64_t>(1, kCacheTraffic / bytes);
    return [=](auto* in, auto* sum, auto s) { return ReadRepeatedly(bytes, passes, in, sum, s); };
  }
  if (shape.pattern == "shared")
    return [=](auto*, auto* sum, auto s) { return ReadShared(stride, kSmallReads, sum, s); };
  if (shape.pattern == "constant")
    return [=](auto*, auto* sum, auto s) { return ReadConstant(stride - 1, kSmallReads, sum, s); };
  return {};
}

Result<MemoryAccess> TextureAccess(CudaDevice& device, const MemoryShape& shape) {
  std::int64_t side = 64;
  while (4 * side * side * 4 <= shape.bytes && side < 32768) side *= 2;
  Operands operands(device);
  const auto* in = operands.Integers(side * side, 1 << 30);
  auto* sum = static_cast<std::uint32_t*>(operands.Room(4));
  auto held = operands.Ready();
  if (!held) return tl::unexpected(held.error());
  auto texture = Texture::Make(side, reinterpret_cast<const std::uint32_t*>(in), nullptr);
  if (!texture) return tl::unexpected(texture.error());
  const auto along =
      shape.pattern == "texture_rows" ? Texture::Along::kRows : Texture::Along::kColumns;
  return ReadBy(std::move(*held), nullptr, sum,
                [along, texture = std::make_shared<Texture>(std::move(*texture))](
                    auto*, auto* total, auto s) { return texture->Read(along, total, s); });
}

// Managed memory that is moved to the host before each run, and read from the device in it.
Result<MemoryAccess> ManagedAccess(CudaDevice& device, const MemoryShape& shape) {
  // More managed memory than is free can hang the GPU, and with it all who share it.
  const auto bytes = static_cast<std::size_t>(shape.bytes);
  if (bytes > std::min<std::size_t>(std::size_t{1} << 30, device.Memory().free / 4))
    return Invalid("memory: managed patterns take 1 GiB at most, and a quarter of what is free");
  void* managed = nullptr;
  if (const auto made = Check(cudaMallocManaged(&managed, bytes), "cudaMallocManaged"); !made)
    return tl::unexpected(made.error());
  const std::shared_ptr<void> memory(managed, cudaFree);
  const cudaMemLocation gpu{cudaMemLocationTypeDevice, {device.index()}};
  const cudaMemLocation host{cudaMemLocationTypeHost, {0}};
  Operands operands(device);
  auto* sum = static_cast<std::uint32_t*>(operands.Room(4));
  auto held = operands.Ready();
  if (!held) return tl::unexpected(held.error());

  const bool is_prefetched = shape.pattern == "managed_prefetch";
  if (shape.pattern == "managed_remote") {
    // It stays on the host, and the GPU maps it: reading does not move it.
    for (const auto& [advice, where] : {std::pair{cudaMemAdviseSetPreferredLocation, host},
                                        std::pair{cudaMemAdviseSetAccessedBy, gpu}})
      if (const auto done = Check(cudaMemAdvise(managed, bytes, advice, where), "cudaMemAdvise");
          !done)
        return tl::unexpected(done.error());
  }
  std::fill_n(static_cast<std::uint32_t*>(managed), bytes / 4, 1u);
  Work read = [=, sums = *held, words = shape.bytes / 4](Stream& stream) -> Result<void> {
    const cudaStream_t s = CudaStream::Of(stream);
    if (is_prefetched)
      if (auto done =
              Check(cudaMemPrefetchAsync(memory.get(), bytes, gpu, 0, s), "cudaMemPrefetchAsync");
          !done)
        return done;
    ReadStrided(words, 1, static_cast<const std::uint32_t*>(memory.get()), sum, s);
    return Check(cudaGetLastError(), "reading managed memory");
  };
  Work move_back = [=](Stream& stream) {
    return Check(cudaMemPrefetchAsync(memory.get(), bytes, host, 0, CudaStream::Of(stream)),
                 "cudaMemPrefetchAsync");
  };
  return MemoryAccess{std::move(read), std::move(move_back), static_cast<double>(bytes)};
}

// A pool that gives nothing back to the device between allocations.
Result<MemoryAccess> AllocationAccess(CudaDevice& device, const MemoryShape& shape) {
  const auto bytes = static_cast<std::size_t>(shape.bytes);
  if (shape.pattern == "allocate")
    return MemoryAccess{.work = [bytes](Stream&) -> Result<void> {
      void* memory = nullptr;
      if (auto made = Check(cudaMalloc(&memory, bytes), "cudaMalloc"); !made) return made;
      return Check(cudaFree(memory), "cudaFree");
    }};
  cudaMemPool_t pool = nullptr;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, {device.index()}};
  if (const auto made = Check(cudaMemPoolCreate(&pool, &properties), "cudaMemPoolCreate"); !made)
    return tl::unexpected(made.error());
  const std::shared_ptr<std::remove_pointer_t<cudaMemPool_t>> owned(pool, cudaMemPoolDestroy);
  std::uint64_t keep = UINT64_MAX;
  if (const auto set = Check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep),
                             "cudaMemPoolSetAttribute");
      !set)
    return tl::unexpected(set.error());
  return MemoryAccess{.work = [bytes, owned](Stream& stream) -> Result<void> {
    void* memory = nullptr;
    const cudaStream_t s = CudaStream::Of(stream);
    if (auto made =
            Check(cudaMallocFromPoolAsync(&memory, bytes, owned.get(), s), "cudaMallocAsync");
        !made)
      return made;
    return Check(cudaFreeAsync(memory, s), "cudaFreeAsync");
  }};
}
}  // namespace

Result<MemoryAccess> CudaDevice::Access(const MemoryShape& shape) {
  const auto starts = [&](const char* word) { return shape.pattern.rfind(word, 0) == 0; };
  if (shape.bytes < 65536 || shape.bytes % 4096 != 0)
    return Invalid("memory: bytes must be a multiple of 4096, and 65536 or more");
  if (starts("texture")) return TextureAccess(*this, shape);
  if (starts("managed")) return ManagedAccess(*this, shape);
  if (starts("allocate")) return AllocationAccess(*this, shape);

  Operands operands(*this);
  void* in = operands.Integers(shape.bytes / 4, 1 << 30);
  auto* sum = static_cast<std::uint32_t*>(operands.Room(4));
  void* out = shape.pattern == "copy" ? operands.Room(shape.bytes) : nullptr;
  auto held = operands.Ready();
  if (!held) return tl::unexpected(held.error());
  if (shape.pattern == "copy")
    return MemoryAccess{.work = LaunchWork(std::move(*held),
                                           [=, bytes = shape.bytes](cudaStream_t s) {
                                             CopyMemory(bytes, in, out, s);
                                           }),
                        .bytes = 2.0 * static_cast<double>(shape.bytes)};
  if (starts("constant"))
    if (const auto filled = FillConstant(nullptr); !filled) return tl::unexpected(filled.error());
  const Reader reader = ReaderOf(shape);
  if (!reader) return Device::Access(shape);
  return ReadBy(std::move(*held), static_cast<const std::uint32_t*>(in), sum, reader);
}
}  // namespace shardplan::probe
