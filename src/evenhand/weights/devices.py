"""Devices, precisions and memory of this machine: resolve names, and check that a table fits before it is read."""

import ctypes
import os
import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.schema import DataError, ModelError, unknown_name

if TYPE_CHECKING:
    import torch

DTYPES = ("float32", "bfloat16", "float16")
DEVICE_KINDS = ("auto", "cpu", "cuda", "mps")
TIMES = {
    **dict.fromkeys((".csv", ".tsv", ".parquet"), 3),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), 7),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".ods"), 30),
}
"""Bytes of memory per byte of the file at the peak, when bytes, text and table exist at the same time. Measured values
are 2.4 for CSV, 2.3 for Parquet, and 6.0 for JSON lines, which become Python objects. Workbooks are compressed.
"""
GIB = 1 << 30


def resolve_device(name: str = "auto") -> "torch.device":
    """Return the torch device with a name.

    Parameters
    ----------
    name : str, default "auto"
        "auto" (the first accelerator, otherwise the processor), "cpu", "cuda", "cuda:1" or "mps".

    Returns
    -------
    torch.device
        The device.

    Raises
    ------
    UsageError
        The name is invalid.
    ModelError
        This machine does not have the accelerator.

    Examples
    --------
    >>> resolve_device("cpu")
    device(type='cpu')
    """
    import torch

    check_device(name)
    kind, _, index = name.partition(":")
    if kind == "auto":
        return torch.device(next((a for a in ("cuda", "mps") if _count(a)), "cpu"))
    available = _count(kind)
    if (int(index) if index else 0) >= available:
        raise ModelError(
            f"Device {name!r} is not available: this machine has "
            f"{f'only {available} of that kind' if available else 'none of that kind'}.",
            f"Available: {', '.join(available_devices())}. Use one of them, or 'auto'.",
        )
    return torch.device(name)


def check_device(name: str) -> None:
    """Raise UsageError if a name is not the name of a device on any machine; needs no torch.

    Examples
    --------
    >>> check_device("cuda:1")
    """
    if not re.fullmatch(r"auto|cpu|mps|cuda(:\d{1,4})?", name, re.ASCII):
        raise unknown_name("device", name, [*DEVICE_KINDS, "cuda:0", "cuda:1"])


def available_devices() -> list[str]:
    """Return the names that `resolve_device` accepts on this machine.

    >>> "cpu" in available_devices()
    True
    """
    return ["cpu", *(f"cuda:{i}" for i in range(_count("cuda"))), *(["mps"] if _count("mps") else [])]


def resolve_dtype(
    name: str, device: "torch.device", checkpoint_dtype: "torch.dtype | str | None" = None
) -> "torch.dtype":
    """Return the precision in which a model computes.

    Parameters
    ----------
    name : {"auto", "float32", "bfloat16", "float16"}
        The precision. "auto" is float32, except on an accelerator for a checkpoint that is stored in 16 bits.
        There the stored precision is kept.
    device : torch.device
        The device.
    checkpoint_dtype : torch.dtype or str, optional
        The stored precision.

    Returns
    -------
    torch.dtype
        The precision.

    Raises
    ------
    UsageError
        The name is unknown.
    ModelError
        The device cannot compute in that precision.

    Notes
    -----
    On the processor, 16 bits are used only on request. The error of a bfloat16 model is up to 0.024 nats per
    token, which is more than many effects.

    Examples
    --------
    >>> import torch
    >>> resolve_dtype("auto", torch.device("cpu"), "bfloat16")
    torch.float32
    """
    import torch

    if name not in ("auto", *DTYPES):
        raise unknown_name("dtype", name, ["auto", *DTYPES])
    bfloat16_works = device.type != "cuda" or torch.cuda.is_bf16_supported(including_emulation=False)
    if name == "auto":
        stored = str(checkpoint_dtype).removeprefix("torch.")
        if device.type == "cpu" or stored not in ("bfloat16", "float16"):
            return torch.float32
        if stored == "bfloat16" and not bfloat16_works:
            return torch.float32
        name = stored
    if name == "bfloat16" and not bfloat16_works:
        raise ModelError(f"{device} does not support bfloat16.", "Use the dtype 'float32' or 'float16'.")
    dtype: torch.dtype = getattr(torch, name)
    return dtype


def available_memory(device: "torch.device") -> int | None:
    """Return the free memory of a device in bytes; None if the system does not report it.

    Notes
    -----
    On the processor it is the smaller of two numbers: what the kernel reports as available, and what remains
    of the control group's limit. Containers and batch schedulers set such a limit, and the kernel's number
    ignores it.

    Examples
    --------
    >>> import torch
    >>> available = available_memory(torch.device("cpu"))
    >>> available is None or available > 0
    True
    """
    import torch

    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return int(free)
    if device.type == "mps":
        return int(torch.mps.recommended_max_memory() - torch.mps.current_allocated_memory())
    return processor_memory()


def processor_memory() -> int | None:
    """Return the free memory of this machine in bytes; None if the system does not report it."""
    figures = [figure for figure in (_kernel_memory(), _control_group_memory()) if figure is not None]
    return min(figures, default=None)


def _count(kind: str) -> int:
    import torch

    if kind == "cuda":
        return torch.cuda.device_count() if torch.cuda.is_available() else 0
    if kind == "mps":
        return int(torch.backends.mps.is_available())
    return 1


def _kernel_memory(meminfo: Path = Path("/proc/meminfo")) -> int | None:
    if meminfo.is_file():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf, and some systems lack this name
        return None


def _control_group_memory(root: Path = Path("/sys/fs/cgroup")) -> int | None:
    pairs = [
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ]
    for limit_name, used_name in pairs:
        try:
            limit, used = (root / limit_name).read_text().strip(), (root / used_name).read_text().strip()
        except OSError:
            continue
        if limit.isdecimal():
            # file cache counts as used, but is freed when needed, so add it to the free memory
            return max(int(limit) - int(used) + _reclaimable(root / limit_name), 0)
    return None


def _reclaimable(limit: Path) -> int:
    try:
        rows = (line.split() for line in limit.with_name("memory.stat").read_text().splitlines())
        return sum(int(row[1]) for row in rows if row[0] in ("inactive_file", "active_file"))
    except OSError:
        return 0


def check_table_fits(path: Path) -> None:
    """Raise DataError if reading a table would probably need more memory than is free.

    `path` is the file. If the system does not report its free memory, every file passes.
    """
    size, free = path.stat().st_size, processor_memory()
    needed = size * TIMES.get(path.suffix.lower(), 3)
    if free is not None and needed > free:
        raise DataError(
            f"Not enough memory for {path} ({size / GIB:,.1f} GiB): reading it needs about {needed / GIB:,.1f} "
            f"GiB, but {free / GIB:,.1f} GiB are free.",
            "Split the file, use a sample of its rows, or a machine with more memory.",
        )


@cache
def _malloc_trim() -> Any:
    """Return the function of glibc that gives free memory back to the system; None in another C library."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def return_free_memory() -> None:
    """Give memory that this process has freed back to the system, where the C library can do it.

    Tokenizers and models free many small pieces in several threads. In a long run, glibc keeps hundreds of megabytes
    of such pages, although nothing uses them.
    """
    if (trim := _malloc_trim()) is not None:
        trim(0)
