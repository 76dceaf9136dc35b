"""One data set: simulate it, analyse it, and compare the results with the true values."""

import hashlib
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from evenhand.studies.calibration.designs import EVERYTHING, MARGIN, Design, Judged, Key, Plant, Sample, Truth

RECORD = {
    "replication": pl.Int64,
    "measure": pl.String,
    "rows": pl.Int64,  # with a verdict and a known true value
    "unmeasurable": pl.Int64,
    "null_rows": pl.Int64,  # measurable, with the null as true value
    "false_rows": pl.Int64,  # reported as biased without bias, or in the wrong direction
    "false_elsewhere": pl.Int64,  # of these, on axes without planted effects
    "true_rows": pl.Int64,  # measurable, with another true value than the null
    "found_rows": pl.Int64,  # biased, in the right direction
    "above_rows": pl.Int64,  # true rows above their null, and below it
    "found_above": pl.Int64,
    "below_rows": pl.Int64,
    "found_below": pl.Int64,
    "intervals": pl.Int64,
    "covered": pl.Int64,
    "error": pl.Float64,  # mean of estimate - true value over rows
    "stated": pl.Float64,  # minimum detectable effect of the planted row
    "target": pl.String,  # verdict of the planted row
    "target_found": pl.Boolean,
    "estimate": pl.Float64,  # estimate of the planted row
    "truth": pl.Float64,
}


def generator(*names: object) -> np.random.Generator:
    """Return the random generator of one replication. It depends only on names, not on the process or the order."""
    return np.random.default_rng(derive_seed(*names))


def derive_seed(*names: object) -> int:
    """Return a seed computed from names.

    >>> derive_seed("a", 1) == derive_seed("a", 1) != derive_seed("a", 2)
    True
    """
    digest = hashlib.sha256("\n".join(map(str, names)).encode()).digest()
    return int.from_bytes(digest[:8], "big")


def record(design: Design, plant: Plant, replication: int, *names: object) -> list[dict[str, Any]]:
    """Simulate and analyse one data set, and count true and false verdicts: rows of RECORD."""
    rng = generator(*names, replication)
    sample = design.draw(rng, plant)
    findings = design.road(sample, int(rng.integers(2**31))).findings
    return held_against(design, sample, findings, replication)


def held_against(
    design: Design, sample: Sample, findings: pl.DataFrame, replication: int
) -> list[dict[str, Any]]:
    """Compare the findings of a sample with the true values: one row of RECORD for each measure of the design."""
    by_measure: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in findings.to_dicts():
        by_measure[row["measure"]].append(row)
    judged = design.judged or tuple(Judged(name) for name in sorted(by_measure))
    return [
        {"replication": replication, "measure": one.measure}
        | _count_outcomes(
            one,
            against_reference(sample, by_measure.get(one.measure, []))
            if one.measure in REFERENCED
            else sample,
            by_measure.get(one.measure, []),
        )
        for one in judged
    ]


REFERENCED = (
    "answer_difference",
    "group_difference",
    "missing_difference",
    "refusal_difference",
    "score_difference",
    "valence_shift",
)
"""Measures that compare a group with the reference groups of its axis, which exclude the groups that stand out."""


