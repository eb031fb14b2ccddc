// SPDX-License-Identifier: Apache-2.0
#include "kernels/embedding.h"

#include "tests/kernels/vectors.h"

namespace shardplan::kernels {
namespace {

TEST(EmbeddingReference, BackwardIsTheGradientOfForwardOverThisRanksRows) {
  const EmbeddingShape shape{.tokens = 5, .columns = 4, .first_row = 10, .rows = 3};
  const std::vector<int32_t> ids{10, 12, 10, 9, 13};  // the last two belong to other ranks
  Random random(6);
  Vector table = random.Normal(12);
  const Vector dy = random.Normal(20);
  Vector y(20);
  const auto objective = [&] {
    EmbeddingForwardReference(shape, ids.data(), table.data(), y.data());
    return Dot(dy, y);
  };
  Vector dtable(12);
  EmbeddingBackwardReference(shape, ids.data(), dy.data(), dtable.data());
  ExpectGradient(table, objective, dtable, "table");
  EXPECT_EQ(y[12], 0);
}
}  // namespace
}  // namespace shardplan::kernels
