"""A GPT-2 small enough to be trained in a test, and texts for it; also run as a program that is killed while it trains.

`python -m tests.mitigations.training.tiny FOLDER KILL_BEFORE_STEP`
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from evenhand.mitigations.training import Batch, Examples, LanguageModelling, Trained, TrainingOptions, train

WORDS = 40
OPTIONS = TrainingOptions(epochs=2, batch_size=3, accumulation=2, learning_rate=1e-2, warm_up=0.2, seed=7,
                          checkpoint_seconds=0)  # fmt: skip


def tiny_model(seed: int = 0, words: int = WORDS, dropout: float = 0.1) -> Any:
    """Two layers of 16 units, with random weights and with dropout."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=words, n_embd=16, n_layer=2, n_head=2, n_positions=32, initializer_range=0.3,
        resid_pdrop=dropout, embd_pdrop=dropout, attn_pdrop=dropout, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    return GPT2LMHeadModel(config)


def random_examples(n: int = 22, seed: int = 0, words: int = WORDS) -> Examples:
    """Sequences of 3 to 9 random tokens."""
    random = np.random.default_rng(seed)
    return Examples([random.integers(1, words, random.integers(3, 10)) for _ in range(n)])


class DiesBefore(LanguageModelling):
    """Kills its process, as a power cut would, before it has seen so many batches."""

    def __init__(self, batches: int):
        self.left = batches

    def sums(self, model: Any, batch: Batch) -> Any:
        """As the language model's."""
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().sums(model, batch)


def trained(folder: Path, objective: LanguageModelling | None = None) -> tuple[Any, Trained]:
    """The tiny model after a training that may have been killed before."""
    model = tiny_model()
    return model, train(
        model, random_examples(), objective or LanguageModelling(), OPTIONS, folder, device="cpu"
    )


if __name__ == "__main__":
    trained(Path(sys.argv[1]), DiesBefore(int(sys.argv[2])))
