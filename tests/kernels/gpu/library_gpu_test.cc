// SPDX-License-Identifier: Apache-2.0
// Matrix products and attention: that our descriptions mean what the references say.
#include "kernels/attention.h"
#include "kernels/gemm.h"
#include "tests/kernels/gpu/on_device.h"

namespace shardplan::kernels {
namespace {

using LibraryOnDevice = OnDevice;

DType InputOf(GemmType type) {
  switch (type) {
    case GemmType::kFloat16:
      return DType::kFloat16;
    case GemmType::kBFloat16:
      return DType::kBFloat16;
    case GemmType::kFloat8:
      return DType::kFloat8E4M3;
    default:
      return DType::kFloat32;
  }
}
// tf32 keeps 10 bits of the mantissa; fp8's sums keep 13 or more in the tensor cores.
double GemmTolerance(GemmType type, DType output, int64_t k) {
  const double sums = Tolerance(output, static_cast<double>(k));
  if (type == GemmType::kTf32) return sums + 0x1p-10;
  return type == GemmType::kFloat8 ? sums + 0x1p-8 : sums;
}

TEST_F(LibraryOnDevice, GemmAgreesWithItsReference) {
  for (const GemmType type : {GemmType::kFloat32, GemmType::kTf32, GemmType::kFloat16,
                              GemmType::kBFloat16, GemmType::kFloat8})
    for (const GemmPass pass : {GemmPass::kForward, GemmPass::kInput, GemmPass::kWeight})
      for (const int64_t batch : {1, 3}) {
        if (type == GemmType::kFloat8 && pass != GemmPass::kForward) continue;
        SCOPED_TRACE(testing::Message() << NameOf(type) << ' ' << NameOf(pass) << " x" << batch);
        const GemmShape shape{pass, 160, 224, 320, batch};
        const DType input = InputOf(type);
        const DType output = type == GemmType::kFloat8 ? DType::kBFloat16 : input;
        const Vector a = random_.Normal(batch * 160 * 320, input),
                     b = random_.Normal(batch * 224 * 320, input);
        Vector c(static_cast<size_t>(batch * 160 * 224));
        GemmReference(shape, a.data(), b.data(), c.data());
        const Tensor ga(a, input), gb(b, input), gc(batch * 160 * 224, output),
            two(Vector{2}, DType::kFloat32), half(Vector{0.5}, DType::kFloat32);
        const Memory workspace(kGemmWorkspace);
        auto gemm = Gemm::Make(shape, type, 4);
        ASSERT_TRUE(gemm.has_value()) << gemm.error().message;
        const bool scaled = type == GemmType::kFloat8;
        if (!scaled) {
          const auto measured =
              gemm->Measure(ga.get(), gb.get(), gc.get(), workspace.get(), nullptr);
          ASSERT_TRUE(measured.has_value()) << measured.error().message;
        }
        Check(cudaMemset(gc.get(), 0xFF, c.size() * static_cast<size_t>(SizeOf(output))));
        const auto ran =
            gemm->Run(ga.get(), gb.get(), gc.get(), workspace.get(), nullptr,
                      scaled ? two.floats() : nullptr, scaled ? half.floats() : nullptr);
        ASSERT_TRUE(ran.has_value()) << ran.error().message;
        ExpectClose(gc.Read(), c, GemmTolerance(type, output, 320), "C");
      }
}

#ifdef SHARDPLAN_KERNELS_ATTENTION
TEST_F(LibraryOnDevice, AttentionAgreesWithItsReference) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16})
    for (const int64_t head_dim : {64, 128})
      for (const bool causal : {false, true}) {
        SCOPED_TRACE(testing::Message()
                     << NameOf(dtype) << ", head_dim " << head_dim << ", causal " << causal);
        const AttentionShape shape{2, 192, 4, 2, head_dim, causal};
        const int64_t queries = 2 * 192 * 4 * head_dim;
        const Vector q = random_.Normal(queries, dtype), k = random_.Normal(queries / 2, dtype),
                     v = random_.Normal(queries / 2, dtype), dy = random_.Normal(queries, dtype);
        Vector y(q.size()), lse(2 * 192 * 4), dq(q.size()), dk(k.size()), dv(v.size());
        AttentionForwardReference(shape, q.data(), k.data(), v.data(), y.data(), lse.data());
        AttentionBackwardReference(shape, q.data(), k.data(), v.data(), y.data(), lse.data(),
                                   dy.data(), dq.data(), dk.data(), dv.data());
        const Tensor gq(q, dtype), gk(k, dtype), gv(v, dtype), gdy(dy, dtype), gy(queries, dtype),
            glse(2 * 192 * 4, DType::kFloat32), gdq(queries, dtype), gdk(queries / 2, dtype),
            gdv(queries / 2, dtype);
        const auto forward = Attention::Make(shape, dtype, Attention::Pass::kForward);
        const auto backward = Attention::Make(shape, dtype, Attention::Pass::kBackward);
        ASSERT_TRUE(forward.has_value()) << forward.error().message;
        ASSERT_TRUE(backward.has_value()) << backward.error().message;
        const Memory workspace(
            static_cast<size_t>(std::max(forward->Workspace(), backward->Workspace())));
        const auto there = forward->Forward(gq.get(), gk.get(), gv.get(), gy.get(), glse.floats(),
                                            workspace.get(), nullptr);
        ASSERT_TRUE(there.has_value()) << there.error().message;
        const auto back =
            backward->Backward(gq.get(), gk.get(), gv.get(), gy.get(), glse.floats(), gdy.get(),
                               gdq.get(), gdk.get(), gdv.get(), workspace.get(), nullptr);
        ASSERT_TRUE(back.has_value()) << back.error().message;
        // The scores' softmax is rounded to the data's format before it meets v.
        ExpectClose(gy.Read(), y, 2 * Tolerance(dtype, 192), "y");
        ExpectClose(glse.Read(), lse, Tolerance(DType::kFloat32, 192), "lse");
        ExpectClose(gdq.Read(), dq, 4 * Tolerance(dtype, 192), "dq");
        ExpectClose(gdk.Read(), dk, 4 * Tolerance(dtype, 192), "dk");
        ExpectClose(gdv.Read(), dv, 4 * Tolerance(dtype, 192), "dv");
      }
}
#endif
}  // namespace
}  // namespace shardplan::kernels
