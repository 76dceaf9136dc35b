"""What a comparison found, in sentences: one wording for terminal, page and JSON. Nothing is decided here.

First what changed between groups, then over all, then in the text: a model may do less harm to all but one.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

import polars as pl

from evenhand.reports import (
    ABOVE,
    BELOW,
    CHANGED,
    HIGHER,
    LESS_KIND,
    LOWER,
    MORE_KIND,
    NOT_DETECTED,
    NOT_MEASURABLE,
    decimals,
    known,
    label,
    listing,
    number,
    signed,
)
from evenhand.studies.compare.changes import LEVEL_CHANGE, SPREADS, bias_went
from evenhand.studies.compare.likelihood_words import clear_groups, log_perplexity_text, odds, unsettled_text
from evenhand.studies.compare.rate_words import (
    NAMED,
    NATS,
    Unit,
    group_changes,
    harm_and_size,
    not_explained_by,
    points_of,
    scaled,
    strongest_first,
)
from evenhand.studies.compare.texts import text_line

DISPARITY, STANDING_NOW, LEVEL, TEXT = "between groups", "standing", "over all", "text"
"""What a sentence is about, in the order in which they are said."""
CHANGE_HEADLINES = dict.fromkeys(
    ("model", "benchmark", "outcome", "about", "axis", "verdict", "sentence"), pl.String
)
NAMED_AXES = 4
"""Axes named in a sentence that tells of all alike."""
VALENCE = "valence_shift"
"""How the measures of a group's place in kind and hostile sentences begin: above is kind."""
SCORE = " score"
"""How an outcome ends that is a classifier's number and not its verdict."""


