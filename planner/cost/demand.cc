// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/demand.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "planner/cost/cutting.h"
#include "planner/cost/kernel_time.h"

namespace shardplan {
namespace {

class Asking : public Cutting {
 public:
  Asking(const Job& job, const Plan& plan)
      : Cutting(job, plan.sharding),
        placement_(plan.placement),
        policy_(plan.policy),
        stage_(CostStage(job, CostLayers(job, plan.sharding), plan.sharding, plan.placement)) {}

  Demand Take() {
    const double passes = placement_.microbatches;
    std::vector<double> layers(model_.blocks.size(), 0);
    for (const int block : model_.layers)
      layers[static_cast<std::size_t>(block)] += 1.0 / placement_.pp;
    for (std::size_t i = 0; i < model_.blocks.size(); ++i)
      Walk(model_.blocks[i], layers[i] * passes);
    Walk(model_.head, passes);
    Data();
    if (placement_.pp > 1) {
      const double elements = model_.facts.hidden_size * tokens_ / sequence_split_;
      const int apart = std::max(1, machine_.Gpus() / placement_.pp);
      Say(Collective::kSendRecv, {2, apart}, conventions_.compute_bytes * elements, 2 * passes);
    }
    return std::move(demand_);
  }

 private:
  void Walk(const Block& block, double times) {
    for (const Op& op : block.ops) switch (op.kind) {
        case OpKind::kGemm:
          Products(op, times);
          JoinParts(op, times);
          break;
        case OpKind::kGroupedGemm:
          Products(op, times);
          break;
        case OpKind::kAttention:
          Attention(op, times);
          break;
        case OpKind::kDispatch:
        case OpKind::kCombine:
          Exchange(op, times);
          break;
        case OpKind::kEmbedding:
        case OpKind::kPointwise:
        case OpKind::kLoss:
          break;
      }
  }

  // Forward, the input's gradient and the weight's, of whole rows.
  void Products(const Op& op, double times) {
    using Pass = Demand::Pass;
    const Product product = ProductOf(op);
    const double m = std::ceil(product.m), n = product.n, k = product.k;
    for (const auto& [pass, rows, columns, depth] :
         {std::tuple(Pass::kForward, m, n, k), {Pass::kInput, m, k, n}, {Pass::kWeight, n, k, m}})
      demand_.gemms.push_back(
          {pass, product.number, rows, columns, depth, product.batch,
           GemmTime(machine_.gpu, product.number, rows, columns, depth, product.batch) * times});
  }

  // What the tensor-parallel ranks exchange around a product.
  void JoinParts(const Op& op, double times) {
    if (sharding_.tp == 1 || op.joins || !(op.column || op.row)) return;
    const double bytes = conventions_.compute_bytes * (op.column ? op.k : op.n) * tokens_;
    const Group group{sharding_.tp, 1};
    if (sharding_.sp) {
      Say(Collective::kAllGather, group, bytes, 2 * times);
      Say(Collective::kReduceScatter, group, bytes, times);
    } else {
      Say(Collective::kAllReduce, group, bytes, times);
    }
  }

  void Attention(const Op& op, double times) {
    const double seq = Keys(op), batch = std::max(1.0, std::floor(tokens_ * sharding_.cp / keys_));
    const double heads = op.heads / sharding_.tp;
    const Flops flops{2 * heads * batch * seq * seq * (op.qk_dim + op.v_dim) / 2};
    const Seconds once =
        FlashTime(machine_.gpu, number_, flops, op.qk_dim, seq, FlashKernel::kNewest) +
        FlashBackwardTime(machine_.gpu, number_, flops, op.qk_dim, seq, FlashKernel::kNewest);
    const Number number = IsNarrow() ? Number::kBf16 : number_;  // 8 bits do not reach it
    demand_.attentions.push_back({number, batch, heads, std::max(1.0, op.kv_heads / sharding_.tp),
                                  seq, op.qk_dim, once * times});
  }

  void Exchange(const Op& op, double times) {
    if (sharding_.ep == 1) return;
    const double bytes = conventions_.compute_bytes * model_.facts.hidden_size * Copies(op);
    Say(Collective::kAllToAll, {sharding_.ep, sharding_.etp}, bytes, 2 * times);
  }

  // Gradients and parameters over the ranks that share them.
  void Data() {
    const Group group{stage_.data_ranks, sharding_.tp};
    const double gradients = conventions_.wire_gradient_bytes * stage_.dense_largest;
    const double gathers = policy_.zero_stage == 3 ? 2.0 * placement_.microbatches : 1;
    if (policy_.zero_stage == 0) {
      Say(Collective::kAllReduce, group, gradients, 1);
    } else {
      Say(Collective::kReduceScatter, group, gradients, 1);
      Say(Collective::kAllGather, group, conventions_.gather_bytes * stage_.dense_largest, gathers);
    }
  }

  void Say(Collective op, Group group, double bytes, double times) {
    if (group.ranks < 2 || bytes <= 0) return;
    const Seconds once = Communicator(machine_, group).Time(op, {bytes});
    demand_.traffic.push_back({op, group, {bytes}, once * times});
  }

  const Placement& placement_;
  const Policy& policy_;
  StageCost stage_;
  Demand demand_;
};
}  // namespace

Demand DemandOf(const Job& job, const Plan& plan) { return Asking(job, plan).Take(); }
}  // namespace shardplan
