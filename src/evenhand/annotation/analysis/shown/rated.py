"""Ratings: charts of rates per model, differences with the published chi-square test, and marks on turns."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from evenhand.annotation.analysis.conduct import Analysis
from evenhand.annotation.analysis.sections import Drawing, DrawnRow, Part, Section, draw_axis, draw_interval
from evenhand.annotation.analysis.wording import (
    CHI_SQUARE,
    DIFFERENCE,
    NOT_MEASURABLE,
    TWO_BY_TWO,
    Row,
    format_difference,
    format_name,
    get_rows,
    get_verdict,
    limits,
    options_to_report,
    percent,
)
from evenhand.reports import Scale, known, label, number, probability, scale_over, smallest_effect
from evenhand.studies import PlainTable

NEGATIVE = "negative"
MOST_DIFFERENCES = 60
"""Maximum number of differences in a drawing, for axes with many groups."""


def ratings_section(analysis: Analysis) -> Section | None:
    """Return the section on ratings: rates of each model, differences, and the chi-square test of ROBBIE's Table 16."""
    rows = get_rows(analysis.tables.rates)
    if not rows:
        return None
    parts: list[Part] = []
    for place in dict.fromkeys(map(_place, rows)):
        parts += _rates(analysis, [row for row in rows if _place(row) == place])
        parts += _differences(analysis, place)
    table = _table_16(analysis)
    return Section(
        "ratings",
        "How annotators rated",
        "Ratings",
        (*parts, *([table] if table else [])),
        lead=(
            "Each row shows how often annotators gave an answer, or their mean rating. The charts of differences "
            "compare two models or groups; groups are compared within their axis.",
        ),
        hints=(
            "Weighted: many judgements of one annotator, or about one text, have less weight than the same number "
            "from several. The 95% CI, differences, q and verdicts refer to it. They account for correlation within "
            "annotators and items. The published chi-square test treats all judgements as independent, and is not "
            "corrected for the number of questions and pairs.",
            "n: judgements. MDE (minimum detectable effect): the smallest difference that this study had 80% power to "
            "detect, in points for shares, and on the scale of the question for means.",
        ),
    )


def _place(row: Row) -> tuple[str, str, str | None]:
    """Return the question, the kind of levels, and their axis."""
    return row["question"], row["by"], row["within"]


def _rates(analysis: Analysis, rows: Sequence[Row]) -> Iterator[Drawing]:
    question, by, within = _place(rows[0])
    wanted = options_to_report(analysis, question)
    shown = [row for row in rows if row["option"] in wanted]
    if not shown:
        return
    means = shown[0]["option"] is None
    factor = 1.0 if means else 100.0
    scale = _scale(shown, factor)
    words = analysis.questions.get(question)
    yield Drawing(
        f"{label(question).capitalize()}{_describe_grouping(by, within)}{f': {words}' if words else ''}",
        (label(by), "weighted mean" if means else "weighted share, %", "weighted"),
        [_rate(row, scale, factor) for row in shown],
        draw_axis(scale),
        ("mean" if means else "share", "n", "skipped", "annotators", "items"),
    )


def _describe_grouping(by: str, within: str | None) -> str:
    named = f", {label(within)}" if within is not None else ""
    return named if by == "model" else f"{named}, by {label(by)}"


def _scale(rows: Sequence[Row], factor: float) -> Scale:
    ends = [row[name] for row in rows for name in ("estimate", "low", "high")]
    return scale_over(factor * end for end in ends if end is not None and known(end))


def _rate(row: Row, scale: Scale, factor: float) -> DrawnRow:
    means = row["option"] is None
    value = number(row["estimate"], 2) if means else percent(row["estimate"])
    between = _limits(row)
    ends = (row[name] for name in ("estimate", "low", "high"))
    placed = (factor * end if end is not None and known(end) else None for end in ends)
    option = "" if means else format_name(row["option"])
    return DrawnRow(
        format_name(row["level"]),
        option,
        draw_interval(
            scale,
            *placed,
            described=f"{format_name(row['level'])} {option}: {value}, {between or 'no interval'}",
        ),
        value,
        between,
        (
            number(row["raw"], 2) if means else percent(row["raw"]),
            *(f"{row[name]:,}" for name in ("n", "n_missing", "n_persons", "n_items")),
        ),
        note="" if between else _why(row),
    )


