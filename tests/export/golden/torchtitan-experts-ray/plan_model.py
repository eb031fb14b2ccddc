"""Adds the plan's model to torchtitan, under the name shardplan.

TOKENS=FILE.npy holds token ids; without it they are made up.
"""

import os

import numpy
import torch
from torch.utils.data import IterableDataset
from torchtitan.components.dataloader import ParallelAwareDataloader
from torchtitan.models import deepseek_v3
from torchtitan.models.deepseek_v3.model.args import DeepSeekV3ModelArgs
from torchtitan.models.moe import MoEArgs
from torchtitan.protocols.train_spec import register_train_spec


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


MODEL = DeepSeekV3ModelArgs(
    dim=7168,
    n_layers=61,
    n_dense_layers=3,
    n_heads=128,
    vocab_size=129280,
    inter_dim=18432,
    moe_inter_dim=2048,
    norm_eps=1e-05,
    q_lora_rank=1536,
    kv_lora_rank=512,
    qk_nope_head_dim=128,
    qk_rope_head_dim=64,
    v_head_dim=128,
    max_seq_len=4096,
    moe_args=MoEArgs(num_experts=256, num_shared_experts=1, top_k=8, score_func="sigmoid", route_norm=True, score_before_experts=False),
)
spec = deepseek_v3.get_train_spec()
spec.model_args = {"plan": MODEL}
spec.build_dataloader_fn = build_dataloader
spec.build_tokenizer_fn = None
spec.build_validator_fn = None
register_train_spec("shardplan", spec)
