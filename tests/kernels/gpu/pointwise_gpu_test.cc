// SPDX-License-Identifier: Apache-2.0
// Activations, rotary embedding, token embedding, cross-entropy.
#include "kernels/activation.h"
#include "kernels/cross_entropy.h"
#include "kernels/embedding.h"
#include "kernels/rotary.h"
#include "tests/kernels/gpu/on_device.h"

namespace shardplan::kernels {
namespace {

using PointwiseOnDevice = OnDeviceIn;

TEST_P(PointwiseOnDevice, SwiGlu) {
  const DType dtype = GetParam();
  const SwiGluShape shape{.rows = 37, .columns = 1032, .input_stride = 2064};
  const Vector fused = random_.Normal(37 * 2064, dtype), dy = random_.Normal(37 * 1032, dtype);
  Vector y(dy.size()), gradient(fused.size());
  SwiGluForwardReference(shape, fused.data(), fused.data() + 1032, y.data());
  SwiGluBackwardReference(shape, fused.data(), fused.data() + 1032, dy.data(), gradient.data(),
                          gradient.data() + 1032);

  const Tensor gfused(fused, dtype), gdy(dy, dtype), gy(37 * 1032, dtype),
      ggradient(37 * 2064, dtype);
  const auto second = [&](const Tensor& t) {
    return static_cast<std::byte*>(t.get()) + 1032 * SizeOf(dtype);
  };
  SwiGluForward(shape, dtype, gfused.get(), second(gfused), gy.get(), nullptr);
  SwiGluBackward(shape, dtype, gfused.get(), second(gfused), gdy.get(), ggradient.get(),
                 second(ggradient), nullptr);
  ExpectClose(gy.Read(), y, Tolerance(dtype), "y");
  ExpectClose(ggradient.Read(), gradient, Tolerance(dtype), "gradient");
}

TEST_P(PointwiseOnDevice, Gelu) {
  const DType dtype = GetParam();
  for (const GeluKind kind : {GeluKind::kErf, GeluKind::kTanh}) {
    const GeluShape shape{.kind = kind, .rows = 203, .columns = 4104};
    const int64_t elements = 203 * 4104;
    const Vector x = random_.Normal(elements, dtype), bias = random_.Normal(4104, dtype),
                 dy = random_.Normal(elements, dtype);
    Vector y(x.size()), dx(x.size()), dbias(4104);
    GeluForwardReference(shape, x.data(), bias.data(), y.data());
    GeluBackwardReference(shape, x.data(), bias.data(), dy.data(), dx.data(), dbias.data());

    const Tensor gx(x, dtype), gbias(bias, dtype), gdy(dy, dtype), gy(elements, dtype),
        gdx(elements, dtype), gdbias(4104, DType::kFloat32);
    const Memory workspace(static_cast<size_t>(GeluBackwardWorkspace(shape, dtype)));
    GeluForward(shape, dtype, gx.get(), gbias.get(), gy.get(), nullptr);
    GeluBackward(shape, dtype, gx.get(), gbias.get(), gdy.get(), gdx.get(), gdbias.floats(),
                 workspace.get(), nullptr);
    ExpectClose(gy.Read(), y, Tolerance(dtype), "y");
    ExpectClose(gdx.Read(), dx, Tolerance(dtype), "dx");
    ExpectClose(gdbias.Read(), dbias, Tolerance(DType::kFloat32, 203), "dbias");
  }
}

TEST_P(PointwiseOnDevice, Rotary) {
  const DType dtype = GetParam();
  for (const int64_t head_dim : {64, 128}) {
    const RotaryShape shape{.tokens = 67,
                            .heads = 7,
                            .head_dim = head_dim,
                            .token_stride = 9 * head_dim,
                            .positions = 32};
    const int64_t elements = shape.tokens * shape.token_stride;
    const Vector x = random_.Normal(elements, dtype), angle = random_.Normal(16 * head_dim);
    Vector cos, sin;
    for (const double a : angle) {
      cos.push_back(Round(std::cos(a), DType::kFloat32));
      sin.push_back(Round(std::sin(a), DType::kFloat32));
    }
    for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
      Vector y = x;
      RotaryReference(shape, direction, x.data(), cos.data(), sin.data(), y.data());
      const Tensor gx(x, dtype), gcos(cos, DType::kFloat32), gsin(sin, DType::kFloat32);
      Rotary(shape, dtype, direction, gx.get(), gcos.floats(), gsin.floats(), gx.get(), nullptr);
      ExpectClose(gx.Read(), y, Tolerance(dtype), "y");
    }
  }
}

TEST_P(PointwiseOnDevice, Embedding) {
  const DType dtype = GetParam();
  const EmbeddingShape shape{.tokens = 211, .columns = 4104, .first_row = 50, .rows = 100};
  std::vector<int32_t> ids = random_.Integers(211, 0, 199);
  for (std::size_t i = 0; i < ids.size(); i += 5) ids[i] = 120;  // a frequent token
  const Vector table = random_.Normal(100 * 4104, dtype), dy = random_.Normal(211 * 4104, dtype),
               before = random_.Normal(100 * 4104, DType::kFloat32);
  Vector y(dy.size()), dtable = before;
  EmbeddingForwardReference(shape, ids.data(), table.data(), y.data());
  EmbeddingBackwardReference(shape, ids.data(), dy.data(), dtable.data());

  const Memory gids = Upload(ids);
  const Tensor gtable(table, dtype), gdy(dy, dtype), gy(211 * 4104, dtype),
      gdtable(before, DType::kFloat32);
  const Memory workspace(static_cast<std::size_t>(EmbeddingBackwardWorkspace(shape)));
  EmbeddingForward(shape, dtype, gids.as<int32_t>(), gtable.get(), gy.get(), nullptr);
  EmbeddingBackward(shape, dtype, gids.as<int32_t>(), gdy.get(), gdtable.floats(), workspace.get(),
                    nullptr);
  EXPECT_EQ(gy.Read(), y);
  ExpectClose(gdtable.Read(), dtable, Tolerance(DType::kFloat32), "dtable");
}

// The vocabulary on two ranks: the second half's logits are far larger.
TEST_P(PointwiseOnDevice, CrossEntropy) {
  const DType dtype = GetParam();
  constexpr int64_t kRows = 53, kColumns = 4008;
  std::vector<int32_t> targets = random_.Integers(kRows, 0, 2 * kColumns - 1);
  targets[5] = kIgnored;
  const Memory gtargets = Upload(targets);
  std::vector<SoftmaxStatistics<double>> parts(2 * kRows), whole(kRows);
  const Memory gparts(2 * kRows * sizeof(SoftmaxStatistics<float>)),
      gwhole(kRows * sizeof(SoftmaxStatistics<float>));
  std::vector<Vector> logits;
  std::vector<Tensor> glogits;
  for (size_t rank = 0; rank < 2; ++rank) {
    const CrossEntropyShape shape{kRows, kColumns, static_cast<int64_t>(rank) * kColumns};
    logits.push_back(random_.Normal(kRows * kColumns, dtype, rank ? 4 : 1));
    glogits.emplace_back(logits.back(), dtype);
    CrossEntropyStatisticsReference(shape, logits[rank].data(), targets.data(),
                                    &parts[rank * kRows]);
    CrossEntropyStatistics(shape, dtype, glogits[rank].get(), gtargets.as<int32_t>(),
                           gparts.as<SoftmaxStatistics<float>>() + rank * kRows, nullptr);
  }
  Vector losses(kRows);
  const Tensor glosses(kRows, DType::kFloat32);
  CrossEntropyCombineReference(2, kRows, parts.data(), targets.data(), whole.data(), losses.data());
  CrossEntropyCombine(2, kRows, gparts.as<SoftmaxStatistics<float>>(), gtargets.as<int32_t>(),
                      gwhole.as<SoftmaxStatistics<float>>(), glosses.floats(), nullptr);
  ExpectClose(glosses.Read(), losses, Tolerance(DType::kFloat32, kColumns), "losses");

  // Gradients of one part in 2^16 and less are beyond fp16: scaled as a loss scale would.
  const double scale = 1024;
  for (size_t rank = 0; rank < 2; ++rank) {
    const CrossEntropyShape shape{kRows, kColumns, static_cast<int64_t>(rank) * kColumns};
    CrossEntropyGradientReference(shape, scale, whole.data(), targets.data(), logits[rank].data());
    CrossEntropyGradient(shape, dtype, static_cast<float>(scale),
                         gwhole.as<SoftmaxStatistics<float>>(), gtargets.as<int32_t>(),
                         glogits[rank].get(), nullptr);
    ExpectClose(glogits[rank].Read(), logits[rank], Tolerance(dtype, kColumns), "gradient");
  }
}
SHARDPLAN_IN_EACH_FORMAT(PointwiseOnDevice);
}  // namespace
}  // namespace shardplan::kernels
