"""Statistics of generation for the manifest."""

import sys
from dataclasses import dataclass

import torch


@dataclass
class Work:
    """Statistics of what has been generated so far, for the manifest."""

    rows: int = 0
    tokens_written: int = 0
    tokens_read: int = 0
    steps: int = 0
    seconds: float = 0.0
    seconds_to_first_token: float = 0.0  # sum over batches of prompts
    peak_memory_bytes: int | None = None  # of the device, or of this process


def peak_memory(device: torch.device) -> int | None:
    """Return the peak memory in bytes of the accelerator or else of this process; None if the
    system does not report it.
    """
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
