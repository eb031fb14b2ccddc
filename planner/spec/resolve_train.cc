// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>

#include "planner/framework/defaults.h"
#include "planner/framework/framework.h"
#include "planner/spec/resolve.h"
#include "planner/spec/schema.h"

namespace shardplan {
namespace {

// The message's enums are the domain's, with UNSPECIFIED before them.
template <class Domain, class Proto>
Domain DomainOf(Proto value) {
  return static_cast<Domain>(static_cast<int>(value) - 1);
}
#define SHARDPLAN_SAME_ENUM(domain_last, proto_last) \
  static_assert(static_cast<int>(domain_last) == static_cast<int>(proto_last) - 1)
SHARDPLAN_SAME_ENUM(FrameworkId::kNative, v1::FRAMEWORK_NATIVE);
SHARDPLAN_SAME_ENUM(Precision::kNvfp4, v1::PRECISION_NVFP4);
SHARDPLAN_SAME_ENUM(Dtype::kInt8, v1::DTYPE_INT8);
SHARDPLAN_SAME_ENUM(Optimizer::kAdamW8bit, v1::OPTIMIZER_ADAMW_8BIT);
SHARDPLAN_SAME_ENUM(OptimizerImpl::kPaged, v1::OPTIMIZER_IMPL_PAGED);
SHARDPLAN_SAME_ENUM(AttentionImpl::kEager, v1::ATTENTION_EAGER);
SHARDPLAN_SAME_ENUM(LossImpl::kChunked, v1::LOSS_CHUNKED);
SHARDPLAN_SAME_ENUM(Task::kDistill, v1::TASK_DISTILL);
SHARDPLAN_SAME_ENUM(MoeDispatcher::kDeepEp, v1::MOE_DISPATCHER_DEEPEP);
SHARDPLAN_SAME_ENUM(CheckpointStyle::kFull, v1::CHECKPOINT_FULL);
SHARDPLAN_SAME_ENUM(Fp8Recipe::kMx, v1::FP8_RECIPE_MX);
#undef SHARDPLAN_SAME_ENUM

template <class Proto>
std::string TextOf(Proto value) {
  return EnumText(*google::protobuf::GetEnumDescriptor<Proto>()->FindValueByNumber(value));
}

// What later releases will read.
Result<void> RefuseUnsupported(const SpecText& text) {
  const v1::Train& train = text.spec.train();
  if (train.framework() == v1::FRAMEWORK_COLOSSALAI)
    return text.Fail(
        "train.framework", "colossalai is not supported yet",
        "supported are megatron, torchtitan, fsdp, deepspeed, ddp, hf, nanotron, native");
  if (train.has_task() && train.task() != v1::TASK_PRETRAIN && train.task() != v1::TASK_SFT)
    return text.Fail("train.task", fmt::format("{} is not supported yet", TextOf(train.task())),
                     "supported are pretrain and sft, which train all parameters");
  if (train.has_lora())
    return text.Fail("train.lora", "adapters are not supported yet",
                     "leave it out: task pretrain and sft train all parameters");
  if (train.has_decoder_seq_length())
    return text.Fail("train.decoder_seq_length", "encoder-decoders are not supported yet",
                     "give seq_length alone");
  if (train.has_image_size())
    return text.Fail("train.image_size", "vision models are not supported yet",
                     "give seq_length of a language model");
  return {};
}

bool IsVersion(const std::string& text) {
  return text == "main" ||
         (!text.empty() && text.size() < 32 && text[0] >= '0' && text[0] <= '9' &&
          text.find_first_not_of("0123456789.abcdefghijklmnopqrstuvwxyz+-") == std::string::npos);
}

}  // namespace

Result<Training> ResolveTrain(const SpecText& text, const std::string& family) {
  const v1::Train& train = text.spec.train();
  if (Result<void> fine = RefuseUnsupported(text); !fine) return tl::unexpected(fine.error());
  if (!train.has_seq_length())
    return text.Fail("train.seq_length", "missing", "give the tokens of one sequence, as in 4096");
  if (!train.has_global_batch_size())
    return text.Fail("train.global_batch_size", "missing",
                     "give the sequences per optimizer step, as in 1024");
  if (train.has_max_sample_length() && train.max_sample_length() < train.seq_length())
    return text.Fail("train.max_sample_length",
                     fmt::format("{} is less than seq_length", train.max_sample_length()),
                     fmt::format("expected {} or more", train.seq_length()));
  if (train.has_framework_version() && !IsVersion(train.framework_version()))
    return text.Fail("train.framework_version",
                     fmt::format("{} is no version", Shown(train.framework_version())),
                     "expected one like \"0.14\", in quotes");

  Training t;
  if (train.has_framework()) t.framework = DomainOf<FrameworkId>(train.framework());
  if (train.has_precision()) t.precision = DomainOf<Precision>(train.precision());
  t.compile = train.compile();
  // Recipes of float8, and the MX and NV formats, came with the releases that compile the loss.
  const bool recent = train.has_framework_version() || train.fp8().has_recipe() ||
                      t.precision == Precision::kMxfp8 || t.precision == Precision::kNvfp4;
  const TrainingDefaults defaults =
      DefaultsOf(t.framework, t.precision, family, t.compile && recent);
  t.framework_version = train.has_framework_version()
                            ? train.framework_version()
                            : std::string(FrameworkOf(t.framework).newest_version);
  t.seq_length = train.seq_length();
  t.global_batch_size = train.global_batch_size();
  t.tokens = train.tokens();
  t.max_sample_length = train.max_sample_length();
  t.eval_batch_size = train.eval_batch_size();
  if (train.has_checkpoint()) t.checkpoint = DomainOf<CheckpointStyle>(train.checkpoint());
  if (train.fp8().has_recipe()) t.fp8_recipe = DomainOf<Fp8Recipe>(train.fp8().recipe());
  t.fp8_params = train.fp8().params();
  t.fp8_all_gather = train.fp8().all_gather();

  const auto dtype = [](bool given, v1::Dtype own, Dtype framework) {
    return given ? DomainOf<Dtype>(own) : framework;
  };
  t.gradient_dtype =
      dtype(train.has_gradient_dtype(), train.gradient_dtype(), defaults.gradient_dtype);
  t.reduce_dtype = dtype(train.has_reduce_dtype(), train.reduce_dtype(), defaults.reduce_dtype);
  t.optimizer_state_dtype = dtype(train.has_optimizer_state_dtype(), train.optimizer_state_dtype(),
                                  defaults.optimizer_state_dtype);
  if (train.has_optimizer()) t.optimizer = DomainOf<Optimizer>(train.optimizer());
  t.optimizer_impl = train.has_optimizer_impl() ? DomainOf<OptimizerImpl>(train.optimizer_impl())
                                                : defaults.optimizer_impl;
  t.optimizer_in_backward = train.optimizer_in_backward();
  t.attention =
      train.has_attention() ? DomainOf<AttentionImpl>(train.attention()) : defaults.attention;
  t.loss = train.has_loss() ? DomainOf<LossImpl>(train.loss()) : defaults.loss;
  t.keep_logits = train.keep_logits();
  t.dropout = train.dropout();
  if (train.has_task()) t.task = DomainOf<Task>(train.task());
  t.moe_dispatcher = train.moe().has_dispatcher()
                         ? DomainOf<MoeDispatcher>(train.moe().dispatcher())
                         : defaults.moe_dispatcher;
  if (train.moe().has_imbalance()) t.moe_imbalance = train.moe().imbalance();
  if (train.moe().capacity_factor() > 0)
    t.moe_imbalance = std::min(t.moe_imbalance, train.moe().capacity_factor());
  const v1::Deepspeed& deepspeed = train.deepspeed();
  if (deepspeed.has_reduce_bucket_size()) t.reduce_bucket_size = deepspeed.reduce_bucket_size();
  if (deepspeed.has_overlap_comm()) t.overlap_comm = deepspeed.overlap_comm();
  if (deepspeed.has_stage3_max_live_parameters())
    t.max_live_parameters = deepspeed.stage3_max_live_parameters();
  t.gradient_as_bucket_view = train.gradient_as_bucket_view();
  t.cuda_graphs = train.cuda_graphs();
  t.expandable_segments = train.allocator().has_expandable_segments()
                              ? train.allocator().expandable_segments()
                              : defaults.expandable_segments;
  t.vocab_parallel = train.has_vocab_parallel() ? train.vocab_parallel() : defaults.vocab_parallel;
  return t;
}
}  // namespace shardplan
