"""What was found, in sentences that page and terminal begin with: models, levels, groups, and what all promises."""

from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from evenhand.annotation.analysis.conduct import Analysis
from evenhand.annotation.analysis.tables import WIN_RATE
from evenhand.annotation.analysis.wording import (
    DIFFERENCE,
    DIFFERS,
    NOT_DETECTED,
    NOT_MEASURABLE,
    PREFERRED,
    Headline,
    Row,
    by_how_much,
    difference,
    more_of,
    name_of,
    percent,
    points,
    preference,
    rating_pairs,
    reason,
    rows_of,
    share_told,
    verdict_of,
    would_find,
)
from evenhand.reports import known, label, listing

NAMED = 3
"""Groups that a sentence names one by one; the section on ratings shows all."""


def headlines(analysis: Analysis) -> list[Headline]:
    """(verdict, sentence) of every question and pair of models, and of every axis of groups: what was found first."""
    tables = analysis.tables
    told = [preference(row) for row in rows_of(tables.win_rates, WIN_RATE)]
    told += _levels(rows_of(tables.win_rates_by))
    told += [line for lines in rating_pairs(analysis) for line in lines]
    told += [line for rows in axes(analysis) for line in _of_axis(rows)]
    order = (PREFERRED, DIFFERS, NOT_DETECTED, NOT_MEASURABLE)
    return sorted(told, key=lambda line: order.index(line[0]))


def axes(analysis: Analysis) -> list[list[Row]]:
    """The differences between groups, question by question and axis by axis."""
    found: dict[tuple[str, str | None], list[Row]] = {}
    for row in rows_of(analysis.tables.differences, DIFFERENCE):
        if row["by"] != "model":
            found.setdefault((row["question"], row["within"]), []).append(row)
    return list(found.values())


def asked_within(row: Row) -> str:
    """The question and the axis that a sentence on groups begins with.

    >>> asked_within({"question": "regard", "by": "group", "within": "race_ethnicity"})
    'Regard, race ethnicity'
    """
    named = f"by {label(row['by'])}" if row["within"] is None else label(row["within"])
    return f"{label(row['question']).capitalize()}, {named}"


def _of_axis(rows: Sequence[Row]) -> list[Headline]:
    asked, groups = asked_within(rows[0]), _groups(rows)
    found = [row for row in rows if verdict_of(row) == DIFFERS]
    if found:
        return [(DIFFERS, f"{asked}: {sentence}.") for sentence in _worst(found, len(groups))]
    them = (
        f"{name_of(groups[1])} and {name_of(groups[0])}" if len(groups) == 2 else f"the {len(groups)} groups"
    )
    judged = [row for row in rows if verdict_of(row) == NOT_DETECTED]
    if not judged:
        return [(NOT_MEASURABLE, f"{asked}: cannot be said of {them}. {reason(rows[0])}")]
    largest = max(judged, key=lambda row: abs(row["estimate"]))
    between = them if len(groups) == 2 else f"any two of {them}"
    seen = difference(largest, name_of(largest["level"]), name_of(largest["against"]))
    unmeasured = len({(row["level"], row["against"]) for row in rows}) - len(
        {(row["level"], row["against"]) for row in judged}
    )
    few = f" {unmeasured:,} pairs rest on too few persons or items." if unmeasured else ""
    return [
        (
            NOT_DETECTED,
            f"{asked}: no difference between {between} was detected (the largest seen: {seen}); {would_find(judged)}."
            + few,
        )
    ]


def _groups(rows: Sequence[Row]) -> list[str]:
    return sorted({row[end] for row in rows for end in ("level", "against")})


def _worst(found: Sequence[Row], n_groups: int) -> Iterator[str]:
    """Who got an answer more often than whom: a sentence for each group that did, those above most others first."""
    above: dict[tuple[str | None, str], list[Row]] = {}
    for row in found:
        higher = row["level"] if row["estimate"] > 0 else row["against"]
        above.setdefault((row["option"], higher), []).append(row)
    for (_, higher), rows in sorted(
        above.items(), key=lambda each: (-len(each[1]), -max(abs(row["estimate"]) for row in each[1]))
    ):
        rows = sorted(rows, key=lambda row: -abs(row["estimate"]))
        if n_groups == 2:
            yield difference(rows[0], name_of(rows[0]["level"]), name_of(rows[0]["against"]))
            continue
        others = n_groups - 1
        whom = f"each of the {others:,}" if len(rows) == others else f"{len(rows):,} of the {others:,}"
        told = [
            f"than {name_of(row['against'] if row['level'] == higher else row['level'])} {by_how_much(row)}"
            for row in rows[:NAMED]
        ]
        more = [f"than {len(rows) - NAMED:,} more by less"] if len(rows) > NAMED else []
        yield f"{name_of(higher)} {more_of(rows[0])} than {whom} other groups: {listing([*told, *more])}"


