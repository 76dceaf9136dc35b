"""Preferences between models: drawings, the papers' grid, levels, and the side effect."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evenhand.annotation.analysis.conduct import Analysis
from evenhand.annotation.analysis.sections import Drawing, DrawnRow, Folded, Section, axis_of, drawn
from evenhand.annotation.analysis.tables import WIN_RATE
from evenhand.annotation.analysis.wording import (
    Row,
    detectable_points,
    limits,
    name_of,
    percent,
    published_cell,
    published_rows,
    rows_of,
    verdict_of,
)
from evenhand.reports import Scale, known, label, number, probability, scale_over
from evenhand.studies import PlainTable

NULL = 50.0
LARGEST_GRID = 12
"""Models of which a page has a grid; the tables hold all."""


def preference_section(analysis: Analysis) -> Section | None:
    """Show the win rates of every question and pair: a chart, the published estimates, and the papers' grid."""
    rows = rows_of(analysis.tables.win_rates, WIN_RATE)
    if not rows:
        return None
    published = {(row["question"], row["model"], row["against"]): row for row in published_rows(analysis)}
    questions = list(dict.fromkeys(row["question"] for row in rows))
    scale = win_scale(rows)
    parts: list[Any] = [
        _drawing(analysis, question, [row for row in rows if row["question"] == question], published, scale)
        for question in questions
    ]
    parts += grid_tables(analysis)
    parts.append(Folded("Behind these numbers", [_behind(rows, published)]))
    parts += _levels(analysis)
    return Section(
        "preferences",
        "Which model people preferred",
        "Preferences",
        tuple(parts),
        lead=(
            "Share: judgements for the first model as a share of all judgements; a tie counts half. Weighted: the same "
            "share, with less weight for each of many judgements by one annotator or about one item. The interval, q "
            "and verdict are those of the weighted share. They account for correlation within annotators, items and "
            "conversations that several pairs share. “MDE” is the distance from 50 % that this study would probably "
            "detect (–: no distance). Intervals are not corrected for multiple comparisons; q is corrected for "
            "all pairs and questions. If a model was shown more often on one side, the share is the mean of its shares "
            "on the left and on the right.",
            "As published: the exact binomial test of ACUTE-Eval (* p < .05, ** p < .01, *** p < .001). It treats all "
            "judgements as independent and does not correct for multiple comparisons. Its agreement is the mean share "
            "of the more common answer, over pairs with at least two judgements; it is 0 for one against one.",
        ),
        hints=_design(rows),
    )


def win_scale(rows: Sequence[Row]) -> Scale:
    """A scale of percents that holds all rates with their limits, and 50 %."""
    ends = [row[name] for row in rows for name in ("estimate", "low", "high")]
    return scale_over([100 * end for end in ends if end is not None and known(end)], include=[NULL])


def _drawing(
    analysis: Analysis,
    question: str,
    rows: Sequence[Row],
    published: dict[tuple[str, str, str], dict[str, Any]],
    scale: Scale,
) -> Drawing:
    words = analysis.questions.get(question)
    one = len(rows) == 1
    return Drawing(
        f"{label(question).capitalize()}{f': {words}' if words else ''}",
        ("model", "weighted share, %", "weighted"),
        [_row(row, published, scale) for row in rows],
        axis_of(scale),
        ("q", "answers", "share", "published", "MDE"),
        judged=True,
        left=f"{name_of(rows[0]['against'])} preferred" if one else "the other preferred",
        right=f"{name_of(rows[0]['model'])} preferred" if one else "it is preferred",
    )


def _row(row: Row, published: dict[tuple[str, str, str], dict[str, Any]], scale: Scale) -> DrawnRow:
    theirs = published.get((row["question"], row["model"], row["against"]))
    return DrawnRow(
        name_of(row["model"]),
        f"against {name_of(row['against'])}",
        interval_of(row, scale, f"{name_of(row['model'])} against {name_of(row['against'])}"),
        percent(row["estimate"]),
        limits(row["low"], row["high"]),
        (
            probability(row["q"]),
            f"{row['n']:,}",
            percent(row["raw"]),
            published_cell(theirs),
            detectable_points(row),
        ),
        verdict_of(row),
    )


def _behind(rows: Sequence[Row], published: Mapping[tuple[str, str, str], Mapping[str, Any]]) -> PlainTable:
    """What a row of the drawing has no room for."""
    body, one = [], len({row["question"] for row in rows}) == 1
    for row in rows:
        theirs = published.get((row["question"], row["model"], row["against"]), {})
        pair = f"{name_of(row['model'])} against {name_of(row['against'])}"
        body.append(
            [
                pair if one else f"{label(row['question'])}: {pair}",
                *(f"{row[name]:,}" for name in ("n_persons", "n_items", "n_ties", "n_missing")),
                *(number(row[name], 2) for name in ("person_icc", "item_icc", "design_effect")),
                probability(theirs.get("p")),
                percent(theirs.get("agreement"), 0),
            ]
        )
    names = ("persons", "items", "ties", "skipped", "alike, persons", "alike, items", "design effect")
    heads = (*names, "published p", "published agreement")
    return PlainTable(
        "",
        (
            ("model", "left"),
            *((name, "right") for name in heads),
        ),
        body,
        (
            "Alike: the share of an answer’s variance that the person has, and the item (with its conversations). Ties "
            "count half in ours and not at all as published.",
        ),
    )