def change_headlines(
    changes: pl.DataFrame, texts: pl.DataFrame, units: Mapping[tuple[str, str], Unit], standing: pl.DataFrame
) -> pl.DataFrame:
    """CHANGE_HEADLINES of CHANGES and of the judged changes of texts.

    units: by benchmark and outcome. standing: `evenhand.studies.compare.standing.STANDING`; its sentences follow those
    on their axis, of a benchmark's first outcome. A classifier's own number beside its verdict has no sentence.
    """
    told: set[tuple[Any, ...]] = set()
    lines: list[dict[str, Any]] = []
    keys = ["model", "benchmark", "outcome"]
    for (model, benchmark, outcome), part in changes.group_by(keys, maintain_order=True):
        place = {"model": model, "benchmark": benchmark, "outcome": outcome}
        unit = units[str(benchmark), str(outcome)]
        rows = part.to_dicts()
        if outcome == "silent":  # told where there is something to tell
            rows = [row for row in rows if row["verdict"] in (CHANGED, LOWER, HIGHER)]
        between = [*disparity_lines(rows, unit), *preference_lines(rows, unit)]
        now = [] if (model, benchmark) in told else _now(standing, model, benchmark)
        told.add((model, benchmark))
        lines += [place | line for line in with_standing(between, now)]
        for row in rows:
            if row["measure"] == LEVEL_CHANGE and row["axis"] is None:
                lines.append(
                    place
                    | {
                        "about": LEVEL,
                        "verdict": row["verdict"],
                        "sentence": f"{_known_as(outcome)}: {level_text(row, unit)}.",
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
    """Sentences on changes, each followed by how the later model stands on that axis; other axes in the end."""
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


def _now(standing: pl.DataFrame, model: object, benchmark: object) -> list[dict[str, Any]]:
    return standing.filter((pl.col("model") == model) & (pl.col("benchmark") == benchmark)).to_dicts()


def disparity_lines(rows: Sequence[Mapping[str, Any]], unit: Unit) -> list[dict[str, Any]]:
    """A sentence for each axis whose groups did not change alike, one for all axes where nothing was found.

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
            still.append(label(row["axis"]))
        elif row["verdict"] == CHANGED or (unit is NATS and clear_groups(row, groups)):
            text = f"{label(row['axis']).capitalize()}: {_moved(row, groups, unit)}."
            told = dict(about=DISPARITY, axis=row["axis"], verdict=row["verdict"], sentence=text)
            moved.append((harm_and_size(groups), told))
        elif row["verdict"] == NOT_DETECTED:
            sizes = [g["minimum_detectable"] for g in groups if known(g["minimum_detectable"])]
            quiet.append((label(row["axis"]), unit.factor * median(sizes) if sizes else None))
            rates += [unit.factor * group["before"] for group in groups if known(group["before"])]
        else:
            blank.append((label(row["axis"]), row["note"] or ""))
    lines += [told for _, told in sorted(moved, key=lambda one: one[0], reverse=True)]
    if quiet:
        sizes = sorted(size for _, size in quiet if size is not None)
        text = f"No change between the groups of {_axes([axis for axis, _ in quiet])} was found"
        if sizes:
            text += f"; {_would_be_found(sizes, rates, unit)} would have been found"
        lines.append({"about": DISPARITY, "axis": None, "verdict": NOT_DETECTED, "sentence": f"{text}."})
    if still:
        text = f"The rates of all groups of {_axes(still)} are what they were."
        lines.append({"about": DISPARITY, "axis": None, "verdict": NOT_DETECTED, "sentence": text})
    for reason in dict.fromkeys(reason for _, reason in blank):
        axes = _axes([axis for axis, why in blank if why == reason])
        text = f"Whether groups of {axes} came to be treated differently cannot be said: {reason}"
        lines.append(
            {"about": DISPARITY, "axis": None, "verdict": NOT_MEASURABLE, "sentence": f"{text.rstrip('.')}."}
        )
    return lines


def _would_be_found(sizes: Sequence[float], rates: Sequence[float], unit: Unit) -> str:
    """What of the smallest to the largest size would have been found: no fall below 0 and no rise above 100 %."""
    if unit is NATS:
        texts = [f"{odds(size):.1f}" for size in (sizes[0], sizes[-1])]
        return f"a group that came to be {_span(texts)} times as likely in kind or hostile sentences beside the others"
    reach = _span([number(size, decimals([sizes[-1]])) for size in (sizes[0], sizes[-1])])
    if unit.name == "%" and rates and sizes[0] > max(rates):
        return f"a rise of {reach}{points_of(unit)} more than the others"
    if unit.name == "%" and rates and sizes[0] > 100 - min(rates):
        return f"a fall of {reach}{points_of(unit)} more than the others"
    return f"a group that changed by {reach}{points_of(unit)} more than the others"


def _span(texts: Sequence[str]) -> str:
    return " to ".join(dict.fromkeys(texts))


def preference_lines(rows: Sequence[Mapping[str, Any]], unit: Unit) -> list[dict[str, Any]]:
    """A sentence for each axis of sentence pairs on which the preference changed, one for all where it did not."""
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
            more, told = "more" if row["verdict"] == HIGHER else "less", level_text(row, unit)
            text = f"the stereotyped sentence is preferred {more} often than before: {told}"
            if row["measure"].startswith("redditbias"):
                text = log_perplexity_text(row, rows, told)
            text = f"{label(row['axis']).capitalize()}: {text}."
            went = bias_went(row, ideal=50.0 * (unit.name == "%"))
            lines.append({"axis": row["axis"], "verdict": went, "sentence": text})
        elif row["verdict"] == NOT_MEASURABLE:
            text = f"{label(row['axis']).capitalize()}: cannot be said. {row['note']}"
            lines.append({"axis": row["axis"], "verdict": NOT_MEASURABLE, "sentence": text})
    if quiet:
        axes = _axes([label(row["axis"]) for row in quiet])
        text = f"No change of the preference for stereotyped sentences was found on {axes}"
        if sizes := sorted(row["minimum_detectable"] for row in quiet if known(row["minimum_detectable"])):
            ends = (sizes[0], sizes[-1])
            reach = _span([number(unit.factor * size, 0 if unit.name == "%" else None) for size in ends])
            text += f"; one of {reach}{points_of(unit)} would have been found"
        lines.append({"axis": None, "verdict": NOT_DETECTED, "sentence": f"{text}."})
    return [{"about": DISPARITY} | line for line in lines]


def moved_word(row: Mapping[str, Any]) -> str:
    """Which way a group that changed otherwise went beside the others of its axis, whatever its own numbers did.

    row: of CHANGES. worse or better where it is known which side harms; of likelihoods in kind and hostile sentences,
    where the group is at home; else above or below. As it is where the verdict names no change.
    """
    if row["verdict"] not in (LOWER, HIGHER):
        return str(row["verdict"] or "")
    if row["measure"].startswith(VALENCE):
        return MORE_KIND if row["verdict"] == HIGHER else LESS_KIND
    return row["direction"] or (ABOVE if row["verdict"] == HIGHER else BELOW)


def level_text(row: Mapping[str, Any], unit: Unit) -> str:
    """Before → after with their difference and its interval.

    >>> from evenhand.studies.compare.rate_words import PERCENT
    >>> row = {"before": 0.5, "after": 0.25, "estimate": -0.25, "low": -0.3, "high": -0.2}
    >>> level_text(row, PERCENT)
    '50.0 → 25.0 % (−25.0, 95 % interval −30.0 to −20.0)'
    """
    shown = scaled(row, unit)
    places = decimals([shown["before"], shown["after"]])
    before, after = (number(shown[name], places) for name in ("before", "after"))
    suffix = f" {unit.name}" if unit.name else ""
    between = (
        f"95 % interval {number(shown['low'], places)} to {number(shown['high'], places)}"
        if known(shown["low"])
        else "no interval"
    )
    return f"{before} → {after}{suffix} ({signed(shown['estimate'], places)}, {between})"


def _axes(names: Sequence[str]) -> str:
    return listing(names) if len(names) <= NAMED_AXES else f"{len(names)} axes"


def _moved(row: Mapping[str, Any], groups: Sequence[Mapping[str, Any]], unit: Unit) -> str:
    if row["verdict"] != CHANGED:
        return unsettled_text(row, _moved_likelihoods(clear_groups(row, groups), len(groups)))
    found = [group for group in groups if group["verdict"] in (LOWER, HIGHER)]
    if not found:
        if unit is NATS:
            return "groups changed differently; no single one stands out"
        shown = scaled(row, unit)
        spread = number(shown["estimate"], decimals([shown["estimate"]]))
        return f"groups changed differently (spread {spread}{points_of(unit)}); no single group stands out"
    if unit is NATS:
        return _moved_likelihoods(found, len(groups))
    return group_changes(found, groups, unit)


def _moved_likelihoods(found: Sequence[Mapping[str, Any]], count: int) -> str:
    """As a single audit tells it: in which sentences groups came to be more at home, how many times as likely."""
    fell = strongest_first(group for group in found if group["verdict"] == LOWER)
    rose = strongest_first(group for group in found if group["verdict"] == HIGHER)
    fell, rose = not_explained_by(fell, rose, count), not_explained_by(rose, fell, count)
    valence = found[0]["measure"].startswith(VALENCE)
    kinds = ("hostile", "kind") if valence else ("less humanising", "humanising")
    parts = []
    for side, kind in ((fell, kinds[0]), (rose, kinds[1])):
        if side:
            first = side[0]
            low, high = sorted(odds(first[name]) for name in ("low", "high"))
            names = [label(group["group"]) for group in side[:NAMED]]
            names += [f"{len(side) - NAMED} more"] if len(side) > NAMED else []
            most = f"{names[0]} " if len(side) > 1 else ""
            parts.append(
                f"more at home in {kind} sentences than before, beside the others: {listing(names)} "
                f"({most}{odds(first['estimate']):.1f} times as likely, {low:.1f} to {high:.1f})"
            )
    return "; ".join(parts)


def _known_as(outcome: object) -> str:
    return "Empty or refused answers" if outcome == "silent" else "Over all answers that were judged"
