// SPDX-License-Identifier: Apache-2.0
#include <cudnn.h>
#include <cudnn_frontend.h>
#include <fmt/format.h>

#include <cmath>
#include <unordered_map>

#include "kernels/attention.h"
#include "planner/base/check.h"

namespace shardplan::kernels {
namespace {

namespace fe = cudnn_frontend;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

enum Uid : int64_t { kQ = 1, kK, kV, kY, kLse, kDy, kDq, kDk, kDv };

Error Failed(const char* what, const std::string& why) {
  return {Code::kInternal, fmt::format("cuDNN attention: {}: {}", what, why)};
}

// One handle a process; each run says which stream.
Result<cudnnHandle_t> Handle() {
  static cudnnHandle_t handle = nullptr;
  static const cudnnStatus_t status = cudnnCreate(&handle);
  if (status != CUDNN_STATUS_SUCCESS)
    return tl::unexpected(Failed("create", cudnnGetErrorString(status)));
  return handle;
}

// cuDNN names the dimensions batch, head, position, element whatever their order in memory.
fe::graph::Tensor_attributes Vectors(Uid uid, const AttentionShape& shape, int64_t heads) {
  const int64_t d = shape.head_dim;
  return fe::graph::Tensor_attributes()
      .set_uid(uid)
      .set_dim({shape.batch, heads, shape.seq, d})
      .set_stride({shape.seq * heads * d, d, heads * d, 1});
}
fe::graph::Tensor_attributes Denominators(const AttentionShape& shape) {
  return fe::graph::Tensor_attributes()
      .set_uid(kLse)
      .set_dim({shape.batch, shape.heads, shape.seq, 1})
      .set_stride({shape.heads * shape.seq, shape.seq, 1, 1})
      .set_data_type(fe::DataType_t::FLOAT);
}
void MarkOutput(const Tensor& tensor, const fe::graph::Tensor_attributes& like) {
  tensor->set_output(true)
      .set_uid(like.get_uid())
      .set_dim(like.get_dim())
      .set_stride(like.get_stride());
}
}  // namespace

struct Attention::Plan {
  fe::graph::Graph graph;
  int64_t workspace = 0;

  Plan(const AttentionShape& shape, DType dtype, Pass pass) {
    graph
        .set_io_data_type(dtype == DType::kFloat16 ? fe::DataType_t::HALF
                                                   : fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_dim)));
    const Tensor q = graph.tensor(Vectors(kQ, shape, shape.heads));
    const Tensor k = graph.tensor(Vectors(kK, shape, shape.kv_heads));
    const Tensor v = graph.tensor(Vectors(kV, shape, shape.kv_heads));
    if (pass == Pass::kForward) {
      auto options = fe::graph::SDPA_attributes().set_generate_stats(true).set_attn_scale(scale);
      if (shape.causal)
        options.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
            .set_diagonal_band_right_bound(0);
      const auto [y, lse] = graph.sdpa(q, k, v, options);
      MarkOutput(y, Vectors(kY, shape, shape.heads));
      MarkOutput(lse, Denominators(shape));
      lse->set_data_type(fe::DataType_t::FLOAT);
      return;
    }
    const Tensor y = graph.tensor(Vectors(kY, shape, shape.heads));
    const Tensor dy = graph.tensor(Vectors(kDy, shape, shape.heads));
    const Tensor lse = graph.tensor(Denominators(shape));
    auto options = fe::graph::SDPA_backward_attributes().set_attn_scale(scale);
    if (shape.causal)
      options.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
          .set_diagonal_band_right_bound(0);
    const auto [dq, dk, dv] = graph.sdpa_backward(q, k, v, y, dy, lse, options);
    MarkOutput(dq, Vectors(kDq, shape, shape.heads));
    MarkOutput(dk, Vectors(kDk, shape, shape.kv_heads));
    MarkOutput(dv, Vectors(kDv, shape, shape.kv_heads));
  }

  fe::error_t Build(cudnnHandle_t handle) {
    fe::error_t built = graph.build(handle, {fe::HeurMode_t::A});
    return built.is_good() ? graph.get_workspace_size(workspace) : built;
  }

  Result<void> Run(std::unordered_map<int64_t, void*> tensors, void* scratch, Stream stream) {
    const auto handle = Handle();
    if (!handle) return tl::unexpected(handle.error());
    const cudnnStatus_t status = cudnnSetStream(*handle, stream);
    if (status != CUDNN_STATUS_SUCCESS)
      return tl::unexpected(Failed("stream", cudnnGetErrorString(status)));
    fe::error_t ran = graph.execute(*handle, tensors, scratch);
    if (ran.is_bad()) return tl::unexpected(Failed("run", ran.get_message()));
    return {};
  }
};

Attention::Attention(std::unique_ptr<Plan> plan) : plan_(std::move(plan)) {}
Attention::Attention(Attention&&) noexcept = default;
Attention& Attention::operator=(Attention&&) noexcept = default;
Attention::~Attention() = default;

Result<Attention> Attention::Make(const AttentionShape& shape, DType dtype, Pass pass) {
  SHARDPLAN_CHECK(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0);
  if (dtype != DType::kFloat16 && dtype != DType::kBFloat16)
    return Invalid(
        fmt::format("cuDNN's fused attention takes fp16 or bf16, not {}", NameOf(dtype)));
  const auto handle = Handle();
  if (!handle) return tl::unexpected(handle.error());
  auto plan = std::make_unique<Plan>(shape, dtype, pass);
  fe::error_t built = plan->Build(*handle);
  if (built.is_bad())
    return tl::unexpected(
        Failed(fmt::format("no kernel for batch {}, seq {}, heads {}, kv_heads {}, head_dim {}",
                           shape.batch, shape.seq, shape.heads, shape.kv_heads, shape.head_dim)
                   .c_str(),
               built.get_message()));
  return Attention(std::move(plan));
}

int64_t Attention::Workspace() const { return plan_->workspace; }

Result<void> Attention::Forward(const void* q, const void* k, const void* v, void* y, float* lse,
                                void* workspace, Stream stream) const {
  const auto in = [](const void* p) { return const_cast<void*>(p); };  // cuDNN's map has one type
  return plan_->Run({{kQ, in(q)}, {kK, in(k)}, {kV, in(v)}, {kY, y}, {kLse, lse}}, workspace,
                    stream);
}

Result<void> Attention::Backward(const void* q, const void* k, const void* v, const void* y,
                                 const float* lse, const void* dy, void* dq, void* dk, void* dv,
                                 void* workspace, Stream stream) const {
  const auto in = [](const void* p) { return const_cast<void*>(p); };
  return plan_->Run({{kQ, in(q)},
                     {kK, in(k)},
                     {kV, in(v)},
                     {kY, in(y)},
                     {kLse, in(lse)},
                     {kDy, in(dy)},
                     {kDq, dq},
                     {kDk, dk},
                     {kDv, dv}},
                    workspace, stream);
}

std::string CudnnVersion() {
  const size_t version = cudnnGetVersion();
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}
}  // namespace shardplan::kernels
