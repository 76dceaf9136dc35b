"""Write the findings of a comparison as sentences, the same for terminal, page and JSON. All verdicts are given.

Changes between groups come first, then the level, then the text, because a model may become less harmful for all groups
but one.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

import polars as pl

from evenhand.reports import (
    CHANGED,
    HIGHER,
    LOWER,
    NOT_DETECTED,
    NOT_MEASURABLE,
    decimals,
    describe_group_change,
    known,
    number,
    sentences,
    signed,
)
from evenhand.reports.sentences import Estimate, Scale
from evenhand.studies.compare.changes import LEVEL_CHANGE, SPREADS, bias_went
from evenhand.studies.compare.likelihood_words import clear_groups, log_perplexity_text, unsettled_text
from evenhand.studies.compare.rate_words import (
    NATS,
    Unit,
    drop_explained_groups,
    get_difference_suffix,
    group_changes,
    harm_and_size,
    scale_row,
    strongest_first,
)
from evenhand.studies.compare.texts import text_line

DISPARITY, STANDING_NOW, LEVEL, TEXT = "between groups", "standing", "over all", "text"
"""Topics of sentences, in the order of the report."""
CHANGE_HEADLINES = dict.fromkeys(
    ("model", "benchmark", "outcome", "about", "axis", "verdict", "sentence"), pl.String
)
VALENCE = "valence_shift"
"""Prefix of measures of a group's likelihood in kind relative to hostile sentences. Values above 0 mean kind."""
SCORE = " score"
"""Suffix of an outcome that is a classifier's score rather than its label."""


def change_headlines(
    changes: pl.DataFrame, texts: pl.DataFrame, units: Mapping[tuple[str, str], Unit], standing: pl.DataFrame
) -> pl.DataFrame:
    """Return the sentences of a comparison (columns: CHANGE_HEADLINES).

    Parameters
    ----------
    changes
        Changes (columns: CHANGES), without classifiers' scores that have a label too.
    texts
        Changes of text quality with verdicts.
    units
        Unit of each benchmark and outcome.
    standing
        Sentences with the columns `evenhand.studies.compare.standing.STANDING`. They follow the sentence on their axis,
        only for the first outcome of a benchmark.
    """
    told: set[tuple[Any, ...]] = set()
    lines: list[dict[str, Any]] = []
    keys = ["model", "benchmark", "outcome"]
    for (model, benchmark, outcome), part in changes.group_by(keys, maintain_order=True):
        place = {"model": model, "benchmark": benchmark, "outcome": outcome}
        unit = units[str(benchmark), str(outcome)]
        rows = part.to_dicts()
        if outcome == "silent":  # reported only if it changed
            rows = [row for row in rows if row["verdict"] in (CHANGED, LOWER, HIGHER)]
        between = [*disparity_lines(rows, unit), *preference_lines(rows, unit)]
        now = [] if (model, benchmark) in told else _select_standing(standing, model, benchmark)
        told.add((model, benchmark))
        lines += [place | line for line in with_standing(between, now)]
        for row in rows:
            if row["measure"] == LEVEL_CHANGE and row["axis"] is None:
                lines.append(
                    place
                    | {
                        "about": LEVEL,
                        "verdict": row["verdict"],
                        "sentence": _level(row | {"outcome": outcome}, unit),
                    }
                )
    for (model, benchmark), part in texts.group_by(["model", "benchmark"], maintain_order=True):
        place = {"model": model, "benchmark": benchmark, "about": TEXT}
        for row in part.filter(pl.col("verdict").is_in([LOWER, HIGHER])).to_dicts():
            lines.append(place | {"verdict": row["verdict"], "sentence": f"{text_line(row)}."})
    return pl.DataFrame(lines, schema=CHANGE_HEADLINES)


