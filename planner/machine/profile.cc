// SPDX-License-Identifier: Apache-2.0
#include "planner/machine/profile.h"

#include <algorithm>
#include <cmath>

namespace shardplan {

void MeasuredCurve::Add(Bytes bytes, Seconds time) {
  const auto at =
      std::lower_bound(points_.begin(), points_.end(), bytes,
                       [](const Point& point, Bytes size) { return point.bytes < size; });
  if (at != points_.end() && at->bytes == bytes) return;
  points_.insert(at, {bytes, time});
  // A larger message that took less was measured with less noise: the smaller took no more.
  for (std::size_t i = points_.size() - 1; i-- > 0;)
    points_[i].time = Min(points_[i].time, points_[i + 1].time);
}

Seconds MeasuredCurve::Between(Bytes bytes) const {
  const auto above =
      std::upper_bound(points_.begin(), points_.end(), bytes,
                       [](Bytes size, const Point& point) { return size < point.bytes; });
  const Point &high = *above, &low = *(above - 1);
  return low.time + (high.time - low.time) * ((bytes - low.bytes) / (high.bytes - low.bytes));
}

const MeasuredCurve* CollectiveProfile::Find(Collective op, Group group) const {
  const auto found = curves.find({op, group.ranks, group.stride});
  return found == curves.end() || found->second.Empty() ? nullptr : &found->second;
}

void Correction::Add(const Shape& shape, double factor) {
  for (Point& point : points_)
    if (point.shape == shape) {
      point.log_factor += (std::log(factor) - point.log_factor) / ++point.count;
      return;
    }
  points_.push_back({shape, std::log(factor), 1});
}

double Correction::At(const Shape& shape) const {
  double weights = 0, sum = 0;
  for (const Point& point : points_) {
    double square = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const double distance = shape[i] - point.shape[i];
      square += distance * distance;
    }
    if (square < 1e-12) return std::exp(point.log_factor);
    const double weight = 1 / (square * square);
    weights += weight;
    sum += weight * point.log_factor;
  }
  return weights > 0 ? std::exp(sum / weights) : 1;
}
}  // namespace shardplan
