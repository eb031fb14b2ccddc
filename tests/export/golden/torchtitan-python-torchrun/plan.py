#!/usr/bin/env python3
"""The plan as torchtitan's Trainer.Config; run by torchrun it trains.

TOKENS=FILE.npy holds token ids; without it they are made up. STEPS=N replaces the plan's steps.
"""

import os
from dataclasses import dataclass

import numpy
import torch
from torch.utils.data import IterableDataset
from torchtitan.components.dataloader import ParallelAwareDataloader
from torchtitan.components.loss import CrossEntropyLoss
from torchtitan.components.metrics import MetricsProcessor
from torchtitan.components.optimizer import default_adamw
from torchtitan.components.tokenizer import BaseTokenizer
from torchtitan.config import CompileConfig, ParallelismConfig, TrainingConfig
from torchtitan.distributed.activation_checkpoint import FullAC, SelectiveAC
from torchtitan.distributed.pipeline_parallel import pipeline_llm
from torchtitan.models import llama3
from torchtitan.models.common import ComplexRoPE, Embedding, Linear, RMSNorm
from torchtitan.protocols.model_spec import ModelSpec
from torchtitan.tools.logging import init_logger
from torchtitan.trainer import Trainer

DIM, HEADS, KV_HEADS, FFN = 4096, 32, 8, 14336
LAYERS, VOCABULARY, SEQUENCE = 32, 128256, 8192


class Tokens(IterableDataset):
    def __init__(self, rank, ranks):
        path = os.environ.get("TOKENS")
        self.ids = numpy.load(path, mmap_mode="r").reshape(-1) if path else None
        self.at, self.ranks = rank, ranks

    def __iter__(self):
        while True:
            if self.ids is None:
                numbers = torch.Generator().manual_seed(self.at)
                ids = torch.randint(VOCABULARY, (SEQUENCE + 1,), generator=numbers)
            else:
                start = self.at * SEQUENCE % (len(self.ids) - SEQUENCE)
                ids = torch.from_numpy(self.ids[start:start + SEQUENCE + 1].astype("int64"))
            self.at += self.ranks
            yield {"input": ids[:-1], "positions": torch.arange(SEQUENCE)}, ids[1:]

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class Loader(ParallelAwareDataloader):
    @dataclass(kw_only=True, slots=True)
    class Config(ParallelAwareDataloader.Config):
        pass

    def __init__(self, config, *, dp_world_size, dp_rank, local_batch_size, **_):
        super().__init__(Tokens(dp_rank, dp_world_size), dp_rank=dp_rank, dp_world_size=dp_world_size,
                         batch_size=local_batch_size)


class NoTokenizer(BaseTokenizer):
    """Sequences are token ids already."""

    @dataclass(kw_only=True, slots=True)
    class Config(BaseTokenizer.Config):
        pass

    def __init__(self, config, **_):
        super().__init__()

    def encode(self, *_, **__):
        raise NotImplementedError

    def decode(self, *_, **__):
        raise NotImplementedError

    def get_vocab_size(self):
        return VOCABULARY


def model():
    rope = ComplexRoPE.Config(dim=DIM // HEADS, max_seq_len=SEQUENCE, theta=10000.0)
    return llama3.Llama3Model.Config(
        dim=DIM,
        vocab_size=VOCABULARY,
        enable_weight_tying=False,
        tok_embeddings=Embedding.Config(num_embeddings=VOCABULARY, embedding_dim=DIM,
                                        param_init=llama3._EMBEDDING_INIT),
        norm=RMSNorm.Config(normalized_shape=DIM, param_init=llama3._NORM_INIT),
        lm_head=Linear.Config(in_features=DIM, out_features=VOCABULARY,
                              param_init=llama3._output_linear_init(DIM)),
        layers=llama3._build_llama3_layers(n_layers=LAYERS, dim=DIM, n_heads=HEADS, n_kv_heads=KV_HEADS,
                                           hidden_dim=FFN, rope=rope, attn_backend="flex"),
    )


def config():
    spec = ModelSpec(name="llama3", flavor="plan", model=model(), parallelize_fn=llama3.parallelize_llama,
                     pipelining_fn=pipeline_llm, post_optimizer_build_fn=None, state_dict_adapter=None)
    plan = Trainer.Config(
        model_spec=spec,
        dump_folder="./output",
        tokenizer=NoTokenizer.Config(),
        dataloader=Loader.Config(),
        loss=CrossEntropyLoss.Config(global_vocab_size=VOCABULARY),
        metrics=MetricsProcessor.Config(log_freq=1),
        optimizer=default_adamw(lr=3e-4),
        training=TrainingConfig(
            seq_len=8192,
            local_batch_size=32,
            global_batch_size=256,
            steps=47683,
            max_norm=1.0,
            mixed_precision_param="bfloat16",
            mixed_precision_reduce="float32",
            disable_cuda_graphs=True,
        ),
        parallelism=ParallelismConfig(
            data_parallel_replicate_degree=1,
            data_parallel_shard_degree=8,
            fsdp_reshard_after_forward="default",
            tensor_parallel_degree=2,
            pipeline_parallel_degree=2,
            pipeline_parallel_schedule="1F1B",
            pipeline_parallel_microbatch_size=1,
            module_fqns_per_model_part=[["tok_embeddings", "layers.0", "layers.1", "layers.2", "layers.3", "layers.4", "layers.5", "layers.6", "layers.7", "layers.8", "layers.9", "layers.10", "layers.11", "layers.12", "layers.13", "layers.14", "layers.15"], ["layers.16", "layers.17", "layers.18", "layers.19", "layers.20", "layers.21", "layers.22", "layers.23", "layers.24", "layers.25", "layers.26", "layers.27", "layers.28", "layers.29", "layers.30", "layers.31", "norm", "lm_head"]],
            context_parallel_degree=1,
            enable_sequence_parallel=True,
        ),
        compile=CompileConfig(enable=False),
        activation_checkpoint=FullAC.Config(),
    )
    plan.training.steps = int(os.environ.get("STEPS", plan.training.steps))
    return plan


if __name__ == "__main__":
    init_logger()
    trainer = config().build()
    try:
        trainer.train()
    finally:
        trainer.close()
