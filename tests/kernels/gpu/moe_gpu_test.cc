// SPDX-License-Identifier: Apache-2.0
#include "kernels/moe.h"
#include "tests/kernels/gpu/on_device.h"

namespace shardplan::kernels {
namespace {

using MoeOnDevice = OnDevice;
using MoeMovesOnDevice = OnDeviceIn;

// Mixtral's, DeepSeek's and odd numbers of experts.
constexpr struct {
  int64_t tokens, experts, top;
} kRoutings[] = {{1000, 8, 2}, {777, 256, 8}, {1, 60, 4}, {65, 33, 16}};

TEST_F(MoeOnDevice, RouterAgreesWithItsReference) {
  for (const auto [tokens, experts, top] : kRoutings)
    for (const bool renormalize : {false, true}) {
      const MoeShape shape{tokens, 8, experts, top, renormalize};
      const int64_t slots = tokens * top;
      const Vector logits = random_.Normal(tokens * experts, DType::kFloat32),
                   dweights = random_.Normal(slots, DType::kFloat32);
      std::vector<int32_t> picks(static_cast<size_t>(slots)), counts(static_cast<size_t>(experts)),
          rows(static_cast<size_t>(slots));
      Vector weights(static_cast<size_t>(slots)), dlogits(logits.size());
      RouterReference(shape, logits.data(), picks.data(), weights.data());
      RouterBackwardReference(shape, logits.data(), picks.data(), dweights.data(), dlogits.data());
      MoeRowMapReference(shape, picks.data(), counts.data(), rows.data());

      const Tensor glogits(logits, DType::kFloat32), gdweights(dweights, DType::kFloat32),
          gweights(slots, DType::kFloat32), gdlogits(tokens * experts, DType::kFloat32);
      const Memory gpicks(picks.size() * 4), gcounts(counts.size() * 4), grows(rows.size() * 4);
      Router(shape, glogits.floats(), gpicks.as<int32_t>(), gweights.floats(), nullptr);
      RouterBackward(shape, glogits.floats(), gpicks.as<int32_t>(), gdweights.floats(),
                     gdlogits.floats(), nullptr);
      MoeRowMap(shape, gpicks.as<int32_t>(), gcounts.as<int32_t>(), grows.as<int32_t>(), nullptr);
      EXPECT_EQ(gpicks.Read<int32_t>(), picks);
      EXPECT_EQ(gcounts.Read<int32_t>(), counts);
      EXPECT_EQ(grows.Read<int32_t>(), rows);
      ExpectClose(gweights.Read(), weights, Tolerance(DType::kFloat32), "weights");
      ExpectClose(gdlogits.Read(), dlogits, Tolerance(DType::kFloat32), "dlogits");
    }
}

TEST_P(MoeMovesOnDevice, AgreeWithTheirReferences) {
  const DType dtype = GetParam();
  const MoeShape shape{.tokens = 203, .columns = 4104, .experts = 8, .top = 3};
  const auto slots = static_cast<size_t>(shape.tokens * shape.top);
  std::vector<int32_t> rows(slots);
  std::iota(rows.begin(), rows.end(), 0);
  std::shuffle(rows.begin(), rows.end(), std::mt19937_64(seed_));
  const int64_t narrow = shape.tokens * shape.columns;
  const Vector x = random_.Normal(narrow, dtype), wide = random_.Normal(3 * narrow, dtype),
               weights = random_.Normal(static_cast<int64_t>(slots), DType::kFloat32);
  Vector permuted(wide.size()), sum(x.size()), weighted(x.size()), dwide(wide.size()),
      dweights(slots);
  PermuteReference(shape, x.data(), rows.data(), permuted.data());
  UnpermuteReference(shape, wide.data(), rows.data(), nullptr, sum.data());
  UnpermuteReference(shape, wide.data(), rows.data(), weights.data(), weighted.data());
  PermuteScaledReference(shape, x.data(), wide.data(), rows.data(), weights.data(), dwide.data(),
                         dweights.data());

  const Memory grows = Upload(rows);
  const Tensor gx(x, dtype), gwide(wide, dtype), gweights(weights, DType::kFloat32),
      gpermuted(3 * narrow, dtype), gsum(narrow, dtype), gweighted(narrow, dtype),
      gdwide(3 * narrow, dtype), gdweights(static_cast<int64_t>(slots), DType::kFloat32);
  Permute(shape, dtype, gx.get(), grows.as<int32_t>(), gpermuted.get(), nullptr);
  Unpermute(shape, dtype, gwide.get(), grows.as<int32_t>(), nullptr, gsum.get(), nullptr);
  Unpermute(shape, dtype, gwide.get(), grows.as<int32_t>(), gweights.floats(), gweighted.get(),
            nullptr);
  PermuteScaled(shape, dtype, gx.get(), gwide.get(), grows.as<int32_t>(), gweights.floats(),
                gdwide.get(), gdweights.floats(), nullptr);
  EXPECT_EQ(gpermuted.Read(), permuted);
  ExpectClose(gsum.Read(), sum, Tolerance(dtype), "sum");
  ExpectClose(gweighted.Read(), weighted, Tolerance(dtype), "weighted sum");
  ExpectClose(gdwide.Read(), dwide, Tolerance(dtype), "dx");
  ExpectClose(gdweights.Read(), dweights, Tolerance(DType::kFloat32, 4104), "dweights");
}
SHARDPLAN_IN_EACH_FORMAT(MoeMovesOnDevice);
}  // namespace
}  // namespace shardplan::kernels
