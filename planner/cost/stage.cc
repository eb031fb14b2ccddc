// SPDX-License-Identifier: Apache-2.0
// CostStage: layers on stages, times of one micro batch, memory instants. (planner/README.md, Eq.
// 13-18)
#include <algorithm>
#include <numeric>

#include "planner/base/check.h"
#include "planner/cost/cost.h"
#include "planner/cost/cutting.h"
#include "planner/cost/pipeline.h"
#include "planner/framework/stages.h"

namespace shardplan {
namespace {

Seconds& At(TimeParts& parts, TimePart part) { return parts[static_cast<std::size_t>(part)]; }

// Layers of each stage by kind of block: kinds[stage][block].
using LayerCounts = std::vector<std::vector<double>>;

LayerCounts CountLayers(const Job& job, const Placement& placement) {
  const Model& model = *job.model;
  const std::size_t pp = static_cast<std::size_t>(placement.pp);
  LayerCounts counts(pp, std::vector<double>(model.blocks.size(), 0));
  const std::vector<int> split = ChunkLayers(*job.framework, model, placement);
  SHARDPLAN_CHECK(split.size() == pp * static_cast<std::size_t>(placement.vpp));
  // The second half of a V-shaped schedule runs back to the first rank.
  const bool turns =
      placement.schedule == Schedule::kZbV || placement.schedule == Schedule::kDualPipe;
  std::size_t layer = 0;
  for (std::size_t i = 0; i < split.size(); ++i) {
    const std::size_t stage = turns && i >= pp ? pp - 1 - i % pp : i % pp;
    for (int n = 0; n < split[i] && layer < model.layers.size(); ++n)
      counts[stage][static_cast<std::size_t>(model.layers[layer++])] += 1;
  }
  return counts;
}

struct Sums {
  Seconds forward, backward;
  TimeParts parts{};
  PassTime pass;
  double flops = 0;

  void Add(const BlockCost& block, double count) {
    forward += block.forward * count;
    backward += (block.backward + block.recompute) * count;
    At(parts, TimePart::kCompute) += (block.forward + block.backward) * count;
    At(parts, TimePart::kRecompute) += block.recompute * count;
    At(parts, TimePart::kHost) += block.host * count;
    At(parts, TimePart::kTensorComm) += block.tensor_comm * count;
    At(parts, TimePart::kContextComm) += block.context_comm * count;
    At(parts, TimePart::kExpertComm) += block.expert_comm * count;
    pass.plain +=
        (block.forward + block.backward + block.recompute + block.host + block.context_comm) *
        count;
    pass.tensor += block.tensor_comm * count;
    pass.expert += block.expert_comm * count;
    flops += block.flops * count;
  }
};

class StageBuilder {
 public:
  StageBuilder(const Job& job, const LayersCost& layers, const Sharding& sharding,
               const Placement& placement)
      : job_(job),
        model_(*job.model),
        layers_(layers),
        evaluated_(job.training->eval_batch_size > 0
                       ? double(job.training->eval_batch_size) / sharding.micro_batch_size
                       : 1),
        recompute_(Meant(job, sharding.recompute)),
        placement_(placement),
        counts_(CountLayers(job, placement)) {}

  const LayerCounts& counts() const { return counts_; }

  // Everything but the memory instants.
  StageLoad Load(std::size_t stage) const {
    StageLoad load;
    load.stage = static_cast<int>(stage);
    Sums sums;
    double layers = std::accumulate(counts_[stage].begin(), counts_[stage].end(), 0.0);
    const double again = RecomputedShare(recompute_, model_, stage, layers);
    for (std::size_t b = 0; b < layers_.blocks.size(); ++b) {
      const double count = counts_[stage][b];
      if (count <= 0) continue;
      sums.Add(layers_.blocks[b], count * (1 - again));
      if (again > 0) sums.Add(layers_.recomputed[b], count * again);
      Own(layers_.blocks[b], count, load);
    }
    if (stage == 0) {
      sums.Add(layers_.embedding, 1);
      Own(layers_.embedding, 1, load);
    }
    if (Last(stage)) {
      sums.Add(layers_.head,
               1 + double(layers_.mtp.size()));  // each MTP module computes the shared head
      Own(layers_.head, 1, load);
      for (const BlockCost& module : layers_.mtp) {
        sums.Add(module, 1);
        Own(module, 1, load);
      }
      // A tied head, or MTP modules, need the embedding on this stage too.
      if (placement_.pp > 1 && (model_.facts.tied_embeddings || !layers_.mtp.empty()))
        Own(layers_.embedding, 1, load);
    }
    load.pass = sums.pass;
    load.parts = sums.parts;
    load.flops = sums.flops;
    const Seconds compute = sums.forward + sums.backward;
    load.forward_share = compute.value > 0 ? sums.forward / compute : 1.0 / 3;
    return load;
  }

