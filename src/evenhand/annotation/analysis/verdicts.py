"""Write the results as sentences, with which page and terminal begin: models, levels, groups, and the error rate."""

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
    describe_preference,
    describe_share,
    difference,
    format_name,
    get_rows,
    get_verdict,
    order_pair,
    percent,
    points,
    power_of_rows,
    preference,
    rating_pairs,
    reason,
)
from evenhand.reports import known, label, listing
from evenhand.reports.sentences import judgements

NAMED = 3
"""Maximum number of groups that a sentence names; the section on ratings shows all."""


def headlines(analysis: Analysis) -> list[Headline]:
    """Return (verdict, sentence) of every question and pair of models, and of every axis; detected
    differences first.
    """
    tables = analysis.tables
    told = [preference(row) for row in get_rows(tables.win_rates, WIN_RATE)]
    told += _levels(get_rows(tables.win_rates_by))
    told += [line for lines in rating_pairs(analysis) for line in lines]
    told += [line for rows in axes(analysis) for line in _of_axis(rows)]
    order = (PREFERRED, DIFFERS, NOT_DETECTED, NOT_MEASURABLE)
    return sorted(told, key=lambda line: order.index(line[0]))


def axes(analysis: Analysis) -> list[list[Row]]:
    """Return the differences between groups by question and axis."""
    found: dict[tuple[str, str | None], list[Row]] = {}
    for row in get_rows(analysis.tables.differences, DIFFERENCE):
        if row["by"] != "model":
            found.setdefault((row["question"], row["within"]), []).append(row)
    return list(found.values())


def asked_within(row: Row) -> str:
    """Return the question and the axis with which a sentence on groups begins.

    >>> asked_within({"question": "regard", "by": "group", "within": "race_ethnicity"})
    'Regard, race and ethnicity'
    """
    named = f"by {label(row['by'])}" if row["within"] is None else label(row["within"])
    return f"{label(row['question']).capitalize()}, {named}"


def _of_axis(rows: Sequence[Row]) -> list[Headline]:
    asked, groups = asked_within(rows[0]), _groups(rows)
    found = [row for row in rows if get_verdict(row) == DIFFERS]
    if found:
        return [(DIFFERS, f"{asked}: {sentence}.") for sentence in _worst(found, len(groups))]
    them = (
        f"{format_name(groups[1])} and {format_name(groups[0])}"
        if len(groups) == 2
        else f"the {len(groups)} groups"
    )
    judged = [row for row in rows if get_verdict(row) == NOT_DETECTED]
    if not judged:
        return [(NOT_MEASURABLE, judgements.not_measurable_for(asked, them, reason(rows[0])))]
    largest = max(judged, key=lambda row: abs(row["estimate"]))
    between = them if len(groups) == 2 else f"any two of {them}"
    seen = difference(largest, format_name(largest["level"]), format_name(largest["against"]))
    unmeasured = len({(row["level"], row["against"]) for row in rows}) - len(
        {(row["level"], row["against"]) for row in judged}
    )
    return [
        (
            NOT_DETECTED,
            judgements.no_difference(asked, between, power_of_rows(judged), seen, unmeasured),
        )
    ]


def _groups(rows: Sequence[Row]) -> list[str]:
    return sorted({row[end] for row in rows for end in ("level", "against")})


def _worst(found: Sequence[Row], n_groups: int) -> Iterator[str]:
    """Yield a sentence for each group that got an answer more often than others, those above most others first."""
    above: dict[tuple[str | None, str], list[Row]] = {}
    for row in found:
        higher = row["level"] if row["estimate"] > 0 else row["against"]
        above.setdefault((row["option"], higher), []).append(row)
    for (_, higher), rows in sorted(
        above.items(), key=lambda each: (-len(each[1]), -max(abs(row["estimate"]) for row in each[1]))
    ):
        rows = sorted(rows, key=lambda row: -abs(row["estimate"]))
        if n_groups == 2:
            yield difference(rows[0], format_name(rows[0]["level"]), format_name(rows[0]["against"]))
            continue
        others = n_groups - 1
        whom = f"each of the {others:,}" if len(rows) == others else f"{len(rows):,} of the {others:,}"
        told = [
            f"than {format_name(row['against'] if row['level'] == higher else row['level'])} {by_how_much(row)}"
            for row in rows[:NAMED]
        ]
        more = [f"than {len(rows) - NAMED:,} more by less"] if len(rows) > NAMED else []
        reasons = listing([*told, *more])
        yield f"{format_name(higher)} {describe_preference(rows[0])} than {whom} other groups: {reasons}"


