// SPDX-License-Identifier: Apache-2.0
// CostLayers: walks the model graph once for a sharding. (planner/README.md, Eq. 3-12)
#include <algorithm>
#include <cmath>

#include "planner/cost/cutting.h"
#include "planner/cost/kernel_time.h"

namespace shardplan {
namespace {

class Walk : public Cutting {
 public:
  Walk(const Job& job, const Sharding& sharding)
      : Cutting(job, sharding),
        tensor_(machine_, {sharding.tp, 1}),
        context_(machine_, {sharding.cp, sharding.tp}),
        // Experts have a grid of their own: etp innermost, then ep.
        expert_(machine_, {sharding.ep, sharding.etp}),
        expert_tensor_(machine_, {sharding.etp, 1}) {}

  const Communicator& tensor() const { return tensor_; }
  // Of the groups that the sharding alone decides.
  CommunicatorBytes CommunicatorMemory() const {
    CommunicatorBytes bytes;
    bytes.Of(CommGroup::kTensor) = tensor_.Memory(false);
    if (sharding_.ep > 1) bytes.Of(CommGroup::kExpert) = expert_.Memory(true);
    if (sharding_.cp > 1)
      bytes.Of(CommGroup::kContext) = context_.Memory(sharding_.cp_kind == CpKind::kUlysses);
    return bytes;
  }

  // REQUIRES: `recompute` is none, selective, full or modules.
  BlockCost Cost(const Block& block, const Recompute& recompute) const {
    BlockCost cost;
    Launches launches;
    const bool full = recompute.kind == RecomputeKind::kFull;
    double recomputed_bytes = 0, widest = 0;
    int products = 0;
    for (const Op& op : block.ops) {
      const bool product = op.kind == OpKind::kGemm || op.kind == OpKind::kGroupedGemm;
      if (product) ++products;
      Own(op, cost);
      const Keep keep = full ? Keep::kNothing : KeepOf(op, recompute, products);
      const double bytes = SavedBytes(op);
      cost.saved_whole.value += bytes;
      if (keep == Keep::kAll) cost.saved.value += bytes;
      if (keep == Keep::kOutputOnly) cost.saved.value += OutputBytes(op);
      if (keep != Keep::kAll) recomputed_bytes += bytes;
      widest = std::max(widest, WidestGradient(op));
      Time(op, keep == Keep::kNothing, cost, launches);
    }
    if (full) {
      cost.saved = Checkpoint();
      cost.workspace.value = recomputed_bytes;
    } else if (recomputed_bytes > 0) {
      // Per-op checkpointing keeps the block's input too; modules are recomputed one at a time.
      if (conventions_.selective_per_op) cost.saved += Checkpoint();
      cost.workspace.value = recomputed_bytes;
    }
    cost.workspace.value += widest;
    Host(launches, cost);
    return cost;
  }

 private:
  struct Launches {
    double forward = 0, backward = 0, recompute = 0;
    bool experts = false, layer = false;
  };

  bool Fused() const { return conventions_.fused_pointwise; }

  struct Passes {
    Seconds forward, backward;
    void Add(Seconds f, Seconds b) {
      forward += f;
      backward += b;
    }
  };