  bool Last(std::size_t stage) const { return stage + 1 == counts_.size(); }

  void Instants(StageLoad& load) const;

  // Block by block, as units are gathered and reduced: each has the latency of its own collective.
  UnitTimes UnitsOf(const StageLoad& load, const Communicator& data,
                    const Communicator& experts) const {
    const Conventions& c = job_.conventions;
    UnitTimes times;
    const auto add = [&](const BlockCost& block, double count) {
      times.gather +=
          count *
          (data.Time(Collective::kAllGather, {c.gather_bytes * block.dense_parameters}) +
           experts.Time(Collective::kAllGather, {c.gather_bytes * block.expert_parameters}));
      times.scatter += count * (data.Time(Collective::kReduceScatter,
                                          {c.wire_gradient_bytes * block.dense_parameters}) +
                                experts.Time(Collective::kReduceScatter,
                                             {c.wire_gradient_bytes * block.expert_parameters}));
    };
    times.taken = TakenBy(job_.machine->gpu, data, Collective::kAllGather, Unit(layers_.blocks[0]));
    const std::size_t stage = static_cast<std::size_t>(load.stage);
    for (std::size_t b = 0; b < layers_.blocks.size(); ++b)
      if (counts_[stage][b] > 0) add(layers_.blocks[b], counts_[stage][b]);
    if (stage == 0) add(layers_.embedding, 1);
    if (Last(stage)) {
      add(layers_.head, 1);
      for (const BlockCost& module : layers_.mtp) add(module, 1);
    }
    return times;
  }

 private:
  static void Own(const BlockCost& block, double count, StageLoad& load) {
    load.dense_parameters += block.dense_parameters * count;
    load.expert_parameters += block.expert_parameters * count;
    load.autocast_weights += block.dense_weights * count;
    load.quantized_weights += block.quantized_weights * count;
  }
  // Bytes of one gathered copy of a block.
  Bytes Unit(const BlockCost& block) const {
    return {job_.conventions.gather_bytes * (block.dense_parameters + block.expert_parameters)};
  }

