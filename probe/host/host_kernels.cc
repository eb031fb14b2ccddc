// SPDX-License-Identifier: Apache-2.0
// Attention and the memory-bound passes of passes.h on the host device: the references of kernels/
// in fp32, one thread.
#include <algorithm>
#include <random>
#include <vector>

#include "kernels/activation.h"
#include "kernels/adam.h"
#include "kernels/attention.h"
#include "kernels/cross_entropy.h"
#include "kernels/embedding.h"
#include "kernels/gradient_norm.h"
#include "kernels/norm.h"
#include "kernels/rotary.h"
#include "probe/host/host_device.h"
#include "probe/host/host_stream.h"
#include "probe/passes.h"

namespace shardplan::probe {
namespace {

using namespace kernels;  // NOLINT: all that this file does is to call it
using Call = std::function<void()>;

// Memory for one kernel, from -1 to 1. The first failure sticks; until then pointers may be null.
class Operands {
 public:
  explicit Operands(HostDevice& device) : device_(device) {}
  float* Floats(std::int64_t count) {
    auto* values = Room<float>(count);
    for (std::int64_t i = 0; values != nullptr && i < count; ++i)
      values[i] = static_cast<float>(random_() % 2001) / 1000 - 1;
    return values;
  }
  std::int32_t* Integers(std::int64_t count, std::uint32_t below) {
    auto* values = Room<std::int32_t>(count);
    for (std::int64_t i = 0; values != nullptr && i < count; ++i)
      values[i] = static_cast<std::int32_t>(random_() % below);
    return values;
  }
  template <class T>
  T* Room(std::int64_t count) {
    if (!held_) return nullptr;
    Result<Buffer> buffer =
        device_.Allocate(static_cast<std::size_t>(count) * sizeof(T), Place::kDevice);
    if (!buffer) {
      held_ = tl::unexpected(buffer.error());
      return nullptr;
    }
    held_->push_back(*buffer);
    return static_cast<T*>(buffer->at());
  }
  // `call` as work that keeps the memory.
  Result<Work> Make(Call call) {
    if (!held_) return tl::unexpected(held_.error());
    return Work([call = std::move(call), held = *held_](Stream& stream) {
      return HostStream::Of(stream).Run([call, held]() -> Result<void> {
        call();
        return {};
      });
    });
  }

