"""One Hugging Face text classifier on disk or on the hub: found at once, its weights loaded when needed."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from evenhand.schema import ModelError
from evenhand.schema.files import sha256_of
from evenhand.weights.hub import hub_errors, quiet_transformers

SAFE = ("model.safetensors", "model.safetensors.index.json")
PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")
PICKLES_SAFE_FROM = (2, 10)
"""torch before 2.10 can be made to run code by a pickle even with weights_only (CVE-2026-24747)."""
DTYPES = ("float32", "bfloat16", "float16")
VOLATILE_SETTINGS = ("transformers_version", "_name_or_path", "torch_dtype", "dtype", "_commit_hash")
TOKENIZERS = ("tokenizer.json", "vocab.json", "vocab.txt", "*.model", "*.tiktoken")


@dataclass(frozen=True)
class Checkpoint:
    """Where a classifier's files are, with its configuration and tokenizer already read."""

    name: str
    """As the user wrote it: a hub name or a folder."""
    commit: str | None
    """Of a hub name; None for a folder."""
    weight_file: str
    """The file, or the index of several, that will be loaded."""
    config: Any
    tokenizer: Any

    @property
    def is_pickled(self) -> bool:
        return self.weight_file in PICKLED

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What makes its numbers reusable: the commit on the hub, or a hash of the folder's weights."""
        if self.commit is not None:
            return {"name": self.name, "revision": self.commit}
        return {"name": self.config.model_type, "revision": _weights_hash(Path(self.name), self.weight_file)}


def find_checkpoint(name: str, *, revision: str | None = None, advice: str = "") -> Checkpoint:
    """Configuration, tokenizer and whereabouts of the weights of a text classifier.

    name: a folder or a hub name. revision: branch, tag or commit on the hub. advice: how to give a local copy
    instead, for messages. Weights are not read. Raises ModelError for whatever is missing, unreachable, damaged,
    or no text classifier.
    """
    from transformers import AutoConfig, AutoTokenizer
    from transformers.utils.hub import cached_file, has_file

    folder = Path(name).expanduser()
    if folder.is_dir():
        _check_folder(folder, advice)
        name, commit = str(folder), None
    elif folder.is_file() or name.startswith((".", "/", "~")):
        raise ModelError(f"There is no classifier folder {name!r}.", advice or "Check the path.")
    with quiet_transformers(), hub_errors(name, revision, kind="classifier", advice=advice or None):
        if not folder.is_dir():
            path = cached_file(name, "config.json", revision=revision or "main")
            # A branch may move between two fetches; from here on everything comes from one commit.
            commit = Path(str(path)).parent.name
        config = AutoConfig.from_pretrained(name, revision=commit or "main", trust_remote_code=False)
        _check_config(name, config)
        tokenizer = AutoTokenizer.from_pretrained(name, revision=commit or "main", trust_remote_code=False)
        found = next((f for f in SAFE + PICKLED if has_file(name, f, revision=commit or "main")), None)
    if found is None:
        where = (
            f"The folder {name}"
            if commit is None
            else f"What can be reached of {name!r} (commit {commit[:12]})"
        )
        raise ModelError(f"{where} holds no weights: expected {SAFE[0]} or {PICKLED[0]}.", advice or None)
    _check_vocabulary(name, config, tokenizer)
    if backend := getattr(tokenizer, "backend_tokenizer", None):
        backend.no_truncation()
        backend.no_padding()
    return Checkpoint(name, commit, found, config, tokenizer)