  void Time(const Op& op, bool recomputed, BlockCost& cost, Launches& launches) const {
    Passes compute, tensor, context, expert;
    const double passes = recomputed ? 4 : 3;  // forward, two products backward, and forward again
    switch (op.kind) {
      case OpKind::kGemm:
        Product(op, passes, compute, tensor, cost);
        break;
      case OpKind::kGroupedGemm:
        Grouped(op, passes, compute, tensor, cost);
        break;
      case OpKind::kAttention:
        Attention(op, passes, compute, context, cost);
        break;
      case OpKind::kDispatch:
      case OpKind::kCombine:
        Route(op, compute, expert);
        break;
      case OpKind::kEmbedding:
      case OpKind::kPointwise:
      case OpKind::kLoss:
        Pointwise(op, compute);
        break;
    }
    if (op.kind == OpKind::kEmbedding && sharding_.tp > 1 && vocab_split_ > 1) {
      const Bytes output{conventions_.compute_bytes * model_.facts.hidden_size * tokens_};
      tensor.Add(Tensor(sharding_.sp ? Collective::kReduceScatter : Collective::kAllReduce, output),
                 sharding_.sp ? Tensor(Collective::kAllGather, output) : Seconds{});
    }
    const double again = recomputed ? 1 : 0;
    cost.forward += compute.forward;
    cost.backward += compute.backward;
    cost.recompute += compute.forward * again;
    cost.tensor_comm += tensor.forward * (1 + again) + tensor.backward;
    cost.context_comm += context.forward * (1 + again) + context.backward;
    cost.expert_comm += expert.forward * (1 + again) + expert.backward;
    const double count = Fused() ? 1 : op.launches_eager;
    launches.forward += count;
    launches.backward +=
        (op.kind == OpKind::kGemm || op.kind == OpKind::kGroupedGemm ? 2 : 1.3) * count;
    launches.recompute += again * count;
    launches.experts |= op.kind == OpKind::kDispatch;
    launches.layer |= op.kind == OpKind::kAttention;
  }

  void Product(const Op& op, double passes, Passes& compute, Passes& tensor,
               BlockCost& cost) const {
    const auto [number, m, n, k, batch] = ProductOf(op);
    const bool narrow = RunsNarrow(op);
    // Row-wise scales run at 0.55 of one scale's rate (torchtitan's 8B on H100 with tp 8: a step
    // of 3.3 s beside 2.4 s).
    const bool rowwise = narrow && (training_.fp8_recipe == Fp8Recipe::kRowwise ||
                                    training_.fp8_recipe == Fp8Recipe::kRowwiseWithGwHp);
    const double slower = rowwise ? 1 / 0.55 : 1;
    Seconds forward = Gemm(number, m, n, k) * slower, data = Gemm(number, m, k, n) * slower,
            weight = Gemm(number, n, k, m) * slower;
    if (narrow) {
      forward += Quantize(op.joins ? n * k : m * k + n * k);
      data += Quantize(m * n);
    }
    compute.Add(forward, data + weight);
    cost.flops += 2 * m * n * k * passes;
    if (sharding_.tp == 1 || (IsVocabulary(op) && vocab_split_ == 1)) return;
    if (op.column && !op.joins) {
      const Bytes input{conventions_.compute_bytes * op.k * tokens_};
      if (sharding_.sp) {
        const Seconds gather = Tensor(Collective::kAllGather, input),
                      scatter = Tensor(Collective::kReduceScatter, input);
        // Backward gathers the input again beside the data gradient and scatters beside the weight
        // gradient; what does not fit there is seen.
        const Seconds hidden = conventions_.tensor_backward_overlap ? data + weight : Seconds{};
        tensor.Add(gather, Max(gather + scatter - hidden * 0.9, (gather + scatter) * 0.1));
      } else {
        const Seconds reduce = Tensor(Collective::kAllReduce, input);
        const Seconds hidden = conventions_.tensor_backward_overlap ? weight : Seconds{};
        tensor.Add({}, Max(reduce - hidden * 0.9, reduce * 0.1));
      }
    }
    if (op.row) {
      const Bytes output{conventions_.compute_bytes * op.n * tokens_};
      if (sharding_.sp)
        tensor.Add(Tensor(Collective::kReduceScatter, output),
                   Tensor(Collective::kAllGather, output));
      else
        tensor.Add(Tensor(Collective::kAllReduce, output), {});
    }
  }

