"""Preferences between models: drawings, the grid of the papers, results by level, and the side effect."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evenhand.annotation.analysis.conduct import Analysis
from evenhand.annotation.analysis.sections import (
    CollapsedTables,
    Drawing,
    DrawnRow,
    Section,
    draw_axis,
    draw_interval,
)
from evenhand.annotation.analysis.wording import (
    Row,
    detectable_points,
    format_name,
    get_rows,
    limits,
    order_as_shown,
    percent,
    preference_rows,
    published_cell,
    published_rows,
    swap_models,
    verdict_on_first,
)
from evenhand.reports import Scale, known, label, number, probability, scale_over
from evenhand.studies import PlainTable

NULL = 50.0
LARGEST_GRID = 12
"""Maximum number of models for which a page has a grid; the tables contain all."""


def preference_section(analysis: Analysis) -> Section | None:
    """Show the win rates of every question and pair: a chart, the published estimates, and the papers' grid."""
    rows = preference_rows(analysis)
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
    parts.append(CollapsedTables("Behind these numbers", [_build_details_table(rows, published)]))
    parts += _levels(analysis)
    return Section(
        "preferences",
        "Which model people preferred",
        "Preferences",
        tuple(parts),
        lead=(
            "Each row shows how often annotators preferred the first model to the second. 50% means no preference; "
            "a tie counts half.",
        ),
        hints=(
            "Weighted share: many judgements of one annotator, or about one item, have less weight than the same "
            "number from several. The 95% CI, q and verdict refer to this share. They account for correlation within "
            "annotators, items and conversations. If a model was shown more often on one side, this is the mean of "
            "its shares on the left and on the right.",
            "q is corrected for all pairs and questions; intervals are not. MDE (minimum detectable effect): the "
            "smallest distance from 50%, in points, that this study had 80% power to detect. n: judgements.",
            "Published: the share in percent without ties, with the stars of ACUTE-Eval’s exact binomial test (* p < "
            ".05, ** p < .01, *** p < .001). This test treats all judgements as independent and does not correct for "
            "multiple comparisons.",
            *_design(rows),
        ),
    )


def win_scale(rows: Sequence[Row]) -> Scale:
    """Return a percentage scale that contains 50% and all rates with their confidence intervals."""
    ends = [row[name] for row in rows for name in ("estimate", "low", "high")]
    return scale_over([100 * end for end in ends if end is not None and known(end)], include=[NULL])


def _drawing(
    analysis: Analysis,
    question: str,
    rows: Sequence[Row],
    published: Mapping[tuple[str, str, str], Row],
    scale: Scale,
) -> Drawing:
    words = analysis.questions.get(question)
    one = len(rows) == 1
    return Drawing(
        f"{label(question).capitalize()}{f': {words}' if words else ''}",
        ("model", "weighted share, %", "weighted"),
        [_row(row, published, scale) for row in rows],
        draw_axis(scale),
        ("q", "n", "share", "published", "MDE"),
        judged=True,
        left=f"{format_name(rows[0]['against'])} preferred" if one else "second model preferred",
        right=f"{format_name(rows[0]['model'])} preferred" if one else "first model preferred",
    )


def _row(row: Row, published: Mapping[tuple[str, str, str], Row], scale: Scale) -> DrawnRow:
    theirs = published.get((row["question"], row["model"], row["against"]))
    return DrawnRow(
        format_name(row["model"]),
        f"against {format_name(row['against'])}",
        draw_share(row, scale, f"{format_name(row['model'])} against {format_name(row['against'])}"),
        percent(row["estimate"]),
        limits(row["low"], row["high"]),
        (
            probability(row["q"]),
            f"{row['n']:,}",
            percent(row["raw"]),
            published_cell(theirs),
            detectable_points(row),
        ),
        verdict_on_first(row),
    )


def _build_details_table(
    rows: Sequence[Row], published: Mapping[tuple[str, str, str], Mapping[str, Any]]
) -> PlainTable:
    """Return the values that do not fit in a row of the drawing."""
    body, one = [], len({row["question"] for row in rows}) == 1
    for row in rows:
        theirs = published.get((row["question"], row["model"], row["against"]), {})
        pair = f"{format_name(row['model'])} against {format_name(row['against'])}"
        body.append(
            [
                pair if one else f"{label(row['question'])}: {pair}",
                *(f"{row[name]:,}" for name in ("n_persons", "n_items", "n_ties", "n_missing")),
                *(number(row[name], 2) for name in ("person_icc", "item_icc", "design_effect")),
                probability(theirs.get("p")),
                percent(theirs.get("agreement"), 0),
            ]
        )
    names = ("annotators", "items", "ties", "skipped", "ICC, annotators", "ICC, items", "design effect")
    heads = (*names, "published p", "published agreement")
    return PlainTable(
        "",
        (
            ("model", "left"),
            *((name, "right") for name in heads),
        ),
        body,
        (
            "ICC (intraclass correlation): the share of the variance of judgements that is due to the annotator, or to "
            "the item with its conversations. Published agreement: the mean share of the more common judgement, over "
            "pairs with at least two judgements; it is 0 for one against one. Published numbers leave out ties.",
        ),
    )


