"""Summarise replications in tables: measure by design, power, doses, moves, halves, and one row per measure."""

from collections.abc import Iterator

import numpy as np
import polars as pl
from polars._typing import PolarsDataType

from evenhand.studies.calibration.conduct import SimulatedResults
from evenhand.studies.calibration.designs import Design
from evenhand.studies.calibration.holding import Holds, Share, coverage, decide_state, share_above_zero
from evenhand.studies.calibration.schedule import Arm

DESIGNS = {
    "measure": pl.String,
    "design": pl.String,
    "about": pl.String,
    "role": pl.String,
    "n": pl.Int64,  # data sets without a planted effect
    "false": pl.Float64,  # share of them with a false verdict
    "false_low": pl.Float64,
    "false_high": pl.Float64,
    "unmeasurable": pl.Float64,  # share of them without a measurable row
    "n_planted": pl.Int64,
    "false_elsewhere": pl.Float64,  # share of planted data sets with a false verdict on another axis
    "coverage": pl.Float64,  # coverage of 95% CIs without a planted effect
    "coverage_planted": pl.Float64,
    "coverage_low": pl.Float64,  # lower confidence bound, the smaller of the two
    "intervals": pl.Int64,
    "bias": pl.Float64,  # mean of estimate - true value without a planted effect
    "bias_planted": pl.Float64,
    "stated": pl.Float64,  # median of the stated minimum detectable effects
    "n_power": pl.Int64,
    "power": pl.Float64,  # share in which the stated effect is detected
    "power_low": pl.Float64,
    "power_high": pl.Float64,
    "verdict": pl.String,
    "why": pl.String,
}
POWERS = {
    "measure": pl.String,
    "design": pl.String,
    "factor": pl.Float64,
    "effect": pl.Float64,
    "n": pl.Int64,
    "found": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "estimate": pl.Float64,
    "truth": pl.Float64,
}
DOSES = {
    "measure": pl.String,
    "design": pl.String,
    "kind": pl.String,  # groups harmed, or size of the harm
    "dose": pl.Float64,
    "n": pl.Int64,
    "found": pl.Float64,  # detected share: of the planted row, or of all harmed groups
    "better": pl.Float64,  # share of the groups that are truly lower that are named so
    "false": pl.Float64,
    "estimate": pl.Float64,
    "truth": pl.Float64,
}
MOVES = {
    "measure": pl.String,
    "move": pl.String,
    "tables": pl.Int64,
    "rows": pl.Int64,
    "estimate": pl.Float64,
    "limits": pl.Float64,
    "p": pl.Float64,
    "flips": pl.Float64,
}
HALVES = {
    "measure": pl.String,
    "design": pl.String,
    "n": pl.Int64,
    "correlation": pl.Float64,
    "agree": pl.Float64,
}
MEASURES: dict[str, PolarsDataType] = {
    "measure": pl.String,
    "worst_false": pl.Float64,  # false-positive rate in the worst design
    "worst_design": pl.String,
    "worst_n": pl.Int64,  # data sets of that design
    "worst_high": pl.Float64,  # upper confidence bound in that design
    "designs": pl.Int64,  # designs in which the measure gives an answer
    "holding": pl.Int64,
    "undecided": pl.Int64,
    "failing": pl.Int64,
    "unmeasurable": pl.Int64,
    "n": pl.Int64,
    "false": pl.Float64,  # false-positive rate over the data sets of all designs
    "coverage_low": pl.Float64,
    "coverage_high": pl.Float64,
    "power_low": pl.Float64,
    "power_high": pl.Float64,
    "fails_in": pl.List(pl.String),
}


def tables(drawn: SimulatedResults) -> dict[str, pl.DataFrame]:
    """Return `measures`, `designs`, `power`, `doses`, `moves` and `halves`."""
    by_design = {design.name: design for design in drawn.designs}
    rows: dict[str, list[dict[str, object]]] = {"designs": [], "power": [], "doses": [], "halves": []}
    for name, design in by_design.items():
        arms = [(arm, table) for arm, table in drawn.arms if arm.design == name]
        if name in drawn.failed:
            rows["designs"] += [
                _failure_row(design, one.measure, f"fails: {drawn.failed[name]}") for one in design.judged
            ]
            continue
        for measure in _measures(design, arms):
            mine = [
                (arm, table.filter(pl.col("measure") == measure))
                for arm, table in arms
                if arm.kind not in ("moves", "halves")
            ]
            rows["designs"].append(_in_design(design, measure, mine))
            rows["power"] += _powers(design, measure, mine)
            rows["doses"] += _doses(design, measure, mine)
        rows["halves"] += [
            row for arm, table in arms if arm.kind == "halves" for row in _halves(design, table)
        ]
    designs = pl.DataFrame(rows["designs"], schema=DESIGNS)
    return {
        "measures": by_measure(designs),
        "designs": designs,
        "power": pl.DataFrame(rows["power"], schema=POWERS),
        "doses": pl.DataFrame(rows["doses"], schema=DOSES),
        "moves": _moves(drawn),
        "halves": pl.DataFrame(rows["halves"], schema=HALVES),
    }