  void Grouped(const Op& op, double passes, Passes& compute, Passes& tensor,
               BlockCost& cost) const {
    const auto [number, m, n, k, local] = ProductOf(op);
    const double copies = Copies(op);
    const Seconds forward = GemmTime(machine_.gpu, number, m, n, k, local),
                  data = GemmTime(machine_.gpu, number, m, k, n, local),
                  weight = GemmTime(machine_.gpu, number, n, k, m, local);
    // A grouped product reaches about 0.7 of a plain one's rate: uneven groups, more tiles at the
    // edges, weight gradients of few rows.
    const double rate = 0.7 * conventions_.gemm_factor;
    compute.Add(forward / rate, (data + weight) / rate);
    cost.flops += 2 * copies * n * k * passes;
    if (sharding_.etp > 1 && !op.joins) {
      const Bytes bytes{conventions_.compute_bytes * (op.column ? op.k : op.n) * copies};
      if (op.column)
        tensor.Add(expert_tensor_.Time(Collective::kAllGather, bytes),
                   expert_tensor_.Time(Collective::kReduceScatter, bytes));
      if (op.row)
        tensor.Add(expert_tensor_.Time(Collective::kReduceScatter, bytes),
                   expert_tensor_.Time(Collective::kAllGather, bytes));
    }
  }

  // A collective of the tensor-parallel group, with what its launch costs beyond its bytes.
  Seconds Tensor(Collective op, Bytes bytes) const {
    return tensor_.Time(op, bytes) / conventions_.tensor_rate +
           Seconds{sharding_.tp > 1 ? conventions_.tensor_collective_seconds : 0};
  }

  // Casting a product's operand to 8 bits: read twice (its largest value, the cast) and written
  // once, where the cast is not fused into the kernel before; weights are cast in every pass.
  Seconds Quantize(double elements) const {
    // Block scales need a second, transposed cast; four bits a rotation of the operand too.
    const double transposed = training_.precision == Precision::kMxfp8   ? 1
                              : training_.precision == Precision::kNvfp4 ? 3
                                                                         : 0;
    const double fused = conventions_.kernels == kTransformerEngine ? 6 : training_.compile ? 5 : 9;
    const double bytes = fused + transposed;
    return StreamTime(machine_.gpu, {bytes * elements}, conventions_.pointwise_efficiency);
  }

  Seconds Gemm(Number number, double m, double n, double k) const {
    return GemmTime(machine_.gpu, number, m, n, k) / conventions_.gemm_factor;
  }

  FlashKernel KernelOf(const Op& op) const {
    if (op.score_bias) return FlashKernel::kVersion1;
    // Sinks are new: FlexAttention and FlashAttention-2's forks run them.
    return conventions_.flash_attention_2 || op.sinks ? FlashKernel::kVersion2
                                                      : FlashKernel::kNewest;
  }

