"""Load a Hugging Face checkpoint: check the memory, fingerprint the weights, and turn each failure
into a clear error.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.models.contract import Architecture
from evenhand.schema import DataError, ModelError, is_file, read_json
from evenhand.weights import (
    INDEX,
    ONE_FILE,
    available_memory,
    check_token_ids,
    find_checkpoint,
    folder_fingerprint,
    hub_errors,
    is_offline,
    load_config as load_config,
    load_weights,
    memory_needed,
    resolve_device,
    resolve_dtype,
    stored_parameters,
    tokenizer_fingerprint,
    weight_files,
)

AUTO_CLASSES: dict[Architecture, str] = {
    "causal": "AutoModelForCausalLM",
    "masked": "AutoModelForMaskedLM",
    "encoder-decoder": "AutoModelForSeq2SeqLM",
}
LINEAGE = "lineage.json"
"""File next to the weights of a trained model that records how it was made."""
MOST_LINEAGE, MOST_TOLD = 1 << 24, 1000
"""Maximum size of the lineage in bytes, and maximum number of characters that are kept of it."""
SPARE = 1.1  # room for buffers and the first batches
GIB = 1 << 30


@dataclass(frozen=True)
class LoadedModel:
    """A model on its device, its tokenizer, and what identifies its results."""

    model: Any
    tokenizer: Any
    identity: dict[str, Any]


def load_pretrained(
    name: str,
    architecture: Architecture,
    *,
    config: Any = None,
    revision: str | None = None,
    device: str = "auto",
    dtype: str = "auto",
    trust_remote_code: bool = False,
) -> LoadedModel:
    """Load weights and tokenizer, after checking that they exist, fit in memory and belong together.

    `name` is a hub name or folder, and `architecture` the type of output layer. Weights are loaded from safetensors
    only. Raises a ModelError for anything missing, damaged or too large. This includes a tensor that the checkpoint
    lacks, because random numbers would replace it and give plausible results (bias-bench issue 18).
    """
    if config is None:
        config = load_config(name, revision=revision, trust_remote_code=trust_remote_code)
    where = resolve_device(device)
    precision = resolve_dtype(dtype, where, getattr(config, "dtype", None))
    checkpoint = find_checkpoint(name, config=config, revision=revision, trust_remote_code=trust_remote_code)
    folder, commit, tokenizer = checkpoint.folder, checkpoint.commit, checkpoint.tokenizer
    parameters = stored_parameters(weight_files(folder)) if commit is None else _parameters(name, folder)
    _check_memory(name, parameters, precision, where)
    model = load_weights(checkpoint, AUTO_CLASSES[architecture], precision, trust_remote_code)
    check_token_ids(tokenizer, int(model.get_input_embeddings().weight.shape[0]), name)
    model = model.to(where)
    identity: dict[str, Any] = (
        {"weights": weights_fingerprint(folder)} if commit is None else {"name": name, "revision": commit}
    )
    identity |= {
        "model_class": type(model).__name__,
        "dtype": str(precision).removeprefix("torch."),
        "tokenizer": tokenizer_fingerprint(tokenizer),
    }
    if commit is None and (told := _lineage(folder)):
        identity["lineage"] = told
    return LoadedModel(model, tokenizer, identity)


def weights_fingerprint(source: Path | str, commit: str | None = None) -> str:
    """Return an identifier of a model's weights: the commit of a hub model, or the SHA-256 of a folder's content.

    `source` is a folder, or a hub name with its `commit`. Raises a ModelError for a hub name without a commit.
    """
    if Path(source).is_dir():
        return folder_fingerprint(Path(source))
    if commit is None:
        raise ModelError(
            f"The revision of {str(source)!r} is not known.", "Give the commit from which it was loaded."
        )
    return commit


def _lineage(folder: Path) -> dict[str, Any] | None:
    """Return a short form of the lineage in a folder that `evenhand debias` wrote; None for any other folder."""
    if not is_file(folder / LINEAGE):
        return None
    whole: Any = read_json(
        folder / LINEAGE,
        "Restore it from a copy, or delete it: the model does not need it.",
        most=MOST_LINEAGE,
    )
    parts: list[Any] = (
        [whole.get(name) for name in ("base", "method", "data")] if isinstance(whole, dict) else [None]
    )
    if not all(isinstance(part, dict) for part in parts):
        raise DataError(
            f"{folder / LINEAGE} is not a valid record of how the model was trained (lineage).",
            "Restore it from a copy, or delete it.",
        )
    base, method, data = parts
    told = {
        "base": base.get("name"),
        "method": method.get("name"),
        "data": data.get("sha256"),
        **{name: whole.get(name) for name in ("bias", "seed", "steps", "evenhand")},
    }
    return {
        name: value[:MOST_TOLD] if isinstance(value, str) else value
        for name, value in told.items()
        if isinstance(value, str | int)
    }


def _parameters(name: str, snapshot: Path) -> dict[str, int]:
    """Return the numbers of parameters by stored type, before weights are downloaded or read; empty if unknown."""
    from huggingface_hub import HfApi, errors

    if any((snapshot / file).is_file() for file in (ONE_FILE, INDEX)) and is_offline():
        return stored_parameters(weight_files(snapshot))
    if (snapshot / ONE_FILE).is_file():
        return stored_parameters([snapshot / ONE_FILE])
    if is_offline():
        raise ModelError(
            f"Only the configuration of {name!r} is in the local cache, not its weights (safetensors), and the "
            "Hugging Face Hub cannot be used (HF_HUB_OFFLINE is set).",
            "To download them, unset HF_HUB_OFFLINE once.",
        )
    with hub_errors(name, snapshot.name):
        try:
            counts = HfApi().get_safetensors_metadata(name, revision=snapshot.name).parameter_count
        except errors.NotASafetensorsRepoError as error:
            raise ModelError(
                f"The Hugging Face Hub has no safetensors weights for {name!r}. Other formats can run code and are "
                "not loaded.",
                "Use a revision with safetensors (often 'refs/pr/1'), or convert the model yourself and give the "
                "folder.",
            ) from error
        except errors.SafetensorsParsingError:
            return {}
    return {str(kind): count for kind, count in counts.items()}


def _check_memory(name: str, parameters: dict[str, int], dtype: Any, device: Any) -> None:
    available = available_memory(device)
    needed = int(memory_needed(parameters, dtype.itemsize) * SPARE)
    if available is None or needed <= available:
        return
    half = int(memory_needed(parameters, 2) * SPARE)
    advice = "Choose another device or a smaller model."
    if dtype.itemsize > 2 and half <= available:
        advice = f"With dtype bfloat16 it needs {half / GIB:.1f} GiB and fits; that choice is recorded."
    raise ModelError(
        f"Not enough memory for {name!r}: {sum(parameters.values()):,} parameters in "
        f"{str(dtype).removeprefix('torch.')} need about {needed / GIB:.1f} GiB, but {device} has "
        f"{available / GIB:.1f} GiB free.",
        advice,
    )
