// SPDX-License-Identifier: Apache-2.0
// What was measured of a machine, and how it corrects what is predicted.
//
// Between measured sizes of a collective the measurement itself counts; beyond them, and for
// kernels of other shapes, predictions are scaled by how far they were off nearby. Pure values; a
// spec's reader fills them from records (contract.md section 5).
#pragma once
#include <array>
#include <map>
#include <string>
#include <vector>

#include "planner/base/quantity.h"
#include "planner/machine/collective.h"

namespace shardplan {

// Measured times of one operation over one group, by message size.
class MeasuredCurve {
 public:
  // Of several measurements of one size the first counts. REQUIRES: bytes, time > 0.
  void Add(Bytes bytes, Seconds time);
  bool Empty() const { return points_.empty(); }
  // Linear in bytes between two measured sizes. Beyond them `predicted`, which is a function of
  // bytes, times what the nearest measured size took over what is predicted of it.
  // GUARANTEES: monotone in bytes where `predicted` is. REQUIRES: not empty, bytes > 0.
  template <class Predicted>
  Seconds At(Bytes bytes, const Predicted& predicted) const {
    const Point &least = points_.front(), &most = points_.back();
    if (bytes <= least.bytes) return predicted(bytes) * Ratio(least, predicted);
    if (bytes >= most.bytes) return predicted(bytes) * Ratio(most, predicted);
    return Between(bytes);
  }

 private:
  struct Point {
    Bytes bytes;
    Seconds time;
  };
  template <class Predicted>
  static double Ratio(const Point& point, const Predicted& predicted) {
    const Seconds there = predicted(point.bytes);
    return there.value > 0 ? point.time / there : 1;
  }
  Seconds Between(Bytes bytes) const;
  std::vector<Point> points_;  // by size; times do not fall
};

struct CollectiveProfile {
  struct Key {
    Collective op = Collective::kAllReduce;
    int ranks = 1, stride = 1;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, MeasuredCurve> curves;
  // Null where that was not measured.
  const MeasuredCurve* Find(Collective op, Group group) const;
};

// How far predictions are off, as a function of a shape's logarithms (up to three of them).
class Correction {
 public:
  using Shape = std::array<double, 3>;  // in logarithms; 0 where fewer count
  // `factor`: measured over predicted; of one shape the mean in logarithms counts. REQUIRES: > 0.
  void Add(const Shape& shape, double factor);
  bool Empty() const { return points_.empty(); }
  // 1 where nothing was measured; a measured shape's own factor; else the mean of all in
  // logarithms, weighted by distance^-4 (Shepard): near shapes decide, and no shape is extrapolated
  // to.
  double At(const Shape& shape) const;

 private:
  struct Point {
    Shape shape;
    double log_factor;
    int count;
  };
  std::vector<Point> points_;
};

// A GPU's kernels. Products and attention by the format of their numbers.
struct KernelProfile {
  std::map<Number, Correction> gemm;         // by m (times batch), n and k
  Correction attention, attention_backward;  // by heads (times batch), head_dim and keys
  Correction stream;                         // by bytes
  // Memory-bound passes by their names (probe/passes.h), by bytes and the width of a row.
  std::map<std::string, Correction> passes;
};
}  // namespace shardplan