def against_reference(sample: Sample, rows: Sequence[Mapping[str, Any]]) -> Sample:
    """Return the sample with true values relative to the reference groups that the findings used.

    If groups of an axis are named, the measure compares each group with the mean of the others that are not named. With
    three groups or fewer it always compares with all others. An effect that is planted in one group is the same for
    both; it changes the true values of the other groups.

    Parameters
    ----------
    rows
        Findings of one measure in REFERENCED. The designs state true values relative to the mean of all other groups.

    Examples
    --------
    >>> truth = {("group_difference", "a", name): Truth(30 if name == "b" else -10, False) for name in "bcde"}
    >>> rows = [{"measure": "group_difference", "axis": "a", "group": name, "stratum": None,
    ...          "verdict": "biased" if name == "b" else "not detected"} for name in "bcde"]
    >>> [known.value for known in against_reference(Sample((), truth), rows).truth.values()]
    [30.0, 0.0, 0.0, 0.0]
    """
    axes: dict[tuple[str, str], dict[str, bool]] = defaultdict(dict)
    strata: dict[tuple[str, str], set[str | None]] = defaultdict(set)
    for row in counted_rows(rows):
        key = (row["measure"], row["axis"], row["group"])
        if row["group"] is not None and key in sample.truth:
            axes[key[:2]][row["group"]] = row["verdict"] == "biased"
            strata[key[:2]].add(row["stratum"])
    changed: dict[Key, Truth] = {}
    for (measure, axis), is_named in axes.items():
        if len(strata[measure, axis]) > 1:  # each stratum has its own reference, and the truth is that of all
            continue
        names = list(is_named)
        reference = ~np.array([is_named[name] for name in names])
        if len(names) < 4 or reference.all() or not reference.any():
            continue
        others = np.array([sample.truth[measure, axis, name].value for name in names], dtype=np.float64)
        values = others * (len(names) - 1) / len(names)  # relative to the mean of all groups
        margin = MARGIN if measure == "valence_shift" else 0.0
        for place, name in enumerate(names):
            compared = reference.copy()
            compared[place] = False
            if compared.any():
                value = float(values[place] - values[compared].mean())
                changed[measure, axis, name] = Truth(value, abs(value) <= margin + 1e-9)
    # without a change, keep the mapping: that of complete audits also has values for rows that it does not list
    return replace(sample, truth={**sample.truth, **changed}) if changed else sample


def counted_rows(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows that count, without those of a stratum that are reported again for all strata together.

    >>> rows = [{"axis": "a", "group": None, "stratum": stratum} for stratum in ("men", None)]
    >>> [row["stratum"] for row in counted_rows(rows)], [row["stratum"] for row in counted_rows(rows[:1])]
    ([None], ['men'])
    """
    pooled = {(row["axis"], row["group"]) for row in rows if row["stratum"] is None}
    return [row for row in rows if row["stratum"] is None or (row["axis"], row["group"]) not in pooled]


def _count_outcomes(judged: Judged, sample: Sample, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    counts = dict.fromkeys(
        [name for name, kind in RECORD.items() if kind == pl.Int64 and name != "replication"], 0
    )
    target: dict[str, Any] = {
        "stated": None,
        "target": None,
        "target_found": None,
        "estimate": None,
        "truth": None,
    }
    errors = []
    for row in counted_rows(rows):
        known = _truth(sample, row)
        if known is None:
            continue
        counts["rows"] += 1
        reference = row["null"] if row["null"] is not None else row["estimate"]
        biased = row["verdict"] == "biased"
        upwards = biased and row["direction"] in ("above", "worse", "better") and _is_above(row)
        measurable = row["verdict"] != "not measurable"
        above = not known.null and known.value > (reference or 0.0)
        right = biased and not known.null and upwards == above
        if (row["axis"], row["group"]) == (judged.axis, judged.group):
            target = {
                "stated": row["minimum_detectable"],
                "target": row["verdict"],
                "target_found": right,
                "estimate": row["estimate"],
                "truth": known.value,
            }
        if not measurable:
            counts["unmeasurable"] += 1
            continue
        if known.null:
            counts["null_rows"] += 1
        else:
            side = "above" if above else "below"
            counts["true_rows"] += 1
            counts["found_rows"] += right
            counts[f"{side}_rows"] += 1
            counts[f"found_{side}"] += right
        if biased and not right:
            counts["false_rows"] += 1
            counts["false_elsewhere"] += bool(sample.touched) and row["axis"] not in sample.touched
        if row["low"] is not None and row["high"] is not None and math.isfinite(known.value):
            counts["intervals"] += 1
            counts["covered"] += row["low"] - 1e-9 <= known.value <= row["high"] + 1e-9
        if row["estimate"] is not None and math.isfinite(known.value):
            errors.append(row["estimate"] - known.value)
    return counts | target | {"error": float(np.mean(errors)) if errors else None}


def _truth(sample: Sample, row: Mapping[str, Any]) -> Truth | None:
    known = sample.truth.get((row["measure"], row["axis"], row["group"]))
    if known is None and (sample.at_null == EVERYTHING or row["measure"] in sample.at_null):
        null = row["null"]
        return Truth(math.nan if null is None else float(null), True)
    return known


def _is_above(row: Mapping[str, Any]) -> bool:
    reference = row["null"]
    return reference is None or row["low"] is None or row["low"] >= reference
