// SPDX-License-Identifier: Apache-2.0
// A plan as torchtitan 0.2: a TOML file, and a module that adds the model to torchtitan's own.
#include <fmt/format.h>

#include "planner/export/model_config.h"
#include "planner/export/python_script.h"
#include "planner/export/target.h"
#include "planner/export/toml_text.h"
#include "planner/export/torchtitan.h"

namespace shardplan {
namespace {

constexpr char kModule[] = R"py("""Adds the plan's model to torchtitan, under the name shardplan.

TOKENS=FILE.npy holds token ids; without it they are made up.
"""

import os

import numpy
import torch
from torch.utils.data import IterableDataset
from torchtitan.components.dataloader import ParallelAwareDataloader
from torchtitan.models import @MODEL@
@IMPORTS@from torchtitan.protocols.train_spec import register_train_spec


class Tokens(IterableDataset):
    def __init__(self, vocabulary, length, rank, ranks):
        path = os.environ.get("TOKENS")
        self.ids = numpy.load(path, mmap_mode="r").reshape(-1) if path else None
        self.vocabulary, self.length, self.at, self.ranks = vocabulary, length, rank, ranks

    def __iter__(self):
        while True:
            if self.ids is None:
                numbers = torch.Generator().manual_seed(self.at)
                ids = torch.randint(self.vocabulary, (self.length + 1,), generator=numbers)
            else:
                start = self.at * self.length % (len(self.ids) - self.length)
                ids = torch.from_numpy(self.ids[start:start + self.length + 1].astype("int64"))
            self.at += self.ranks
            yield {"input": ids[:-1]}, ids[1:]

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


def build_dataloader(dp_world_size, dp_rank, tokenizer, job_config, infinite=True):
    dataset = Tokens(MODEL.vocab_size, job_config.training.seq_len, dp_rank, dp_world_size)
    return ParallelAwareDataloader(dataset, dp_rank=dp_rank, dp_world_size=dp_world_size,
                                   batch_size=job_config.training.local_batch_size)


MODEL = @ARGS@
spec = @MODEL@.get_train_spec()
spec.model_args = {"plan": MODEL}
spec.build_dataloader_fn = build_dataloader
spec.build_tokenizer_fn = None
spec.build_validator_fn = None
register_train_spec("shardplan", spec)
)py";

struct TitanModel {
  std::string package, imports, args;
};

std::string Arguments(const char* name, const std::vector<std::pair<const char*, Json>>& values) {
  std::string text = fmt::format("{}(\n", name);
  for (const auto& [key, value] : values)
    text += fmt::format("    {}={},\n", key, PythonText(value));
  return text + ")";
}

double Base(const ExportJob& job) { return RotaryBase(job.config).value_or(10000.0); }
double Epsilon(const ExportJob& job) { return NormEpsilon(job.config).value_or(1e-5); }

TitanModel LlamaModel(const ExportJob& job) {
  const DecoderShape& s = job.shape;
  return {"llama3", "from torchtitan.models.llama3.model.args import TransformerModelArgs\n",
          Arguments("TransformerModelArgs", {{"dim", s.hidden},
                                             {"n_layers", s.layers},
                                             {"n_heads", s.heads},
                                             {"n_kv_heads", s.kv_heads},
                                             {"vocab_size", s.vocab},
                                             // A width below one multiple is rounded up to it.
                                             {"multiple_of", s.ffn},
                                             {"ffn_dim_multiplier", 0.1},
                                             {"norm_eps", Epsilon(job)},
                                             {"rope_theta", Base(job)},
                                             {"max_seq_len", job.training().seq_length}})};
}

std::string Experts(const DecoderShape& s, bool sigmoid) {
  const int shared = s.expert_ffn > 0 ? s.shared_ffn / s.expert_ffn : 0;
  return fmt::format(
      "MoEArgs(num_experts={}, num_shared_experts={}, top_k={}, score_func=\"{}\", "
      "route_norm=True, score_before_experts=False)",
      s.experts, shared, s.top_k, sigmoid ? "sigmoid" : "softmax");
}

TitanModel QwenModel(const ExportJob& job) {
  const DecoderShape& s = job.shape;
  std::string args = Arguments("Qwen3ModelArgs", {{"dim", s.hidden},
                                                  {"n_layers", s.layers},
                                                  {"n_heads", s.heads},
                                                  {"n_kv_heads", s.kv_heads},
                                                  {"head_dim", s.head_dim},
                                                  {"hidden_dim", s.ffn},
                                                  {"vocab_size", s.vocab},
                                                  {"norm_eps", Epsilon(job)},
                                                  {"rope_theta", Base(job)},
                                                  {"qk_norm", s.qk_norm == QkNorm::kPerHead},
                                                  {"max_seq_len", job.training().seq_length},
                                                  {"enable_weight_tying", s.tied},
                                                  {"moe_enabled", s.experts > 0},
                                                  {"moe_inter_dim", s.expert_ffn}});
  std::string imports = "from torchtitan.models.qwen3.model.args import Qwen3ModelArgs\n";
  if (s.experts > 0) {
    args.insert(args.size() - 1, fmt::format("    moe_args={},\n", Experts(s, false)));
    imports = "from torchtitan.models.moe import MoEArgs\n" + imports;
  }
  return {"qwen3", imports, args};
}

TitanModel DeepseekModel(const ExportJob& job) {
  const DecoderShape& s = job.shape;
  int dense = 0;
  while (dense < static_cast<int>(s.moe.size()) && s.moe[static_cast<std::size_t>(dense)] == 0)
    ++dense;
  std::string args = Arguments("DeepSeekV3ModelArgs", {{"dim", s.hidden},
                                                       {"n_layers", s.layers},
                                                       {"n_dense_layers", dense},
                                                       {"n_heads", s.heads},
                                                       {"vocab_size", s.vocab},
                                                       {"inter_dim", s.ffn},
                                                       {"moe_inter_dim", s.expert_ffn},
                                                       {"norm_eps", Epsilon(job)},
                                                       {"q_lora_rank", s.q_lora_rank},
                                                       {"kv_lora_rank", s.kv_lora_rank},
                                                       {"qk_nope_head_dim", s.qk_nope_head_dim},
                                                       {"qk_rope_head_dim", s.qk_rope_head_dim},
                                                       {"v_head_dim", s.v_head_dim},
                                                       {"max_seq_len", job.training().seq_length}});
  args.insert(args.size() - 1,
              fmt::format("    moe_args={},\n", Experts(s, s.family == "deepseek_v3")));
  return {"deepseek_v3",
          "from torchtitan.models.deepseek_v3.model.args import DeepSeekV3ModelArgs\n"
          "from torchtitan.models.moe import MoEArgs\n",
          args};
}

// Which of torchtitan's models has the shape.
Result<TitanModel> ModelOf(const ExportJob& job, std::vector<Loss>& losses) {
  const DecoderShape& s = job.shape;
  const bool gated = s.gated && s.activation == Activation::kSilu && s.norm == NormKind::kRms &&
                     s.rotary && s.norms_per_layer == 2 && !s.sinks && !s.out_bias && !s.mlp_bias;
  if (!gated)
    return Cannot(
        fmt::format("{}: torchtitan 0.2 has the shapes of Llama, Qwen3 and DeepSeek-V3", s.family));
  if (s.q_bias) losses.push_back({"biases of queries, keys and values", "none"});
  if (s.mtp_layers > 0) losses.push_back({"MTP modules", "none"});
  for (const int width : s.window)
    if (width > 0 && width < job.training().seq_length) {
      losses.push_back({"sliding windows", "attention to all that came before"});
      break;
    }
  if (s.kv_lora_rank > 0) return DeepseekModel(job);
  const bool llama =
      s.experts == 0 && s.qk_norm == QkNorm::kNone && !s.tied && s.head_dim * s.heads == s.hidden;
  return llama ? LlamaModel(job) : QwenModel(job);
}
}  // namespace

Result<Script> WriteTorchtitanToml(const ExportJob& job, std::string_view version) {
  if (const std::string why = WhyNotTorchtitan(job); !why.empty()) return Cannot(why);
  Script script;
  const Result<TitanModel> model = ModelOf(job, script.losses);
  if (!model) return tl::unexpected(model.error());
  Settings keys{.table = fmt::format("torchtitan@{}", version), .list = {}};
  keys.Set("job.dump_folder", "./output");
  keys.Set("model.name", "shardplan");
  keys.Set("model.flavor", "plan");
  AddTorchtitan(job, false, keys, script.losses);
  keys.Set("lr_scheduler.warmup_steps", std::max<std::int64_t>(1, job.Steps() / 100));
  keys.Set("metrics.log_freq", 1);
  keys.Set("experimental.custom_import", "plan_model");
  script.files = {{"plan.toml", TomlText(keys)},
                  {"plan_model.py", Filled(kModule, {{"@MODEL@", model->package},
                                                     {"@IMPORTS@", model->imports},
                                                     {"@ARGS@", model->args}})}};
  script.setup = "export PYTHONPATH=$PWD${PYTHONPATH:+:$PYTHONPATH}\n";
  script.program = {"-m", "torchtitan.train", "--job.config_file", "plan.toml"};
  script.needs = {fmt::format("torchtitan {}, and the torch that it was made for", version),
                  "`TOKENS`, a .npy file of token ids, for real data; made-up ones without it"};
  script.settings = {keys};
  return script;
}
}  // namespace shardplan
