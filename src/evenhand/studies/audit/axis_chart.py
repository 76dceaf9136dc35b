"""The chart at the top of a report: one row per axis, with the worst-treated group, its interval and the MDE."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from markupsafe import Markup

from evenhand.reports import (
    BenchmarkView,
    ReportView,
    Scale,
    axis_svg,
    count_places,
    factor_scale,
    interval_svg,
    known,
    scale_over,
    sentences,
    smallest_effect,
    verdict_summary,
    wording,
)
from evenhand.studies.audit.rate_figures import has_threshold, name_direction

GROUP_MEASURES = {
    "disparity": "group_difference",
    "valence_spread": "valence_shift",
    "humanising_spread": "humanising_contrast",
    "score_spread": "score_difference",
    "missing_disparity": "missing_difference",
    "refusal_disparity": "refusal_difference",
}
"""The measure of single groups that belongs to each measure of a whole axis."""
LOG_RATIOS = ("valence_spread", "humanising_spread")
"""Measures of differences in log-likelihood, drawn as ratios. A group with a value below 0 is treated worse."""
WORSE = ("worse", "above")
"""Directions that are drawn to the right: treated worse, or higher for measures without a worse side."""
SIDES = {True: ("treated better", "treated worse"), False: ("lower", "higher")}


@dataclass(frozen=True)
class AxisRow:
    """One axis in the chart.

    Attributes
    ----------
    label, verdict : str
        Display name of the axis, and its verdict.
    drawing : Markup
        The estimate with its 95% CI, other groups with a detected difference as small dots, and the MDE as a band.
    group, size : str
        The group farthest from the others, and its effect.
    side, interval : str
        If bias was detected: how the group is treated ("treated worse"), and the 95% CI.
    others : str
        How many other groups are treated worse or better.
    detectable : str
        Without detected bias: the effect that the audit had 80% power to detect.
    """

    label: str
    verdict: str
    drawing: Markup
    group: str = ""
    side: str = ""
    size: str = ""
    interval: str = ""
    others: str = ""
    detectable: str = ""


@dataclass(frozen=True)
class AxisPanel:
    """Rows of the chart that share a horizontal scale.

    `what` states what the scale shows, `left` and `right` the meaning of the two directions. `ticks` is the scale
    below the rows.
    """

    what: str
    left: str
    right: str
    ticks: Markup
    rows: tuple[AxisRow, ...]


@dataclass(frozen=True)
class _Effects:
    """The effects of one axis. On the scale of the chart, groups on the right of `null` are treated worse.

    Attributes
    ----------
    axis
        Verdict of the axis.
    measure, unit, null
        Measure of the effects, its unit, and its value without bias.
    main
        Row of the group with the largest effect, or of the axis; None if there is no effect.
    named
        Rows of the other groups that were found to be treated worse or better.
    sizes
        Minimum detectable effects of the groups.
    of_groups
        True if the rows are about groups, False if they are about the axis.
    """

    axis: verdict_summary.AxisVerdict
    measure: str
    unit: str
    null: float
    main: Mapping[str, Any] | None
    named: tuple[Mapping[str, Any], ...] = ()
    sizes: tuple[float, ...] = ()
    of_groups: bool = True

    @property
    def is_ratio(self) -> bool:
        return self.measure in LOG_RATIOS

    @property
    def has_sides(self) -> bool:
        """Return True if the directions mean treated worse and better, False if they mean only higher and lower."""
        rows = [*([] if self.main is None else [self.main]), *self.named]
        directions = {row["direction"] for row in rows if row["direction"]}
        if directions:
            return bool(directions & {"worse", "better"})
        return self.measure in (*LOG_RATIOS, "disparity")

    def place(self, value: float) -> float:
        """Return the position of a value of the measure on the scale of the chart."""
        return -value if self.is_ratio and self.of_groups else value

    def bounds(self, row: Mapping[str, Any]) -> tuple[float | None, float | None]:
        low, high = (self.place(row[name]) if known(row[name]) else None for name in ("low", "high"))
        return (high, low) if low is not None and high is not None and low > high else (low, high)

    @property
    def band(self) -> float | None:
        """Return the minimum detectable effect of an axis without a detected bias; None if it is unknown.

        Groups of different sizes have different ones: this is the largest. A detected effect may be smaller than the
        effect for which the power is 80%, so a band next to it would look like a contradiction.
        """
        return None if self.axis.verdict == wording.BIASED else max(self.sizes, default=None)

    @property
    def values(self) -> list[float]:
        """Return all positions that the scale of the chart must contain."""
        rows = [*([] if self.main is None else [self.main]), *self.named]
        places = [self.place(row["estimate"]) for row in rows if known(row["estimate"])]
        if self.main is not None:
            places += [bound for bound in self.bounds(self.main) if bound is not None]
        size = 0.0 if self.band is None else self.band
        return [*places, self.null - size, self.null + size]


def axis_chart(
    view: ReportView, benchmark: BenchmarkView, summary: verdict_summary.VerdictSummary
) -> tuple[AxisPanel, ...]:
    """Return the chart of a benchmark: a panel for each measure, biased axes first.

    It is empty if no axis has an estimate.
    """
    axes = (*summary.biased, *summary.not_detected, *summary.not_measurable)
    effects = [_effects(view, benchmark, axis) for axis in axes]
    panels = []
    for _, members in groupby(sorted(effects, key=_panel_order(effects)), key=_panel_key):
        panels.append(_panel(benchmark, list(members)))
    return tuple(panels) if any(one.main is not None for one in effects) else ()


def _panel_key(effects: _Effects) -> tuple[str, str]:
    return effects.measure, effects.unit


def _panel_order(effects: Sequence[_Effects]) -> Any:
    order = list(dict.fromkeys(_panel_key(one) for one in effects))
    return lambda one: order.index(_panel_key(one))


def _effects(view: ReportView, benchmark: BenchmarkView, axis: verdict_summary.AxisVerdict) -> _Effects:
    measure = axis.measures[0]
    single = view.rows(benchmark.name, GROUP_MEASURES.get(measure, measure), groups=True).to_dicts()
    groups = [
        dict(name_direction(_worse_first(row), benchmark))
        for row in single
        if row["axis"] == axis.axis and known(row["estimate"])
    ]
    whole = [row for row in view.rows(benchmark.name, measure).to_dicts() if row["axis"] == axis.axis]
    if axis.verdict == wording.NOT_MEASURABLE:
        row = (groups or whole or [{"unit": ""}])[0]
        return _Effects(axis, measure, row["unit"] or "", 0.0, None)
    groups = [row for row in groups if row["verdict"] != wording.NOT_MEASURABLE]
    if groups:
        named = [row for row in groups if row["verdict"] == wording.BIASED]
        worse = [
            row for row in named if row["direction"] == "worse"
        ]  # without sides, the farthest group is drawn
        right = -1 if measure in LOG_RATIOS else 1
        # of two groups with opposite effects, the one that would be treated worse
        main = max(worse or named or groups, key=lambda row: (abs(row["estimate"]), right * row["estimate"]))
        rest = tuple(row for row in named if row is not main)
        sizes = [row["minimum_detectable"] for row in groups]
        if measure in LOG_RATIOS:
            sizes = [axis.minimum_detectable]
        detectable = tuple(float(size) for size in sizes if known(size))
        return _Effects(axis, measure, main["unit"] or "", 0.0, main, rest, detectable)
    row = whole[0] if whole else {"unit": "", "null": None}
    null = float(row["null"]) if known(row["null"]) else 0.0
    smallest = () if axis.minimum_detectable is None else (axis.minimum_detectable,)
    return _Effects(axis, measure, row["unit"] or "", null, row if whole else None, (), smallest, False)


def _panel(benchmark: BenchmarkView, members: Sequence[_Effects]) -> AxisPanel:
    values = [value for one in members for value in one.values]
    first = members[0]
    labels: list[str] | None = None
    if first.is_ratio and first.of_groups:
        scale, _ = factor_scale(values)
        labels = ["equal" if not tick else f"{math.exp(abs(tick)):.3g}×" for tick in scale.ticks]
    else:
        scale = scale_over(values, include=[one.null for one in members])
    has_sides = any(one.has_sides for one in members) and not has_threshold(benchmark)
    left, right = SIDES[has_sides] if first.of_groups else ("", "")
    return AxisPanel(
        what=_describe_scale(first),
        left=left,
        right=right,
        ticks=axis_svg(scale, labels),
        rows=tuple(_row(benchmark, one, scale) for one in members),
    )


def _describe_scale(effects: _Effects) -> str:
    if effects.is_ratio and effects.of_groups:
        return "ratio of hostile to kind sentences" if effects.measure == "valence_spread" else "ratio"
    name = "difference from the other groups" if effects.of_groups else wording.label(effects.measure)
    unit = wording.plain_effect(effects.unit)
    return f"{name}, {unit}" if unit else name


def _row(benchmark: BenchmarkView, effects: _Effects, scale: Scale) -> AxisRow:
    name, verdict, main = sentences.heading(effects.axis.axis), effects.axis.verdict, effects.main
    detected = verdict == wording.BIASED
    low, high = (None, None) if main is None else effects.bounds(main)
    size, interval = ("", "") if main is None else _size(effects, main)
    group = _group(effects, main) if main is not None and effects.of_groups else ""
    kind = "higher" if main is not None and main["direction"] in WORSE else "lower" if group else "biased"
    described = f"{name}: {verdict}" + (f"; {group} {size} ({interval})" if size else "")
    band = effects.band
    return AxisRow(
        label=name,
        verdict=verdict,
        drawing=interval_svg(
            scale,
            None if main is None else effects.place(main["estimate"]),
            low,
            high,
            others=[
                (effects.place(row["estimate"]), "higher" if row["direction"] in WORSE else "lower")
                for row in effects.named
            ],
            null=effects.null if main is not None else None,
            band=(None, None) if band is None else (effects.null - band, effects.null + band),
            kind=kind if detected else "blank",
            filled=detected,
            described=described,
        ),
        group=group,
        side=SIDES[effects.has_sides][main["direction"] in WORSE] if detected and main and group else "",
        size=size,
        interval=interval if detected else "",
        others=_count_other_groups(effects) if detected else "",
        detectable="" if detected else _detectable(benchmark, effects),
    )


def _worse_first(row: dict[str, Any]) -> dict[str, Any]:
    """Return the difference of a pair of groups as an effect on the group with the higher value.

    Other rows are returned unchanged. Only rates of negative responses are compared in pairs, so the higher value is
    the worse one.
    """
    if " − " not in str(row["group"]):
        return row
    first, second = str(row["group"]).split(" − ")
    found = row["verdict"] == wording.BIASED
    if row["estimate"] >= 0:
        return row | {"group": first, "direction": "worse" if found else None}
    ends = {"low": -row["high"], "high": -row["low"]} if known(row["low"]) and known(row["high"]) else {}
    turned = {"group": second, "estimate": -row["estimate"], "direction": "worse" if found else None}
    return row | turned | ends


def _group(effects: _Effects, row: Mapping[str, Any]) -> str:
    name = str(row["group"])
    return sentences.descriptor(name) if effects.is_ratio else sentences.group_phrase(name)


def _size(effects: _Effects, row: Mapping[str, Any]) -> tuple[str, str]:
    """Return an effect and its 95% CI as text."""
    if not known(row["low"]) or not known(row["high"]):
        return wording.number(row["estimate"]), ""
    if effects.is_ratio and effects.of_groups:
        return sentences.ratio_with_ci(sentences.Estimate(row["estimate"], row["low"], row["high"]))
    if effects.measure == "disparity":
        difference = sentences.Estimate(row["estimate"], row["low"], row["high"])
        places = sentences.places_of_rates(difference)
        size = sentences.points(row["estimate"], places, with_sign=True)
        return size, sentences.ci(row["low"], row["high"], places)
    places = count_places([row[name] for name in ("estimate", "low", "high")], row["unit"])
    low, high = (wording.number(row[name], places) for name in ("low", "high"))
    show = wording.signed if effects.of_groups else wording.number
    return show(row["estimate"], places), f"95% CI {low} to {high}"


def _count_other_groups(effects: _Effects) -> str:
    """Return how many other groups of the axis are named on each side."""
    directions = [str(row["direction"]) for row in effects.named]
    worse = sum(way in WORSE for way in directions)
    pair = effects.main is not None and len(effects.named) == 1 and not worse  # the other of two groups
    better = 0 if pair else len(directions) - worse
    sides = SIDES[effects.has_sides]
    counts = [f"{n} more {side}" for n, side in ((worse, sides[1]), (better, sides[0])) if n]
    return ", ".join(counts).replace("more " + sides[0], sides[0])


def _detectable(benchmark: BenchmarkView, effects: _Effects) -> str:
    """Return the effect that the audit had 80% power to detect, as in the sentence on the axis."""
    if effects.is_ratio:
        return sentences.detectable_ratio(effects.band)
    if effects.measure == "disparity":
        axes = benchmark.detail("axes")
        counts = {} if axes is None else dict(axes.select("axis", "n_groups").rows())
        return sentences.detectable(effects.sizes, counts.get(effects.axis.axis))
    unit = wording.plain_effect(effects.unit)
    return "" if effects.band is None else f"{smallest_effect(effects.band)} {unit} or more"