def by_measure(designs: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each measure, with its worst design first; designs that break its assumptions are left out."""
    rows = []
    for (measure,), part in designs.filter(pl.col("role") == "standard").group_by(
        "measure", maintain_order=True
    ):
        answered = part.filter(pl.col("verdict") != Holds.UNMEASURABLE)
        worst = answered.sort("false", "n", descending=True, nulls_last=True).head(1).to_dicts()
        first = worst[0] if worst else dict.fromkeys(("false", "design", "n", "false_high"))
        counts = {one: int((part["verdict"] == one).sum()) for one in Holds}
        tried = int(answered["n"].sum())
        covered = pl.concat([answered["coverage"], answered["coverage_planted"]]).drop_nulls()
        rows.append(
            {
                "measure": measure,
                "worst_false": first["false"],
                "worst_design": first["design"],
                "worst_n": first["n"],
                "worst_high": first["false_high"],
                "designs": answered.height,
                "holding": counts[Holds.HOLDS],
                "undecided": counts[Holds.UNDECIDED],
                "failing": counts[Holds.FAILS],
                "unmeasurable": counts[Holds.UNMEASURABLE],
                "n": tried,
                "false": float((answered["false"] * answered["n"]).sum()) / tried if tried else None,
                "coverage_low": covered.min(),
                "coverage_high": covered.max(),
                "power_low": answered["power"].min(),
                "power_high": answered["power"].max(),
                "fails_in": part.filter(pl.col("verdict") == Holds.FAILS)["design"].to_list(),
            }
        )
    return pl.DataFrame(rows, schema=MEASURES)


def _measures(design: Design, arms: list[tuple[Arm, pl.DataFrame]]) -> list[str]:
    if design.judged:
        return [one.measure for one in design.judged]
    null = [table for arm, table in arms if arm.kind == "null"]
    return sorted({name for table in null for name in table["measure"]})


def _in_design(design: Design, measure: str, arms: list[tuple[Arm, pl.DataFrame]]) -> dict[str, object]:
    null = next(table for arm, table in arms if arm.kind == "null")
    planted = [table for arm, table in arms if arm.kind != "null"]
    other = pl.concat(planted) if planted else null.head(0)
    at_stated = next(
        (t for a, t in arms if a.kind == "power" and a.measure == measure and a.factor == 1.0), None
    )
    false, elsewhere = share_above_zero(null, "false_rows"), share_above_zero(other, "false_elsewhere")
    blank = null.filter((pl.col("rows") == 0) | (pl.col("rows") == pl.col("unmeasurable")))
    # Effects that are planted for another measure of the design do not count for the coverage of this one.
    own = [t for a, t in arms if a.kind == "power" and a.measure == measure] or planted
    covered, covered_planted = coverage(null), coverage(pl.concat(own) if own else null.head(0))
    lows = [one.low for one in (covered, covered_planted) if one.low is not None]
    power, silenced = None, Share.from_counts(0.0, 0)
    # MDEs are stated for measurable rows, and effects must not make rows unmeasurable
    if at_stated is not None:
        counts = any(one.measure == measure and one.silence_counts for one in design.judged)
        heard = at_stated if counts else at_stated.filter(pl.col("target") != "not measurable")
        power = Share.from_counts(float(heard["target_found"].sum()), heard.height)
        silenced = Share.from_counts(float(at_stated.height - heard.height), at_stated.height)
    quiet = (null["target"] == "not measurable").mean()
    stated = null["stated"].drop_nulls().drop_nans()
    if not int(null["rows"].sum()):
        return _failure_row(design, measure, "gives no row") | {"n": null.height}
    asked = any(one.measure == measure and one.pattern != "none" for one in design.judged)
    verdict, why = decide_state(
        false,
        elsewhere,
        blank.height / max(null.height, 1),
        (covered, covered_planted),
        power,
        len(stated) > 0,
        asked,
        _lowest_detection(design, measure, arms),
        (silenced, quiet if isinstance(quiet, float) else 0.0),
    )
    return {
        "measure": measure,
        "design": design.name,
        "about": design.about,
        "role": design.role,
        "n": null.height,
        "false": false.value,
        "false_low": false.low,
        "false_high": false.high,
        "unmeasurable": blank.height / max(null.height, 1),
        "n_planted": other.height,
        "false_elsewhere": elsewhere.value,
        "coverage": covered.value,
        "coverage_planted": covered_planted.value,
        "coverage_low": min(lows, default=None),
        "intervals": covered.intervals + covered_planted.intervals,
        "bias": null["error"].mean(),
        "bias_planted": pl.concat(own)["error"].mean() if own else None,
        "stated": stated.median() if len(stated) else None,
        "n_power": 0 if power is None else power.n,
        "power": None if power is None else power.value,
        "power_low": None if power is None else power.low,
        "power_high": None if power is None else power.high,
        "verdict": str(verdict),
        "why": why,
    }


def _failure_row(design: Design, measure: str, error: str) -> dict[str, object]:
    """Return the row of a measure that raised an error."""
    told = {"measure": measure, "design": design.name, "about": design.about, "role": design.role, "n": 0}
    return told | {"n_planted": 0, "verdict": str(Holds.FAILS), "why": error}


def _lowest_detection(design: Design, measure: str, arms: list[tuple[Arm, pl.DataFrame]]) -> Share | None:
    """Return the share in which the axis is detected at the number of harmed groups at which it is detected least."""
    if any(one.measure == measure and one.group is not None for one in design.judged):
        return None  # a single group among many harmed ones differs little from the others
    shares = [
        Share.from_counts(float(table["found_rows"].sum()), int(table["true_rows"].sum()))
        for arm, table in arms
        if arm.kind == "dose" and design.role == "standard"
    ]
    return min(
        (one for one in shares if one.value is not None), key=lambda one: one.value or 0.0, default=None
    )


def _powers(
    design: Design, measure: str, arms: list[tuple[Arm, pl.DataFrame]]
) -> Iterator[dict[str, object]]:
    for arm, table in arms:
        if arm.kind == "power" and arm.measure == measure:
            found = Share.from_counts(float(table["target_found"].sum()), table.height)
            yield {
                "measure": measure,
                "design": design.name,
                "factor": arm.factor,
                "effect": arm.plant.effect,
                "n": found.n,
                "found": found.value,
                "low": found.low,
                "high": found.high,
                "estimate": table["estimate"].mean(),
                "truth": table["truth"].mean(),
            }


def _doses(design: Design, measure: str, arms: list[tuple[Arm, pl.DataFrame]]) -> Iterator[dict[str, object]]:
    for arm, table in arms:
        if arm.kind not in ("dose", "size") or table.is_empty():
            continue
        above, below = int(table["above_rows"].sum()), int(table["below_rows"].sum())
        yield {
            "measure": measure,
            "design": design.name,
            "kind": "groups harmed" if arm.kind == "dose" else "size of the harm",
            "dose": float(arm.plant.harmed if arm.kind == "dose" else arm.plant.effect),
            "n": table.height,
            "found": float(table["found_above"].sum()) / above if above else None,
            "better": float(table["found_below"].sum()) / below if below else None,
            "false": share_above_zero(table, "false_rows").value,
            "estimate": table["estimate"].mean(),
            "truth": table["truth"].mean(),
        }


def _halves(design: Design, table: pl.DataFrame) -> Iterator[dict[str, object]]:
    for (measure,), part in table.group_by("measure", maintain_order=True):
        both = part.drop_nulls(["first", "second"]).filter(
            pl.col("first").is_finite() & pl.col("second").is_finite()
        )
        varied = both.height > 2 and both["first"].n_unique() > 1 and both["second"].n_unique() > 1
        yield {
            "measure": measure,
            "design": design.name,
            "n": both.height,
            "correlation": float(np.corrcoef(both["first"].to_numpy(), both["second"].to_numpy())[0, 1])
            if varied
            else None,
            "agree": part["agree"].mean(),
        }


def _moves(drawn: SimulatedResults) -> pl.DataFrame:
    every = [table for arm, table in drawn.arms if arm.kind == "moves"]
    if not every:
        return pl.DataFrame(schema=MOVES)
    moved = pl.concat(every)
    return (
        moved.group_by("measure", "move", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("tables"),
            pl.col("rows").sum(),
            pl.col("estimate", "limits", "p").max(),
            (pl.col("flips").sum() / pl.col("rows").sum()).alias("flips"),
        )
        .select(pl.col(name).cast(kind) for name, kind in MOVES.items())
    )
