// SPDX-License-Identifier: Apache-2.0
// The model graph: what a model computes, keeps and owns, before any plan cuts it.
//
// A model is a list of layers, each naming one of a few distinct blocks; a block is a row of ops;
// an op is numbers and a sharding rule. Families (llama, mixtral, deepseek ...) are builders of
// this graph; the cost model walks it and knows no family. All sizes are per token unless said
// otherwise, so that micro batch, sequence and context parallelism stay outside.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace shardplan {

// How the axes of a plan divide a tensor, a weight or a product.
enum class Cut : std::uint8_t {
  kWhole,     // the same on each tensor-parallel rank
  kTensor,    // divided by tp
  kSequence,  // divided by tp under Megatron sequence parallelism, whole without it
  kGathered,  // whole on each tensor rank even under sequence parallelism (all-gathered inputs)
  kKv,        // divided by min(tp, kv heads): key/value heads are replicated beyond their number
  kExpert,    // an expert's weights (ep and etp) or a routed token's activations (etp)
  kRouted,    // a routed copy of a token, whole over etp
};

// Element type of a tensor, resolved to bytes by the precision and the framework.
enum class Elements : std::uint8_t {
  kCompute,   // the dtype matrix products run in (2 bytes in mixed precision)
  kResidual,  // the residual stream's (fp32 under torch autocast over fp32 weights)
  kInput,     // a product's input: 8 bits where Transformer Engine multiplies in 8 or 4
  kFloat32,
  kByte,  // masks
};

// Which implementation runs an op, and therefore which tensors autograd keeps.
enum KernelSet : std::uint16_t {
  kEager = 1 << 0,     // transformers in PyTorch eager mode, weights in the compute dtype
  kAutocast = 1 << 1,  // the same under torch.autocast over fp32 weights
  kTitan = 1 << 2,     // torchtitan and torchtune eager: fused rms_norm and sdpa, eager SwiGLU
  kCompiled = 1 << 3,  // torch.compile: pointwise chains fused
  kTransformerEngine = 1 << 4,  // Megatron-Core with Transformer Engine
  kMegatronLocal =
      1 << 5,  // Megatron's own kernels before Transformer Engine (also Megatron-DeepSpeed)
  kNanotron = 1 << 6,
  kNative = 1 << 7,  // shardplan's own step
  kAnyKernels = 0xff,
};

// Which attention kernel: it decides whether scores are kept.
enum AttentionSet : std::uint8_t {
  kFlash = 1 << 0,
  kSdpa = 1 << 1,
  kEagerScores = 1 << 2,
  kAnyAttention = 7
};

// Until when a saved tensor lives.
enum class Until : std::uint8_t {
  kOwnBackward,    // freed when the op's backward has run
  kBlockBackward,  // shared by several ops: freed when the block's backward has run
};

// One tensor that autograd keeps from an op's forward to its backward.
struct Saved {
  const char* what = "";
  double elements = 0;  // per token
  double per_score =
      0;  // elements per attention score (heads x queries x keys), for eager attention
  Elements type = Elements::kCompute;
  Cut cut = Cut::kSequence;
  std::uint16_t kernels = kAnyKernels;
  std::uint8_t attention = kAnyAttention;
  bool dropout_only = false;  // kept only where dropout > 0
  bool batched_only = false;  // kept only where a micro batch has several sequences
  Until until = Until::kOwnBackward;
};

enum class OpKind : std::uint8_t {
  kGemm,         // n x k weight applied to each token
  kGroupedGemm,  // the same, one weight per expert
  kAttention,    // scores, softmax and the product with the values
  kPointwise,    // memory-bound: norms, activations, rotary, residual adds
  kEmbedding,    // table look-up
  kDispatch,     // tokens to their experts (all-to-all over ep, permutation)
  kCombine,      // and back
  kLoss,         // cross entropy over the vocabulary
};

// What recompute modules can name (Megatron's names). `kOther` is only ever recomputed by `full`.
enum class Module : std::uint8_t {
  kCoreAttention,
  kMlp,
  kMoe,
  kLayernorm,
  kActivation,
  kMlaUpProjection,
  kSharedExperts,
  kOther,
};

struct Op {
  const char* name = "";
  OpKind kind = OpKind::kPointwise;
  Module module = Module::kOther;
  Module parent = Module::kOther;  // kMlp or kMoe around it; recomputed when either is named
  // Products: 2*n*k FLOPs per token forward, twice that backward. Grouped: per routed copy.
  double n = 0, k = 0;
  bool column = false;  // tp divides n and the input is gathered (Megatron's column-parallel)
  bool joins = false;   // shares its input with the product before; fused code runs both as one
  bool row = false;     // tp divides k and the output is reduced (row-parallel)
  // Attention. Keys seen by a query: min(window, sequence), window 0 is all.
  double heads = 0, kv_heads = 0, qk_dim = 0, v_dim = 0, window = 0;
  bool sinks = false;       // a learned logit joins each softmax
  bool score_bias = false;  // ALiBi adds to each score: few fused kernels can
  // Parameters that the op owns.
  double weights = 0;  // matrices, `weight_cut`
  Cut weight_cut = Cut::kWhole;
  double vectors = 0;  // biases and norm weights
  Cut vector_cut = Cut::kWhole;
  // Pointwise traffic per token, elements read plus written, by fusion. Backward is counted with
  // `backward_traffic` times the forward.
  double traffic_fused = 0, traffic_eager = 0, backward_traffic = 1.5;
  Cut traffic_cut = Cut::kSequence;
  double launches_eager =
      1;                    // kernels that eager PyTorch launches forward; fused code launches one
  double routed_share = 1;  // of the ranks that hold experts, those that one token may go to
  double routed = 0;  // copies of a token that the op works on (top-k for experts, else 0 = 1)
  std::vector<Saved> saved;
};

struct Block {
  std::string kind;  // "dense", "moe", "embedding", "head", ...
  std::vector<Op> ops;
};

// Numbers that rules and reports ask for; the costs themselves come from the ops.
struct ModelFacts {
  int hidden_size = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0, intermediate_size = 0;
  int vocab_size = 0, max_positions = 0;
  int position_rows = 0;  // of a learned position table whose length the config states; 0: none
  int experts = 0, experts_per_token = 0, moe_intermediate_size = 0;
  int mtp_layers = 0;
  bool soft_capped_logits = false;
  bool tied_embeddings = false, gated_mlp = false, mla = false, any_bias = false;
};

// REQUIRES: layers index into blocks. The embedding runs before the first layer, the head (final
// norm, projection, loss) after the last; MTP layers follow the head on the last stage.
struct Model {
  std::string name, family;
  ModelFacts facts;
  std::vector<Block> blocks;
  std::vector<int> layers;
  Block embedding, head;
  std::vector<Block> mtp;  // DeepSeek's multi-token prediction modules, with their own projection
};

struct ParameterCount {
  double total = 0;      // without MTP modules, a tied head counted once
  double active = 0;     // what one token uses: top-k experts instead of all
  double embedding = 0;  // input embedding and positions
  double mtp = 0;        // unique to MTP modules
};
ParameterCount CountParameters(const Model& model);
double CountParameters(const Block& block);
// FLOPs of forward and backward per token, attention counted in full, no recomputation.
// (planner/README.md, Eq. 2)
double ModelFlopsPerToken(const Model& model, double sequence);
}  // namespace shardplan