 private:
  HostDevice& device_;
  std::minstd_rand random_{1};
  Result<std::vector<Buffer>> held_ = std::vector<Buffer>();
};

// What every pass is made from.
struct Context {
  std::int64_t elements, rows, width;
  Operands& operands;
  float* Tensor() const { return operands.Floats(elements); }
};

Call Norm(const Context& c, NormKind kind, bool residual) {
  const NormShape shape{kind, c.rows, c.width};
  const bool is_layer = kind == NormKind::kLayer;
  Operands& o = c.operands;
  const NormForwardArgs<float, float> args{c.Tensor(),
                                           residual ? c.Tensor() : nullptr,
                                           o.Floats(c.width),
                                           is_layer ? o.Floats(c.width) : nullptr,
                                           residual ? c.Tensor() : nullptr,
                                           c.Tensor(),
                                           is_layer ? o.Floats(c.rows) : nullptr,
                                           o.Floats(c.rows)};
  return [=] { NormForwardReference(shape, args); };
}

Call NormGradient(const Context& c, NormKind kind) {
  const NormShape shape{kind, c.rows, c.width};
  const bool is_layer = kind == NormKind::kLayer;
  Operands& o = c.operands;
  const NormBackwardArgs<float, float> args{c.Tensor(),
                                            o.Floats(c.width),
                                            c.Tensor(),
                                            c.Tensor(),
                                            is_layer ? o.Floats(c.rows) : nullptr,
                                            o.Floats(c.rows),
                                            c.Tensor(),
                                            o.Floats(c.width),
                                            is_layer ? o.Floats(c.width) : nullptr};
  return [=] { NormBackwardReference(shape, args); };
}

Call Rotate(const Context& c) {
  const RotaryShape shape{c.rows, c.width / kPassHeadDim, kPassHeadDim, c.width,
                          std::min<std::int64_t>(c.rows, 4096)};
  const std::int64_t angles = shape.positions * kPassHeadDim / 2;
  const float *x = c.Tensor(), *cos = c.operands.Floats(angles), *sin = c.operands.Floats(angles);
  float* y = c.Tensor();
  return [=] { RotaryReference(shape, Direction::kForward, x, cos, sin, y); };
}

// gate and up in one fused projection.
Call SwiGlu(const Context& c, bool backward) {
  const SwiGluShape shape{c.rows, c.width, 2 * c.width};
  const float* in = c.operands.Floats(2 * c.elements);
  float* y = c.Tensor();
  if (!backward) return [=] { SwiGluForwardReference(shape, in, in + shape.columns, y); };
  float* out = c.operands.Floats(2 * c.elements);
  return
      [=] { SwiGluBackwardReference(shape, in, in + shape.columns, y, out, out + shape.columns); };
}

Call Gelu(const Context& c, bool backward) {
  const GeluShape shape{GeluKind::kTanh, c.rows, c.width};
  const float *x = c.Tensor(), *bias = c.operands.Floats(c.width);
  float* y = c.Tensor();
  if (!backward) return [=] { GeluForwardReference(shape, x, bias, y); };
  float *dx = c.Tensor(), *dbias = c.operands.Floats(c.width);
  return [=] { GeluBackwardReference(shape, x, bias, y, dx, dbias); };
}

Call CrossEntropy(const Context& c, bool backward) {
  const CrossEntropyShape shape{.rows = c.rows, .columns = c.width};
  float* logits = c.Tensor();
  const auto* targets = c.operands.Integers(c.rows, static_cast<std::uint32_t>(c.width));
  auto* statistics = c.operands.Room<SoftmaxStatistics<float>>(c.rows);
  if (!backward)
    return [=] { CrossEntropyStatisticsReference(shape, logits, targets, statistics); };
  if (statistics == nullptr) return {};  // no memory, which Make says
  // Its own results are its next inputs, so the logits' statistics stay those of the first.
  CrossEntropyStatisticsReference(shape, logits, targets, statistics);
  return [=] { CrossEntropyGradientReference(shape, 1, statistics, targets, logits); };
}

Call Embed(const Context& c, bool backward) {
  constexpr std::int32_t kVocabulary = 32000;
  const EmbeddingShape shape{c.rows, c.width, 0, kVocabulary};
  const auto* ids = c.operands.Integers(c.rows, kVocabulary);
  float *table = c.operands.Floats(kVocabulary * c.width), *y = c.Tensor();
  if (backward) return [=] { EmbeddingBackwardReference(shape, ids, y, table); };
  return [=] { EmbeddingForwardReference(shape, ids, table, y); };
}

Call AdamW(const Context& c) {
  const std::int64_t elements = c.elements;
  const float* gradient = c.Tensor();
  float *weight = c.Tensor(), *first = c.Tensor(), *second = c.Tensor();
  for (std::int64_t i = 0; second != nullptr && i < elements; ++i) second[i] = 1;  // of squares
  return [=] { AdamReference(AdamSettings{}, elements, gradient, weight, first, second); };
}

Call GradientNorm(const Context& c) {
  const std::int64_t elements = c.elements;
  const float* x = c.Tensor();
  auto* sum = c.operands.Room<double>(1);
  return [=] { *sum = SumOfSquaresReference(elements, x); };
}

struct Row {
  std::string_view name;
  Call (*make)(const Context&);
};
constexpr Row kRows[] = {
    {"rms_norm", [](const Context& c) { return Norm(c, NormKind::kRms, false); }},
    {"rms_norm_residual", [](const Context& c) { return Norm(c, NormKind::kRms, true); }},
    {"rms_norm_backward", [](const Context& c) { return NormGradient(c, NormKind::kRms); }},
    {"layer_norm", [](const Context& c) { return Norm(c, NormKind::kLayer, false); }},
    {"layer_norm_residual", [](const Context& c) { return Norm(c, NormKind::kLayer, true); }},
    {"layer_norm_backward", [](const Context& c) { return NormGradient(c, NormKind::kLayer); }},
    {"rotary", Rotate},
    {"swiglu", [](const Context& c) { return SwiGlu(c, false); }},
    {"swiglu_backward", [](const Context& c) { return SwiGlu(c, true); }},
    {"gelu", [](const Context& c) { return Gelu(c, false); }},
    {"gelu_backward", [](const Context& c) { return Gelu(c, true); }},
    {"cross_entropy", [](const Context& c) { return CrossEntropy(c, false); }},
    {"cross_entropy_backward", [](const Context& c) { return CrossEntropy(c, true); }},
    {"embedding", [](const Context& c) { return Embed(c, false); }},
    {"embedding_backward", [](const Context& c) { return Embed(c, true); }},
    {"adamw", AdamW},
    {"gradient_norm", GradientNorm},
};
}  // namespace

Result<Work> HostDevice::Elementwise(const ElementwiseShape& shape) {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const Row& each) { return each.name == shape.name; });
  if (row == std::end(kRows) || shape.dtype != Dtype::kFp32) return Device::Elementwise(shape);
  if (shape.name == "rotary" && shape.width % kPassHeadDim != 0)
    return Invalid("rotary: width must be whole heads of 128 elements");
  Operands operands(*this);
  Call call = row->make({shape.elements, shape.elements / shape.width, shape.width, operands});
  return operands.Make(std::move(call));
}

Result<Work> HostDevice::Attention(const AttentionShape& shape) {
  if (shape.dtype != Dtype::kFp32) return Device::Attention(shape);
  const kernels::AttentionShape of{shape.batch,    shape.seq,      shape.heads,
                                   shape.kv_heads, shape.head_dim, shape.causal};
  const std::int64_t tokens = shape.batch * shape.seq;
  const std::int64_t queries = tokens * shape.heads * shape.head_dim;
  const std::int64_t keys = tokens * shape.kv_heads * shape.head_dim;
  Operands operands(*this);
  const float *q = operands.Floats(queries), *k = operands.Floats(keys), *v = operands.Floats(keys);
  float *y = operands.Floats(queries), *lse = operands.Floats(tokens * shape.heads);
  if (!shape.backward)
    return operands.Make([=] { AttentionForwardReference(of, q, k, v, y, lse); });
  const float* dy = operands.Floats(queries);
  float *dq = operands.Floats(queries), *dk = operands.Floats(keys), *dv = operands.Floats(keys);
  if (dv != nullptr) AttentionForwardReference(of, q, k, v, y, lse);
  return operands.Make([=] { AttentionBackwardReference(of, q, k, v, y, lse, dy, dq, dk, dv); });
}
}  // namespace shardplan::probe
