"""Sentence embeddings with any model of sentence-transformers, from a folder or the hub.

Needs `pip install "evenhand[embeddings]"`.
"""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.prompts.advpromptset.vectors import Vectors
from evenhand.schema import ModelError, Unsupported, compute_sha256, is_file, is_folder
from evenhand.weights import Checkpoint, load_weights, quiet_transformers, resolve_device

TEXTS_AT_ONCE = 64
FETCHED = ("*.json", "*.txt", "*.model", "model*.safetensors", "*/config.json", "*/model.safetensors")
HINT = (
    "Give a folder or hub name of a sentence-embedding model, such as sentence-transformers/all-MiniLM-L6-v2: "
    "config.json, model.safetensors, a tokenizer and, if it has them, modules.json and 1_Pooling/config.json."
)


class SentenceEmbedding:
    """A sentence encoder, as sentence-transformers stores it: one vector per text.

    Pooling, dense layers, normalisation and default prompt are those of its folder. Without them, token vectors are
    averaged. Files are found at once; weights (safetensors only) are loaded at the first `encode`.

    Parameters
    ----------
    name : str
        Folder or hub name.
    device : str
        "auto", "cpu", "cuda", ...

    Raises
    ------
    Unsupported
        sentence-transformers is not installed.
    ModelError
        A file is missing or damaged.

    References
    ----------
    - Reimers & Gurevych 2019, section 3.
    """

    def __init__(self, name: str, device: str = "auto"):
        if find_spec("sentence_transformers") is None:
            raise Unsupported(
                "Sentence-embedding models require the package sentence-transformers, which is not installed.",
                'Install it: pip install "evenhand[embeddings]". Or use a table of terms: --terms CSV',
            )
        self.name, self.device = name, device
        self.folder = _folder(name)

    @cached_property
    def fingerprint(self) -> str:
        """Return 32 hex characters that identify all settings and weights on which the vectors depend."""
        digest = hashlib.sha256()
        patterns = ("*.json", "*.txt", "*.model", "*.safetensors")
        for path in sorted(path for pattern in patterns for path in self.folder.rglob(pattern)):
            digest.update(f"{path.relative_to(self.folder)} {compute_sha256(path)}\n".encode())
        return digest.hexdigest()[:32]

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text, float32, shape (n, dimensions). Only a model with normalisation changes their
        length.

        Texts that are too long for the model are cut at the end. Batches of texts affect vectors only by rounding.
        """
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        vectors = self._model.encode(list(texts), batch_size=TEXTS_AT_ONCE, show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float32)

    @cached_property
    def _model(self) -> Any:
        import torch
        from safetensors import SafetensorError
        from sentence_transformers import SentenceTransformer

        device = resolve_device(self.device)
        expected = (OSError, ValueError, KeyError, TypeError, AttributeError, ImportError, RuntimeError)
        try:
            with quiet_transformers():
                model = SentenceTransformer(
                    str(self.folder),
                    device=str(device),
                    trust_remote_code=False,
                    local_files_only=True,
                    model_kwargs={"use_safetensors": True, "dtype": torch.float32},
                )
        except (*expected, SafetensorError) as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise ModelError(
                f"The embedding model {self.name!r} cannot be loaded: {lines[0]}", HINT
            ) from error
        inner = model.transformers_model
        if inner is not None:
            # the library silently fills missing tensors with random numbers; a pooler may be missing, because sentence
            # vectors do not use it
            folder = Path(str(inner.name_or_path))
            checkpoint = Checkpoint(self.name, folder, None, inner.config, None)
            load_weights(checkpoint, type(inner).__name__, torch.float32, optional=("pooler.",))
        return model


def _folder(name: str) -> Path:
    folder = Path(name).expanduser()
    if is_folder(folder):
        _check(folder)
        return folder
    if is_file(folder) or name.startswith((".", "/", "~")):
        raise ModelError(f"Embedding-model folder not found: {name!r}.", HINT)
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(name, allow_patterns=list(FETCHED)))
    except (OSError, ValueError) as error:
        raise ModelError(
            f"The embedding model {name!r} is not in the local cache and could not be downloaded: "
            f"{str(error).strip().splitlines()[0]}",
            HINT,
        ) from error
    _check(folder)
    return folder


def _check(folder: Path) -> None:
    """Raise ModelError for a folder without a model, and for pickled layers, which the library would open."""
    if not any((folder / name).is_file() for name in ("modules.json", "config.json")):
        raise ModelError(f"{folder} has no config.json, so it is not an embedding model.", HINT)
    for pickled in folder.rglob("pytorch_model*.bin"):
        if not next(pickled.parent.glob("model*.safetensors"), None):
            raise ModelError(
                f"{pickled} can run code when it is opened. Only safetensors files are read.",
                "Convert it on a machine where you trust it: load the model with sentence-transformers and save "
                "it again.",
            )
