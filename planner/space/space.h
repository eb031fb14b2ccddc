// SPDX-License-Identifier: Apache-2.0
// The plan space: which plans a spec covers and which of them are legal.
//
// Contract section 2 gives the domain of each axis that the spec leaves open; a value or list in
// the spec takes its place. Points are enumerated in the order in which the cost model binds
// choices, and the rules of framework/rules.h say which are illegal, each with its id. Where the
// contract leaves a choice, the domain is:
//   - cp_kind only where cp > 1, etp and ep only where the model has experts, zero_group only where
//     zero_stage > 0, offload_to only where state is offloaded: elsewhere they change nothing, and
//     each point counts once
//   - a schedule follows vpp: 1f1b (and zb-h1 where the framework has it and pp > 1), interleaved
//   - "one node" of a zero_group: the data ranks of one node, gpus_per_node / tp
//   - overlap: the framework's default, where what it overlaps is there
// The cost model is not seen here.
#pragma once
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/framework/framework.h"
#include "planner/framework/rules.h"
#include "planner/machine/machine.h"
#include "planner/model/graph.h"
#include "planner/plan/plan.h"

namespace shardplan {

// What the `plan` section of a spec says of one axis. Empty: left out.
template <class T>
using Wish = std::vector<T>;

// REQUIRES of what it is given to: degrees and sizes are at least 1, zero_stage and zero_group 0.
struct Wishes {
  Wish<int> tp, pp, vpp, cp, ep, etp, dp, zero_stage, zero_group, micro_batch_size;
  Wish<bool> sp;
  Wish<CpKind> cp_kind;
  Wish<Schedule> schedule;
  Wish<Recompute> recompute;
  Wish<Offload> offload;
  Wish<OffloadTo> offload_to;
  Wish<std::vector<int>> stage_layers;  // each candidate: layers of every stage
  std::optional<bool> overlap_grad_reduce, overlap_param_gather, overlap_tp, overlap_p2p,
      overlap_moe;
};

// All of it is constant after construction, so several threads may ask at once.
class Space {
 public:
  // All references outlive the space.
  Space(const Model& model, const Machine& machine, const Training& training, const Wishes& wishes);

  // The three groups, each complete for the choices before it; illegal values never appear, and a
  // sharding or placement may have nothing below it.
  const std::vector<Sharding>& Shardings() const { return shardings_; }
  // dp, microbatches and schedule are set.
  std::vector<Placement> Placements(const Sharding& sharding) const;
  std::vector<Policy> Policies(const Sharding& sharding, const Placement& placement) const;

  // Size of the whole domain, legal and illegal, each point once.
  double Covered() const { return covered_; }
  // The illegal part by rule id. Points under an illegal prefix are charged to the first rule that
  // the prefix breaks. The first call walks the whole space (milliseconds).
  const std::map<std::string, double>& Rejected() const;

 private:
  // A way to lay out layers, whatever the sharding: pp, vpp, schedule, stage_layers.
  struct Shape {
    Placement placement;  // with dp and microbatches open
    int broken;           // the first rule that it breaks, or kLegal
  };
  // A policy with the parts open that depend on sharding and placement.
  struct State {
    Policy policy;
    bool node_group;  // zero_group is the data ranks of one node, where they are not all
    int broken;
  };
  using Counts = std::vector<double>;  // by rule
  static constexpr int kLegal = -1;

  Proposal ProposalOf(const Sharding& sharding, const Placement& placement,
                      const Policy& policy) const;
  const Rule& RuleAt(int i) const;
  int FirstBroken(Binding binding, const Proposal& proposal) const;
  void BindRules();
  void BindShapes();
  void BindStates();
  void BindShardings();

  std::vector<CpKind> CpKinds(int tp, int cp) const;
  bool Holds(const Placement& shape, const Sharding& sharding) const;
  int NodeGroup(const Sharding& sharding, int dp) const;  // 0: not in the domain
  double CountStates(const Sharding& sharding, int dp) const;
  double CountBelow(const Sharding& sharding) const;
  template <class Visit>
  void ForEachShape(const Sharding& sharding, const Visit& visit) const;
  template <class Visit>
  void ForEachPlacement(const Sharding& sharding, const Visit& visit) const;
  template <class Visit>
  void ForEachPolicy(const Sharding& sharding, const Placement& placement,
                     const Visit& visit) const;
  void CountRejected(const Sharding& sharding, Counts& counts) const;

  const Model& model_;
  const Machine& machine_;
  const Training& training_;
  const Wishes& wishes_;
  const Framework& framework_;
  const Overlap default_overlap_;
  const bool default_sp_;

  std::vector<const Rule*> rules_;                         // in force, by binding
  std::array<std::pair<int, int>, kBindings> rules_of_{};  // first and end of each binding
  std::vector<Shape> shapes_;
  std::vector<State> states_;
  int plain_states_ = 0, node_states_ = 0;
  std::vector<Sharding> shardings_;
  Counts rejected_shardings_;
  double covered_ = 0;

  mutable std::once_flag counted_;
  mutable std::map<std::string, double> rejected_;
};

// The one plan that a spec fixes (for `check`): left-out keys take the defaults of contract section
// 1, a list its first value. Never fails: a plan that does not add up is returned with what rules
// will say of it.
Plan FixedPlan(const Model& model, const Machine& machine, const Training& training,
               const Wishes& wishes);

// `asked` (what the framework does by default) less what a plan has nothing to overlap:
// param_gather without sharded state, tp without sp, p2p without virtual stages, moe without ep.
Overlap OverlapOf(const Overlap& asked, const Sharding& sharding, const Placement& placement,
                  int zero_stage);
}  // namespace shardplan
