// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm.h"
#include "tests/kernels/gpu/on_device.h"

namespace shardplan::kernels {
namespace {

using NormOnDevice = OnDeviceIn;

// Columns from a head's norm to the widest models, and rows that leave blocks partly filled.
constexpr struct {
  int64_t rows, columns;
} kSizes[] = {{101, 64}, {37, 128}, {33, 768}, {300, 4096}, {19, 5120}, {7, 8192}, {5, 16384}};

void ExpectBothPasses(const NormShape& shape, DType dtype, bool residual, Random& random) {
  const int64_t rows = shape.rows;
  const int64_t columns = shape.columns;
  const int64_t elements = rows * columns;
  const bool is_layer = shape.kind == NormKind::kLayer;
  const Vector x = random.Normal(elements, dtype), r = random.Normal(elements, dtype),
               weight = random.Normal(columns, dtype), bias = random.Normal(columns, dtype);
  Vector sum(x.size()), y(x.size()), mean(static_cast<size_t>(rows)),
      rstd(static_cast<size_t>(rows));
  NormForwardReference(shape, {x.data(), residual ? r.data() : nullptr, weight.data(),
                               is_layer ? bias.data() : nullptr, residual ? sum.data() : nullptr,
                               y.data(), is_layer ? mean.data() : nullptr, rstd.data()});
  const Tensor gx(x, dtype), gr(r, dtype), gweight(weight, dtype), gbias(bias, dtype),
      gsum(elements, dtype), gy(elements, dtype), gmean(rows, DType::kFloat32),
      grstd(rows, DType::kFloat32);
  NormForward(shape, dtype,
              {gx.get(), residual ? gr.get() : nullptr, gweight.get(),
               is_layer ? gbias.get() : nullptr, residual ? gsum.get() : nullptr, gy.get(),
               is_layer ? gmean.floats() : nullptr, grstd.floats()},
              nullptr);
  ExpectClose(gy.Read(), y, 2 * Tolerance(dtype, 1), "y");
  if (residual) ExpectClose(gsum.Read(), sum, Tolerance(dtype), "sum");
  ExpectClose(grstd.Read(), rstd, 2 * Tolerance(dtype), "rstd");

  // Backward from what the GPU's forward left, so that only its own errors count.
  sum = residual ? gsum.Read() : x;
  rstd = grstd.Read();
  if (is_layer) mean = gmean.Read();
  const Vector dy = random.Normal(elements, dtype), dsum = random.Normal(elements, dtype);
  Vector dx(x.size()), dweight(weight.size()), dbias(weight.size());
  NormBackwardReference(shape,
                        {sum.data(), weight.data(), dy.data(), residual ? dsum.data() : nullptr,
                         is_layer ? mean.data() : nullptr, rstd.data(), dx.data(), dweight.data(),
                         is_layer ? dbias.data() : nullptr});
  const Tensor gdy(dy, dtype), gdsum(dsum, dtype), gdx(elements, dtype),
      gdweight(columns, DType::kFloat32), gdbias(columns, DType::kFloat32);
  const Memory workspace(static_cast<size_t>(NormBackwardWorkspace(shape, dtype)));
  NormBackward(shape, dtype,
               {residual ? gsum.get() : gx.get(), gweight.get(), gdy.get(),
                residual ? gdsum.get() : nullptr, is_layer ? gmean.floats() : nullptr,
                grstd.floats(), gdx.get(), gdweight.floats(), is_layer ? gdbias.floats() : nullptr},
               workspace.get(), nullptr);
  const auto terms = static_cast<double>(rows);
  ExpectClose(gdx.Read(), dx, Tolerance(dtype, static_cast<double>(columns)), "dx");
  ExpectClose(gdweight.Read(), dweight, Tolerance(DType::kFloat32, terms), "dweight");
  if (is_layer) ExpectClose(gdbias.Read(), dbias, Tolerance(DType::kFloat32, terms), "dbias");
}

TEST_P(NormOnDevice, AgreesWithItsReference) {
  for (const NormKind kind : {NormKind::kRms, NormKind::kLayer})
    for (const auto [rows, columns] : kSizes)
      for (const bool residual : {false, true}) {
        SCOPED_TRACE(testing::Message() << "layer " << (kind == NormKind::kLayer) << ", " << rows
                                        << " x " << columns << ", residual " << residual);
        ExpectBothPasses({.kind = kind, .rows = rows, .columns = columns}, GetParam(), residual,
                         random_);
      }
}
SHARDPLAN_IN_EACH_FORMAT(NormOnDevice);

// A variance taken as mean(x^2) - mean(x)^2 in fp32 would be off by a tenth here.
TEST_F(OnDevice, LayerNormIsExactFarFromZero) {
  constexpr double kFar = 1000;
  const NormShape shape{.kind = NormKind::kLayer, .rows = 9, .columns = 4096};
  Vector x = random_.Normal(9 * 4096);
  for (double& value : x) value = Round(value + kFar, DType::kFloat32);
  const Vector weight(4096, 1), bias(4096, 0);
  Vector y(x.size()), mean(9), rstd(9);
  NormForwardReference(shape, {x.data(), nullptr, weight.data(), bias.data(), nullptr, y.data(),
                               mean.data(), rstd.data()});
  const DType dtype = DType::kFloat32;
  const Tensor gx(x, dtype), gweight(weight, dtype), gbias(bias, dtype), gy(9 * 4096, dtype),
      gmean(9, dtype), grstd(9, dtype);
  NormForward(shape, dtype,
              {gx.get(), nullptr, gweight.get(), gbias.get(), nullptr, gy.get(), gmean.floats(),
               grstd.floats()},
              nullptr);
  ExpectClose(gy.Read(), y, 4 * kFar * UnitRoundoff(dtype), "y");
}
}  // namespace
}  // namespace shardplan::kernels