def load_weights(checkpoint: Checkpoint, device: Any, dtype: str) -> Any:
    """The model itself, in eval mode on its device.

    device: a torch device. dtype: "float32", "bfloat16" or "float16". Pickled weights are read with
    weights_only, by a torch in which that is safe. Raises ModelError for damaged weights and for tensors that
    the checkpoint lacks: they would be random numbers.
    """
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForSequenceClassification

    name = checkpoint.name
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if checkpoint.is_pickled and version < PICKLES_SAFE_FROM:
        raise ModelError(
            f"The weights of {name!r} are pickled, and torch {torch.__version__} can be made to run code by them.",
            "Install torch 2.10 or newer, or convert them where you trust the file: load the model with "
            "transformers and call model.save_pretrained(...), which writes model.safetensors.",
        )
    try:
        with quiet_transformers():
            model, report = AutoModelForSequenceClassification.from_pretrained(
                name,
                config=checkpoint.config,
                revision=checkpoint.commit or "main",
                dtype=getattr(torch, dtype),
                use_safetensors=not checkpoint.is_pickled,
                weights_only=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
    except (OSError, ValueError, RuntimeError, EOFError, SafetensorError) as error:
        raise ModelError(
            f"The weights of {name!r} ({checkpoint.weight_file}) cannot be loaded: {_last_line(error)}",
            "Download or copy them again, with the config.json that belongs to them.",
        ) from error
    lacking = sorted(report["missing_keys"]) + sorted(str(key) for key in report.get("mismatched_keys", ()))
    if lacking:
        raise ModelError(
            f"{len(lacking)} tensors of {type(model).__name__} are not in the weights of {name!r} "
            f"({', '.join(lacking[:3])}); they would be random numbers.",
            "This checkpoint was saved without its classification head; save it from the class that was trained.",
        )
    return model.eval().requires_grad_(False).to(device)


def tokenizer_hash(tokenizer: Any) -> str:
    """SHA-256 (hex) of what a tokenizer does: its backend, or its vocabulary where it has none."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    content = backend.to_str() if backend is not None else json.dumps(sorted(tokenizer.get_vocab().items()))
    special = sorted((role, str(token)) for role, token in tokenizer.special_tokens_map.items())
    return hashlib.sha256(f"{content}{special}".encode()).hexdigest()


def _check_folder(folder: Path, advice: str) -> None:
    if not (folder / "config.json").is_file():
        found = ", ".join(sorted(path.name for path in folder.iterdir())[:6]) or "nothing"
        raise ModelError(
            f"The folder {folder} holds no config.json, so it is no Hugging Face classifier (found: {found}).",
            advice or "Save the classifier with model.save_pretrained(folder).",
        )
    if not any(next(folder.glob(pattern), None) for pattern in TOKENIZERS):
        raise ModelError(
            f"The folder {folder} holds no tokenizer.",
            f"Save it beside the model: AutoTokenizer.from_pretrained(ORIGINAL).save_pretrained({str(folder)!r}).",
        )


def _check_config(name: str, config: Any) -> None:
    saved_from = list(getattr(config, "architectures", None) or [])
    if saved_from and not any(kind.endswith("ForSequenceClassification") for kind in saved_from):
        raise ModelError(
            f"{name!r} is no text classifier: its config.json says {', '.join(saved_from)}.",
            "Give a model that was saved with a classification head (...ForSequenceClassification).",
        )
    if getattr(config, "problem_type", None) == "regression":
        raise ModelError(
            f"{name!r} predicts a number without a scale (problem_type regression), not classes.",
            "Score the texts yourself and give them as scores:FILE?threshold=...",
        )


def _check_vocabulary(name: str, config: Any, tokenizer: Any) -> None:
    vocabulary = set(tokenizer.get_vocab()) - set(tokenizer.get_added_vocab())
    if not vocabulary:
        raise ModelError(
            f"The tokenizer of {name!r} has an empty vocabulary.", "Its files are missing or incomplete."
        )
    largest = max(tokenizer.get_vocab()[word] for word in vocabulary)
    known = getattr(config, "vocab_size", None)
    if known is not None and largest >= known:
        raise ModelError(
            f"The tokenizer of {name!r} has token ids up to {largest}, and the model knows {known} tokens.",
            "The two belong to different models; save the right tokenizer beside the model.",
        )


def _weights_hash(folder: Path, file: str) -> str:
    names = [file]
    if file.endswith(".index.json"):
        names = sorted(set(json.loads((folder / file).read_text(encoding="utf-8"))["weight_map"].values()))
    digest = hashlib.sha256()
    for name in names:
        digest.update(f"{name} {sha256_of(folder / name)}\n".encode())
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    kept = {key: value for key, value in settings.items() if key not in VOLATILE_SETTINGS}
    digest.update(json.dumps(kept, sort_keys=True).encode())
    return digest.hexdigest()


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