def _levels(rows: Sequence[Row]) -> Iterator[Headline]:
    """Yield a sentence on preferences within levels of the items, for each question and pair of models."""
    pairs: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        pairs.setdefault((row["question"], row["model"], row["against"]), []).append(row)
    for (question, model, against), mine in pairs.items():
        asked = f"{label(question).capitalize()}, by {label(mine[0]['by'])}"
        found = [row for row in mine if get_verdict(row) == PREFERRED]
        judged = [row for row in mine if get_verdict(row) == NOT_DETECTED]
        them = f"{format_name(model)} and {format_name(against)}"
        for first, second, rows_for in (
            (model, against, [row for row in found if row["estimate"] > 0.5]),
            (against, model, [row for row in found if row["estimate"] < 0.5]),
        ):
            if rows_for:
                where = [
                    f"{format_name(label(row['level']))} ({describe_share(order_pair(row))})"
                    for row in rows_for[:NAMED]
                ]
                more = [f"{len(rows_for) - NAMED:,} more"] if len(rows_for) > NAMED else []
                yield (
                    PREFERRED,
                    judgements.preferred_within(
                        asked, format_name(first), format_name(second), [*where, *more], len(mine)
                    ),
                )
        if not found and judged:
            sizes = [row["minimum_detectable"] for row in judged if known(row["minimum_detectable"])]
            power = judgements.power_of_share(points(max(sizes)) if sizes else "")
            without = len(judged) - len(sizes) if sizes else 0
            yield (
                NOT_DETECTED,
                judgements.no_preference_within(asked, them, len(mine), power, without),
            )
        if not found and not judged:
            yield (
                NOT_MEASURABLE,
                judgements.not_measurable_for(asked, f"{them} within any level", reason(mine[0])),
            )


def summary(analysis: Analysis) -> str:
    """Return the result of the study in one sentence."""
    if analysis.used.is_empty():
        persons = analysis.votes.filter(pl.col("role") == "real")["person"].n_unique()
        return judgements.all_excluded(persons)
    preferences = [get_verdict(row) for row in get_rows(analysis.tables.win_rates, WIN_RATE)]
    ratings = [lines[0][0] for lines in rating_pairs(analysis)]
    groups = [verdict for rows in axes(analysis) for verdict in _of_pairs(rows)]
    parts = [
        *_describe_counts(preferences, PREFERRED, f"{_winner(analysis)} was preferred", "preference"),
        *_describe_counts(
            ratings, DIFFERS, "Ratings of models differ", "difference between ratings of models"
        ),
        *_describe_counts(
            groups, DIFFERS, "Ratings of groups differ", "difference between ratings of groups"
        ),
    ]
    if parts:
        return " ".join(parts)
    return judgements.nothing_to_compare(groups=analysis.options.by is not None)


def _winner(analysis: Analysis) -> str:
    """Return the name of the model that was preferred in every pair with a preference, or "One model"."""
    winners = {
        format_name(row["model"] if row["estimate"] >= 0.5 else row["against"])
        for row in get_rows(analysis.tables.win_rates, WIN_RATE)
        if get_verdict(row) == PREFERRED
    }
    return winners.pop() if len(winners) == 1 else "One model"


def _of_pairs(rows: Sequence[Row]) -> list[str]:
    """Return one verdict per pair of groups, whichever answer it is based on."""
    pairs: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        pairs.setdefault((row["level"], row["against"]), set()).add(get_verdict(row))
    return [
        next(verdict for verdict in (DIFFERS, NOT_DETECTED, NOT_MEASURABLE) if verdict in found)
        for found in pairs.values()
    ]


def _describe_counts(verdicts: Sequence[str], found: str, said: str, what: str) -> Iterable[str]:
    n, total = verdicts.count(found), len(verdicts)
    if not total:
        return
    yield judgements.counted(n, verdicts.count(NOT_DETECTED), total, said, what)


def promise(analysis: Analysis) -> str:
    """Return the error rate of all verdicts together; empty if there are none."""
    tables = analysis.tables
    by = label(analysis.options.group)
    kinds = [
        name
        for name, table, measure in (
            ("preferences", tables.win_rates, WIN_RATE),
            (f"preferences by {by}", tables.win_rates_by, WIN_RATE),
            ("ratings", tables.differences, DIFFERENCE),
        )
        if get_rows(table, measure)
    ]
    if not kinds:
        return ""
    chance = f"{100 * analysis.options.alpha:g}%"
    between = "models" if not axes(analysis) else "models or groups"
    return judgements.error_control(kinds, between, chance, weighted=_has_weights(tables.win_rates))


def _has_weights(table: pl.DataFrame) -> bool:
    return any(percent(row["raw"]) != percent(row["estimate"]) for row in get_rows(table, WIN_RATE))