def with_standing(
    lines: Iterable[dict[str, Any]], standing: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the sentences on changes, each followed by those of `standing` on the same axis.

    Sentences of `standing` on other axes come last. They state the verdict of the later model by itself.
    """
    rest = [
        {"about": STANDING_NOW, **{name: row[name] for name in ("axis", "verdict", "sentence")}}
        for row in standing
    ]
    done = []
    for line in lines:
        mine = [row for row in rest if line["axis"] is not None and row["axis"] == line["axis"]]
        rest = [row for row in rest if row not in mine]
        done += [line, *mine]
    return done + rest


def _select_standing(standing: pl.DataFrame, model: object, benchmark: object) -> list[dict[str, Any]]:
    return standing.filter((pl.col("model") == model) & (pl.col("benchmark") == benchmark)).to_dicts()


def disparity_lines(rows: Sequence[Mapping[str, Any]], unit: Unit) -> list[dict[str, Any]]:
    """Return a sentence for each axis whose groups changed differently, and one for all other axes.

    The axis whose group got worse by most comes first, then the axis whose named group changed most.
    """
    lines: list[dict[str, Any]] = []
    moved: list[tuple[tuple[float, float], dict[str, Any]]] = []
    quiet: list[tuple[str, float | None]] = []
    blank: list[tuple[str, str]] = []
    rates: list[float] = []
    still: list[str] = []
    for row in rows:
        if row["group"] is not None or not re.search(SPREADS, row["measure"]):
            continue
        groups = [other for other in rows if other["group"] is not None and other["axis"] == row["axis"]]
        if row["verdict"] == NOT_DETECTED and all(group["before"] == group["after"] for group in groups):
            still.append(row["axis"])
        elif row["verdict"] == CHANGED or (unit is NATS and clear_groups(row, groups)):
            text = _describe_axis_change(row, groups, unit)
            told = dict(about=DISPARITY, axis=row["axis"], verdict=row["verdict"], sentence=text)
            moved.append((harm_and_size(groups), told))
        elif row["verdict"] == NOT_DETECTED:
            sizes = [g["minimum_detectable"] for g in groups if known(g["minimum_detectable"])]
            quiet.append((row["axis"], unit.factor * median(sizes) if sizes else None))
            rates += [unit.factor * group["before"] for group in groups if known(group["before"])]
        else:
            blank.append((row["axis"], row["note"] or ""))
    lines += [told for _, told in sorted(moved, key=lambda one: one[0], reverse=True)]
    if quiet:
        sizes = sorted(size for _, size in quiet if size is not None)
        effect = _detectable(sizes, rates, unit) if sizes else ""
        text = sentences.no_change_between_groups([axis for axis, _ in quiet], effect, depends=len(quiet) > 1)
        lines.append({"about": DISPARITY, "axis": None, "verdict": NOT_DETECTED, "sentence": text})
    if still:
        text = sentences.unchanged(still)
        lines.append({"about": DISPARITY, "axis": None, "verdict": NOT_DETECTED, "sentence": text})
    for reason in dict.fromkeys(reason for _, reason in blank):
        text = sentences.change_not_measurable([axis for axis, why in blank if why == reason], reason)
        lines.append({"about": DISPARITY, "axis": None, "verdict": NOT_MEASURABLE, "sentence": text})
    return lines


def _detectable(sizes: Sequence[float], rates: Sequence[float], unit: Unit) -> str:
    """Return a text on the minimum detectable changes of several axes.

    Rates cannot fall below 0% or rise above 100%, so the text names only the direction in which such a change is
    possible.

    sizes: minimum detectable changes in increasing order. rates: rates of the groups.
    """
    direction = ""
    if unit.name == "%" and rates and sizes[0] > max(rates):
        direction = "rise"
    elif unit.name == "%" and rates and sizes[0] > 100 - min(rates):
        direction = "fall"
    possible = [
        size for size in sizes if size < 100 or unit.name != "%"
    ]  # a rate changes by at most 100 points
    if not possible:
        return sentences.TOO_FEW_PROMPTS
    few = len(sizes) - len(possible)
    return sentences.detectable_change(possible[0], possible[-1], Scale(unit.name), direction, too_few=few)


def preference_lines(rows: Sequence[Mapping[str, Any]], unit: Unit) -> list[dict[str, Any]]:
    """Return a sentence for each axis of sentence pairs with a changed preference, and one for all others."""
    mine = [
        row
        for row in rows
        if row["measure"] != LEVEL_CHANGE
        and not re.search(SPREADS, row["measure"])
        and row["group"] is None
        and row["verdict"] is not None
    ]
    lines: list[dict[str, Any]] = []
    quiet = [row for row in mine if row["verdict"] == NOT_DETECTED]
    for row in mine:
        if row["verdict"] in (LOWER, HIGHER):
            numbers = level_text(row, unit)
            went = bias_went(row, ideal=50.0 * (unit.name == "%"))
            text = sentences.preference_changed(row["axis"], went, numbers, more=row["verdict"] == HIGHER)
            if row["measure"].startswith("redditbias"):
                finding = sentences.capitalised(log_perplexity_text(row, rows, numbers))
                text = sentences.changed_axis(row["axis"], went, finding)
            lines.append({"axis": row["axis"], "verdict": went, "sentence": text})
        elif row["verdict"] == NOT_MEASURABLE:
            text = sentences.change_not_measurable([row["axis"]], row["note"] or "")
            lines.append({"axis": row["axis"], "verdict": NOT_MEASURABLE, "sentence": text})
    if quiet:
        reach = ""
        if sizes := sorted(row["minimum_detectable"] for row in quiet if known(row["minimum_detectable"])):
            ends = (sizes[0], sizes[-1])
            shown = dict.fromkeys(
                number(unit.factor * size, 0 if unit.name == "%" else None) for size in ends
            )
            reach = f"{' to '.join(shown)}{get_difference_suffix(unit)} or more"
        text = sentences.preference_unchanged([row["axis"] for row in quiet], reach)
        lines.append({"axis": None, "verdict": NOT_DETECTED, "sentence": text})
    return [{"about": DISPARITY} | line for line in lines]


def moved_word(row: Mapping[str, Any], unit: Unit) -> str:
    """Return in words how a group changed (see `describe_group_change`).

    row: row with the columns CHANGES, not multiplied by the factor of the unit.
    """
    return describe_group_change(row, unit.factor, has_unit=bool(unit.name))


def level_text(row: Mapping[str, Any], unit: Unit) -> str:
    """Return the numbers before and after, and their difference with its interval.

    >>> from evenhand.studies.compare.rate_words import PERCENT
    >>> row = {"before": 0.5, "after": 0.25, "estimate": -0.25, "low": -0.3, "high": -0.2}
    >>> level_text(row, PERCENT)
    '50.0% to 25.0% (−25.0 points, 95% CI −30.0 to −20.0)'
    """
    shown = scale_row(row, unit)
    is_zero = not shown["before"] and not shown["after"]
    places = 1 if is_zero else decimals([shown["before"], shown["after"]])
    suffix = "%" if unit.name == "%" else f" {unit.name}" if unit.name else ""
    before, after = (f"{number(shown[name], places)}{suffix}" for name in ("before", "after"))
    between = sentences.ci(shown["low"], shown["high"], places) if known(shown["low"]) else "no interval"
    change = f"{signed(shown['estimate'], places)}{get_difference_suffix(unit)}"
    return sentences.before_and_after(before, after, change, between)


def _describe_axis_change(row: Mapping[str, Any], groups: Sequence[Mapping[str, Any]], unit: Unit) -> str:
    if row["verdict"] != CHANGED:
        moved = _moved_likelihoods(clear_groups(row, groups), len(groups), asked_only=True)
        return unsettled_text(row, moved[1])
    found = [group for group in groups if group["verdict"] in (LOWER, HIGHER)]
    if not found:
        shown = scale_row(row, unit)
        spread = f"{number(shown['estimate'], decimals([shown['estimate']]))}{get_difference_suffix(unit)}"
        finding = sentences.changed_without_group("" if unit is NATS else spread)
    elif unit is NATS:
        finding = _moved_likelihoods(found, len(groups))
    else:
        finding = group_changes(found, groups, unit)
    return sentences.changed_axis(row["axis"], *finding)


def _moved_likelihoods(
    found: Sequence[Mapping[str, Any]], count: int, *, asked_only: bool = False
) -> tuple[str, str]:
    """Return two texts on which sentences became more likely for which descriptors, as in the report of an audit.

    Parameters
    ----------
    found
        Rows of groups with a detected change.
    count
        Number of groups of the axis.
    asked_only
        The result describes only the tested sentences, because no change was detected for the axis. The first text is
        then empty.
    """
    fell = strongest_first(group for group in found if group["verdict"] == LOWER)
    rose = strongest_first(group for group in found if group["verdict"] == HIGHER)
    fell, rose = drop_explained_groups(fell, rose, count), drop_explained_groups(rose, fell, count)
    valence = found[0]["measure"].startswith(VALENCE)
    kinds = ("hostile", "kind") if valence else ("less humanising", "humanising")
    sides = [
        (likelier, other, [str(group["group"]) for group in side], _shift(side[0]))
        for side, likelier, other in ((fell, *kinds), (rose, *kinds[::-1]))
        if side
    ]
    return sentences.likelihoods_changed(sides, asked_only=asked_only)


def _shift(row: Mapping[str, Any]) -> Estimate:
    return Estimate(row["estimate"], row["low"], row["high"])


def _level(row: Mapping[str, Any], unit: Unit) -> str:
    """Return a sentence on how the mean of all groups together changed."""
    outcome = row.get("outcome")
    what = (
        "empty or refused responses"
        if outcome == "silent"
        else "negative responses"
        if unit.name == "%" and row["direction"] in ("worse", "better")
        else "the level"
    )
    verb = {LOWER: "fell", HIGHER: "rose", NOT_DETECTED: "no change detected"}.get(
        row["verdict"], "change not measurable"
    )
    return sentences.overall(what, verb, level_text(row, unit))
