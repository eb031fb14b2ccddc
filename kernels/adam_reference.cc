// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/adam.h"

namespace shardplan::kernels {

template <class Real>
void AdamReference(const AdamSettings& settings, int64_t elements, const Real* gradient,
                   Real* weight, Real* first_moment, Real* second_moment) {
  const auto step = static_cast<double>(settings.step);
  const double first_share = 1 - std::pow(settings.beta1, step);
  const double second_share = 1 - std::pow(settings.beta2, step);
  for (int64_t i = 0; i < elements; ++i) {
    double g = gradient[i];
    if (settings.decoupled)
      weight[i] -= settings.rate * settings.decay * weight[i];
    else
      g += settings.decay * weight[i];
    Real& m = first_moment[i];
    Real& v = second_moment[i];
    m = settings.beta1 * m + (1 - settings.beta1) * g;
    v = settings.beta2 * v + (1 - settings.beta2) * g * g;
    weight[i] -=
        settings.rate * (m / first_share) / (std::sqrt(v / second_share) + settings.epsilon);
  }
}

template void AdamReference(const AdamSettings& settings, int64_t elements, const double* gradient,
                            double* weight, double* first_moment, double* second_moment);
template void AdamReference(const AdamSettings& settings, int64_t elements, const float* gradient,
                            float* weight, float* first_moment, float* second_moment);
}  // namespace shardplan::kernels