def _why(row: Row) -> str:
    return str(row["obstacle"] or "")


def _limits(row: Row) -> str:
    if row["option"] is None:
        low, high = row["low"], row["high"]
        return f"{number(low, 2)} to {number(high, 2)}" if known(low) and known(high) else ""
    return limits(row["low"], row["high"])


def _differences(analysis: Analysis, place: tuple[str, str, str | None]) -> Iterator[Drawing]:
    question, by, within = place
    wanted = options_to_report(analysis, question)
    rows = [
        row
        for row in get_rows(analysis.tables.differences, DIFFERENCE)
        if _place(row) == place and row["option"] in wanted
    ]
    if not rows:
        return
    shown = sorted(rows, key=_strength)[:MOST_DIFFERENCES] if len(rows) > MOST_DIFFERENCES else rows
    told = f", {len(shown):,} of {len(rows):,}; differences.csv has all" if len(shown) < len(rows) else ""
    rows, means = shown, rows[0]["option"] is None
    factor = 1.0 if means else 100.0
    ends = [row[name] for row in rows for name in ("estimate", "low", "high")]
    scale = scale_over((factor * end for end in ends if end is not None and known(end)), include=[0.0])
    yield Drawing(
        f"{label(question).capitalize()}{_describe_grouping(by, within)}: differences{told}",
        (label(by), "difference of means" if means else "difference, percentage points", "difference"),
        [_difference(row, scale, factor) for row in rows],
        draw_axis(scale),
        ("q", "n", "MDE"),
        judged=True,
    )


def _strength(row: Row) -> tuple[float, float]:
    """Return a sort key: detected differences first, then by size."""
    size = row["estimate"] if row["estimate"] is not None and known(row["estimate"]) else 0.0
    return (row["q"] if row["q"] is not None and known(row["q"]) else 2.0), -abs(size)


def _difference(row: Row, scale: Scale, factor: float) -> DrawnRow:
    option = "" if row["option"] is None else f"“{format_name(row['option'])}” "
    value, low, high = (
        "–" if row[end] is None or not known(row[end]) else format_difference(row[end], row)
        for end in ("estimate", "low", "high")
    )
    smallest = None if get_verdict(row) == NOT_MEASURABLE else row["minimum_detectable"]
    ends = (row[name] for name in ("estimate", "low", "high"))
    placed = (factor * end if end is not None and known(end) else None for end in ends)
    return DrawnRow(
        f"{format_name(row['level'])}",
        f"{option}minus {format_name(row['against'])}",
        draw_interval(
            scale,
            *placed,
            described=f"{format_name(row['level'])} minus {format_name(row['against'])} {option}: "
            f"{value}, {low} to {high}",
            null=0.0,
            verdict=get_verdict(row),
        ),
        value,
        f"{low} to {high}" if low != "–" else "",
        (
            probability(row["q"]),
            f"{row['n']:,}",
            smallest_effect(factor * smallest) if smallest is not None and known(smallest) else "–",
        ),
        get_verdict(row),
        note=_why(row),
    )


def _table_16(analysis: Analysis) -> PlainTable | None:
    """Return the percentage of positive ratings, with models as rows and questions as columns, and 2 x 2 tests."""
    rates, tests = analysis.tables.rates, analysis.tables.differences
    rows = [row for row in get_rows(rates) if row["by"] == "model" and row["option"] is not None]
    questions = dict.fromkeys(row["question"] for row in rows)
    options = {question: option for question in questions if (option := _tested_option(analysis, question))}
    models = list(dict.fromkeys(row["level"] for row in rows))
    if not options or len(models) < 2:
        return None
    cells = {
        (row["question"], row["level"]): percent(row["raw"])
        for row in rows
        if row["option"] == options.get(row["question"])
    }
    body = [
        [format_name(model), *(cells.get((question, model), "–") for question in options)] for model in models
    ]
    p_values: dict[tuple[str, str], dict[str, str]] = {}
    for row in get_rows(tests, TWO_BY_TWO):
        if row["by"] == "model" and row["option"] == options.get(row["question"]):
            p_values.setdefault((row["level"], row["against"]), {})[row["question"]] = probability(row["p"])
    for (level, against), told in p_values.items():
        pair = f"p, {format_name(level)} against {format_name(against)}"
        body.append([pair, *(told.get(question, "–") for question in options)])
    whole = {
        row["question"]: row
        for row in get_rows(tests, CHI_SQUARE)
        if row["by"] == "model" and row["level"] is None
    }
    body.append(
        ["chi-square test of all models by all answers", *(_chi_square(whole.get(q)) for q in options)]
    )
    return PlainTable(
        "As ROBBIE’s Table 16: percentage of all ratings, and chi-square tests of two models",
        (
            ("model", "left"),
            *((f"{label(question)}: {format_name(option)}", "right") for question, option in options.items()),
        ),
        body,
        (
            "Raw percentages, and p of the 2 × 2 table of two models by this answer and all others. As in the "
            "paper, all ratings are treated as independent, without correction. The last line (statistic, degrees of "
            "freedom, p) is not in the paper.",
        ),
    )


