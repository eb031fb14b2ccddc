// SPDX-License-Identifier: Apache-2.0
// Tensors on the GPU, and kernels held against their references on fresh random inputs.
//
// Each run draws a new seed, which every failure prints; SHARDPLAN_SEED repeats one.
#pragma once
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>

#include "kernels/dtype.h"
#include "tests/kernels/vectors.h"

namespace shardplan::kernels {

inline void Check(cudaError_t status) {
  ASSERT_EQ(status, cudaSuccess) << cudaGetErrorString(status);
}

class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes) {
    void* data = nullptr;
    Check(cudaMalloc(&data, std::max<size_t>(bytes, 16)));
    data_.reset(data, cudaFree);
    Check(cudaMemset(data, 0xFF, bytes));  // NaN in every format: what is not written shows
  }
  void* get() const { return data_.get(); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_.get());
  }
  void Write(const void* from) { Check(cudaMemcpy(get(), from, bytes_, cudaMemcpyHostToDevice)); }
  template <class T>
  std::vector<T> Read() const {
    std::vector<T> values(bytes_ / sizeof(T));
    Check(cudaMemcpy(values.data(), get(), bytes_, cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  size_t bytes_;
  std::shared_ptr<void> data_;
};

template <class T>
Memory Upload(const std::vector<T>& values) {
  Memory memory(values.size() * sizeof(T));
  memory.Write(values.data());
  return memory;
}

// A tensor of `dtype`; its values in double.
class Tensor {
 public:
  Tensor(int64_t elements, DType dtype)
      : elements_(elements),
        dtype_(dtype),
        memory_(static_cast<size_t>(elements * SizeOf(dtype))) {}
  Tensor(const Vector& values, DType dtype) : Tensor(static_cast<int64_t>(values.size()), dtype) {
    memory_.Write(Encode(values, dtype).data());
  }
  void* get() const { return memory_.get(); }
  float* floats() const { return memory_.as<float>(); }
  Vector Read() const {
    const auto bytes = memory_.Read<std::byte>();
    return Decode(bytes.data(), elements_, dtype_);
  }

 private:
  int64_t elements_;
  DType dtype_;
  Memory memory_;
};

class OnDevice : public testing::Test {
 protected:
  OnDevice() : seed_(Seed()), random_(seed_), trace_(__FILE__, __LINE__, Repeat(seed_)) {}
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
      GTEST_SKIP() << "no GPU is seen here: " << cudaGetErrorString(cudaGetLastError());
  }
  void TearDown() override {
    if (!IsSkipped()) {
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    }
  }

  uint64_t seed_;
  Random random_;

 private:
  static uint64_t Seed() {
    const char* fixed = std::getenv("SHARDPLAN_SEED");
    return fixed ? std::strtoull(fixed, nullptr, 10) : std::random_device{}();
  }
  static std::string Repeat(uint64_t seed) {
    return "repeat with SHARDPLAN_SEED=" + std::to_string(seed);
  }
  testing::ScopedTrace trace_;
};

class OnDeviceIn : public OnDevice, public testing::WithParamInterface<DType> {};
#define SHARDPLAN_IN_EACH_FORMAT(suite)                                                         \
  INSTANTIATE_TEST_SUITE_P(In, suite,                                                           \
                           testing::Values(DType::kFloat32, DType::kFloat16, DType::kBFloat16), \
                           [](const auto& dtype) { return NameOf(dtype.param); })

// What results of `dtype` may err by, relative to what they are made of: its rounding, and that of
// sums of `terms` in fp32, whose errors add up like a random walk.
inline double Tolerance(DType dtype, double terms = 1) {
  return 2 * UnitRoundoff(dtype) + 16 * UnitRoundoff(DType::kFloat32) * std::sqrt(terms);
}

// Every element within `tolerance` of itself and four of the typical element, which stands for
// what cancelled on the way; and all together within `tolerance`.
inline void ExpectClose(const Vector& got, const Vector& want, double tolerance,
                        const std::string& of) {
  ASSERT_EQ(got.size(), want.size()) << of;
  double squares = 0;
  double errors = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_TRUE(std::isfinite(got[i])) << of << " at " << i << ": " << got[i];
    squares += want[i] * want[i];
    errors += (got[i] - want[i]) * (got[i] - want[i]);
  }
  const double typical = std::sqrt(squares / static_cast<double>(want.size()));
  EXPECT_LE(std::sqrt(errors), tolerance * std::sqrt(squares)) << of;
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want[i], tolerance * (std::abs(want[i]) + 4 * typical))
        << of << " at " << i;
}
}  // namespace shardplan::kernels
