// SPDX-License-Identifier: Apache-2.0
// The plan's sharding and placement as Megatron's flags.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "planner/export/megatron.h"
#include "planner/framework/stages.h"
#include "planner/plan/axes.h"

namespace shardplan {
namespace {

constexpr std::uint32_t Bit(Module module) { return 1u << static_cast<unsigned>(module); }

void AddPipeline(const ExportJob& job, Settings& flags, std::vector<Loss>& losses) {
  const Placement& p = job.plan().placement;
  flags.Set("--pipeline-model-parallel-size", p.pp);
  if (p.pp == 1) return;
  const std::vector<int> chunks =
      ChunkLayers(FrameworkOf(job.training().framework), job.model(), p);
  const bool even = std::all_of(chunks.begin(), chunks.end(),
                                [&](int layers) { return layers == chunks.front(); });
  if (!even || job.shape.mtp_layers > 0)
    flags.Set("--pipeline-model-parallel-layout", LayoutText(chunks, job.shape.mtp_layers));
  else if (p.vpp > 1)
    flags.Set("--num-virtual-stages-per-pipeline-rank", p.vpp);
  if (p.vpp > 1 && !job.plan().policy.overlap.p2p) flags.Set("--no-overlap-p2p-communication");
  if (p.schedule != Schedule::k1F1B && p.schedule != Schedule::kInterleaved)
    losses.push_back({fmt::format("schedule {}", Name(p.schedule)),
                      p.vpp > 1 ? "interleaved 1F1B" : "1F1B: forks of Megatron have the other"});
}

void AddExpertRanks(const ExportJob& job, Settings& flags) {
  if (job.shape.experts == 0) return;
  const Sharding& s = job.plan().sharding;
  flags.Set("--expert-model-parallel-size", s.ep);
  flags.Set("--expert-tensor-parallel-size", s.etp);
  const MoeDispatcher dispatcher = job.training().moe_dispatcher;
  // The flexible dispatcher wants ranks to dispatch to.
  const bool flexible = dispatcher == MoeDispatcher::kDeepEp && s.ep * s.etp > 1;
  flags.Set("--moe-token-dispatcher-type", flexible                                  ? "flex"
                                           : dispatcher == MoeDispatcher::kAllGather ? "allgather"
                                                                                     : "alltoall");
  if (!flexible) return;
  flags.Set("--moe-flex-dispatcher-backend", "deepep");
  flags.Set("--moe-router-dtype", "fp32");  // DeepEP takes no other
}

// Layers of one virtual stage that `recompute: {layers: ...}` means, rounded up.
int LayersPerChunk(const Recompute& recompute, const Placement& p) {
  const int chunks = p.pp * p.vpp;
  if (recompute.layers.size() <= 1)
    return recompute.layers.empty() ? 0 : (recompute.layers.front() + chunks - 1) / chunks;
  const int most = *std::max_element(recompute.layers.begin(), recompute.layers.end());
  return (most + p.vpp - 1) / p.vpp;
}

void AddLayers(const ExportJob& job, Settings& flags, std::vector<Loss>& losses) {
  const Recompute& recompute = job.plan().sharding.recompute;
  const Placement& p = job.plan().placement;
  const int layers = LayersPerChunk(recompute, p), chunks = p.pp * p.vpp;
  if (layers == 0) return;
  flags.Set("--recompute-granularity", "full");
  flags.Set("--recompute-method", "block");
  flags.Set("--recompute-num-layers", layers);
  const int asked = std::accumulate(recompute.layers.begin(), recompute.layers.end(), 0);
  if (asked != layers * chunks)
    losses.push_back(
        {fmt::format("recompute of {}", Text(recompute)),
         fmt::format("{} layers of each virtual stage, {} in all", layers, layers * chunks)});
}

void AddModules(const ExportJob& job, Settings& flags, std::vector<Loss>& losses) {
  Json names = Json::array();
  for (int i = 0; i < static_cast<int>(Module::kOther); ++i) {
    const auto module = static_cast<Module>(i);
    if ((job.plan().sharding.recompute.modules & Bit(module)) == 0) continue;
    if (module == Module::kActivation && job.shape.experts == 0)
      losses.push_back(
          {"recompute of the MLP's activation", "kept: the module is of experts only"});
    else
      names.push_back(Name(module));
  }
  if (names.empty()) return;
  flags.Set("--recompute-granularity", "selective");
  flags.Set("--recompute-modules", names);
}
}  // namespace

std::string LayoutText(const std::vector<int>& chunks, int mtp_layers) {
  std::string text;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (i > 0) text += "|";
    if (i == 0) text += "E";
    if (chunks[i] == 1) text += "t";
    if (chunks[i] > 1) text += fmt::format("t*{}", chunks[i]);
    if (i + 1 == chunks.size())
      text += std::string(static_cast<std::size_t>(mtp_layers), 'm') + "L";
  }
  return text;
}

void AddMegatronLayout(const ExportJob& job, Settings& flags, std::vector<Loss>& losses) {
  const Sharding& s = job.plan().sharding;
  flags.Set("--tensor-model-parallel-size", s.tp);
  if (s.sp && s.tp > 1) flags.Set("--sequence-parallel");
  AddPipeline(job, flags, losses);
  flags.Set("--context-parallel-size", s.cp);
  if (s.cp > 1)
    flags.Set("--cp-comm-type", Json::array({s.cp_kind == CpKind::kRing      ? "p2p"
                                             : s.cp_kind == CpKind::kUlysses ? "a2a"
                                                                             : "all_gather"}));
  AddExpertRanks(job, flags);
  flags.Set("--micro-batch-size", s.micro_batch_size);
  flags.Set("--global-batch-size", job.training().global_batch_size);
  switch (s.recompute.kind) {
    case RecomputeKind::kNone:
      break;
    case RecomputeKind::kSelective:
      flags.Set("--recompute-granularity", "selective");
      flags.Set("--recompute-modules", Json::array({"core_attn"}));
      break;
    case RecomputeKind::kFull:
      flags.Set("--recompute-granularity", "full");
      flags.Set("--recompute-method", "uniform");
      flags.Set("--recompute-num-layers", 1);
      break;
    case RecomputeKind::kModules:
      AddModules(job, flags, losses);
      break;
    case RecomputeKind::kLayers:
      AddLayers(job, flags, losses);
      break;
  }
}
}  // namespace shardplan
