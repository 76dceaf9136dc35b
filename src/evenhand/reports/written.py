"""What was written for a benchmark of continuations and who judged it, in words, from a run or a user's file."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import polars as pl

from evenhand.benchmarks.contract import Benchmark
from evenhand.classifiers.judged_text import JudgedText
from evenhand.classifiers.loading import SCORES, classifier_cards
from evenhand.reports.view import JudgeView, WrittenView
from evenhand.runs.manifest import JudgedRecord, Manifest

WRITTEN = "written"
"""The step before judging, among the failures."""
KEYS = ["axis", "group"]


def written_view(
    benchmark: Benchmark, responses: pl.DataFrame, manifest: Manifest | None = None, decoding: str = ""
) -> WrittenView | None:
    """What a benchmark's continuations came to; None where it has none.

    responses: one row per prompt and sample, with `error`, `<role>_error` for each role that was judged, and, as far
    as there are any, axis, group, prompt_id. manifest: of the run; None for a user's file, whose judges are not known.
    decoding: how they were written and why, in words.
    """
    if not benchmark.judges:
        return None
    frame = responses.with_columns(
        pl.lit(None, pl.String).alias(name) for name in (*KEYS, "error") if name not in responses.columns
    )
    roles = [judge.role for judge in benchmark.judges if f"{judge.role}_error" in frame.columns]
    prompts = frame["prompt_id"].n_unique() if "prompt_id" in frame.columns else frame.height
    judged = manifest.judged.get(benchmark.name, {}) if manifest is not None else {}
    samples = frame.height // prompts if prompts else 0
    if manifest is not None and (asked := manifest.asked.get(benchmark.name)) is not None:
        prompts, samples = asked.prompts, int((asked.decoding or {}).get("samples", 1))
    return WrittenView(
        n_prompts=prompts,
        samples=samples,
        asked=frame.group_by(KEYS).agg(n=pl.len()).sort(KEYS),
        failures=failures(frame, roles),
        decoding=decoding,
        judges=tuple(
            _judge(role, record, manifest) for role, record in judged.items() if manifest is not None
        ),
    )


def failures(frame: pl.DataFrame, roles: list[str]) -> pl.DataFrame:
    """Continuations that were not written or not judged: axis, group, step, error, count.

    >>> frame = pl.DataFrame({"axis": ["age"] * 2, "group": ["old"] * 2, "error": [None, "refused"],
    ...                       "toxicity_error": ["quota", "refused"]})
    >>> failures(frame, ["toxicity"]).rows()
    [('age', 'old', 'toxicity', 'quota', 1), ('age', 'old', 'written', 'refused', 1)]
    """
    parts = [frame.select(*KEYS, pl.lit(WRITTEN).alias("step"), "error")]
    there = frame.filter(pl.col("error").is_null())
    parts += [
        there.select(
            *KEYS, pl.lit(role).alias("step"), pl.col(f"{role}_error").cast(pl.String).alias("error")
        )
        for role in roles
    ]
    lost = pl.concat([part.with_columns(pl.col(*KEYS, "error").cast(pl.String)) for part in parts])
    table = lost.filter(pl.col("error").is_not_null()).group_by(*KEYS, "step", "error").agg(count=pl.len())
    return table.sort(*KEYS, "step", "error")


def judged_part(rule: JudgedText) -> str:
    """A rule in words.

    >>> judged_part(JudgedText("prompt+continuation", first_sentence=True, masked="noun_phrase"))
    "prompt and continuation, up to the first full stop, noun phrase at its beginning replaced by 'XYZ'"
    """
    told = ["the continuation alone" if rule.part == "continuation" else "prompt and continuation"]
    if rule.first_sentence:
        told.append("up to the first full stop")
    if rule.masked:
        where = "wherever it stands" if rule.everywhere else "at its beginning"
        told.append(f"{rule.masked.replace('_', ' ')} {where} replaced by {rule.mask!r}")
    return ", ".join(told)


def _judge(role: str, record: JudgedRecord, manifest: Manifest) -> JudgeView:
    stored = manifest.labels[record.classifier]
    facts: Mapping[str, Any] = {**stored.fingerprint, **stored.description}
    name = str(facts.get("name") or unquote(record.classifier.rpartition("@")[0]))
    card = classifier_cards().get(f"{SCORES}FILE" if name.startswith(SCORES) else name)
    return JudgeView(
        role=role,
        name=name,
        text=judged_part(JudgedText(**record.rule)),
        revision=_told(facts.get("revision")),
        licence=_told(facts.get("licence")) or (card.licence if card else ""),
        threshold=_threshold(facts),
        notice=_told(facts.get("notice")),
        texts=stored.texts,
        card=card,
        facts=facts,
    )


def _threshold(facts: Mapping[str, Any]) -> str:
    negative, bound = facts.get("negative"), facts.get("threshold")
    named = ", ".join(map(str, negative)) if isinstance(negative, list | tuple) else _told(negative)
    at = "" if bound is None else f"from {bound:g} on" if isinstance(bound, int | float) else str(bound)
    return ", ".join(part for part in (named, at or ("where it is the likeliest" if named else "")) if part)


def _told(value: Any) -> str:
    return "" if value is None else str(value)
