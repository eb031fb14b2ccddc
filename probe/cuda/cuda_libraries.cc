// SPDX-License-Identifier: Apache-2.0
// Matrix products and attention of the CUDA device, by cuBLASLt and cuDNN.
#include "kernels/attention.h"
#include "kernels/gemm.h"
#include "probe/cuda/operands.h"

namespace shardplan::probe {
namespace {

struct GemmFormat {
  Dtype dtype;
  kernels::GemmType type;
  kernels::DType input, output;
};
constexpr GemmFormat kGemmFormats[] = {
    {Dtype::kFp32, kernels::GemmType::kFloat32, kernels::DType::kFloat32, kernels::DType::kFloat32},
    {Dtype::kTf32, kernels::GemmType::kTf32, kernels::DType::kFloat32, kernels::DType::kFloat32},
    {Dtype::kFp16, kernels::GemmType::kFloat16, kernels::DType::kFloat16, kernels::DType::kFloat16},
    {Dtype::kBf16, kernels::GemmType::kBFloat16, kernels::DType::kBFloat16,
     kernels::DType::kBFloat16},
    {Dtype::kFp8, kernels::GemmType::kFloat8, kernels::DType::kFloat8E4M3,
     kernels::DType::kBFloat16},
};
}  // namespace

Result<Work> CudaDevice::Gemm(const GemmShape& shape) {
  const GemmFormat* format = nullptr;
  for (const GemmFormat& each : kGemmFormats)
    if (each.dtype == shape.dtype) format = &each;
  if (format == nullptr) return Device::Gemm(shape);

  Operands operands(*this);
  const void* a = operands.Normal(shape.batch * shape.m * shape.k, format->input);
  const void* b = operands.Normal(shape.batch * shape.k * shape.n, format->input);
  void* c = operands.Room(shape.batch * shape.m * shape.n * kernels::SizeOf(format->output));
  void* workspace = operands.Room(kernels::kGemmWorkspace);
  const float* scale =
      shape.dtype == Dtype::kFp8 ? operands.Upload(std::vector<float>{1}) : nullptr;
  const auto held = operands.Ready();
  if (!held) return tl::unexpected(held.error());
  const kernels::GemmShape product{static_cast<kernels::GemmPass>(shape.pass), shape.m, shape.n,
                                   shape.k, shape.batch};
  auto gemm = kernels::Gemm::Make(product, format->type, shape.candidates);
  if (!gemm) return tl::unexpected(gemm.error());
  if (shape.candidates > 1)
    if (const auto done = gemm->Measure(a, b, c, workspace, nullptr); !done)
      return tl::unexpected(done.error());
  return Work(
      [=, held = *held, plan = std::make_shared<kernels::Gemm>(std::move(*gemm))](Stream& stream) {
        return plan->Run(a, b, c, workspace, CudaStream::Of(stream), scale, scale);
      });
}

#ifdef SHARDPLAN_KERNELS_ATTENTION
Result<Work> CudaDevice::Attention(const AttentionShape& shape) {
  const auto dtype = KernelType(shape.dtype);
  if (!dtype) return Device::Attention(shape);
  const kernels::AttentionShape inner{shape.batch,    shape.seq,      shape.heads,
                                      shape.kv_heads, shape.head_dim, shape.causal};
  using Pass = kernels::Attention::Pass;
  auto forward = kernels::Attention::Make(inner, *dtype, Pass::kForward);
  if (!forward) return tl::unexpected(forward.error());

  const std::int64_t queries = shape.batch * shape.seq * shape.heads * shape.head_dim;
  const std::int64_t keys = queries / shape.heads * shape.kv_heads;
  const std::int64_t size = kernels::SizeOf(*dtype);
  Operands operands(*this);
  const void* q = operands.Normal(queries, *dtype);
  const void* k = operands.Normal(keys, *dtype);
  const void* v = operands.Normal(keys, *dtype);
  void* y = operands.Room(queries * size);
  auto* lse = static_cast<float*>(operands.Room(shape.batch * shape.heads * shape.seq * 4));
  void* workspace = operands.Room(forward->Workspace());
  if (!shape.backward) {
    const auto held = operands.Ready();
    if (!held) return tl::unexpected(held.error());
    return Work([=, held = *held,
                 plan = std::make_shared<kernels::Attention>(std::move(*forward))](Stream& on) {
      return plan->Forward(q, k, v, y, lse, workspace, CudaStream::Of(on));
    });
  }
  auto backward = kernels::Attention::Make(inner, *dtype, Pass::kBackward);
  if (!backward) return tl::unexpected(backward.error());
  const void* dy = operands.Normal(queries, *dtype);
  void* dq = operands.Room(queries * size);
  void* dk = operands.Room(keys * size);
  void* dv = operands.Room(keys * size);
  void* room = operands.Room(backward->Workspace());
  const auto held = operands.Ready();
  if (!held) return tl::unexpected(held.error());
  if (const auto done = forward->Forward(q, k, v, y, lse, workspace, nullptr); !done)
    return tl::unexpected(done.error());
  return Work([=, held = *held,
               plan = std::make_shared<kernels::Attention>(std::move(*backward))](Stream& on) {
    return plan->Backward(q, k, v, y, lse, dy, dq, dk, dv, room, CudaStream::Of(on));
  });
}
#else
Result<Work> CudaDevice::Attention(const AttentionShape&) {
  return tl::unexpected(
      Error{Code::kFailedPrecondition,
            "this shardplan-probe was built without attention on GPUs: cuDNN 9 or its frontend's "
            "headers were not found then; deploy/bootstrap gpu-tools fetches the headers"});
}
#endif
}  // namespace shardplan::probe