  void Attention(const Op& op, double passes, Passes& compute, Passes& context,
                 BlockCost& cost) const {
    const double heads = op.heads / sharding_.tp, keys = Keys(op);
    const bool ulysses = sharding_.cp_kind == CpKind::kUlysses && sharding_.cp > 1;
    const double scores = heads * tokens_ * keys;
    const Flops whole{2 * scores * (op.qk_dim + op.v_dim)};
    cost.flops += whole.value * passes;  // in full, as hardware FLOPs are customarily counted
    if (training_.attention == AttentionImpl::kEager) {
      // Two products per head over all keys, and the softmax chain's traffic per score: 11 + 15
      // bytes with Megatron's fused softmax, 50 + 40 in transformers (fp32 softmax, mask, casts).
      const bool fused = conventions_.fused_pointwise;
      const double batch = heads * tokens_ / keys;
      const Seconds products = GemmTime(machine_.gpu, number_, keys, keys, op.qk_dim, batch) +
                               GemmTime(machine_.gpu, number_, keys, op.v_dim, keys, batch);
      // A bias (ALiBi) is written where the first product adds to it, and read there.
      const double bias = op.score_bias ? 4 : 0;
      compute.Add(products + Pass(((fused ? 11 : 50) + bias) * scores),
                  products * 2 + Pass((fused ? 15 : 40) * scores));
    } else {
      const bool windowed = op.window > 0 && op.window < keys_;
      const double seen = conventions_.attention_skips_masked && !windowed ? 0.5 : 1;
      const auto time = [&](auto pass) {
        return pass(machine_.gpu, number_, whole * seen, op.qk_dim,
                    ulysses ? keys : keys / sharding_.cp, KernelOf(op)) /
               conventions_.attention_factor;
      };
      compute.Add(time(FlashTime), time(FlashBackwardTime));
    }
    if (sharding_.cp == 1) return;
    const double width = conventions_.compute_bytes;
    if (ulysses) {
      const double rank_elements = tokens_ * (heads * (op.qk_dim + op.v_dim) +
                                              op.kv_heads / sharding_.tp * (op.qk_dim + op.v_dim));
      const Seconds exchange = context_.Time(Collective::kAllToAll, Bytes{width * rank_elements});
      context.Add(exchange, exchange);
      return;
    }
    const double kv_heads =
        op.kv_heads / std::min<double>(sharding_.tp, std::max(1.0, op.kv_heads));
    const Bytes chunk{width * tokens_ * kv_heads * (op.qk_dim + op.v_dim)};
    if (sharding_.cp_kind == CpKind::kAllGather) {
      context.Add(context_.Time(Collective::kAllGather, chunk * sharding_.cp),
                  context_.Time(Collective::kAllGather, chunk * sharding_.cp) +
                      context_.Time(Collective::kReduceScatter, chunk * sharding_.cp));
      return;
    }
    // A ring of cp - 1 hops beside the attention of each chunk; the causal ring's first hop has no
    // chunk to hide under.
    const double hops = sharding_.cp - 1;
    const Seconds hop = context_.Time(Collective::kSendRecv, chunk);
    const auto exposed = [&](Seconds comm, Seconds work) {
      return Max(comm * 0.15, comm - work * 0.8);
    };
    context.Add(exposed(hop * hops, compute.forward), exposed(hop * (2 * hops), compute.backward));
  }

  // Share of a token's `copies` that are sent. DeepEP and HybridEP send a token once to each rank
  // that wants it; beyond an NVLink domain once to each domain, which copies it inside.
  double SentOnce(const Op& op) const {
    if (training_.moe_dispatcher != MoeDispatcher::kDeepEp) return 1;
    const double islands = ReachOf(machine_, expert_.group()).islands;
    const double places = std::max(1.0, (islands > 1 ? islands : sharding_.ep) * op.routed_share);
    return places * (1 - std::pow(1 - 1 / places, op.routed)) / op.routed;
  }

  // HybridEP writes to its peers' memory in the NVLink domain and permutes on the way: on
  // rack-scale domains, for which it was made, half of an exchange runs beside the kernels around
  // it.
  double ExchangeSeen() const {
    const bool rack = ReachOf(machine_, {machine_.scale_up_domain, 1}).nodes > 1;
    return rack && training_.moe_dispatcher == MoeDispatcher::kDeepEp ? 0.5 : 1;
  }

  void Route(const Op& op, Passes& compute, Passes& expert) const {
    Pointwise(op, compute);
    if (sharding_.ep == 1) return;
    const double width = conventions_.compute_bytes;
    // Each rank sends its own copies: k * h per token, whatever etp gathers later.
    const Bytes total{SentOnce(op) * width * model_.facts.hidden_size * op.routed * tokens_ /
                      sequence_split_ * training_.moe_imbalance};
    const Seconds exchange = expert_.Time(Collective::kAllToAll, total) * ExchangeSeen();
    expert.Add(exchange, exchange);
  }

