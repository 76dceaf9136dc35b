"""Evidence of one model: the findings of its report by axis, and their groups."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from evenhand.benchmarks import EffectUnit, load_benchmark
from evenhand.reports import BIASED, NOT_MEASURABLE, WORSE, known, label
from evenhand.reports.sentences import group_phrase, split_verdict
from evenhand.schema import EvenhandError
from evenhand.stats import Harmful
from evenhand.studies.gate.evidence import BLANK, FOUND, NOT_FOUND, STANDING, Evidence, Part, join_verdicts
from evenhand.studies.gate.grammar import NATS, POINTS, UNITS

SPREADS = re.compile(r"(?:(.+)_)?(?:disparity|spread)")
"""Names of measures that show whether the groups of an axis differ. The rows of groups show which, and by how much."""
KEYS = ["benchmark", "measure", "axis", "group", "stratum"]


def audit_evidence(tables: Mapping[str, pl.DataFrame], model: str | None = None) -> list[Evidence]:
    """Return evidence for each benchmark and axis of a report.

    Benchmarks and axes are those of the report's sentences or, if there are no sentences, those of its verdicts. The
    parts of the evidence are the groups of the reported measures.

    Parameters
    ----------
    tables
        Findings, headlines and measurements.
    """
    findings = tables["findings"].filter(pl.col("stratum").is_null())
    more = tables["measurements"].select(*KEYS, "ideal", "unit", "n_units").unique(KEYS, keep="first")
    rows = findings.join(more, on=KEYS, how="left", nulls_equal=True, maintain_order="left")
    sentences = tables["headlines"].select("benchmark", "measure", "axis", "verdict", "sentence")
    silent = rows.filter(
        pl.col("group").is_null() & ~pl.col("benchmark").is_in(sentences["benchmark"].implode())
    )
    of_silent = silent.select("benchmark", "measure", "axis", "verdict", sentence="note")
    evidence = []
    for (benchmark, axis), lines in pl.concat([sentences, of_silent]).group_by(
        "benchmark", "axis", maintain_order=True
    ):
        mine = rows.filter(
            (pl.col("benchmark") == benchmark) & pl.col("axis").eq_missing(pl.lit(axis, pl.String))
        )
        by_unit = _parts(str(benchmark), mine.to_dicts(), lines["measure"].unique(maintain_order=True))
        verdict = join_verdicts(_convert_verdict(one) for one in lines["verdict"])
        first = lines.filter(pl.col("verdict") == BIASED) if verdict == FOUND else lines
        place = None if axis is None else str(axis)
        for unit, parts in (by_unit or {None: ()}).items():
            told = split_verdict(first["sentence"][0])[1] or first["sentence"][0]
            evidence.append(Evidence(STANDING, str(benchmark), place, verdict, told, unit, parts, model))
    return evidence


def unit_named(unit: str | None) -> str:
    """Return the name that conditions use for a unit of a table.

    >>> unit_named("% of pairs"), unit_named("nats per sentence, over 0.1 counts"), unit_named("variance")
    ('points', 'nats', 'units')
    """
    text = unit or ""
    return POINTS if text.startswith(("%", "percent")) else NATS if text.startswith("nats") else UNITS


def harmful_side(benchmark: str, measure: str) -> Harmful:
    """Return the side of the null on which a measure is harmful, as its benchmark states it; "either" without one."""
    try:
        return load_benchmark(benchmark).harmful.get(measure, "either")
    except EvenhandError:
        return "either"


def effect_units(benchmark: str) -> frozenset[EffectUnit] | None:
    """Return the units of the effects that a benchmark measures; None if they are known only after the analysis.

    >>> effect_units("regard"), effect_units("quality")
    (frozenset({'points'}), None)
    """
    try:
        return load_benchmark(benchmark).effect_units
    except EvenhandError:
        return None


def _convert_verdict(verdict: str) -> str:
    return FOUND if verdict == BIASED else BLANK if verdict == NOT_MEASURABLE else NOT_FOUND


def _parts(
    benchmark: str, rows: list[dict[str, Any]], measures: Iterable[str]
) -> dict[str | None, tuple[Part, ...]]:
    """Return the groups of an axis as parts of evidence, by unit.

    If no measure compares groups, the rows of the measures themselves are the parts.

    benchmark: name of the benchmark. rows: findings of the axis. measures: names of the reported measures.
    """
    groups: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for measure in measures:
        if spread := SPREADS.fullmatch(measure):
            stem = f"{spread[1] or 'group'}_"
            groups += [row for row in rows if row["group"] and row["measure"].startswith(stem)]
        else:  # two groups compared in the same texts repeat the comparison of their rates
            others += [row for row in rows if row["measure"] == measure]
    parts: dict[str | None, list[Part]] = {}
    for row in groups or others:
        mine = parts.setdefault(unit_named(row["unit"]), [])
        if row["verdict"] != NOT_MEASURABLE:
            mine.append(_part(benchmark, row))
    return {unit: tuple(of_unit) for unit, of_unit in parts.items()}


def _part(benchmark: str, row: Mapping[str, Any]) -> Part:
    null = row["null"] if known(row["null"]) else row["ideal"]
    return Part(
        name=group_phrase(row["group"]) if row["group"] else label(row["axis"]),
        found=row["verdict"] == BIASED and row["direction"] in (WORSE, "above", "below"),
        estimate=row["estimate"],
        low=row["low"],
        high=row["high"],
        null=0.0 if null is None else float(null),
        harmful=harmful_side(benchmark, row["measure"]),
        smallest=row["minimum_detectable"],
        units=row["n_units"],
    )