def interval_of(row: Row, scale: Scale, what: str) -> Any:
    """A share's row of a drawing around 50 %."""
    share, low, high = (
        100 * row[name] if row[name] is not None and known(row[name]) else None
        for name in ("estimate", "low", "high")
    )
    described = (
        f"{what}: {percent(row['estimate'])}, 95 % interval {limits(row['low'], row['high']) or 'not known'}"
    )
    return drawn(scale, share, low, high, described=described, null=NULL, verdict=verdict_of(row))


def grid_tables(analysis: Analysis) -> list[PlainTable]:
    """Per question the published rates as the papers print them: row against column, whole percent and stars."""
    rows = published_rows(analysis)
    return [
        _grid(question, [row for row in rows if row["question"] == question])
        for question in dict.fromkeys(row["question"] for row in rows)
    ]


def _grid(question: str, rows: Sequence[Row]) -> PlainTable:
    models = list(dict.fromkeys(name for row in rows for name in (row["model"], row["against"])))
    shown = models[:LARGEST_GRID]
    cells = {(row["model"], row["against"]): published_cell(row) for row in rows}
    for row in rows:
        turned = {**row, "estimate": None if row["estimate"] is None else 1 - row["estimate"]}
        cells.setdefault((row["against"], row["model"]), published_cell(turned))
    lines = ["Wins of the row’s model against the column’s in percent, as published."]
    if len(models) > len(shown):
        lines.append(f"The first {len(shown)} of {len(models)} models; win_rates.csv has all.")
    return PlainTable(
        f"{label(question).capitalize()}: grid of the models",
        (("", "left"), *((name_of(model), "right") for model in shown)),
        [[name_of(first), *(cells.get((first, second), "") for second in shown)] for first in shown],
        tuple(lines),
    )


def _levels(analysis: Analysis) -> Iterator[Drawing]:
    rows = rows_of(analysis.tables.win_rates_by)
    if not rows:
        return
    scale = win_scale(rows)
    pairs = dict.fromkeys((row["question"], row["model"], row["against"]) for row in rows)
    for question, model, against in pairs:
        mine = [
            row
            for row in rows
            if (row["question"], row["model"], row["against"]) == (question, model, against)
        ]
        yield Drawing(
            f"{label(question).capitalize()}: {name_of(model)} against {name_of(against)}, by "
            f"{label(mine[0]['by'])}",
            (label(mine[0]["by"]), "weighted share, %", "weighted"),
            [
                DrawnRow(
                    label(row["level"]),
                    "",
                    interval_of(
                        row, scale, f"{name_of(row['level'])}: {name_of(model)} against {name_of(against)}"
                    ),
                    percent(row["estimate"]),
                    limits(row["low"], row["high"]),
                    (
                        probability(row["q"]),
                        f"{row['n']:,}",
                        percent(row["raw"]),
                        detectable_points(row),
                    ),
                    verdict_of(row),
                )
                for row in mine
            ],
            axis_of(scale),
            ("q", "answers", "share", "MDE"),
            judged=True,
        )


def _design(rows: Sequence[Row]) -> tuple[str, ...]:
    effects = [
        row["design_effect"]
        for row in rows
        if row["design_effect"] is not None and known(row["design_effect"])
    ]
    if not effects:
        return ()
    return (
        f"Design effect: {' to '.join(dict.fromkeys(number(end, 2) for end in (min(effects), max(effects))))}. This "
        "is the variance divided by that of the same number of independent judgements. If it is well above 1, the "
        "published stars overstate the evidence.",
    )


def side_section(analysis: Analysis) -> Section | None:
    """Return the section on whether people prefer the conversation on the left."""
    shares = rows_of(analysis.tables.sides, "side_share")
    if not shares:
        return None
    scale = win_scale(shares)
    drawing = Drawing(
        "Answers for what stood on the left",
        ("question", "weighted share for the left side, %", "weighted"),
        [
            DrawnRow(
                label(row["question"]).capitalize(),
                "",
                interval_of(row, scale, f"{row['question']}, left side"),
                percent(row["estimate"]),
                limits(row["low"], row["high"]),
                (probability(row["q"]), f"{row['n']:,}", detectable_points(row)),
                row["verdict"] or "",
            )
            for row in shares
        ],
        axis_of(scale),
        ("q", "answers", "MDE"),
        judged=True,
        left="right side chosen",
        right="left side chosen",
    )
    pairs = rows_of(analysis.tables.sides, "win_rate_by_side")
    table = PlainTable(
        "Win rates with both sides weighing the same",
        (
            ("question", "left"),
            ("model", "left"),
            ("against", "left"),
            ("it stood left", "right"),
            ("all answers", "right"),
            ("sides equal", "right"),
            ("95% CI", "right"),
            ("even draw, p", "right"),
            ("q", "right"),
        ),
        [
            (
                label(row["question"]),
                name_of(row["model"]),
                name_of(row["against"]),
                percent(row["left_share"]),
                percent(row["raw"]),
                percent(row["estimate"]),
                limits(row["low"], row["high"]),
                probability(row["balance_p"]),
                probability(row["q"]),
            )
            for row in pairs
        ],
    )
    return Section(
        "sides",
        "Does the side matter?",
        "Sides",
        (drawing, table) if pairs else (drawing,),
        lead=(
            "The sides are randomised each time a pair is shown. A habit of choosing one side therefore weakens "
            "preferences, but favours a model only if that model was on that side more often.",
        ),
    )