  void Pointwise(const Op& op, Passes& compute) const {
    double traffic = Fused() ? op.traffic_fused : op.traffic_eager;
    if (op.kind == OpKind::kLoss) traffic *= padded_vocab_ / model_.facts.vocab_size / vocab_split_;
    const double split = op.kind == OpKind::kLoss ? 1
                         : op.kind == OpKind::kEmbedding || op.kind == OpKind::kPointwise ||
                                 op.traffic_cut == Cut::kRouted
                             ? Split(op.traffic_cut)
                             : 1;
    const double bytes = conventions_.residual_bytes * traffic * tokens_ / split;
    compute.Add(Pass(bytes) + machine_.gpu.launch,
                Pass(bytes * op.backward_traffic) + machine_.gpu.launch);
  }

  Seconds Pass(double bytes) const {
    return StreamTime(machine_.gpu, {bytes}, conventions_.pointwise_efficiency);
  }

  // Where launching takes longer than running, the GPU waits for the host.
  void Host(const Launches& launches, BlockCost& cost) const {
    const double floor = conventions_.layer_floor_seconds +
                         (launches.experts ? conventions_.expert_floor_seconds : 0);
    // Two collectives a pass.
    const double collectives =
        sharding_.tp > 1 && launches.layer ? 2 * conventions_.host_seconds_per_collective : 0;
    const auto wait = [&](double count, double floors, Seconds busy) {
      const Seconds host{std::max(count * conventions_.host_seconds_per_launch, floors * floor) +
                         collectives};
      return Max(host - busy, Seconds{});
    };
    // Communication keeps the GPU busy too: its share of each pass is taken as a quarter, half and
    // a quarter.
    const Seconds comm = cost.tensor_comm + cost.context_comm + cost.expert_comm;
    cost.host += wait(launches.forward, 1, cost.forward + comm * 0.4);
    cost.host += wait(launches.backward, 1.5, cost.backward + comm * 0.4);
    if (cost.recompute.value > 0)
      cost.host += wait(launches.recompute, cost.recompute / Max(cost.forward, Seconds{1e-12}),
                        cost.recompute + comm * 0.2);
  }

  Communicator tensor_, context_, expert_, expert_tensor_;
};
}  // namespace

LayersCost CostLayers(const Job& job, const Sharding& sharding) {
  const Walk walk(job, sharding);
  const Model& model = *job.model;
  LayersCost cost;
  cost.tokens = walk.tokens();
  const Recompute recompute = Meant(job, sharding.recompute);
  const bool some_layers = recompute.kind == RecomputeKind::kLayers;
  const Recompute none, full{.kind = RecomputeKind::kFull, .modules = 0, .layers = {}};
  for (const Block& block : model.blocks) {
    cost.blocks.push_back(walk.Cost(block, some_layers ? none : recompute));
    if (some_layers) cost.recomputed.push_back(walk.Cost(block, full));
  }
  cost.embedding = walk.Cost(model.embedding, none);
  cost.head = walk.Cost(model.head, none);
  for (const Block& module : model.mtp) {
    const BlockCost layer = walk.Cost(module, some_layers ? none : recompute);
    cost.mtp.push_back(layer);
  }
  const double logits = walk.tokens() * walk.padded_vocab() / walk.vocab_split();
  // A soft cap keeps tanh's output beside what the loss holds.
  const double cap = model.facts.soft_capped_logits ? job.conventions.compute_bytes : 0;
  cost.logits_forward = {(job.conventions.logit_bytes_forward + cap) * logits};
  cost.logits_backward = {(job.conventions.logit_bytes_backward + cap) * logits};
  cost.logits_kept = {job.conventions.logit_kept_bytes * logits};
  const double split = sharding.sp || job.conventions.p2p_split_over_tp ? sharding.tp : 1;
  cost.boundary = {job.conventions.residual_bytes * model.facts.hidden_size * walk.tokens() /
                   split};
  cost.tensor = walk.tensor();
  cost.nccl = walk.CommunicatorMemory();
  return cost;
}
}  // namespace shardplan
