// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "kernels/adam.h"
#include "kernels/gradient_norm.h"
#include "tests/kernels/gpu/on_device.h"

namespace shardplan::kernels {
namespace {

using AdamOnDevice = OnDeviceIn;
using GradientNormOnDevice = OnDeviceIn;

// Sizes with tails, beyond a chunk, and below a group.
const std::vector<int64_t> kSizes{3 * kChunkElements + 7, 4096, 3, 1};

struct Parameter {
  Vector weight, gradient, first, second;
  Tensor gweight, gmaster, ggradient, gfirst, gsecond;

  Parameter(int64_t elements, const AdamFormats& formats, bool has_master, Random& random)
      : weight(random.Normal(elements, has_master ? DType::kFloat32 : formats.parameter)),
        gradient(random.Normal(elements, formats.gradient)),
        first(random.Normal(elements, formats.moment, 0.1)),
        second(random.Normal(elements, formats.moment)),
        gweight(elements, formats.parameter),
        gmaster(weight, DType::kFloat32),
        ggradient(gradient, formats.gradient),
        gfirst(first, formats.moment),
        gsecond(0, formats.moment) {
    // As moments of one history are: |first| <= sqrt(second), so that no update dwarfs its weight.
    for (size_t i = 0; i < second.size(); ++i)
      second[i] = Round(second[i] * second[i] + first[i] * first[i], formats.moment);
    gsecond = Tensor(second, formats.moment);
    if (!has_master) gweight = Tensor(weight, formats.parameter);
  }
};

void ExpectAdam(const AdamSettings& settings, const AdamFormats& formats, bool has_master,
                Random& random) {
  std::vector<Parameter> parameters;
  std::vector<AdamTensor> tensors;
  for (const int64_t size : kSizes) {
    parameters.emplace_back(size, formats, has_master, random);
    const Parameter& p = parameters.back();
    tensors.push_back({p.gweight.get(), has_master ? p.gmaster.floats() : nullptr,
                       p.ggradient.get(), p.gfirst.get(), p.gsecond.get(), size});
  }
  const std::vector<Chunk> chunks = ChunksOf(kSizes);
  const Memory gtensors = Upload(tensors);
  const Memory gchunks = Upload(chunks);
  const Memory scale = Upload(std::vector<float>{0.25f});
  Adam(settings, formats, gtensors.as<AdamTensor>(), gchunks.as<Chunk>(),
       static_cast<int64_t>(chunks.size()), scale.as<float>(), nullptr);
  // All tensors as one: a single element may cancel far below what it was made of.
  Vector master, weight, first, second, want_weight, want_first, want_second;
  const auto append = [](Vector& all, const Vector& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  for (Parameter& p : parameters) {
    for (double& g : p.gradient) g *= 0.25;
    AdamReference(settings, static_cast<int64_t>(p.weight.size()), p.gradient.data(),
                  p.weight.data(), p.first.data(), p.second.data());
    append(master, p.gmaster.Read());
    append(weight, p.gweight.Read());
    append(first, p.gfirst.Read());
    append(second, p.gsecond.Read());
    append(want_weight, p.weight);
    append(want_first, p.first);
    append(want_second, p.second);
  }
  if (has_master) ExpectClose(master, want_weight, Tolerance(DType::kFloat32), "master");
  ExpectClose(weight, want_weight, Tolerance(formats.parameter), "parameter");
  ExpectClose(first, want_first, Tolerance(formats.moment), "first moment");
  ExpectClose(second, want_second, Tolerance(formats.moment), "second moment");
}

TEST_P(AdamOnDevice, AgreesWithItsReference) {
  for (const DType gradient : {DType::kFloat32, GetParam()})
    for (const DType moment : {DType::kFloat32, DType::kBFloat16})
      for (const bool has_master : {false, true})
        for (const bool decoupled : {false, true}) {
          if (has_master && GetParam() == DType::kFloat32) continue;
          SCOPED_TRACE(testing::Message()
                       << "gradient " << NameOf(gradient) << ", moment " << NameOf(moment)
                       << ", master " << has_master << ", decoupled " << decoupled);
          ExpectAdam({.decoupled = decoupled, .rate = 0.01, .decay = 0.1, .step = 3},
                     {GetParam(), gradient, moment}, has_master, random_);
        }
}
SHARDPLAN_IN_EACH_FORMAT(AdamOnDevice);

TEST_F(OnDevice, AdamLeavesAllAloneAfterAnOverflow) {
  Parameter p(4096, {}, true, random_);
  const Memory tensors =
      Upload(std::vector<AdamTensor>{{p.gweight.get(), p.gmaster.floats(), p.ggradient.get(),
                                      p.gfirst.get(), p.gsecond.get(), 4096}});
  const Memory chunks = Upload(ChunksOf({4096}));
  const Memory scale = Upload(std::vector<float>{std::numeric_limits<float>::quiet_NaN()});
  Adam({}, {}, tensors.as<AdamTensor>(), chunks.as<Chunk>(), 1, scale.as<float>(), nullptr);
  EXPECT_EQ(p.gmaster.Read(), p.weight);
  EXPECT_EQ(p.gfirst.Read(), p.first);
}

TEST_P(GradientNormOnDevice, AgreesWithItsReference) {
  std::vector<NormTensor> tensors;
  std::vector<Tensor> held;
  double want = 0;
  for (const int64_t size : kSizes) {
    const Vector x = random_.Normal(size, GetParam());
    want += SumOfSquaresReference(size, x.data());
    held.emplace_back(x, GetParam());
    tensors.push_back({held.back().get(), size});
  }
  const std::vector<Chunk> chunks = ChunksOf(kSizes);
  const auto count = static_cast<int64_t>(chunks.size());
  const Memory gtensors = Upload(tensors);
  const Memory gchunks = Upload(chunks);
  const Memory workspace(static_cast<size_t>(SumOfSquaresWorkspace(count))), sum(4), scale(4);
  SumOfSquares(GetParam(), gtensors.as<NormTensor>(), gchunks.as<Chunk>(), count, workspace.get(),
               sum.as<float>(), nullptr);
  ClipScale(sum.as<float>(), 2.f, 0.5f, scale.as<float>(), nullptr);
  const double tolerance = Tolerance(DType::kFloat32);
  EXPECT_NEAR(sum.Read<float>()[0], want, tolerance * want);
  const double clip = ClipScaleReference(want, 2, 0.5);
  EXPECT_NEAR(scale.Read<float>()[0], clip, tolerance * clip);
}
SHARDPLAN_IN_EACH_FORMAT(GradientNormOnDevice);
}  // namespace
}  // namespace shardplan::kernels
