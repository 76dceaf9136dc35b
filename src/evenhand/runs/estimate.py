"""What a plan would cost, from a short probe: nothing is run in full and nothing is written."""

import io
import time
from typing import Any

import polars as pl

from evenhand.models.contract import LanguageModel
from evenhand.runs.answering import answer
from evenhand.runs.plan import Plan

FIRST_ROUND = 8
PIECES = 4


def estimate(plan: Plan, model: LanguageModel, probe: int = 4096, seconds: float = 10.0) -> dict[str, Any]:
    """Requests, tokens, time and disk of a plan, extrapolated from rounds of growing size.

    Rounds double while time remains, because models answer large batches faster than small ones; the
    last and largest gives the rate. A shard shares still more prefixes, so the time is rather too long
    than too short.

    Arguments: probe: requests in a round at most. seconds: about how long the probe may take.
    Returns: `requests` (prompts), `distinct_requests`, `tokens`, `seconds`, `disk_bytes`, and what they
    rest on: `probe_requests`, `probe_seconds`, `probe_errors`.
    Raises EvenhandError as the model raises it.
    """
    distinct, largest = plan.requests.height, max(min(probe, plan.requests.height), 1)
    _ask(model, plan.requests[:1])  # a model's first call allocates and compiles: not a sample of the rest
    rows: list[pl.DataFrame] = []
    size, took, began = min(FIRST_ROUND, largest), 0.0, time.perf_counter()
    while True:
        round_began = time.perf_counter()
        rows.append(_ask(model, _spread(plan.requests, size)))
        took = time.perf_counter() - round_began
        if size == largest or time.perf_counter() - began > seconds / 2:
            break
        size = min(size * 2, largest)
    probed = pl.concat(rows)
    return {
        "requests": sum(part.prompts.height for part in plan.parts),
        "distinct_requests": distinct,
        "tokens": round(int(probed["token_count"].sum()) * distinct / probed.height),
        "seconds": took * distinct / rows[-1].height,
        "disk_bytes": _bytes_of(rows[-1], distinct) + sum(_prompt_bytes(part.prompts) for part in plan.parts),
        "probe_requests": probed.height,
        "probe_seconds": time.perf_counter() - began,
        "probe_errors": probed.height - probed["error"].null_count(),
    }


def _ask(model: LanguageModel, requests: pl.DataFrame) -> pl.DataFrame:
    return pl.concat(answer(model, group) for group in requests.partition_by("masking", maintain_order=True))


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
    content = io.BytesIO()
    frame.write_parquet(content)
    return content.tell()
