// SPDX-License-Identifier: Apache-2.0
#include "kernels/launch.h"
#include "kernels/memory_hierarchy.h"
#include "tests/kernels/gpu/on_device.h"

namespace shardplan::kernels {
namespace {

using MemoryHierarchyOnDevice = OnDevice;

class Sum {
 public:
  Sum() { Check(cudaMemset(memory_.get(), 0, 4)); }
  uint32_t* get() { return memory_.as<uint32_t>(); }
  uint32_t Read() { return memory_.Read<uint32_t>()[0]; }

 private:
  Memory memory_{4};
};

std::vector<uint32_t> Words(size_t count, uint64_t seed) {
  std::mt19937 engine(static_cast<uint32_t>(seed));
  std::vector<uint32_t> words(count);
  for (uint32_t& word : words) word = engine();
  return words;
}

TEST_F(MemoryHierarchyOnDevice, CopyCopies) {
  const auto words = Words(1 << 20, seed_);
  const Memory from = Upload(words), to(words.size() * 4);
  EXPECT_EQ(CopyMemory(1 << 22, from.get(), to.get(), nullptr), 1 << 23);
  EXPECT_EQ(to.Read<uint32_t>(), words);
}

TEST_F(MemoryHierarchyOnDevice, StridedReadsEveryStrideth) {
  const auto words = Words(1 << 20, seed_);
  const Memory in = Upload(words);
  for (const int64_t stride : {1, 3, 32}) {
    Sum sum;
    ReadStrided(1 << 20, stride, in.as<uint32_t>(), sum.get(), nullptr);
    uint32_t want = 0;
    for (int64_t i = 0; i < (1 << 20) / stride; ++i) want += words[static_cast<size_t>(i * stride)];
    EXPECT_EQ(sum.Read(), want) << stride;
  }
}

TEST_F(MemoryHierarchyOnDevice, PitchedReadsTheMatrixAndNotTheGaps) {
  const auto words = Words(100 * 640, seed_);
  const Memory in = Upload(words);
  Sum sum;
  EXPECT_EQ(ReadPitched(100, 601, 640, in.as<uint32_t>(), sum.get(), nullptr), 4 * 60100);
  uint32_t want = 0;
  for (size_t i = 0; i < words.size(); ++i) want += i % 640 < 601 ? words[i] : 0;
  EXPECT_EQ(sum.Read(), want);
}

TEST_F(MemoryHierarchyOnDevice, RepeatedReadsEachPass) {
  const auto words = Words(1 << 20, seed_);
  const Memory in = Upload(words);
  Sum sum;
  ReadRepeatedly(1 << 22, 3, in.get(), sum.get(), nullptr);
  EXPECT_EQ(sum.Read(), 3 * std::accumulate(words.begin(), words.end(), 0u));
}

TEST_F(MemoryHierarchyOnDevice, SharedAndConstantReadTheirOwnIndices) {
  int device = 0;
  int multiprocessors = 0;
  Check(cudaGetDevice(&device));
  Check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  ASSERT_TRUE(FillConstant(nullptr).has_value());
  constexpr int64_t kReads = 100;
  for (const int64_t stride : {1, 2, 32}) {
    Sum shared;
    Sum constant;
    const int64_t bytes = ReadShared(stride, kReads, shared.get(), nullptr);
    ReadConstant(stride, kReads, constant.get(), nullptr);
    const auto warps = static_cast<uint32_t>(bytes / (4 * kReads * 32));
    EXPECT_EQ(warps % static_cast<uint32_t>(multiprocessors), 0u);
    uint32_t want_shared = 0;
    uint32_t want_constant = 0;
    for (int64_t lane = 0; lane < 32; ++lane)
      for (int64_t i = 0; i < kReads; ++i) {
        want_shared += static_cast<uint32_t>((lane * stride + 32 * i) % kSharedWords);
        want_constant += static_cast<uint32_t>((lane * stride + i) % kConstantWords);
      }
    EXPECT_EQ(shared.Read(), warps * want_shared) << stride;
    EXPECT_EQ(constant.Read(), warps * want_constant) << stride;
  }
}

TEST_F(MemoryHierarchyOnDevice, TextureReadsAllEitherWay) {
  const auto words = Words(300 * 300, seed_);
  const Memory in = Upload(words);
  const auto texture = Texture::Make(300, in.as<uint32_t>(), nullptr);
  ASSERT_TRUE(texture.has_value()) << texture.error().message;
  for (const auto along : {Texture::Along::kRows, Texture::Along::kColumns}) {
    Sum sum;
    texture->Read(along, sum.get(), nullptr);
    EXPECT_EQ(sum.Read(), std::accumulate(words.begin(), words.end(), 0u));
  }
}

TEST_F(MemoryHierarchyOnDevice, ResourcesNameEachKernelOnce) {
  Sum sum;
  const auto resources = ResourcesOf([&] {
    ReadShared(1, 10, sum.get(), nullptr);
    ReadShared(2, 10, sum.get(), nullptr);
  });
  ASSERT_EQ(resources.size(), 1u);
  EXPECT_EQ(resources[0].name, "Shared");
  EXPECT_EQ(resources[0].shared, 4 * kSharedWords);
  EXPECT_GT(resources[0].registers, 0);
  EXPECT_GT(resources[0].occupancy, 0);
  EXPECT_LE(resources[0].occupancy, 1);
}
}  // namespace
}  // namespace shardplan::kernels
