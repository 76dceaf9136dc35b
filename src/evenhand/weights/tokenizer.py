"""Load tokenizers, check them, and compute their fingerprints."""

import hashlib
import json
from pathlib import Path
from typing import Any

from evenhand.schema import ModelError, is_folder
from evenhand.weights.extra import need_hugging_face
from evenhand.weights.hub import hub_errors, quiet_transformers
from evenhand.weights.pieces import PieceBackend

FILES = ("tokenizer.json", "vocab.json", "vocab.txt", "*.model", "tekken.json", "*.tiktoken")


def load_tokenizer(
    name: str | Path,
    *,
    revision: str | None = None,
    trust_remote_code: bool = False,
    offsets: bool = True,
    kind: str = "model",
    advice: str | None = None,
) -> Any:
    """Return the tokenizer of a hub name or folder, with stored truncation and padding switched off.

    Parameters
    ----------
    name, revision, trust_remote_code
        As in `evenhand.load_model`.
    offsets : bool, default True
        Whether the tokenizer must report where in the text each token is.
    kind, advice : str
        For messages: what the model is called, and how to use a local copy instead.

    Raises
    ------
    ModelError
        There is no tokenizer, its vocabulary is empty, or it does not report required offsets.

    Notes
    -----
    transformers silently makes a tokenizer with an empty vocabulary from a folder without tokenizer files.
    """
    need_hugging_face(f"The tokenizer of {str(name)!r}")
    from transformers import AutoTokenizer

    folder = Path(name)
    if is_folder(folder) and not any(next(folder.glob(pattern), None) for pattern in FILES):
        raise ModelError(
            f"The folder {folder} contains no tokenizer: expected one of {', '.join(FILES)}.",
            f"Save it in the folder of the {kind}: "
            f"AutoTokenizer.from_pretrained(ORIGINAL).save_pretrained({str(folder)!r})",
        )
    with quiet_transformers(), hub_errors(str(name), revision, kind=kind, advice=advice):
        tokenizer: Any = AutoTokenizer.from_pretrained(
            str(name), revision=revision or "main", trust_remote_code=trust_remote_code
        )
    if type(tokenizer).__name__ == "BlenderbotSmallTokenizer":  # this tokenizer has no fast version
        tokenizer.backend_tokenizer = PieceBackend(tokenizer)
    check_tokenizer(tokenizer, str(name), offsets=offsets)
    return tokenizer


def check_tokenizer(tokenizer: Any, name: str, *, offsets: bool = True) -> None:
    """Raise ModelError for a tokenizer without a vocabulary, or without offsets if they are needed.

    Stored truncation and padding are switched off: shortened texts would be read as if they were complete.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None and offsets:
        raise ModelError(
            f"The tokenizer of {name} ({type(tokenizer).__name__}) does not report which characters a token "
            "covers. Spans and results by word need this.",
            "Use a model with a fast tokenizer (tokenizer.json), or convert it with transformers.",
        )
    if set(tokenizer.get_vocab()) <= set(tokenizer.all_special_tokens):
        raise ModelError(
            f"The tokenizer of {name} has an empty vocabulary: its files are missing or incomplete.",
            "Save the tokenizer of the model's training in the model folder.",
        )
    if backend is not None:
        backend.no_truncation()
        backend.no_padding()


def check_token_ids(tokenizer: Any, known: int, name: str) -> None:
    """Raise ModelError if the tokenizer uses token ids that the model does not know.

    `known` is the number of tokens that the model knows. Tokens that were added to the vocabulary are not
    checked.
    """
    words = set(tokenizer.get_vocab()) - set(tokenizer.get_added_vocab())
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        words = set(backend.get_vocab(with_added_tokens=False))
    ids = tokenizer.get_vocab()
    largest = max((ids[word] for word in words), default=-1)
    if largest >= known:
        raise ModelError(
            f"The tokenizer of {name!r} has token ids up to {largest}, but the model knows only {known} tokens.",
            "They belong to different models. Save the right tokenizer in the model folder.",
        )


def tokenizer_fingerprint(tokenizer: Any) -> str:
    """Return the SHA-256 of what a tokenizer does and of its special tokens.

    What it does is defined by its serialised backend, or by the vocabulary if it has none.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    content = backend.to_str() if backend is not None else json.dumps(sorted(tokenizer.get_vocab().items()))
    special = sorted((role, str(token)) for role, token in tokenizer.special_tokens_map.items())
    return hashlib.sha256(f"{content}{special}".encode()).hexdigest()
