"""Estimate the cost of a plan from a short probe; the plan is not run and nothing is written."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import polars as pl

from evenhand.models import LanguageModel
from evenhand.runs.asking import RETRIED, answer
from evenhand.runs.conversing import HISTORY, SAID
from evenhand.runs.plan import KINDS, Plan, PlanPart
from evenhand.runs.requests import (
    ConversationRequest,
    GenerateRequest,
    count_rounds,
    decoding_json,
    parse_decoding,
)
from evenhand.schema import EvenhandError, table_bytes

FIRST_ROUND = 8
PIECES = 4
FEW = 8
"""Number of requests that an estimate sends to a service, because each may cost money."""


def estimate(
    plan: Plan, model: LanguageModel, probe: int = 4096, seconds: float = 10.0, few: int = FEW
) -> dict[str, Any]:
    """Estimate the requests, tokens, time and disk space of a plan from a short probe.

    Use it before an expensive run; `evenhand audit --plan` shows the same numbers.

    Parameters
    ----------
    plan : Plan
        The requests.
    model : LanguageModel
        The model.
    probe : int, default 4096
        Maximum number of requests in a round of the probe.
    seconds : float, default 10.0
        Approximate duration of the probe.
    few : int
        Maximum number of probe requests if the model is served by an API. The requests that test the connection do
        not count.

    Returns
    -------
    dict of str
        `requests` (prompts), `distinct_requests`, `tokens` (scored and generated), `seconds` and
        `disk_bytes`. `probe_requests`, `probe_seconds` and `probe_errors` (rows) describe the probe. For an
        API there are also `asked` (requests that were sent), and `at_once` and `concurrency` (simultaneous
        requests in the probe and in the run). Tokens, seconds and disk are None if they are not
        known.

    Raises
    ------
    EvenhandError
        A local model fails. A failing API is not an error: the estimate then has no time, and `not_estimated`
        gives the reason.

    Notes
    -----
    Requests for likelihoods and for texts, and requests with different decoding settings, are probed separately.
    Rounds double while time remains, because models are faster with large batches. The last and largest round gives
    the rate. A real shard shares more prefixes, so the time is rather too long than too short.

    For conversations, first replies are probed. A few conversations are continued to measure how much longer
    later replies take (not with a service).
    """
    began = time.perf_counter()
    kinds = [_kind(plan, model, part) for part in plan.requests.partition_by(KINDS, maintain_order=True)]
    distinct = sum(round(kind.requests.height * kind.rounds) for kind in kinds)
    service = model.describe().get("service")
    if service is not None:
        return {
            "requests": plan.prompts,
            "distinct_requests": distinct,
            **_estimate_service(model, kinds, service, few, seconds),
            "probe_seconds": time.perf_counter() - began,
        }
    probed = [_run_probe(plan, kind, probe, seconds / len(kinds)) for kind in kinds]
    return {
        "requests": plan.prompts,
        "distinct_requests": distinct,
        "tokens": round(sum(kind.tokens for kind in probed)),
        "seconds": sum(kind.seconds for kind in probed),
        "disk_bytes": sum(kind.disk for kind in probed) + sum(_prompt_bytes(part) for part in plan.parts),
        "probe_requests": sum(kind.requests for kind in probed),
        "probe_seconds": time.perf_counter() - began,
        "probe_errors": sum(kind.errors for kind in probed),
    }


@dataclass(frozen=True)
class _Kind:
    """Requests that are sent to one model together."""

    asked: LanguageModel
    requests: pl.DataFrame
    rounds: float = 1.0
    """Number of rounds of equal size: for conversations, the number of replies after the opener."""


def _kind(plan: Plan, model: LanguageModel, requests: pl.DataFrame) -> _Kind:
    if not requests["conversing"][0] or plan.speaker is None:
        return _Kind(model, requests)
    held = [part for part in plan.parts if isinstance(part.request, ConversationRequest)]
    replies = sum(part.prompts.height * count_rounds(part.request) for part in held)
    return _Kind(plan.speaker, requests, replies / sum(part.prompts.height for part in held))


@dataclass(frozen=True)
class _Probe:
    tokens: float
    seconds: float
    disk: int
    requests: int
    errors: int


def _run_probe(plan: Plan, kind: _Kind, probe: int, seconds: float) -> _Probe:
    model, requests = kind.asked, kind.requests
    distinct, largest = requests.height, max(min(probe, requests.height), 1)
    answer(model, requests[:1])  # the first call allocates memory and compiles, so it is not representative
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
    longer = _estimate_slowdown(plan, kind, seconds / 2) if kind.rounds > 1 else 1.0
    whole = distinct * kind.rounds
    return _Probe(
        tokens=int(answered["token_count"].sum()) * whole / probed,
        seconds=took * whole * longer / part.height,
        disk=_extrapolate_bytes(rows[-1], round(whole * rows[-1].height / part.height)),
        requests=probed,
        errors=answered.height - answered["error"].null_count(),
    )


def _estimate_slowdown(plan: Plan, kind: _Kind, seconds: float) -> float:
    """Return the duration of all replies relative to the first ones; later replies take longer because histories grow.

    A few conversations are generated within the time limit; further turns are assumed to take as long as the last.
    """
    few = _spread(kind.requests, min(FIRST_ROUND, kind.requests.height))
    parts = [
        replace(part, prompts=part.prompts.join(few, on="request_id", how="semi", maintain_order="left"))
        for part in plan.parts
        if isinstance(part.request, ConversationRequest)
    ]
    now: Plan | None = replace(plan, parts=tuple(part for part in parts if part.prompts.height), requests=few)
    took: list[float] = []
    while now is not None and sum(took) < seconds:
        began = time.perf_counter()
        replies = answer(kind.asked, now.requests)
        took.append(time.perf_counter() - began)
        now = now.plan_next_round(replies)
    took += [took[-1]] * max(round(kind.rounds) - len(took), 0)
    return sum(took) / len(took) / took[0]


def _estimate_service(
    model: LanguageModel, kinds: list[_Kind], service: Mapping[str, Any], few: int, seconds: float
) -> dict[str, Any]:
    """Extrapolate from a few requests: the largest kinds are sent, and the others get the mean of these."""
    concurrency, per_minute = service["concurrency"], service["per_minute"]
    if per_minute is not None:
        few = min(few, max(int(per_minute * seconds / 60), 1))
    largest = sorted(kinds, key=_count_all_service_requests, reverse=True)[:few]
    probes: list[_ServiceProbe] = []
    failure: str | None = None
    try:
        for kind in largest:
            probes.append(_probe_service(kind.asked, kind.requests, few // len(largest)))
            if failure := probes[-1].failure:
                break
    except EvenhandError as error:
        failure = error.message
    facts: dict[str, Any] = {
        "asked": _count_sent_requests(model.describe()["service"]) - _count_sent_requests(service),
        "at_once": min((probe.asked for probe in probes), default=0),
        "concurrency": concurrency,
        "probe_requests": sum(probe.rows.height for probe in probes),
        "probe_errors": sum(probe.rows.height - probe.rows["error"].null_count() for probe in probes),
        **dict.fromkeys(("tokens", "seconds", "disk_bytes")),
    }
    if failure is not None:
        return {**facts, "not_estimated": failure}
    questions = sum(map(_count_all_service_requests, kinds))
    share = questions / sum(map(_count_all_service_requests, largest))
    rows = pl.concat(probe.rows for probe in probes)
    counts = rows.filter(pl.col("error").is_null())["token_count"]
    if counts.len() and not counts.null_count():  # otherwise only empty texts have counts
        facts["tokens"] = round(float(counts.mean()) * questions)  # type: ignore[arg-type]
    facts["disk_bytes"] = _extrapolate_bytes(rows, questions)
    if any(probe.asked == 0 for probe in probes):
        return {
            **facts,
            "not_estimated": "the responses to the probe were already stored from an earlier run",
        }
    rounds = [
        probe.seconds
        / ceil(probe.asked / concurrency)
        * ceil(_count_all_service_requests(kind) / concurrency)
        for probe, kind in zip(probes, largest, strict=True)
    ]
    paced = 0.0 if per_minute is None else questions * 60 / per_minute
    return {**facts, "seconds": max(sum(rounds) * share, paced)}


@dataclass(frozen=True)
class _ServiceProbe:
    rows: pl.DataFrame
    asked: int  # of the last round, which determines the rate
    seconds: float  # of it
    failure: str | None = None


def _probe_service(model: LanguageModel, kind: pl.DataFrame, few: int) -> _ServiceProbe:
    """Send one request first, in case the service is down, and then the others in parallel."""
    rows: list[pl.DataFrame] = []
    # without a seed, so that the next estimate draws others; responses are stored
    drawn = kind.sample(min(few, kind.height))
    samples = min(int(kind["samples"][0]), max(few - 1, 1))
    for part in (_limit_samples(drawn[:1], 1), _limit_samples(drawn[1 : 1 + (few - 1) // samples], samples)):
        if part.is_empty():
            break
        before, began = _count_sent_requests(model.describe()["service"]), time.perf_counter()
        rows.append(answer(model, part))
        took = time.perf_counter() - began
        asked = min(_count_sent_requests(model.describe()["service"]) - before, _count_service_requests(part))
        failed = rows[-1].filter(pl.col("error").is_in([str(code) for code in RETRIED]))
        if failed.height == rows[-1].height:
            return _ServiceProbe(pl.concat(rows), asked, took, failed["detail"][0] or failed["error"][0])
    return _ServiceProbe(pl.concat(rows), asked, took)


def _limit_samples(requests: pl.DataFrame, samples: int) -> pl.DataFrame:
    """Return the requests with a smaller number of samples."""
    stored = requests["decoding"][0] if requests.height else None
    if stored is None:
        return requests
    fewer = decoding_json(GenerateRequest(replace(parse_decoding(stored), samples=samples)))
    return requests.with_columns(
        decoding=pl.lit(fewer), samples=pl.lit(samples, dtype=requests.schema["samples"])
    )


def _count_service_requests(requests: pl.DataFrame) -> int:
    """Return the number of requests to a service: one per sample."""
    return int(requests["samples"].sum())


def _count_all_service_requests(kind: _Kind) -> int:
    return round(_count_service_requests(kind.requests) * kind.rounds)


def _count_sent_requests(service: Mapping[str, Any]) -> int:
    return int(service["answered"] + sum([*service["asked_again"].values(), *service["failed"].values()]))


def _spread(requests: pl.DataFrame, size: int) -> pl.DataFrame:
    """Return about `size` requests as a few blocks of neighbours, evenly spread, so that they resemble a shard."""
    length = max(size // PIECES, 1)
    pieces = size // length
    starts = [i * (requests.height - length) // max(pieces - 1, 1) for i in range(pieces)]
    return pl.concat(requests.slice(start, length) for start in starts)


def _prompt_bytes(part: PlanPart) -> int:
    prompts = part.prompts.drop(HISTORY, SAID, strict=False)
    step = max(prompts.height // 2000, 1)
    return _extrapolate_bytes(prompts.gather_every(step), prompts.height * count_rounds(part.request))


def _extrapolate_bytes(sample: pl.DataFrame, height: int) -> int:
    whole = _measure_bytes(sample)
    if sample.height < 2:
        return whole * height
    half = _measure_bytes(sample[: sample.height // 2])
    # the fixed part of a file must not be multiplied, so extrapolate by the slope
    slope = max(whole - half, 0) / (sample.height - sample.height // 2)
    return round(whole + slope * (height - sample.height))


def _measure_bytes(frame: pl.DataFrame) -> int:
    return len(table_bytes(frame))
