"""One checkpoint on disk or on the hub: its files, their content and fingerprint, and how to load it.

Safetensors are preferred. Pickles can run code when they are opened. They are refused unless the caller allows them
(`pickles=True`, for text classifiers, several of which are published in no other form). They are then read with torch's
weights_only, by a version of torch in which that is safe.
"""

import hashlib
import json
import math
import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from evenhand.schema import ModelError, compute_sha256, is_file, is_folder, parse_json
from evenhand.weights.config_sizes import check_sizes
from evenhand.weights.extra import need_hugging_face
from evenhand.weights.hub import hub_errors, quiet_transformers
from evenhand.weights.soundness import check_finite, check_layers, check_loaded
from evenhand.weights.tokenizer import load_tokenizer
from evenhand.weights.what_is_loaded import check_no_adapter, check_no_other_weights

Kind = Literal["model", "classifier"]
ONE_FILE = "model.safetensors"
INDEX = "model.safetensors.index.json"
PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")
PICKLES_SAFE_FROM = (2, 10)
"""First safe version of torch. Older ones can be made to run code by a pickle even with weights_only
(CVE-2026-24747).
"""
UNSAFE = ("pytorch_model*.bin", "*.ckpt", "*.pt", "*.pth", "tf_model.h5", "flax_model.msgpack")
BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "U64": 8, "I32": 4, "U32": 4, "I16": 2, "U16": 2}
FLOATS = ("F64", "F32", "F16", "BF16")
CONVERT = f"load the model with transformers and call model.save_pretrained(...), which writes {ONE_FILE}."
VOLATILE_SETTINGS = ("transformers_version", "_name_or_path", "torch_dtype", "dtype", "_commit_hash")
"""Settings that change at every save and have no effect on results."""


@dataclass(frozen=True)
class Checkpoint:
    """The files of a model, with its configuration and tokenizer but without its weights.

    `find_checkpoint` returns it, and `load_weights` loads the model.
    """

    name: str
    """Hub name or folder, as the user wrote it."""
    folder: Path
    """The folder; for a hub name, the one of its commit in the hub's cache."""
    commit: str | None
    """Commit of a hub name; None for a folder."""
    config: Any
    tokenizer: Any
    is_pickled: bool = False
    """True if the weights exist only as pickle files."""
    kind: Kind = "model"
    """Type of object in messages, such as "model"."""


def load_config(
    name: str,
    *,
    kind: Kind = "model",
    revision: str | None = None,
    trust_remote_code: bool = False,
    advice: str | None = None,
) -> Any:
    """Return the configuration of a hub name or a folder.

    Messages call the model `kind`, and give `advice` on how to use a local copy instead. Raises ModelError if
    there is no configuration, or if it states a size that `check_sizes` refuses.
    """
    folder = Path(name).expanduser()
    if is_folder(folder):
        _check_folder(folder, kind, advice)
    elif is_file(folder) or name.startswith((".", "/", "~")):
        raise ModelError(
            f"{kind} folder not found: {name!r}{' (it is a file)' if is_file(folder) else ''}.",
            advice
            or (
                f"Give a folder with config.json, {ONE_FILE} and a tokenizer, or a Hugging Face name such as "
                "'gpt2'."
            ),
        )
    need_hugging_face(f"The {kind} {name!r}")
    from transformers import AutoConfig, PreTrainedConfig

    where = str(folder) if is_folder(folder) else name
    with quiet_transformers(), hub_errors(name, revision, kind=kind, advice=advice):
        settings, _ = PreTrainedConfig.get_config_dict(where, revision=revision or "main")
    check_sizes(name, settings, kind)  # may create a list entry for each layer
    with quiet_transformers(), hub_errors(name, revision, kind=kind, advice=advice):
        config = AutoConfig.from_pretrained(
            where, revision=revision or "main", trust_remote_code=trust_remote_code
        )
    # a config.json could name kernels that transformers would download and run; None selects its own implementations,
    # also in nested configurations
    config._attn_implementation = None
    if hasattr(config, "_experts_implementation"):
        config._experts_implementation = None  # some values name kernels of the hub
    return config