def _levels(rows: Sequence[Row]) -> Iterator[Headline]:
    """The preference within levels of what items say: a sentence for each question and pair of models."""
    pairs: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        pairs.setdefault((row["question"], row["model"], row["against"]), []).append(row)
    for (question, model, against), mine in pairs.items():
        asked = f"{label(question).capitalize()}, by {label(mine[0]['by'])}"
        found = [row for row in mine if verdict_of(row) == PREFERRED]
        judged = [row for row in mine if verdict_of(row) == NOT_DETECTED]
        them = f"{name_of(model)} and {name_of(against)}"
        for first, second, rows_for in (
            (model, against, [row for row in found if row["estimate"] > 0.5]),
            (against, model, [row for row in found if row["estimate"] < 0.5]),
        ):
            if rows_for:
                where = [
                    f"{name_of(label(row['level']))} (by {share_told(row, turned=row['estimate'] < 0.5)})"
                    for row in rows_for[:NAMED]
                ]
                more = [f"{len(rows_for) - NAMED:,} more"] if len(rows_for) > NAMED else []
                yield (
                    PREFERRED,
                    f"{asked}: {name_of(first)} was preferred to {name_of(second)} within "
                    f"{listing([*where, *more])}, of {len(mine):,} levels.",
                )
        if not found and judged:
            sizes = [row["minimum_detectable"] for row in judged if known(row["minimum_detectable"])]
            none = (
                f", but none within {len(judged) - len(sizes):,} of them" if len(sizes) < len(judged) else ""
            )
            would = (
                f"; a share {points(max(sizes))} points from 50 % would probably have been found{none}"
                if sizes
                else "; none would probably have been found, however strong"
            )
            yield (
                NOT_DETECTED,
                f"{asked}: no preference between {them} was detected within any of {len(mine):,} levels{would}.",
            )
        if not found and not judged:
            yield NOT_MEASURABLE, f"{asked}: cannot be said of {them} within any level. {reason(mine[0])}"


def summary(analysis: Analysis) -> str:
    """What came of it all in one sentence."""
    if analysis.used.is_empty():
        persons = analysis.votes.filter(pl.col("role") == "real")["person"].n_unique()
        whom = "the one person who answered is" if persons == 1 else f"all {persons:,} persons are"
        return f"No answer counts: {whom} excluded."
    preferences = [verdict_of(row) for row in rows_of(analysis.tables.win_rates, WIN_RATE)]
    ratings = [lines[0][0] for lines in rating_pairs(analysis)]
    groups = [verdict for rows in axes(analysis) for verdict in _of_pairs(rows)]
    parts = [
        *_counted(preferences, PREFERRED, "People preferred one model", "a preference"),
        *_counted(ratings, DIFFERS, "Ratings of models differ", "a difference between ratings of models"),
        *_counted(groups, DIFFERS, "Ratings of groups differ", "a difference between ratings of groups"),
    ]
    if parts:
        return " ".join(parts)
    groups_too = "" if analysis.options.by is None else ", and no two groups"
    return f"People answered, and nothing is compared: no two models{groups_too} were judged on one question."


def _of_pairs(rows: Sequence[Row]) -> list[str]:
    """One verdict for each pair of groups, whichever answer it rests on."""
    pairs: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        pairs.setdefault((row["level"], row["against"]), set()).add(verdict_of(row))
    return [
        next(verdict for verdict in (DIFFERS, NOT_DETECTED, NOT_MEASURABLE) if verdict in found)
        for found in pairs.values()
    ]


def _counted(verdicts: Sequence[str], found: str, said: str, what: str) -> Iterable[str]:
    n, total = verdicts.count(found), len(verdicts)
    if not total:
        return
    where = "the one comparison" if total == 1 else f"any of {total:,} comparisons"
    if n:
        yield f"{said}." if total == 1 else f"{said} in {n:,} of {total:,} comparisons."
    elif verdicts.count(NOT_DETECTED):
        yield f"No sign of {what} was found in {where}."
    else:
        yield f"Whether there is {what} could not be measured in {where}."


def promise(analysis: Analysis) -> str:
    """What the verdicts promise of all of them together; empty where there are none."""
    tables = analysis.tables
    by = label(analysis.options.group)
    kinds = [
        name
        for name, table, measure in (
            ("preferences", tables.win_rates, WIN_RATE),
            (f"preferences by {by}", tables.win_rates_by, WIN_RATE),
            ("ratings", tables.differences, DIFFERENCE),
        )
        if rows_of(table, measure)
    ]
    if not kinds:
        return ""
    chance = f"{100 * analysis.options.alpha:g} %"
    between = "models" if not axes(analysis) else "models or groups"
    each = {1: "", 2: " (each of the two by itself)"}.get(len(kinds), " (each of the three by itself)")
    return (
        f"If people made no difference between {between}, one or more of the {' or of the '.join(kinds)} would be "
        f"called found in at most {chance} of studies{each}."
        + (
            " Weighted: many answers of one person, or about one item, weigh less."
            if _weighted(tables.win_rates)
            else ""
        )
    )


def _weighted(table: pl.DataFrame) -> bool:
    return any(percent(row["raw"]) != percent(row["estimate"]) for row in rows_of(table, WIN_RATE))
