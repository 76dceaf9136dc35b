"""What a plan would cost, from a short probe: nothing is run in full and nothing is written."""

import time
from dataclasses import dataclass
from typing import Any

import polars as pl

from evenhand.models import LanguageModel
from evenhand.runs.asking import answer
from evenhand.runs.plan import KINDS, Plan
from evenhand.schema import table_bytes

FIRST_ROUND = 8
PIECES = 4


def estimate(plan: Plan, model: LanguageModel, probe: int = 4096, seconds: float = 10.0) -> dict[str, Any]:
    """Requests, tokens, time and disk of a plan, extrapolated from rounds of growing size.

    Each kind of request (a masking, a decoding) is probed by itself. Rounds double while time remains, because models
    answer large batches faster than small ones; the last and largest gives the rate. A shard shares still more
    prefixes, so the time is rather too long than too short.

    Arguments: probe: requests in a round at most. seconds: about how long the probe may take.
    Returns: `requests` (prompts), `distinct_requests`, `tokens` (scored and written), `seconds`, `disk_bytes`, and
    what they rest on: `probe_requests`, `probe_seconds`, `probe_errors` (rows).
    Raises EvenhandError as the model raises it.
    """
    began = time.perf_counter()
    kinds = plan.requests.partition_by(KINDS, maintain_order=True)
    probed = [_probed(model, kind, probe, seconds / len(kinds)) for kind in kinds]
    return {
        "requests": plan.prompts,
        "distinct_requests": plan.requests.height,
        "tokens": round(sum(kind.tokens for kind in probed)),
        "seconds": sum(kind.seconds for kind in probed),
        "disk_bytes": sum(kind.disk for kind in probed)
        + sum(_prompt_bytes(part.prompts) for part in plan.parts),
        "probe_requests": sum(kind.requests for kind in probed),
        "probe_seconds": time.perf_counter() - began,
        "probe_errors": sum(kind.errors for kind in probed),
    }


@dataclass(frozen=True)
class _Probe:
    tokens: float
    seconds: float
    disk: int
    requests: int
    errors: int


def _probed(model: LanguageModel, requests: pl.DataFrame, probe: int, seconds: float) -> _Probe:
    distinct, largest = requests.height, max(min(probe, requests.height), 1)
    answer(model, requests[:1])  # a model's first call allocates and compiles: not a sample of the rest
    rows: list[pl.DataFrame] = []
    size, probed, began = min(FIRST_ROUND, largest), 0, time.perf_counter()
    while True:
        round_began = time.perf_counter()
        part = _spread(requests, size)
        rows.append(answer(model, part))
        took = time.perf_counter() - round_began
        probed += part.height
        if size == largest or time.perf_counter() - began > seconds / 2:
            break
        size = min(size * 2, largest)
    answered = pl.concat(rows)
    return _Probe(
        tokens=int(answered["token_count"].sum()) * distinct / probed,
        seconds=took * distinct / part.height,
        disk=_bytes_of(rows[-1], distinct * rows[-1].height // part.height),
        requests=probed,
        errors=answered.height - answered["error"].null_count(),
    )


def _spread(requests: pl.DataFrame, size: int) -> pl.DataFrame:
    """About `size` requests in a few runs of neighbours, evenly spread: what a shard looks like."""
    length = max(size // PIECES, 1)
    pieces = size // length
    starts = [i * (requests.height - length) // max(pieces - 1, 1) for i in range(pieces)]
    return pl.concat(requests.slice(start, length) for start in starts)


def _prompt_bytes(prompts: pl.DataFrame) -> int:
    step = max(prompts.height // 2000, 1)
    return _bytes_of(prompts.gather_every(step), prompts.height)


def _bytes_of(sample: pl.DataFrame, height: int) -> int:
    whole = _encoded(sample)
    if sample.height < 2:
        return whole * height
    half = _encoded(sample[: sample.height // 2])
    # A file's fixed part must not be multiplied: extrapolate by the slope.
    slope = max(whole - half, 0) / (sample.height - sample.height // 2)
    return round(whole + slope * (height - sample.height))


def _encoded(frame: pl.DataFrame) -> int:
    return len(table_bytes(frame))