def draw_share(row: Row, scale: Scale, what: str) -> Any:
    """Return a row of a drawing for a share, relative to 50%."""
    share, low, high = (
        100 * row[name] if row[name] is not None and known(row[name]) else None
        for name in ("estimate", "low", "high")
    )
    described = f"{what}: {percent(row['estimate'])}, 95% CI {limits(row['low'], row['high']) or 'not known'}"
    return draw_interval(
        scale, share, low, high, described=described, null=NULL, verdict=verdict_on_first(row)
    )


def grid_tables(analysis: Analysis) -> list[PlainTable]:
    """Return, per question, the published rates as printed in the papers: row against column, whole
    percent and stars.
    """
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
        cells.setdefault((row["against"], row["model"]), published_cell(swap_models(row)))
    lines = ["How often the model of the row won against the model of the column, in percent, as published."]
    if len(models) > len(shown):
        lines.append(f"The first {len(shown)} of {len(models)} models; win_rates.csv has all.")
    return PlainTable(
        f"{label(question).capitalize()}: grid of the models",
        (("", "left"), *((format_name(model), "right") for model in shown)),
        [[format_name(first), *(cells.get((first, second), "") for second in shown)] for first in shown],
        tuple(lines),
    )


def _levels(analysis: Analysis) -> Iterator[Drawing]:
    rows = get_rows(analysis.tables.win_rates_by)
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
            f"{label(question).capitalize()}: {format_name(model)} against {format_name(against)}, by "
            f"{label(mine[0]['by'])}",
            (label(mine[0]["by"]), "weighted share, %", "weighted"),
            [
                DrawnRow(
                    label(row["level"]),
                    "",
                    draw_share(
                        row,
                        scale,
                        f"{format_name(row['level'])}: {format_name(model)} against {format_name(against)}",
                    ),
                    percent(row["estimate"]),
                    limits(row["low"], row["high"]),
                    (
                        probability(row["q"]),
                        f"{row['n']:,}",
                        percent(row["raw"]),
                        detectable_points(row),
                    ),
                    verdict_on_first(row),
                )
                for row in mine
            ],
            draw_axis(scale),
            ("q", "n", "share", "MDE"),
            judged=True,
            left=f"{format_name(against)} preferred",
            right=f"{format_name(model)} preferred",
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
    """Show whether annotators choose the left side more often, and win rates with equal weight for both sides."""
    shares = get_rows(analysis.tables.sides, "side_share")
    if not shares:
        return None
    scale = win_scale(shares)
    drawing = Drawing(
        "How often annotators chose the left side",
        ("question", "weighted share for the left side, %", "weighted"),
        [
            DrawnRow(
                label(row["question"]).capitalize(),
                "",
                draw_share(row, scale, f"{row['question']}, left side"),
                percent(row["estimate"]),
                limits(row["low"], row["high"]),
                (probability(row["q"]), f"{row['n']:,}", detectable_points(row)),
                row["verdict"] or "",
            )
            for row in shares
        ],
        draw_axis(scale),
        ("q", "n", "MDE"),
        judged=True,
        left="right side chosen more often",
        right="left side chosen more often",
    )
    pairs = order_as_shown(analysis, get_rows(analysis.tables.sides, "win_rate_by_side"))
    table = PlainTable(
        "Win rates with equal weight for both sides",
        (
            ("question", "left"),
            ("model", "left"),
            ("against", "left"),
            ("shown left", "right"),
            ("share", "right"),
            ("equal sides", "right"),
            ("95% CI", "right"),
            ("left p", "right"),
            ("q", "right"),
        ),
        [
            (
                label(row["question"]),
                format_name(row["model"]),
                format_name(row["against"]),
                percent(row["left_share"]),
                percent(row["raw"]),
                percent(row["estimate"]),
                limits(row["low"], row["high"]),
                probability(row["balance_p"]),
                probability(row["q"]),
            )
            for row in pairs
        ],
        (
            "Shares of the first model. Shown left: how often the first model was on the left; left p: test of whether "
            "this differs from 50%. Equal sides: mean of its shares on the left and on the right, with CI and q.",
        ),
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