def find_checkpoint(
    name: str,
    *,
    kind: Kind = "model",
    config: Any = None,
    revision: str | None = None,
    trust_remote_code: bool = False,
    pickles: bool = False,
    offsets: bool = True,
    advice: str | None = None,
) -> Checkpoint:
    """Find a model and read its configuration and tokenizer, but not its weights.

    Parameters
    ----------
    name, revision : str
        A folder or hub name; branch, tag or commit on the hub.
    kind, advice : str
        For messages: what the model is called, and how to use a local copy instead.
    config : optional
        The configuration, if it is already known.
    pickles : bool, default False
        Whether pickled weights are allowed if there are no others.
    offsets : bool, default True
        Whether the tokenizer must report where in the text each token is.

    Raises
    ------
    ModelError
        Something is missing, unreachable or damaged.
    """
    need_hugging_face(f"The {kind} {name!r}")
    folder, commit = Path(name).expanduser(), None
    if is_folder(folder):
        name = str(folder)
    elif not (is_file(folder) or name.startswith((".", "/", "~"))):
        folder = _snapshot(name, kind, revision, advice)
        # a branch may move between two downloads, so everything else comes from this commit
        commit = folder.name
    code = {"trust_remote_code": trust_remote_code}
    if config is None:
        config = load_config(name, kind=kind, revision=commit, advice=advice, **code)
    check_no_other_weights(name, folder, config, ONE_FILE)
    tokenizer = load_tokenizer(name, revision=commit, offsets=offsets, kind=kind, advice=advice, **code)
    pickled = pickles and _only_pickles(name, folder, commit, kind, advice)
    return Checkpoint(name, folder, commit, config, tokenizer, pickled, kind)


def load_weights(
    checkpoint: Checkpoint,
    auto_class: str,
    dtype: Any,
    trust_remote_code: bool = False,
    optional: tuple[str, ...] = (),
) -> Any:
    """Load a model in eval mode, on the processor and without gradients.

    `auto_class` is the class of transformers that creates it, and `dtype` a torch dtype. `optional` has
    prefixes of the names of tensors that may be missing, because no result depends on them. Raises ModelError
    for damaged weights, for tensors with NaN or infinity, for missing tensors, and for pickled weights with a
    torch in which they are not safe. Missing tensors would be random and give plausible results (bias-bench
    issue 18).
    """
    import torch
    import transformers
    from safetensors import SafetensorError

    name, kind, pickled = checkpoint.name, checkpoint.kind, checkpoint.is_pickled
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if pickled and version < PICKLES_SAFE_FROM:
        raise ModelError(
            f"The weights of {name!r} are pickled, and pickled files can run code in torch {torch.__version__}.",
            f"Install torch 2.10 or newer, or convert them on a machine where you trust the file: {CONVERT}",
        )
    with quiet_transformers(), hub_errors(name, checkpoint.commit, kind=kind):
        try:
            model, report = getattr(transformers, auto_class).from_pretrained(
                name if checkpoint.commit else str(checkpoint.folder),
                config=checkpoint.config,
                revision=checkpoint.commit or "main",
                dtype=dtype,
                use_safetensors=not pickled,
                weights_only=True,
                trust_remote_code=trust_remote_code,
                output_loading_info=True,
            )
        except (RuntimeError, EOFError, SafetensorError) as error:
            # a RuntimeError for undamaged weights is about sizes
            why = (
                "do not fit its config.json"
                if type(error) is RuntimeError and not pickled
                else "cannot be loaded"
            )
            raise ModelError(
                f"The weights of {name!r} {why}: {_last_line(error)}",
                "Download or copy them again, together with their config.json.",
            ) from error
    check_no_adapter(name, model)
    report["missing_keys"] = [key for key in report["missing_keys"] if not key.startswith(optional)]
    check_loaded(name, report, type(model).__name__)
    check_layers(name, report["unexpected_keys"], model)
    check_finite(name, model, lambda key: _find_weight_file(checkpoint.folder, key))
    return model.eval().requires_grad_(False)


