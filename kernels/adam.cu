// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/adam.h"
#include "kernels/device.cuh"

namespace shardplan::kernels {
namespace {

constexpr int kThreads = 256;
// Elements of a thread at a time: 16 bytes of the widest tensor that is always there.
template <class... Types>
inline constexpr int kGroupOf = 16 / static_cast<int>(std::max({sizeof(Types)...}));

struct Factors {
  bool decoupled;
  float beta1;
  float beta2;
  float epsilon;
  float decay;       // rate * decay for AdamW
  float rate;        // over the first moment's share
  float root_share;  // 1 over the square root of the second moment's
};

template <class T, int kGroup>
struct alignas(std::min<size_t>(16, sizeof(T) * kGroup)) Group {
  T lane[kGroup];
};
// `count` is kGroup but for the tail of a tensor.
template <int kGroup, class T>
__device__ Floats<kGroup> Load(const T* p, int count) {
  Floats<kGroup> out = {};
  if (count == kGroup) {
    const auto group = *reinterpret_cast<const Group<T, kGroup>*>(p);
    for (int j = 0; j < kGroup; ++j) out.lane[j] = ToFloat(group.lane[j]);
  } else {
#pragma unroll
    for (int j = 0; j < kGroup; ++j)
      if (j < count) out.lane[j] = ToFloat(p[j]);
  }
  return out;
}
template <int kGroup, class T>
__device__ void Store(T* p, const Floats<kGroup>& in, int count) {
  if (count == kGroup) {
    Group<T, kGroup> group;
    for (int j = 0; j < kGroup; ++j) group.lane[j] = FromFloat<T>(in.lane[j]);
    using Word = std::conditional_t<sizeof group % 16 == 0, uint4, uint2>;
#pragma unroll
    for (size_t i = 0; i < sizeof group / sizeof(Word); ++i)  // not read again soon
      __stcs(reinterpret_cast<Word*>(p) + i, reinterpret_cast<const Word*>(&group)[i]);
  } else {
#pragma unroll
    for (int j = 0; j < kGroup; ++j)
      if (j < count) p[j] = FromFloat<T>(in.lane[j]);
  }
}

__device__ void Step(const Factors& factors, float g, float& w, float& m, float& v) {
  if (factors.decoupled)
    w -= factors.decay * w;
  else
    g += factors.decay * w;
  m = factors.beta1 * m + (1.f - factors.beta1) * g;
  v = factors.beta2 * v + (1.f - factors.beta2) * g * g;
  const float root = v > 0 ? v * rsqrtf(v) : 0.f;
  w -= factors.rate * m * Reciprocal(root * factors.root_share + factors.epsilon);
}

template <class Parameter, class Gradient, class Moment>
__global__ void __launch_bounds__(kThreads, 4)
    Update(Factors factors, const AdamTensor* tensors, const Chunk* chunks, const float* scale) {
  constexpr int kGroup = kGroupOf<Parameter, Gradient, Moment>;
  const float factor = scale ? *scale : 1.f;
  if (!isfinite(factor)) return;
  const Chunk chunk = chunks[blockIdx.x];
  const AdamTensor tensor = tensors[chunk.tensor];
  const int64_t start = chunk.index * kChunkElements;
  const int64_t end = min(start + kChunkElements, tensor.elements);
  auto* parameter = static_cast<Parameter*>(tensor.parameter);
  const auto* gradient = static_cast<const Gradient*>(tensor.gradient);
  auto* first = static_cast<Moment*>(tensor.first_moment);
  auto* second = static_cast<Moment*>(tensor.second_moment);

  for (int64_t i = start + threadIdx.x * kGroup; i < end; i += kThreads * kGroup) {
    const int count = static_cast<int>(min(int64_t{kGroup}, end - i));
    const auto g = Load<kGroup>(gradient + i, count);
    auto m = Load<kGroup>(first + i, count);
    auto v = Load<kGroup>(second + i, count);
    auto w =
        tensor.master ? Load<kGroup>(tensor.master + i, count) : Load<kGroup>(parameter + i, count);
    for (int j = 0; j < kGroup; ++j)
      Step(factors, g.lane[j] * factor, w.lane[j], m.lane[j], v.lane[j]);
    Store(first + i, m, count);
    Store(second + i, v, count);
    if (tensor.master) Store(tensor.master + i, w, count);
    Store(parameter + i, w, count);
  }
}

// Calls body(parameter, gradient, moment) with the Tags of the formats.
template <class Body>
void DispatchAdam(const AdamFormats& formats, Body&& body) {
  SHARDPLAN_CHECK(formats.gradient == DType::kFloat32 || formats.gradient == formats.parameter);
  SHARDPLAN_CHECK(formats.moment == DType::kFloat32 || formats.moment == DType::kBFloat16);
  Dispatch(formats.parameter, [&](auto parameter) {
    const auto with_gradient = [&](auto gradient) {
      if (formats.moment == DType::kFloat32)
        body(parameter, gradient, Tag<float>{});
      else
        body(parameter, gradient, Tag<__nv_bfloat16>{});
    };
    if (formats.gradient == formats.parameter)
      with_gradient(parameter);
    else
      with_gradient(Tag<float>{});
  });
}
}  // namespace

void Adam(const AdamSettings& settings, const AdamFormats& formats, const AdamTensor* tensors,
          const Chunk* chunks, int64_t chunk_count, const float* scale, Stream stream) {
  SHARDPLAN_CHECK(settings.step >= 1);
  const auto step = static_cast<double>(settings.step);
  const double first_share = 1 - std::pow(settings.beta1, step);
  const double second_share = 1 - std::pow(settings.beta2, step);
  const double decay = settings.decoupled ? settings.rate * settings.decay : settings.decay;
  const Factors factors{settings.decoupled,
                        static_cast<float>(settings.beta1),
                        static_cast<float>(settings.beta2),
                        static_cast<float>(settings.epsilon),
                        static_cast<float>(decay),
                        static_cast<float>(settings.rate / first_share),
                        static_cast<float>(1 / std::sqrt(second_share))};
  DispatchAdam(formats, [&](auto parameter, auto gradient, auto moment) {
    using P = typename decltype(parameter)::Type;
    using G = typename decltype(gradient)::Type;
    using M = typename decltype(moment)::Type;
    Launch(Update<P, G, M>, GridOf(chunk_count, 1), kThreads, stream, factors, tensors, chunks,
           scale);
  });
}
}  // namespace shardplan::kernels
