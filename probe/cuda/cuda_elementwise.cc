// SPDX-License-Identifier: Apache-2.0
// The memory-bound passes of passes.h on the CUDA device: operands for each, and its launch.
#include <algorithm>

#include "kernels/activation.h"
#include "kernels/adam.h"
#include "kernels/cross_entropy.h"
#include "kernels/embedding.h"
#include "kernels/gradient_norm.h"
#include "kernels/launch.h"
#include "kernels/moe.h"
#include "kernels/norm.h"
#include "kernels/quantize.h"
#include "kernels/rotary.h"
#include "kernels/top_k.h"
#include "probe/cuda/operands.h"
#include "probe/passes.h"

namespace shardplan::probe {
namespace {

using namespace kernels;  // NOLINT: all that this file does is to call it
using Launcher = std::function<void(cudaStream_t)>;
using Shape = ElementwiseShape;

// What every pass is made from.
struct Context {
  std::int64_t elements, rows, width;
  DType dtype;
  Operands& operands;

  void* Tensor(double share = 1) const {
    return operands.Normal(static_cast<std::int64_t>(share * static_cast<double>(elements)), dtype);
  }
};

Launcher Norm(const Context& c, NormKind kind, bool residual) {
  const NormShape shape{kind, c.rows, c.width};
  const bool is_layer = kind == NormKind::kLayer;
  const NormForwardArgs<void, float> args{c.Tensor(),
                                          residual ? c.Tensor() : nullptr,
                                          c.operands.Normal(c.width, c.dtype),
                                          is_layer ? c.operands.Normal(c.width, c.dtype) : nullptr,
                                          residual ? c.Tensor() : nullptr,
                                          c.Tensor(),
                                          is_layer ? c.operands.Floats(c.rows) : nullptr,
                                          c.operands.Floats(c.rows)};
  return [=, dtype = c.dtype](cudaStream_t s) { NormForward(shape, dtype, args, s); };
}

Launcher NormGradient(const Context& c, NormKind kind) {
  const NormShape shape{kind, c.rows, c.width};
  const bool is_layer = kind == NormKind::kLayer;
  const NormBackwardArgs<void, float> args{c.Tensor(),
                                           c.operands.Normal(c.width, c.dtype),
                                           c.Tensor(),
                                           c.Tensor(),
                                           is_layer ? c.operands.Floats(c.rows) : nullptr,
                                           c.operands.Floats(c.rows),
                                           c.Tensor(),
                                           c.operands.Floats(c.width),
                                           is_layer ? c.operands.Floats(c.width) : nullptr};
  void* workspace = c.operands.Room(NormBackwardWorkspace(shape, c.dtype));
  return [=, dtype = c.dtype](cudaStream_t s) { NormBackward(shape, dtype, args, workspace, s); };
}

Launcher Rotate(const Context& c) {
  const RotaryShape shape{c.rows, c.width / kPassHeadDim, kPassHeadDim, c.width,
                          std::min<std::int64_t>(c.rows, 4096)};
  const void* x = c.Tensor();
  const float* cos = c.operands.Floats(shape.positions * kPassHeadDim / 2);
  const float* sin = c.operands.Floats(shape.positions * kPassHeadDim / 2);
  void* y = c.Tensor();
  return [=, dtype = c.dtype](cudaStream_t s) {
    Rotary(shape, dtype, Direction::kForward, x, cos, sin, y, s);
  };
}

// gate and up in one fused projection.
Launcher SwiGlu(const Context& c, bool backward) {
  const SwiGluShape shape{c.rows, c.width, 2 * c.width};
  const auto second = [&](void* p) {
    return static_cast<std::byte*>(p) + c.width * kernels::SizeOf(c.dtype);
  };
  void* in = c.Tensor(2);
  void* up = second(in);
  void* y = c.Tensor();
  if (!backward)
    return [=, dtype = c.dtype](cudaStream_t s) { SwiGluForward(shape, dtype, in, up, y, s); };
  void* dgate = c.Tensor(2);
  void* dup = second(dgate);
  return [=, dtype = c.dtype](cudaStream_t s) {
    SwiGluBackward(shape, dtype, in, up, y, dgate, dup, s);
  };
}

Launcher Gelu(const Context& c, bool backward) {
  const GeluShape shape{GeluKind::kTanh, c.rows, c.width};
  const void* x = c.Tensor();
  const void* bias = c.operands.Normal(c.width, c.dtype);
  void* y = c.Tensor();
  if (!backward)
    return [=, dtype = c.dtype](cudaStream_t s) { GeluForward(shape, dtype, x, bias, y, s); };
  void* dx = c.Tensor();
  float* dbias = c.operands.Floats(c.width);
  void* workspace = c.operands.Room(GeluBackwardWorkspace(shape, c.dtype));
  return [=, dtype = c.dtype](cudaStream_t s) {
    GeluBackward(shape, dtype, x, bias, y, dx, dbias, workspace, s);
  };
}

Launcher CrossEntropy(const Context& c, bool backward) {
  const CrossEntropyShape shape{c.rows, c.width};
  void* logits = c.Tensor();
  const auto* targets = c.operands.Integers(c.rows, static_cast<std::int32_t>(c.width));
  auto* statistics = static_cast<SoftmaxStatistics<float>*>(c.operands.Room(c.rows * 12));
  if (!backward)
    return [=, dtype = c.dtype](cudaStream_t s) {
      CrossEntropyStatistics(shape, dtype, logits, targets, statistics, s);
    };
  if (statistics == nullptr) return {};  // out of memory; Ready says so
  // Its own results are its next inputs, so the logits' statistics stay those of the first.
  CrossEntropyStatistics(shape, c.dtype, logits, targets, statistics, nullptr);
  return [=, dtype = c.dtype](cudaStream_t s) {
    CrossEntropyGradient(shape, dtype, 1.f, statistics, targets, logits, s);
  };
}

Launcher Embed(const Context& c, bool backward) {
  constexpr std::int32_t kVocabulary = 32000;
  const EmbeddingShape shape{c.rows, c.width, 0, kVocabulary};
  const auto* ids = c.operands.Integers(c.rows, kVocabulary);
  void* y = c.Tensor();
  if (backward) {
    float* dtable = c.operands.Floats(kVocabulary * c.width);
    void* workspace = c.operands.Room(EmbeddingBackwardWorkspace(shape));
    return [=, dtype = c.dtype](cudaStream_t s) {
      EmbeddingBackward(shape, dtype, ids, y, dtable, workspace, s);
    };
  }
  const void* table = c.operands.Normal(kVocabulary * c.width, c.dtype);
  return [=, dtype = c.dtype](cudaStream_t s) { EmbeddingForward(shape, dtype, ids, table, y, s); };
}

enum class Move { kPermute, kUnpermute, kUnpermuteBackward };

// Routed by random logits, so that rows go where a router sends them.
Launcher MoveTokens(const Context& c, Move move) {
  const MoeShape shape{c.rows, c.width, kPassExperts, kPassTopExperts};
  const std::int64_t slots = c.rows * kPassTopExperts;
  void* narrow = c.Tensor();
  void* wide = c.Tensor(kPassTopExperts);
  const float* logits = c.operands.Floats(c.rows * kPassExperts);
  float* weights = c.operands.Floats(slots);
  auto* experts = static_cast<std::int32_t*>(c.operands.Room(slots * 4));
  auto* counts = static_cast<std::int32_t*>(c.operands.Room(kPassExperts * 4));
  auto* rows = static_cast<std::int32_t*>(c.operands.Room(slots * 4));
  if (rows == nullptr) return {};  // out of memory; Ready says so
  Router(shape, logits, experts, weights, nullptr);
  MoeRowMap(shape, experts, counts, rows, nullptr);
  if (move == Move::kPermute)
    return [=, dtype = c.dtype](cudaStream_t s) { Permute(shape, dtype, narrow, rows, wide, s); };
  if (move == Move::kUnpermute)
    return [=, dtype = c.dtype](cudaStream_t s) {
      Unpermute(shape, dtype, wide, rows, weights, narrow, s);
    };
  void* dx = c.Tensor(kPassTopExperts);
  float* dweights = c.operands.Floats(slots);
  return [=, dtype = c.dtype](cudaStream_t s) {
    PermuteScaled(shape, dtype, narrow, wide, rows, weights, dx, dweights, s);
  };
}

Launcher AdamW(const Context& c, bool has_master) {
  const DType inner = has_master ? DType::kFloat32 : c.dtype;
  const AdamFormats formats{c.dtype, inner, inner};
  const AdamTensor tensor{c.Tensor(),
                          has_master ? c.operands.Floats(c.elements) : nullptr,
                          c.operands.Normal(c.elements, inner),
                          c.operands.Normal(c.elements, inner),
                          c.operands.Normal(c.elements, inner),
                          c.elements};
  const std::vector<Chunk> chunks = ChunksOf({c.elements});
  const auto count = static_cast<std::int64_t>(chunks.size());
  const AdamTensor* tensors = c.operands.Upload(std::vector<AdamTensor>{tensor});
  const Chunk* table = c.operands.Upload(chunks);
  return [=](cudaStream_t s) { Adam({}, formats, tensors, table, count, nullptr, s); };
}

Launcher GradientNorm(const Context& c) {
  const std::vector<Chunk> chunks = ChunksOf({c.elements});
  const auto count = static_cast<std::int64_t>(chunks.size());
  const NormTensor* tensors = c.operands.Upload(std::vector<NormTensor>{{c.Tensor(), c.elements}});
  const Chunk* table = c.operands.Upload(chunks);
  void* workspace = c.operands.Room(SumOfSquaresWorkspace(count));
  float* sum = c.operands.Floats(1);
  return [=, dtype = c.dtype](cudaStream_t s) {
    SumOfSquares(dtype, tensors, table, count, workspace, sum, s);
  };
}

Launcher CastTo(const Context& c, DType to) {
  const void* x = c.Tensor();
  void* y = c.operands.Room(c.elements * kernels::SizeOf(to));
  return [=, n = c.elements, from = c.dtype](cudaStream_t s) { Cast(n, from, x, to, y, s); };
}

Launcher ToFp8(const Context& c) {
  const void* x = c.Tensor();
  void* y = c.operands.Room(c.elements);
  const float* scale = c.operands.Upload(std::vector<float>{1});
  float* amax = c.operands.Upload(std::vector<float>{0});
  return [=, n = c.elements, dtype = c.dtype](cudaStream_t s) {
    QuantizeFp8(n, dtype, x, scale, y, amax, s);
  };
}

Launcher Int8(const Context& c, bool back) {
  void* x = c.Tensor();
  auto* y = static_cast<std::int8_t*>(c.operands.Room(c.elements));
  float* scales = c.operands.Floats(c.elements / kInt8Block);
  return [=, n = c.elements, dtype = c.dtype](cudaStream_t s) {
    if (back)
      DequantizeInt8(n, dtype, y, scales, x, s);
    else
      QuantizeInt8(n, dtype, x, y, scales, s);
  };
}

// What it took is put back, so that each run finds the same tensor.
Launcher Largest(const Context& c) {
  const std::int64_t k = c.elements / kPassTopKShare;
  void* x = c.Tensor();
  auto* indices = static_cast<std::int32_t*>(c.operands.Room(k * 4));
  void* values = c.operands.Room(k * kernels::SizeOf(c.dtype));
  void* workspace = c.operands.Room(TopKWorkspace());
  return [=, n = c.elements, dtype = c.dtype](cudaStream_t s) {
    TopK(n, k, dtype, x, indices, values, workspace, s);
    ScatterPairs(k, dtype, indices, values, x, s);
  };
}

struct Row {
  const char* name;
  Launcher (*make)(const Context&);
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
    {"moe_permute", [](const Context& c) { return MoveTokens(c, Move::kPermute); }},
    {"moe_unpermute", [](const Context& c) { return MoveTokens(c, Move::kUnpermute); }},
    {"moe_unpermute_backward",
     [](const Context& c) { return MoveTokens(c, Move::kUnpermuteBackward); }},
    {"adamw", [](const Context& c) { return AdamW(c, false); }},
    {"adamw_master", [](const Context& c) { return AdamW(c, true); }},
    {"gradient_norm", GradientNorm},
    {"cast_to_fp32", [](const Context& c) { return CastTo(c, DType::kFloat32); }},
    {"cast_to_bf16", [](const Context& c) { return CastTo(c, DType::kBFloat16); }},
    {"quantize_fp8", ToFp8},
    {"quantize_int8", [](const Context& c) { return Int8(c, false); }},
    {"dequantize_int8", [](const Context& c) { return Int8(c, true); }},
    {"top_k", Largest},
};

// What the kernels require of a shape, as an error and not as a broken invariant.
Result<void> CheckShape(const Shape& shape, DType dtype) {
  const std::int64_t bytes = shape.width * kernels::SizeOf(dtype);
  const auto starts = [&](const char* word) { return shape.name.rfind(word, 0) == 0; };
  if (bytes % 16 != 0) return Invalid(shape.name + ": a row must be a multiple of 16 bytes wide");
  if ((starts("rms_norm") || starts("layer_norm")) && bytes > 65536)
    return Invalid(shape.name + ": a row can be 65536 bytes wide at most");
  if (starts("rotary") && shape.width % kPassHeadDim != 0)
    return Invalid("rotary: width must be whole heads of 128 elements");
  if ((starts("quantize_int8") || starts("dequantize")) && shape.elements % kInt8Block != 0)
    return Invalid(shape.name + ": elements must be whole blocks of 256");
  if (starts("top_k") && (shape.elements < kPassTopKShare || shape.elements >> 31 != 0))
    return Invalid("top_k: elements must be from 100 to 2^31 - 1");
  if (shape.name == "adamw" && dtype == DType::kFloat16)
    return Invalid("adamw: moments are fp32 or bf16, so fp16 parameters take adamw_master");
  return {};
}
}  // namespace

Result<Work> CudaDevice::Elementwise(const ElementwiseShape& shape) {
  const auto dtype = KernelType(shape.dtype);
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const Row& each) { return each.name == shape.name; });
  if (!dtype || row == std::end(kRows)) return Device::Elementwise(shape);
  if (const auto legal = CheckShape(shape, *dtype); !legal) return tl::unexpected(legal.error());
  Operands operands(*this);
  Launcher launch =
      row->make({shape.elements, shape.elements / shape.width, shape.width, *dtype, operands});
  auto held = operands.Ready();
  if (!held) return tl::unexpected(held.error());
  return LaunchWork(std::move(*held), std::move(launch));
}

Result<std::vector<KernelFacts>> CudaDevice::KernelsOf(const Work& work, Stream& stream) {
  Result<void> done;
  std::vector<KernelFacts> facts;
  for (const KernelResources& each : ResourcesOf([&] { done = work(stream); }))
    facts.push_back(
        {each.name, each.registers, each.local, each.shared, each.block_threads, each.occupancy});
  if (!done) return tl::unexpected(done.error());
  return facts;
}
}  // namespace shardplan::probe
