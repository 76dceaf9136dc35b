"""What writing has done so far, for the manifest."""

import sys
from dataclasses import dataclass

import torch


@dataclass
class Work:
    """What has been written so far, for the manifest."""

    rows: int = 0
    tokens_written: int = 0
    tokens_read: int = 0
    steps: int = 0
    seconds: float = 0.0
    seconds_to_first_token: float = 0.0  # summed over batches of prompts
    peak_memory_bytes: int | None = None  # of the device, or of this process


def peak_memory(device: torch.device) -> int | None:
    """Most bytes held at once: of the accelerator, else of this process; None where the system does not say."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