def weight_files(folder: Path, *, pickles: bool = False) -> list[Path]:
    """Return the files from which a model folder is loaded, sorted by name.

    `pickles` allows pickled weights if there are no safetensors. Raises ModelError if there are no allowed
    weights, or if a part that the index names is missing.
    """
    for name in (ONE_FILE, INDEX, *(PICKLED if pickles else ())):
        if (folder / name).is_file():
            return _parts(folder / name) if name.endswith(".index.json") else [folder / name]
    unsafe = sorted(path.name for pattern in UNSAFE for path in folder.glob(pattern))
    if unsafe:
        raise ModelError(
            f"The weights in {folder} can run code when they are opened: {', '.join(unsafe[:3])}.",
            f"Only safetensors files are read. If you trust the file, convert it once: {CONVERT}",
        )
    raise ModelError(
        f"The folder {folder} contains no weights: expected {ONE_FILE}, or {INDEX} with its parts.",
        "Save the model with model.save_pretrained(folder).",
    )


def stored_parameters(files: list[Path]) -> dict[str, int]:
    """Return numbers of parameters by stored type ("F32", "BF16", ...) from the headers of safetensors files.

    Raises ModelError for a file that is truncated or not a safetensors file.
    """
    counts: Counter[str] = Counter()
    for path in files:
        for tensor in _header(path).values():
            counts[tensor["dtype"]] += math.prod(tensor["shape"])
    return dict(counts)


def memory_needed(parameters: Mapping[str, int], bytes_per_float: int) -> int:
    """Return the number of bytes that the weights need when they are loaded.

    Floating-point weights count in the chosen precision, others as stored. `parameters` has counts by stored
    type. `bytes_per_float` is 4 for float32, and 2 for bfloat16 and float16.

    Examples
    --------
    >>> memory_needed({"BF16": 1000, "I32": 10}, 4)
    4040
    """
    return sum(
        n * (bytes_per_float if kind in FLOATS else BYTES.get(kind, 1)) for kind, n in parameters.items()
    )


def folder_fingerprint(folder: Path, *, pickles: bool = False, sizes: bool = True) -> str:
    """Return the SHA-256 of the weights and the configuration of a model folder, independent of its path.

    Weights count by name, size and content. The configuration counts without what every save rewrites.
    `pickles` is as in `weight_files`. With `sizes=False`, file sizes are left out. Labels of stored runs name
    their classifiers in this way; the content already determines the size.
    """
    digest = hashlib.sha256()
    for path in weight_files(folder, pickles=pickles):
        size = f" {path.stat().st_size}" if sizes else ""
        digest.update(f"{path.name}{size} {compute_sha256(path)}\n".encode())
    settings = {k: v for k, v in _json(folder / "config.json").items() if k not in VOLATILE_SETTINGS}
    digest.update(json.dumps(settings, sort_keys=True).encode())
    return digest.hexdigest()


def _check_folder(folder: Path, kind: Kind, advice: str | None) -> None:
    if (folder / "config.json").is_file():
        return
    if (folder / "adapter_config.json").is_file():
        raise ModelError(
            f"{folder} contains an adapter, not a whole model.",
            "First merge it into its base model (peft: merge_and_unload), and save the result with its tokenizer.",
        )
    content = ", ".join(sorted(path.name for path in folder.iterdir())[:6]) or "nothing"
    raise ModelError(
        f"The folder {folder} contains no config.json, so it is not a Hugging Face {kind}.",
        f"Found: {content}. {advice or f'Save the {kind} with model.save_pretrained(folder).'}",
    )


def _snapshot(name: str, kind: Kind, revision: str | None, advice: str | None) -> Path:
    """Return the cache folder of one commit of a hub model; its name is the commit."""
    from transformers.utils.hub import cached_file

    with quiet_transformers(), hub_errors(name, revision, kind=kind, advice=advice):
        return Path(str(cached_file(name, "config.json", revision=revision or "main"))).parent


