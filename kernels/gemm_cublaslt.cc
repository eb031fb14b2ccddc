// SPDX-License-Identifier: Apache-2.0
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <limits>
#include <vector>

#include "kernels/gemm.h"

namespace shardplan::kernels {
namespace {

Error Failed(const char* what, cublasStatus_t status) {
  return {Code::kInternal, fmt::format("cuBLASLt: {}: {}", what, cublasLtGetStatusString(status))};
}
Error Failed(const char* what, cudaError_t status) {
  return {Code::kInternal, fmt::format("CUDA: {}: {}", what, cudaGetErrorString(status))};
}

cudaDataType_t InputTypeOf(GemmType type) {
  switch (type) {
    case GemmType::kFloat32:
    case GemmType::kTf32:
      return CUDA_R_32F;
    case GemmType::kFloat16:
      return CUDA_R_16F;
    case GemmType::kBFloat16:
      return CUDA_R_16BF;
    case GemmType::kFloat8:
      return CUDA_R_8F_E4M3;
  }
  return CUDA_R_32F;
}
cudaDataType_t OutputTypeOf(GemmType type) {
  return type == GemmType::kFloat8 ? CUDA_R_16BF : InputTypeOf(type);
}

// One handle a process: making it loads the library's kernels.
Result<cublasLtHandle_t> Handle() {
  static cublasLtHandle_t handle = nullptr;
  static const cublasStatus_t status = cublasLtCreate(&handle);
  if (status != CUBLAS_STATUS_SUCCESS) return tl::unexpected(Failed("create", status));
  return handle;
}

// A row-major matrix of `rows` x `columns` is, to cuBLAS, one of `columns` x `rows`.
cublasLtMatrixLayout_t LayoutOf(cudaDataType_t type, int64_t rows, int64_t columns, int64_t batch) {
  cublasLtMatrixLayout_t layout = nullptr;
  cublasLtMatrixLayoutCreate(&layout, type, static_cast<uint64_t>(columns),
                             static_cast<uint64_t>(rows), columns);
  const auto count = static_cast<int32_t>(batch);
  const int64_t stride = rows * columns;
  cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                   sizeof(count));
  cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                   sizeof(stride));
  return layout;
}
}  // namespace

// cuBLAS computes C^T = op(B)^T op(A)^T, so its first operand is our B.
struct Gemm::Plan {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr;
  cublasLtMatrixLayout_t b = nullptr;
  cublasLtMatrixLayout_t c = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> candidates;
  size_t chosen = 0;

  Plan(const GemmShape& shape, GemmType type) {
    const auto [pass, m, n, k, batch] = shape;
    const bool is_a_transposed = pass == GemmPass::kWeight;
    const bool is_b_transposed = pass == GemmPass::kForward;
    const auto compute =
        type == GemmType::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    cublasLtMatmulDescCreate(&operation, compute, CUDA_R_32F);
    Set(CUBLASLT_MATMUL_DESC_TRANSA, is_b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    Set(CUBLASLT_MATMUL_DESC_TRANSB, is_a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    // Sums of 8-bit products stay in the tensor cores' own width, as frameworks choose forward.
    if (type == GemmType::kFloat8) Set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, int8_t{1});
    const auto input = InputTypeOf(type);
    a = is_a_transposed ? LayoutOf(input, k, m, batch) : LayoutOf(input, m, k, batch);
    b = is_b_transposed ? LayoutOf(input, n, k, batch) : LayoutOf(input, k, n, batch);
    c = LayoutOf(OutputTypeOf(type), m, n, batch);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() {
    for (cublasLtMatrixLayout_t layout : {a, b, c}) cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(operation);
  }

  template <class Value>
  void Set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(value));
  }

  cublasStatus_t Choose(cublasLtHandle_t handle, int count) {
    cublasLtMatmulPreference_t preference = nullptr;
    cublasLtMatmulPreferenceCreate(&preference);
    const uint64_t workspace = kGemmWorkspace;
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                         &workspace, sizeof(workspace));
    candidates.resize(static_cast<size_t>(count));
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle, operation, b, a, c, c, preference, count, candidates.data(), &found);
    cublasLtMatmulPreferenceDestroy(preference);
    candidates.resize(static_cast<size_t>(found));
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    return found > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
  }

  cublasStatus_t Launch(cublasLtHandle_t handle, size_t candidate, const void* a_data,
                        const void* b_data, void* c_data, void* workspace, Stream stream) const {
    const float one = 1;
    const float zero = 0;
    return cublasLtMatmul(handle, operation, &one, b_data, b, a_data, a, &zero, c_data, c, c_data,
                          c, &candidates[candidate].algo, workspace, kGemmWorkspace, stream);
  }
};

Gemm::Gemm(std::unique_ptr<Plan> plan) : plan_(std::move(plan)) {}
Gemm::Gemm(Gemm&&) noexcept = default;
Gemm& Gemm::operator=(Gemm&&) noexcept = default;
Gemm::~Gemm() = default;

Result<Gemm> Gemm::Make(const GemmShape& shape, GemmType type, int candidates) {
  const auto handle = Handle();
  if (!handle) return tl::unexpected(handle.error());
  if (type == GemmType::kFloat8 && shape.pass != GemmPass::kForward)
    return Invalid(
        "fp8 products read both operands along k: transpose them for the pass 'forward'");
  auto plan = std::make_unique<Plan>(shape, type);
  const cublasStatus_t status = plan->Choose(*handle, candidates);
  if (status != CUBLAS_STATUS_SUCCESS)
    return tl::unexpected(
        Failed(fmt::format("no kernel for m {}, n {}, k {}, batch {}, {} {}", shape.m, shape.n,
                           shape.k, shape.batch, NameOf(type), NameOf(shape.pass))
                   .c_str(),
               status));
  return Gemm(std::move(plan));
}

Result<void> Gemm::Run(const void* a, const void* b, void* c, void* workspace, Stream stream,
                       const float* scale_a, const float* scale_b) const {
  const auto handle = Handle();
  if (!handle) return tl::unexpected(handle.error());
  if (scale_a) plan_->Set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scale_a);
  if (scale_b) plan_->Set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scale_b);
  const cublasStatus_t status = plan_->Launch(*handle, plan_->chosen, a, b, c, workspace, stream);
  if (status != CUBLAS_STATUS_SUCCESS) return tl::unexpected(Failed("matmul", status));
  return {};
}

Result<void> Gemm::Measure(const void* a, const void* b, void* c, void* workspace, Stream stream) {
  constexpr int kRepeats = 5;  // after one that loads the kernel
  const auto handle = Handle();
  if (!handle) return tl::unexpected(handle.error());
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  float best = std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < plan_->candidates.size(); ++i) {
    for (int repeat = 0; repeat <= kRepeats; ++repeat) {
      if (repeat == 1) cudaEventRecord(begin, stream);
      if (plan_->Launch(*handle, i, a, b, c, workspace, stream) != CUBLAS_STATUS_SUCCESS) break;
      if (repeat == kRepeats) cudaEventRecord(end, stream);
    }
    float milliseconds = 0;
    cudaEventSynchronize(end);
    if (cudaEventElapsedTime(&milliseconds, begin, end) != cudaSuccess || milliseconds >= best)
      continue;
    best = milliseconds;
    plan_->chosen = i;
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  const cudaError_t status = cudaStreamSynchronize(stream);
  if (status != cudaSuccess) return tl::unexpected(Failed("timing matrix products", status));
  return {};
}

std::string CublasLtVersion() {
  const size_t version = cublasLtGetVersion();
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}
}  // namespace shardplan::kernels
