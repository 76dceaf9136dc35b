"""Changes between two models that missing responses could explain."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtr

from evenhand.stats import Floats
from evenhand.stats.disparity import (
    EQUAL,
    MissingExcess,
    excess_missing,
    explained_by_excess,
    extremes_of_missing,
    p_of_equal_shares,
    spread_explained_by_excess,
    tail_mean,
)

EXPLAINED = "Missing responses could explain the change: "
OPPOSED = "In the worst case for the additional missing responses, the change is not significant."
KINDS = {"before": "the first model's", "after": "the second model's", "both": "both models'"}
"""What may be missing in a pair of responses (the first, the second or both), and its name in a sentence."""


@dataclass(frozen=True)
class _Lacking:
    """Missing responses of groups, if each pair has one response of either model.

    Attributes
    ----------
    names : sequence of str
        Names of the groups.
    means : numpy.ndarray, shape (groups,)
        Mean changes.
    absent : dict of str to numpy.ndarray of shape (groups,)
        For each key of KINDS, the share of each group's pairs in which this is missing.
    kinds : dict of str to MissingExcess
        For each key of KINDS, the excess of these shares over the smallest one.
    """

    names: Sequence[str]
    means: Floats
    absent: dict[str, Floats]
    kinds: dict[str, MissingExcess]

    @classmethod
    def of(cls, pairs: pl.DataFrame, names: Sequence[str], *, shares: bool) -> "_Lacking":
        """Return the missing responses of groups; `pairs` is a result of `_with_bounds` with group and prompt_id."""
        units = pairs.group_by("group", "prompt_id").agg(
            pl.col("change").mean(), *((pl.col("lacks") == kind).mean().alias(kind) for kind in KINDS)
        )
        spread = [(pl.col(kind).std() / pl.len().sqrt()).alias(f"{kind} error") for kind in KINDS]
        order = pl.DataFrame({"group": names})

        def column(table: pl.DataFrame, name: str) -> Floats:
            joined = order.join(table, on="group", how="left", maintain_order="left")
            return joined[name].cast(pl.Float64).fill_null(0.0).to_numpy()

        groups = units.group_by("group").agg(
            pl.col("change", *KINDS).mean(), pl.len().alias("units"), *spread
        )
        means, absent = column(groups, "change"), {kind: column(groups, kind) for kind in KINDS}
        base = float(sum(share.min() for share in absent.values()))
        changes = pairs.drop_nulls("change")
        deviations = [
            np.sort(changes.filter(group=name)["change"].to_numpy()) - mean
            for name, mean in zip(names, means, strict=True)
        ]
        errors = {kind: column(groups, f"{kind} error") for kind in KINDS}
        shares_absent, their_errors = (
            np.stack([table[kind] for kind in KINDS]) for table in (absent, errors)
        )
        is_chance = p_of_equal_shares(shares_absent, their_errors, column(groups, "units")) >= EQUAL
        found = {}
        for kind, share in absent.items():
            if not excess_missing(share, base).any():
                continue
            if shares:
                ends = pairs.filter(lacks=kind).group_by("group").agg(pl.col("least", "most").mean())
                below, above = means - column(ends, "least"), column(ends, "most") - means
            else:
                below, above = extremes_of_missing(means, deviations, share, base)
            below, above = np.maximum(below, 0), np.maximum(above, 0)
            found[kind] = MissingExcess.from_shares(
                share, errors[kind], below, above, is_chance=is_chance, base=base
            )
        return cls(names, means, absent, found)

    def explanation(self) -> str:
        """Return the sentence, with the missing shares of the kind with the largest excess of any group."""
        kind = max(self.kinds, key=lambda one: float(self.kinds[one].share.max()))
        absent = self.absent[kind]
        most, least = int(np.argmax(absent)), int(np.argmin(absent))
        return (
            f"{EXPLAINED}{100 * absent[most]:.0f}% of {KINDS[kind]} responses about {self.names[most]} are missing, "
            f"and {100 * absent[least]:.0f}% of those about {self.names[least]}. {OPPOSED}"
        )


def explain_changes(part: pl.DataFrame, rows: Sequence[dict[str, Any]], *, shares: bool) -> list[str | None]:
    """Return for each row of one axis why its change is not measurable, if missing responses could explain it.

    A group may lack more responses than another because of their content. Pairs that lack the first response, the
    second, or both are counted separately. The excess over the group that lacks fewest is assumed to contradict the
    finding as much as possible. If the interval then includes 0, the change is not measurable. The axis is not
    measurable if no group has a measurable change and one of two conditions holds: the change of a group has this
    explanation, or the excess alone could cause the differences between groups.

    Parameters
    ----------
    part : polars.DataFrame
        Pairs of one axis, with group, prompt_id, `before` and `after`.
    rows : sequence of dict
        The row of the axis, then those of its groups, with group, estimate, low, high and p.
    shares : bool
        True if all outcomes are from 0 to 1.
    """
    texts: list[str | None] = [None] * len(rows)
    usable = [place for place, row in enumerate(rows) if place and isfinite(row.get("p", float("nan")))]
    if len(usable) < 2:
        return texts
    names = [rows[place]["group"] for place in usable]
    pairs = _with_bounds(part.filter(pl.col("group").is_in(names)))
    lacking = _Lacking.of(pairs, names, shares=shares)
    if not lacking.kinds:
        return texts
    columns = ("estimate", "low", "high")
    estimate, low, high = (np.array([rows[place][name] for place in usable]) for name in columns)
    sure = _sure(low, high)
    contrasts = (len(names) * np.eye(len(names)) - 1) / (len(names) - 1)
    kinds = list(lacking.kinds.values())
    explained = explained_by_excess(estimate, sure, contrasts, kinds)
    for place, one in zip(usable, explained, strict=True):
        texts[place] = lacking.explanation() if one else None
    least = rows[0].get("low") or 0.0
    if least > 0 and not (~np.isnan(sure) & ~explained).any():
        alone = spread_explained_by_excess(lacking.means, least, kinds)
        texts[0] = lacking.explanation() if explained.any() or alone else None
    return texts


def explain_levels(frame: pl.DataFrame, levels: pl.DataFrame) -> list[str | None]:
    """Return, for each level, the reason why its change is not measurable if missing responses could explain it.

    It is assumed that the excess of missing responses of one model contradicts the finding. Outcomes that are not
    shares are then as extreme, on average, as an equal share of the observed outcomes of either model.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per pair of responses with ``prompt_id``, ``before``, ``after`` and, if there are axes, ``axis``. Rows
        with equal ``pair`` count once.
    levels : polars.DataFrame
        Result of `evenhand.measures.paired_change`, overall and by axis.
    """
    pairs = _with_bounds(frame)
    numbers = pl.concat([pairs["before"], pairs["after"]]).drop_nulls()
    shares = bool(numbers.is_between(0, 1).all())
    texts = []
    for row in levels.iter_rows(named=True):
        here = pairs if row["axis"] is None else pairs.filter(axis=row["axis"])
        here = here.unique("pair", keep="first") if "pair" in here.columns else here
        texts.append(_explained_level(here, row, shares=shares))
    return texts


def _explained_level(pairs: pl.DataFrame, row: dict[str, Any], *, shares: bool) -> str | None:
    if row["p"] is None or row["low"] is None or not pairs.height:
        return None
    sure = _sure(np.array([row["low"]]), np.array([row["high"]]))
    absent = {kind: float((pairs["lacks"] == kind).mean() or 0.0) for kind in KINDS}  # type: ignore[arg-type]
    kind, other = ("after", "before") if absent["after"] > absent["before"] else ("before", "after")
    excess, left = absent[kind] - absent[other], 1 - absent["both"] - 2 * absent[other]
    if np.isnan(sure[0]) or not excess > 0 or not left > 0:
        return None
    lacks = pl.col("lacks")
    units = pairs.group_by("prompt_id").agg(
        excess=((lacks == kind).cast(pl.Float64) - (lacks == other).cast(pl.Float64)).mean()
    )
    error = float(units["excess"].std() or 0.0) / units.height**0.5  # type: ignore[arg-type]
    is_chance = error > 0 and 2 * ndtr(-excess / error) >= EQUAL
    lacking, share = pairs.filter(lacks=kind), 0.0 if is_chance else excess / left
    if shares:
        least, most = float(lacking["least"].mean()), float(lacking["most"].mean())  # type: ignore[arg-type]
    else:
        observed = [np.sort(pairs[side].drop_nulls().to_numpy()) for side in ("before", "after")]
        highest = max(tail_mean(values, share) for values in observed)
        lowest = min(-tail_mean(-values[::-1], share) for values in observed)
        known = float(lacking[other].mean())  # type: ignore[arg-type]
        least, most = (
            (lowest - known, highest - known) if kind == "after" else (known - highest, known - lowest)
        )
    estimate = float(row["estimate"])
    below, above = (np.array([max(bound, 0.0)]) for bound in (estimate - least, most - estimate))
    share_of_all, error_of_all = np.array([share]), np.array([error / left])
    missing = MissingExcess(share_of_all, error_of_all, 0.0, below, above, absent=share_of_all)
    if not explained_by_excess(np.array([estimate]), sure, np.ones((1, 1)), [missing])[0]:
        return None
    return (
        f"{EXPLAINED}{100 * (absent[kind] + absent['both']):.0f}% of {KINDS[kind]} responses are missing, and "
        f"{100 * (absent[other] + absent['both']):.0f}% of {KINDS[other]}. {OPPOSED}"
    )


def _with_bounds(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs with four additional columns: `change`, `lacks`, `least` and `most`.

    `change` is after minus before. `lacks` states what is missing: a key of KINDS, or "" if nothing is. `least` and
    `most` are bounds of the change if outcomes are from 0 to 1. Values of `before` and `after` that are not finite
    numbers become null.
    """
    before, after = (
        pl.when(pl.col(name).cast(pl.Float64).is_finite()).then(pl.col(name).cast(pl.Float64)).alias(name)
        for name in ("before", "after")
    )
    first, second = pl.col("before").is_null(), pl.col("after").is_null()
    return pairs.with_columns(before, after).with_columns(
        change=pl.col("after") - pl.col("before"),
        lacks=pl.when(first & second)
        .then(pl.lit("both"))
        .when(first)
        .then(pl.lit("before"))
        .when(second)
        .then(pl.lit("after"))
        .otherwise(pl.lit("")),
        least=pl.col("after").fill_null(0.0) - pl.col("before").fill_null(1.0),
        most=pl.col("after").fill_null(1.0) - pl.col("before").fill_null(0.0),
    )


def _sure(low: Floats, high: Floats) -> Floats:
    """Return the distance from 0 of the bound that faces 0; NaN if the interval includes 0."""
    return np.asarray(np.where(low > 0, low, np.where(high < 0, -high, np.nan)))
