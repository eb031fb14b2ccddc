// SPDX-License-Identifier: Apache-2.0
#include "kernels/cross_entropy.h"

#include "tests/kernels/vectors.h"

namespace shardplan::kernels {
namespace {

using Statistics = SoftmaxStatistics<double>;

Vector Losses(const CrossEntropyShape& shape, const Vector& logits,
              const std::vector<int32_t>& targets, std::vector<Statistics>& whole) {
  std::vector<Statistics> part(targets.size());
  Vector losses(targets.size());
  whole.resize(targets.size());
  CrossEntropyStatisticsReference(shape, logits.data(), targets.data(), part.data());
  CrossEntropyCombineReference(1, shape.rows, part.data(), targets.data(), whole.data(),
                               losses.data());
  return losses;
}

TEST(CrossEntropyReference, GradientIsThatOfTheScaledLosses) {
  const CrossEntropyShape shape{.rows = 3, .columns = 8};
  Vector logits = Random(4).Normal(24);
  const std::vector<int32_t> targets{2, kIgnored, 7};
  std::vector<Statistics> whole;
  const auto objective = [&] {
    const Vector losses = Losses(shape, logits, targets, whole);
    return 0.25 * std::accumulate(losses.begin(), losses.end(), 0.0);
  };
  objective();
  Vector gradient = logits;
  CrossEntropyGradientReference(shape, 0.25, whole.data(), targets.data(), gradient.data());
  ExpectGradient(logits, objective, gradient, "logits");
}

// Two ranks with half of the vocabulary each find what one rank with all of it finds.
TEST(CrossEntropyReference, PartsOfTheVocabularyCombineToTheWhole) {
  constexpr int64_t kRows = 4;
  const Vector logits = Random(5).Normal(kRows * 8, 3);
  const std::vector<int32_t> targets{0, 3, 4, 7};
  std::vector<Statistics> expected;
  const Vector losses = Losses({.rows = kRows, .columns = 8}, logits, targets, expected);

  std::vector<Statistics> parts(2 * kRows);
  for (size_t rank = 0; rank < 2; ++rank) {
    Vector mine;
    for (size_t row = 0; row < kRows; ++row)
      for (size_t c = 0; c < 4; ++c) mine.push_back(logits[8 * row + 4 * rank + c]);
    CrossEntropyStatisticsReference(
        {.rows = kRows, .columns = 4, .first_column = static_cast<int64_t>(4 * rank)}, mine.data(),
        targets.data(), &parts[rank * kRows]);
  }
  std::vector<Statistics> whole(kRows);
  Vector combined(kRows);
  CrossEntropyCombineReference(2, kRows, parts.data(), targets.data(), whole.data(),
                               combined.data());
  for (size_t row = 0; row < kRows; ++row) {
    EXPECT_NEAR(combined[row], losses[row], 1e-12);
    EXPECT_NEAR(whole[row].target, expected[row].target, 1e-12);
  }
}
}  // namespace
}  // namespace shardplan::kernels
