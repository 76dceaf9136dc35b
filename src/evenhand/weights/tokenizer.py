"""Tokenizers: loaded, checked before a model is trusted to them, and fingerprinted."""

import hashlib
from pathlib import Path
from typing import Any

from evenhand.schema import ModelError
from evenhand.weights.hub import hub_errors, quiet_transformers

FILES = (
    "tokenizer.json",
    "vocab.json",
    "vocab.txt",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "spm.model",
    "tekken.json",
    "*.tiktoken",
)


def load_tokenizer(name: str | Path, *, revision: str | None = None, trust_remote_code: bool = False) -> Any:
    """The fast tokenizer of a hub name or folder, with any stored truncation and padding switched off.

    Raises ModelError if there is none, if it has an empty vocabulary (which is what transformers makes,
    silently, of a folder without tokenizer files), or if it cannot say where in the text a token lies.
    """
    from transformers import AutoTokenizer

    folder = Path(name)
    if folder.is_dir() and not any(next(folder.glob(pattern), None) for pattern in FILES):
        raise ModelError(
            f"The folder {folder} holds no tokenizer: expected one of {', '.join(FILES)}.",
            "Save it beside the model: "
            f"AutoTokenizer.from_pretrained(ORIGINAL).save_pretrained({str(folder)!r}).",
        )
    with quiet_transformers(), hub_errors(str(name), revision):
        tokenizer = AutoTokenizer.from_pretrained(
            str(name), revision=revision or "main", trust_remote_code=trust_remote_code
        )
    check_tokenizer(tokenizer, str(name))
    return tokenizer


def check_tokenizer(tokenizer: Any, name: str) -> None:
    """Refuse tokenizers that cannot be scored with: no offsets, or no vocabulary.

    Raises ModelError. Switches off truncation and padding stored with the tokenizer: cut texts would be
    scored as if they were whole.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ModelError(
            f"The tokenizer of {name} ({type(tokenizer).__name__}) cannot say which characters a token "
            "covers, which every span and every report by word rests on.",
            "Use a model with a fast tokenizer (tokenizer.json), or convert it with transformers.",
        )
    if set(backend.get_vocab(with_added_tokens=True)) <= set(tokenizer.all_special_tokens):
        raise ModelError(
            f"The tokenizer of {name} has an empty vocabulary; its files are missing or incomplete.",
            "Save the tokenizer the model was trained with beside the model.",
        )
    backend.no_truncation()
    backend.no_padding()


def tokenizer_fingerprint(tokenizer: Any) -> str:
    """SHA-256 (hex) of the tokenizer as its backend writes it, and of its special tokens."""
    special = sorted((role, str(token)) for role, token in tokenizer.special_tokens_map.items())
    return hashlib.sha256(f"{tokenizer.backend_tokenizer.to_str()}{special}".encode()).hexdigest()