  const Job& job_;
  const Model& model_;
  const LayersCost& layers_;
  const double evaluated_;  // sequences of an evaluation, in micro batches
  const Recompute recompute_;
  const Placement& placement_;
  const LayerCounts counts_;
};

void StageBuilder::Instants(StageLoad& load) const {
  const Conventions& c = job_.conventions;
  const std::size_t stage = static_cast<std::size_t>(load.stage);
  const bool last = Last(stage), first = stage == 0, full = recompute_.kind == RecomputeKind::kFull;
  const double layer_count = std::accumulate(counts_[stage].begin(), counts_[stage].end(), 0.0);
  const double again = RecomputedShare(recompute_, model_, stage, layer_count);
  const bool recomputes = full || again > 0;

  Bytes saved, workspace, whole, unit, shapes, largest_layer;
  double largest = std::max(first ? layers_.embedding.largest_weight : 0,
                            last ? layers_.head.largest_weight : 0);
  for (std::size_t b = 0; b < layers_.blocks.size(); ++b) {
    const double count = counts_[stage][b];
    if (count <= 0) continue;
    const BlockCost& block = layers_.blocks[b];
    saved += block.saved * (count * (1 - again));
    workspace = Max(workspace, block.workspace);
    largest = std::max(largest, block.largest_weight);
    if (again > 0) {
      saved += layers_.recomputed[b].saved * (count * again);
      workspace = Max(workspace, layers_.recomputed[b].workspace);
    }
    whole = Max(whole, recomputes && again == 0 ? block.saved : block.saved_whole);
    largest_layer = Max(largest_layer, block.saved_whole);
    unit = Max(unit, Unit(block));
    if (c.dummy_weight_gradients) shapes = Max(shapes, Bytes{2 * block.dense_weights});
  }
  const Bytes embedding_unit = first ? Unit(layers_.embedding) : Bytes{},
              head_unit = last ? Unit(layers_.head) : Bytes{}, root = embedding_unit + head_unit;
  Bytes root_saved;
  if (first) root_saved += layers_.embedding.saved;
  Bytes at_loss;
  if (last) {
    at_loss = layers_.head.saved;
    for (const BlockCost& module : layers_.mtp) saved += module.saved;
    for (std::size_t i = 0; i < layers_.mtp.size(); ++i)
      at_loss += layers_.head.saved + layers_.logits_backward;
  }
  const double in_flight = InFlight(placement_.schedule, load.stage, placement_.pp, placement_.vpp,
                                    placement_.microbatches);
  const Bytes sent = c.keeps_stage_outputs && !last ? layers_.boundary * in_flight : Bytes{};
  const Bytes held = saved * in_flight + root_saved * in_flight + shapes + sent +
                     (placement_.pp > 1 ? layers_.boundary * 2 : Bytes{});
  const double parameters = std::max(1.0, load.dense_parameters + load.expert_parameters);
  const bool tied = model_.facts.tied_embeddings;
  const double head_parameters =
      last ? layers_.head.dense_parameters + (tied ? layers_.embedding.dense_parameters : 0) : 0;
  const double head_share = head_parameters / parameters;
  // What FSDP gathers for the loss, and reduces last: its root unit, or one part of it.
  const bool parts = c.root_in_parts;
  const Bytes for_loss = parts ? head_unit : root, kept_root = parts ? Bytes{} : root,
              reduced_last = parts ? embedding_unit : root;
  const double last_share = reduced_last.value / c.gather_bytes / parameters;
  // The embedding's own gradient comes after the first layer's backward; a tied one is the head's.
  const double embedding_share =
      first && !(tied && last) ? layers_.embedding.dense_parameters / parameters : 0;

  // Share of the gradients alive at the loss, and once the backward pass is through. Applied in the
  // backward, each is freed as it comes: the largest tensor's is alive.
  const bool applied = job_.training->optimizer_in_backward;
  const double accumulated = placement_.microbatches > 1 && !applied ? 1 : 0;
  const double all = applied ? largest / parameters : 1;
  const double at_once = c.updates_one_by_one ? largest / parameters : all;

  // Gathered and reduced units, for policies that shard parameters. FSDP under a pipeline keeps its
  // stage gathered and its gradients whole until the last micro batch.
  const bool keeps = c.fsdp_style && placement_.pp > 1;
  const Bytes stage_gathered{c.gather_bytes * parameters};
  const auto gathered = [&](Bytes units) {
    if (keeps) return stage_gathered;
    if (c.max_live_parameters > 0)
      return Min(stage_gathered, Max(units, Bytes{c.gather_bytes * c.max_live_parameters}));
    return Min(stage_gathered, units);
  };
  const double reduce_factor = (c.gather_bytes + c.wire_gradient_bytes) / c.gather_bytes;
  const Bytes whole_gradients =
      keeps && !applied ? Bytes{c.wire_gradient_bytes * parameters} : Bytes{};
  // Of `alive` gradients those that policies which shard them have not reduced yet. Earlier micro
  // batches left all shards, but for FSDP's under a pipeline, which come at the end.
  const auto unreduced = [&](double alive, double waiting) {
    return keeps ? alive : accumulated > 0 ? 0 : waiting;
  };

  const auto add = [&](const Instant& instant) {
    load.instant[static_cast<std::size_t>(load.instants++)] = instant;
  };
  if (last) {
    add({.name = "loss",
         .activations = held + at_loss,
         .workspace = {},
         .logits = layers_.logits_forward,
         .gradients = accumulated,
         .unreduced = unreduced(accumulated, 0),
         .gathered = gathered(for_loss + unit),
         .reducing = whole_gradients * accumulated,
         .autocast_copies = true});
    const Bytes head_gradient =
        c.head_gradient_at_loss ? Bytes{c.gather_bytes * head_parameters} : Bytes{};
    add({.name = "loss backward",
         .activations = held + at_loss,
         .workspace = head_gradient,
         .logits = layers_.logits_backward + layers_.logits_kept,
         .gradients = accumulated,
         .unreduced = unreduced(accumulated, 0),
         .gathered = gathered(for_loss + unit),
         .reducing = whole_gradients * accumulated,
         .autocast_copies = !full});
  }
  const Bytes logits_kept = last ? layers_.logits_kept : Bytes{};
  const double of_head = std::max(accumulated, head_share);
  add({.name = "last layer backward",
       .activations = held,
       .workspace = workspace,
       .logits = logits_kept,
       .gradients = of_head,
       .unreduced = unreduced(of_head, 0),
       .gathered = gathered(kept_root + unit * 2.0),
       .reducing = Max(whole_gradients * of_head, unit * reduce_factor),
       .autocast_copies = !full});
  const Bytes earlier = saved * (in_flight - 1) + root_saved * (in_flight - 1) + shapes;
  // Where FSDP reduces embedding and head as one unit, last, the head's gradient waits in 16 bits.
  const double waiting = c.fsdp_style && !applied ? std::min(last_share, all) : 0;
  const Bytes head_waits =
      c.fsdp_style && !parts ? Bytes{c.gather_bytes * head_parameters} : Bytes{};
  const double of_layers = applied ? all : std::max(accumulated, all - embedding_share);
  add({.name = "first layer backward",
       .activations = earlier + root_saved + whole,
       .workspace = workspace,
       .logits = logits_kept,
       .gradients = of_layers,
       .unreduced = unreduced(of_layers, std::max(0.0, waiting - embedding_share)),
       .gathered = gathered(parts ? unit + embedding_unit : root + unit * 2.0),
       .reducing = Max(whole_gradients, unit * reduce_factor + head_waits)});
  add({.name = "gradient reduction",
       .activations = earlier,
       .workspace = {},
       .logits = logits_kept,
       .gradients = all,
       .unreduced = unreduced(all, waiting),
       .gathered = {},
       .reducing = Max(whole_gradients, reduced_last * reduce_factor)});
  add({.name = "optimizer step",
       .activations = shapes,
       .workspace = {},
       .logits = {},
       .gradients = all,
       .gathered = {},
       .reducing = {},
       .updated = at_once});
  // One layer's tensors at a time, and the loss's.
  load.evaluation = {.name = "evaluation",
                     .activations = {},
                     .workspace = Max(largest_layer, at_loss) * evaluated_,
                     .logits = last ? layers_.logits_forward * evaluated_ : Bytes{},
                     .gathered = gathered(for_loss + unit * 2.0),
                     .reducing = {},
                     .autocast_copies = true};
  load.largest_unit =
      Max(parts ? Max(embedding_unit, head_unit) : root, unit).value / c.gather_bytes;
}

// `replicas` reduces the shards of `inside` between groups; a group of one: there are none.
DataTimes TimesOver(const Job& job, const StageCost& stage, const Communicator& inside,
                    const Communicator& replicas, const Communicator& experts) {
  const Conventions& c = job.conventions;
  const Bytes dense{c.wire_gradient_bytes * stage.dense_largest},
      expert{c.wire_gradient_bytes * stage.expert_largest};
  const double wire = c.gather_bytes / c.wire_gradient_bytes;
  DataTimes times;
  times.replicas = replicas.Time(Collective::kAllReduce, dense / double(inside.group().ranks));
  times.all_reduce = inside.Time(Collective::kAllReduce, dense) + times.replicas +
                     experts.Time(Collective::kAllReduce, expert);
  times.reduce_scatter = inside.Time(Collective::kReduceScatter, dense) + times.replicas +
                         experts.Time(Collective::kReduceScatter, expert);
  times.all_gather = inside.Time(Collective::kAllGather, dense * wire) +
                     experts.Time(Collective::kAllGather, expert * wire);
  times.taken = TakenBy(job.machine->gpu, inside, Collective::kReduceScatter, dense);
  return times;
}

// Reduced shards are summed over the nodes behind each reduction.
void AddReplicas(const Gpu& gpu, const Communicator& replicas, Bytes shard, UnitTimes& units) {
  const Seconds sum = replicas.Time(Collective::kAllReduce, shard), before = units.scatter;
  units.scatter += sum;
  if (units.scatter.value > 0)
    units.taken = (units.taken * before.value +
                   TakenBy(gpu, replicas, Collective::kAllReduce, shard) * sum.value) /
                  units.scatter.value;
}
}  // namespace

double TakenBy(const Gpu& gpu, const Communicator& group, Collective op, Bytes bytes) {
  constexpr double kPerMultiprocessor = 2;
  return std::min(0.8, kPerMultiprocessor * group.Channels(op, bytes) / gpu.sm_count);
}

StageCost CostStage(const Job& job, const LayersCost& layers, const Sharding& sharding,
                    const Placement& placement, bool every_stage) {
  const Machine& machine = *job.machine;
  const StageBuilder builder(job, layers, sharding, placement);
  StageCost cost;
  cost.pp = placement.pp;
  cost.vpp = placement.vpp;
  cost.microbatches = placement.microbatches;
  cost.schedule = placement.schedule;
  cost.data_ranks = placement.dp * sharding.cp;
  const double expert_ranks =
      double(placement.dp) * sharding.cp * sharding.tp / (double(sharding.ep) * sharding.etp);
  cost.expert_data_ranks = std::max(1, static_cast<int>(expert_ranks));
  // All stages' times; the loads that are kept get their memory too.
  std::vector<StageLoad> all;
  for (std::size_t s = 0; s < builder.counts().size(); ++s) all.push_back(builder.Load(s));
  PassTime before;
  for (StageLoad& load : all) {
    load.before = before;
    before += load.pass;
  }
  PassTime after;
  std::size_t slowest = 0;
  for (std::size_t s = all.size(); s-- > 0;) {
    all[s].after = after;
    after += all[s].pass;
    if (all[s].pass.Under({}) >= all[slowest].pass.Under({})) slowest = s;
  }
  std::vector<std::size_t> kept;
  if (every_stage) {
    kept.resize(all.size());
    std::iota(kept.begin(), kept.end(), std::size_t{0});
  } else {
    kept = {0, all.size() / 2, slowest, all.size() - 1};
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  }
  const Conventions& c = job.conventions;
  const Communicator data(machine, {cost.data_ranks, sharding.tp});
  const Communicator expert_data(
      machine,
      {job.model->facts.experts > 0 ? cost.expert_data_ranks : 1, sharding.ep * sharding.etp});
  const int node = std::clamp(machine.gpus_per_node / sharding.tp, 1, cost.data_ranks);
  const Communicator inside(machine, {node, sharding.tp});
  const Communicator replicas(machine, {std::max(1, cost.data_ranks / node), sharding.tp * node});
  const int expert_node =
      std::clamp(machine.gpus_per_node / (sharding.ep * sharding.etp), 1, cost.expert_data_ranks);
  const Communicator expert_inside(
      machine, {job.model->facts.experts > 0 ? expert_node : 1, sharding.ep * sharding.etp});
  for (std::size_t s : kept) {
    StageLoad& load = all[s];
    builder.Instants(load);
    load.everywhere = builder.UnitsOf(load, data, expert_data);
    load.within_node = builder.UnitsOf(load, inside, expert_inside);
    AddReplicas(machine.gpu, replicas, Bytes{c.wire_gradient_bytes * load.dense_parameters / node},
                load.within_node);
    cost.dense_largest = std::max(cost.dense_largest, load.dense_parameters);
    cost.expert_largest = std::max(cost.expert_largest, load.expert_parameters);
    cost.last_backward = Max(cost.last_backward, load.pass.Under({}) * (1 - load.forward_share));
    cost.loads.push_back(load);
  }
  cost.nccl = layers.nccl;
  cost.nccl.Of(CommGroup::kData) = data.Memory(false);
  cost.everywhere = TimesOver(job, cost, data, Communicator(), expert_data);
  if (node < cost.data_ranks) {
    cost.within_node = TimesOver(job, cost, inside, replicas, expert_data);
  }
  if (placement.pp > 1) {
    const int ranks = machine.Gpus() / placement.pp;
    const Communicator neighbours(machine, {2, std::max(1, ranks)});
    cost.p2p = neighbours.Time(Collective::kSendRecv, layers.boundary);
    // Where a stage is smaller than a node, some neighbours lie on different ones.
    cost.p2p_slowest = cost.p2p;
    if (ranks < machine.gpus_per_node && machine.nodes > 1)
      cost.p2p_slowest = Max(cost.p2p, Communicator(machine, {2, machine.gpus_per_node})
                                           .Time(Collective::kSendRecv, layers.boundary));
    // Megatron sends a slice per tensor rank and gathers on the other side.
    Seconds gather{c.p2p_host_seconds};
    if (c.p2p_split_over_tp && !sharding.sp && sharding.tp > 1)
      gather += layers.tensor.Time(Collective::kAllGather, layers.boundary * double(sharding.tp));
    cost.p2p += gather;
    cost.p2p_slowest += gather;
    cost.nccl.Of(CommGroup::kPipeline) = neighbours.PipelineMemory();
  }
  return cost;
}
}  // namespace shardplan