def _only_pickles(name: str, folder: Path, commit: str | None, kind: Kind, advice: str | None) -> bool:
    if commit is None:
        return weight_files(folder, pickles=True)[0].suffix == ".bin"
    from transformers.utils.hub import has_file

    with quiet_transformers(), hub_errors(name, commit, kind=kind, advice=advice):
        file = next((f for f in (ONE_FILE, INDEX, *PICKLED) if has_file(name, f, revision=commit)), None)
    if file is None:
        raise ModelError(
            f"{name!r} (commit {commit[:12]}) contains no weights: expected {ONE_FILE} or {PICKLED[0]}.",
            advice,
        )
    return file in PICKLED


def _parts(index: Path) -> list[Path]:
    names = sorted(set(_weight_map(index).values()))
    missing = [name for name in names if not (index.parent / name).is_file()]
    if missing or not names:
        raise ModelError(
            f"{index} lists {len(names)} weight files, but {len(missing)} of them are "
            f"missing{': ' + ', '.join(missing[:3]) if missing else ''}.",
            "Download or copy the model again; the folder is incomplete.",
        )
    return [index.parent / name for name in names]


def _weight_map(index: Path) -> dict[str, str]:
    """Return the file of each tensor according to an index."""
    found = _json(index).get("weight_map", {})
    if not isinstance(found, dict) or not all(
        isinstance(name, str) and name.isprintable() for name in found.values()
    ):
        raise ModelError(
            f"{index} is not a valid index of weights: its weight_map does not name a file for each tensor.",
            "Download or copy the model again.",
        )
    if outside := [name for name in found.values() if Path(name).is_absolute() or ".." in Path(name).parts]:
        raise ModelError(
            f"{index} lists a file outside of its folder: {outside[0]}.",
            "Copy the weights into the folder, and list them there.",
        )
    return found


def _find_weight_file(folder: Path, key: str) -> str:
    """Return the weight file that contains a tensor, judged by its name."""
    for index in (INDEX, PICKLED[1]):
        if (folder / index).is_file():
            files = _weight_map(folder / index)
            ends = [file for stored, file in files.items() if key == stored or key.endswith(f".{stored}")]
            return next(iter(ends), f"the parts of {index}")
    return next((file for file in (ONE_FILE, PICKLED[0]) if (folder / file).is_file()), "its weights")


def _header(path: Path) -> dict[str, Any]:
    size = path.stat().st_size
    with path.open("rb") as handle:
        start = handle.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else size
        if 8 + length > size:
            raise _make_damage_error(path, "its header is incomplete")
        try:
            header = parse_json(handle.read(length))
        except ValueError as error:
            raise _make_damage_error(path, "its header cannot be read") from error
    try:
        header.pop("__metadata__", None)
        end = max((int(tensor["data_offsets"][1]) for tensor in header.values()), default=0)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise _make_damage_error(path, "its header has no positions of tensors") from error
    if 8 + length + end > size:
        raise _make_damage_error(path, f"it is {8 + length + end - size:,} bytes too short")
    tensors: dict[str, Any] = header
    return tensors


def _make_damage_error(path: Path, why: str) -> ModelError:
    pointer = b""
    with path.open("rb") as handle:
        pointer = handle.read(40)
    if pointer.startswith(b"version https://git-lfs"):
        return ModelError(
            f"{path} is only a Git LFS pointer to the weights.", "Download them with `git lfs pull`."
        )
    return ModelError(f"{path} is damaged: {why}.", "Download or copy the model again.")


def _json(path: Path) -> dict[str, Any]:
    try:
        content: Any = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read: {error}.", "Download or copy the model again.") from error
    if not isinstance(content, dict):
        raise ModelError(f"{path} contains no JSON object.", "Download or copy the model again.")
    return content


def _last_line(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].strip() if lines else type(error).__name__
