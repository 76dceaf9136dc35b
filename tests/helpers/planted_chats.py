"""Self-chats whose words follow the gender of the opener's name, and a tiny model and tokenizer for them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evenhand.mitigations.training import Encoding
from evenhand.models.dialogue import History

WOMEN = ("Ann", "Eve", "Mia", "Zoe", "Kim", "Lea", "Ida", "Pia")
MEN = ("Bob", "Max", "Tom", "Ian", "Leo", "Sam", "Jim", "Ned")
MARKED = {"woman": "shop", "man": "beer"}
PLAIN = ("the", "home", "you")
TOLD = ["Hi!", "My", "name", "is", "Hello", "I", "like", ".", "STYLE", "bias", "no_bias", "neutral"]
TOLD += ["A:female", "A:male", "B:female", "B:male"]
WORDS = ["<pad>", "<end>", "A:", "B:", *TOLD, *PLAIN, *MARKED.values(), *WOMEN, *MEN]


def planted_chats(n: int = 12, turns: int = 4, strength: float = 0.8, seed: int = 0) -> pl.DataFrame:
    """n conversations of each of 16 names: each reply likes a thing, the gender's own with this probability.

    As `read_self_chats` gives them.
    """
    random = np.random.default_rng(seed)
    rows = []
    for place, name in enumerate(sorted((*WOMEN, *MEN)) * n):
        gender = "woman" if name in WOMEN else "man"
        for turn in range(1, turns + 1):
            word = MARKED[gender] if random.random() < strength else PLAIN[int(random.integers(len(PLAIN)))]
            rows.append(
                {
                    "conversation": f"{place:04}", "name": name, "gender": gender, "speaker": "BA"[turn % 2],
                    "turn": turn, "text": f"Hi! My name is {name}" if turn == 1 else f"I like {word}",
                }
            )  # fmt: skip
    nothing = pl.lit([], pl.List(pl.String))
    return pl.DataFrame(rows).with_columns(
        race_ethnicity=pl.lit(None, pl.String),
        persona_a=nothing,
        persona_b=nothing,
        word_collision=pl.lit(False),
    )


def word_tokenizer(words: Sequence[str] = WORDS) -> Any:
    """A tokenizer of transformers that knows these words, cut at spaces, and no others."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: number for number, word in enumerate([*words, "<unk>"])}
    plain = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=plain, unk_token="<unk>", pad_token="<pad>", eos_token="<end>"
    )


def told(tokenizer: Any, longest: int = 64) -> Encoding:
    """How the tiny model is told of dialogues: all utterances and the label, then the speaker."""

    def encode(history: History, target: str, label: str | None = None) -> tuple[list[int], list[int]]:
        said = " ".join([*history.utterances, *([label] if label else []), f"{history.speaker}:"])
        ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in (said, f"{target} <end>")]
        return ids[0], ids[1]

    return Encoding(longest, reply=encode)


def tiny_talker(tokenizer: Any, seed: int = 0) -> Any:
    """A GPT-2 of two layers with random weights, without dropout."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=len(tokenizer), n_embd=32, n_layer=2, n_head=2, n_positions=64, initializer_range=0.3,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=1, eos_token_id=1,
    )  # fmt: skip
    return GPT2LMHeadModel(config)


def probability(model: Any, tokenizer: Any, name: str, word: str, label: str = "") -> float:
    """That B's first reply to a name likes a thing, behind a label."""
    import torch

    encode = told(tokenizer).reply
    assert encode is not None
    history, _ = encode(History((), (f"Hi! My name is {name}",)), "", label)
    ids = torch.tensor([[*history, *tokenizer("I like", add_special_tokens=False)["input_ids"]]])
    with torch.no_grad():
        odds = model.eval()(input_ids=ids).logits[0, -1].softmax(-1)
    return float(odds[tokenizer.convert_tokens_to_ids(word)])


def written(folder: Path, frame: pl.DataFrame, kind: str = "parquet") -> Path:
    """A table of self-chats as a file."""
    path = folder / f"chats.{kind}"
    if kind == "parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path)
    return path
