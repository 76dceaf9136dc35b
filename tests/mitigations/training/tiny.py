"""Models small enough to be trained in a test, and texts for them; also a program that is killed while it trains.

`python -m tests.mitigations.training.tiny FOLDER KILL_BEFORE_STEP [blenderbot]`
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from evenhand.mitigations.training import (
    Batch,
    Examples,
    LanguageModelling,
    TrainingOptions,
    TrainingResult,
    reply_examples,
    train,
)

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


def tiny_blenderbot(
    seed: int = 0, *, small: bool = False, dropout: float = 0.1, layerdrop: float = 0.0
) -> Any:
    """An encoder and a decoder of 16 units, two layers each; small: of the architecture of BlenderBot 90M."""
    from transformers import (
        BlenderbotConfig,
        BlenderbotForConditionalGeneration,
        BlenderbotSmallConfig,
        BlenderbotSmallForConditionalGeneration,
    )

    torch.manual_seed(seed)
    shape = {
        "vocab_size": WORDS, "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2,
        "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "max_position_embeddings": 32,
        "init_std": 0.3, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1,
        "forced_eos_token_id": 2, "dropout": dropout, "attention_dropout": dropout, "activation_dropout": dropout,
        "encoder_layerdrop": layerdrop, "decoder_layerdrop": layerdrop,
    }  # fmt: skip
    if small:
        return BlenderbotSmallForConditionalGeneration(BlenderbotSmallConfig(**shape))
    return BlenderbotForConditionalGeneration(BlenderbotConfig(**shape))


def random_replies(n: int = 22, seed: int = 0, *, decoder_start: int | None = 1) -> Examples:
    """Contexts of 2 to 8 random tokens, and replies of 1 to 6 behind them and an end token."""
    random = np.random.default_rng(seed)

    def drawn(least: int, most: int) -> list[int]:
        return random.integers(3, WORDS, random.integers(least, most + 1)).tolist()

    return reply_examples([(drawn(2, 8), [*drawn(1, 6), 2]) for _ in range(n)], decoder_start)


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


def trained(
    folder: Path, objective: LanguageModelling | None = None, *, blenderbot: bool = False
) -> tuple[Any, TrainingResult]:
    """A tiny model after a training that may have been killed before."""
    model = tiny_blenderbot(layerdrop=0.2) if blenderbot else tiny_model()
    examples = random_replies() if blenderbot else random_examples()
    return model, train(model, examples, objective or LanguageModelling(), OPTIONS, folder, device="cpu")


if __name__ == "__main__":
    trained(Path(sys.argv[1]), DiesBefore(int(sys.argv[2])), blenderbot="blenderbot" in sys.argv)
