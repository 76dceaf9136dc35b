"""What lies in a model folder before anything is loaded: weights, their size, their fingerprint."""

import hashlib
import json
import math
import struct
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.schema import ModelError
from evenhand.schema.files import sha256_of

ONE_FILE = "model.safetensors"
INDEX = "model.safetensors.index.json"
UNSAFE = ("pytorch_model*.bin", "*.ckpt", "*.pt", "*.pth", "tf_model.h5", "flax_model.msgpack")
BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "U64": 8, "I32": 4, "U32": 4, "I16": 2, "U16": 2}
FLOATS = ("F64", "F32", "F16", "BF16")
# Rewritten at every save, and without effect on a single number.
VOLATILE_SETTINGS = ("transformers_version", "_name_or_path", "torch_dtype", "dtype", "_commit_hash")


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files a model folder is loaded from, sorted by name.

    folder: a Hugging Face model folder. Raises ModelError if there are none (only safetensors are read:
    other formats can run code when opened) or if a part named by the index is missing.
    """
    if (folder / ONE_FILE).is_file():
        return [folder / ONE_FILE]
    if (folder / INDEX).is_file():
        names = sorted(set(_json(folder / INDEX).get("weight_map", {}).values()))
        missing = [name for name in names if not (folder / name).is_file()]
        if missing or not names:
            raise ModelError(
                f"{folder / INDEX} names {len(names)} weight files, and {len(missing)} of them are missing"
                f"{': ' + ', '.join(missing[:3]) if missing else ''}.",
                "Download or copy the model again; the folder is incomplete.",
            )
        return [folder / name for name in names]
    unsafe = sorted(path.name for pattern in UNSAFE for path in folder.glob(pattern))
    if unsafe:
        raise ModelError(
            f"The weights in {folder} can run code when opened: {', '.join(unsafe[:3])}.",
            f"Only safetensors are read. Convert once, where you trust the file: load the model with "
            f"transformers and call model.save_pretrained(...), which writes {ONE_FILE}.",
        )
    raise ModelError(
        f"The folder {folder} holds no weights: expected {ONE_FILE}, or {INDEX} with its parts.",
        "Save the model with model.save_pretrained(folder).",
    )


def stored_parameters(files: list[Path]) -> dict[str, int]:
    """Parameters by stored type ("F32", "BF16", ...), read from the headers of safetensors files.

    Raises ModelError for a file that is no safetensors file or that is cut short.
    """
    counts: Counter[str] = Counter()
    for path in files:
        for tensor in _header(path).values():
            counts[tensor["dtype"]] += math.prod(tensor["shape"])
    return dict(counts)


def memory_needed(parameters: Mapping[str, int], bytes_per_float: int) -> int:
    """Bytes the weights take once loaded: floating-point ones in the chosen precision, others as stored.

    parameters: counts by stored type. bytes_per_float: 4 for float32, 2 for bfloat16 and float16.

    >>> memory_needed({"BF16": 1000, "I32": 10}, 4)
    4040
    """
    return sum(
        n * (bytes_per_float if kind in FLOATS else BYTES.get(kind, 1)) for kind, n in parameters.items()
    )


def folder_fingerprint(folder: Path) -> str:
    """SHA-256 (hex) over the weights and the configuration of a model folder, whatever its path.

    Weights enter by name, size and content; the configuration without what every save rewrites.
    """
    digest = hashlib.sha256()
    for path in weight_files(folder):
        digest.update(f"{path.name} {path.stat().st_size} {sha256_of(path)}\n".encode())
    settings = {k: v for k, v in _json(folder / "config.json").items() if k not in VOLATILE_SETTINGS}
    digest.update(json.dumps(settings, sort_keys=True).encode())
    return digest.hexdigest()


def _header(path: Path) -> dict[str, Any]:
    size = path.stat().st_size
    with path.open("rb") as handle:
        start = handle.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else size
        if 8 + length > size:
            raise _damaged(path, "its header is cut short")
        try:
            header = json.loads(handle.read(length))
        except ValueError as error:
            raise _damaged(path, "its header cannot be read") from error
    header.pop("__metadata__", None)
    end = max((tensor["data_offsets"][1] for tensor in header.values()), default=0)
    if 8 + length + end > size:
        raise _damaged(path, f"it ends {8 + length + end - size:,} bytes too early")
    tensors: dict[str, Any] = header
    return tensors


def _damaged(path: Path, why: str) -> ModelError:
    pointer = b""
    with path.open("rb") as handle:
        pointer = handle.read(40)
    if pointer.startswith(b"version https://git-lfs"):
        return ModelError(f"{path} is only a pointer to the weights.", "Fetch them with `git lfs pull`.")
    return ModelError(f"{path} is damaged: {why}.", "Download or copy the model again.")


def _json(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read: {error}.", "Download or copy the model again.") from error
    return content
