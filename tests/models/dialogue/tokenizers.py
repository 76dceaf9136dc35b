"""Tiny tokenizers of the classes that BlenderBot, the small one and DialoGPT have, with vocabularies written out."""

import json
from pathlib import Path
from typing import Any

LETTERS = "ĠĊabcdefghijklmnopqrstuvwxyzABCHMSTY.,!?:'-_"
WORDS = [
    "Ġyour",
    "your",
    "Ġpersona",
    "Ġi",
    "Ġlike",
    "Ġtea",
    "Ġrun",
    "ĠHi",
    "Hi",
    "ĠMartha",
    "ĠHello",
    "Hello",
]


def byte_level(front: list[str], more: tuple[str, ...] = ()) -> tuple[dict[str, int], list[Any]]:
    """A vocabulary and its merges: `front`, letters, then every word with what it is made of from the left."""
    tokens, merges = [*front, *LETTERS], []
    for word in [*WORDS, *more]:
        for end in range(2, len(word) + 1):
            if word[:end] not in tokens:
                tokens.append(word[:end])
                merges.append((word[: end - 1], word[end - 1]))
    return {token: i for i, token in enumerate(tokens)}, merges


def blenderbot() -> Any:
    """As facebook/blenderbot-400M-distill: byte-level pieces, a space put in front of a text."""
    from transformers import BlenderbotTokenizer

    vocabulary, merges = byte_level(["<pad>", "<s>", "</s>", "<unk>"])
    return BlenderbotTokenizer(vocab=vocabulary, merges=merges, add_prefix_space=True)


def dialogpt() -> Any:
    """As microsoft/DialoGPT-medium: GPT-2's class, where the end token is the only special one."""
    from transformers import GPT2Tokenizer

    vocabulary, merges = byte_level(["<|endoftext|>"])
    return GPT2Tokenizer(vocab=vocabulary, merges=merges)


SMALL = [
    "__null__",
    "__start__",
    "__end__",
    "__unk__",
    "__newln__",
    "i",
    "like",
    "tea",
    ".",
    "!",
    ":",
    "'",
    "-",
]
SMALL += ["your", "persona", "hi", "hello", "mar@@", "tha", "m", ",", "?"]


def blenderbot_small(folder: Path, without: str = "") -> Any:
    """As facebook/blenderbot_small-90M: words in pieces with @@, letters in lower case."""
    from transformers import BlenderbotSmallTokenizer

    words = ["__newln__", "like", "tea", "your", "persona", "hi", "hello", "tha"]
    merges: list[str] = []
    for word in words:
        letters = [*word[:-1], word[-1] + "</w>"]
        merges += [f"{''.join(letters[:end])} {letters[end]}" for end in range(1, len(letters))]
    merges = ["m a", "ma r", "t h", "th a</w>", *(one for one in merges if one not in ("t h", "th a</w>"))]
    vocabulary = {token: i for i, token in enumerate(SMALL) if token != without}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")
    return BlenderbotSmallTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