def _tested_option(analysis: Analysis, question: str) -> str | None:
    """Return the option that Table 16 counts: the one of two that is reported, or the negative
    one of several; else None.
    """
    told = options_to_report(analysis, question)
    if len(told) == 1:
        return told[0]
    values = (
        analysis.used.filter(pl.col("question") == question).select("answer", "value").drop_nulls().unique()
    )
    lowest = values.filter((pl.col("value") == pl.col("value").min()) & (pl.col("value") < 0))
    if lowest.height == 1:
        return str(lowest["answer"].item())
    return NEGATIVE if NEGATIVE in told else None


def _chi_square(row: Row | None) -> str:
    if row is None or row["chi_square"] is None or not known(row["chi_square"]):
        return "–"
    return f"{number(row['chi_square'], 2)} ({row['freedom']}), p {probability(row['p'])}"


def marks_section(analysis: Analysis) -> Section | None:
    """Return the section on marks of single turns."""
    table = analysis.tables.marks
    if table.is_empty():
        return None
    parts: list[Any] = []
    for question in table["question"].unique(maintain_order=True):
        mine = table.filter(pl.col("question") == question)
        rows = mine.filter(pl.col("turn").is_null()).to_dicts()
        scale = _scale(rows, 100.0)
        parts.append(
            Drawing(
                f"{label(question).capitalize()}: conversations with a mark",
                ("mark", "weighted share of conversations shown, %", "weighted"),
                [
                    DrawnRow(
                        format_name(row["option"]),
                        format_name(row["model"]),
                        draw_interval(
                            scale,
                            *(
                                None if row[end] is None else 100 * row[end]
                                for end in ("estimate", "low", "high")
                            ),
                            described=f"{format_name(row['option'])}, {format_name(row['model'])}: "
                            f"{percent(row['estimate'])}",
                        ),
                        percent(row["estimate"]),
                        limits(row["low"], row["high"]),
                        (f"{row['n_marked']:,}", f"{row['n']:,}"),
                        note="" if limits(row["low"], row["high"]) else _why(row),
                    )
                    for row in rows
                ],
                draw_axis(scale),
                ("with the mark", "shown"),
            )
        )
        parts.append(_by_turn(question, mine.filter(pl.col("turn").is_not_null())))
    return Section(
        "marks",
        "Marks on turns",
        "Marks",
        tuple(parts),
        lead=(
            "A conversation counts once for each annotator who saw it. It has a mark if any of its turns has one. "
            "Weighted: many votes of one annotator, or on one conversation, have less weight than the same number "
            "from several.",
        ),
        hints=("Later turns can only be marked in conversations that are long enough.",),
    )


def _by_turn(question: str, table: pl.DataFrame) -> PlainTable:
    turns = sorted(table["turn"].unique())
    rows: dict[tuple[str, str], dict[int, str]] = {}
    for row in table.iter_rows(named=True):
        told = f"{percent(row['estimate'], 0)}" + (
            f" ({limits(row['low'], row['high'], 0)})" if known(row["low"]) else ""
        )
        rows.setdefault((row["option"], row["model"]), {})[row["turn"]] = told
    return PlainTable(
        f"{label(question).capitalize()}: by turn",
        (("mark", "left"), ("model", "left"), *((f"turn {turn + 1}", "right") for turn in turns)),
        [
            [format_name(option), format_name(model), *(cells.get(turn, "0%") for turn in turns)]
            for (option, model), cells in rows.items()
        ],
    )
