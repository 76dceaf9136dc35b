"""Scales of the survey: scores by third, whether preferences depend on them, and each statement."""

from collections.abc import Sequence

from evenhand.annotation.analysis.conduct import Analysis
from evenhand.annotation.analysis.sections import Part, Section
from evenhand.annotation.analysis.wording import Row, format_name, get_rows, limits, published_cell
from evenhand.reports import known, label, number, probability, signed
from evenhand.studies import PlainTable

BY_THIRD, SLOPE = "win_rate_by_third", "win_rate_slope"
THIRDS = ("top", "middle", "bottom")
FEWEST = 5
"""Minimum number of annotators of a third for showing its scores; with fewer, annotators could be identified."""


def views_section(analysis: Analysis) -> Section | None:
    """Return the section on survey scores and their relation to judgements, as in Tables 12 and 15 of Smith & Williams
    2021.
    """
    scores = get_rows(analysis.tables.scores)
    if not scores:
        return None
    parts: list[Part] = []
    for scale in dict.fromkeys(row["scale"] for row in scores):
        parts.append(_scores(scale, [row for row in scores if row["scale"] == scale]))
        views = [row for row in get_rows(analysis.tables.views) if row["scale"] == scale]
        if views:
            parts += [_by_third(scale, views), _slopes(scale, views)]
        parts.append(_statements(scale, analysis))
    return Section(
        "views",
        "Views of the annotators",
        "Views",
        tuple(parts),
        lead=(
            "An annotator’s score is the mean of their ratings of a few statements, relative to the middle of the "
            "scale. Statements against the measured attitude are reverse-scored (SDO7: a higher score means more "
            "support for equality). With two statements per annotator the score is coarse and unreliable. The slope "
            "uses every score and is more informative than the thirds.",
        ),
    )


def _scores(scale: str, rows: Sequence[Row]) -> PlainTable:
    ordered = sorted(rows, key=lambda row: THIRDS.index(row["third"]) if row["third"] in THIRDS else 9)
    return PlainTable(
        f"Scores: {label(scale)}",
        (
            ("third", "left"),
            ("annotators", "right"),
            ("ratings", "right"),
            ("lowest", "right"),
            ("mean", "right"),
            ("highest", "right"),
        ),
        [
            [
                row["third"],
                f"{row['n_persons']:,}" if row["n_persons"] >= FEWEST else f"fewer than {FEWEST}",
                *(
                    (f"{row['n']:,}", *(signed(row[name], 2) for name in ("lowest", "mean", "highest")))
                    if row["n_persons"] >= FEWEST
                    else ("–",) * 4
                ),
            ]
            for row in ordered
        ],
    )


def _by_third(scale: str, rows: Sequence[Row]) -> PlainTable:
    mine = [row for row in rows if row["measure"] == BY_THIRD]
    cells = {(row["question"], row["model"], row["against"], row["third"]): row for row in mine}
    keys = list(dict.fromkeys(key[:3] for key in cells))
    return PlainTable(
        f"Win rates by third, as published: {label(scale)}",
        (
            ("question", "left"),
            ("model", "left"),
            ("against", "left"),
            *((f"{third} third", "right") for third in ("top", "bottom")),
            *((f"judgements, {third}", "right") for third in ("top", "bottom")),
        ),
        [
            [
                label(key[0]),
                format_name(key[1]),
                format_name(key[2]),
                *(published_cell(cells.get((*key, third))) or "–" for third in ("top", "bottom")),
                *(
                    f"{cells[(*key, third)]['n']:,}" if (*key, third) in cells else "–"
                    for third in ("top", "bottom")
                ),
            ]
            for key in keys
        ],
        ("Percent and stars of the exact test, as in Table 15 of the names paper.",),
    )


def _slopes(scale: str, rows: Sequence[Row]) -> PlainTable:
    return PlainTable(
        f"How the preference changes with the score: {label(scale)}",
        (
            ("question", "left"),
            ("model", "left"),
            ("against", "left"),
            ("points per point of score", "right"),
            ("95% CI", "right"),
            ("q", "right"),
            ("annotators", "right"),
            ("verdict", "left"),
        ),
        [
            [
                label(row["question"]),
                format_name(row["model"]),
                format_name(row["against"]),
                signed(100 * row["estimate"], 1) if known(row["estimate"]) else "–",
                limits(row["low"], row["high"]),
                probability(row["q"]),
                f"{row['n_persons']:,}",
                str(row["obstacle"] or row["verdict"] or ""),
            ]
            for row in rows
            if row["measure"] == SLOPE
        ],
    )


def _statements(scale: str, analysis: Analysis) -> PlainTable:
    texts = statement_texts(analysis)
    rows = [row for row in get_rows(analysis.tables.statements) if row["scale"] == scale]
    return PlainTable(
        f"Statements: {label(scale)}",
        (
            ("statement", "left"),
            ("mean", "right"),
            ("95% CI", "right"),
            ("ratings", "right"),
            ("scored as", "left"),
        ),
        [
            [
                texts.get(row["question"], label(row["question"])),
                number(row["estimate"], 2),
                f"{number(row['low'], 2)} to {number(row['high'], 2)}" if known(row["low"]) else "",
                f"{row['n']:,}",
                "agreement" if row["sign"] > 0 else "disagreement",
            ]
            for row in rows
        ],
    )


def statement_texts(analysis: Analysis) -> dict[str, str]:
    """Return the text of each statement by its name."""
    from evenhand.annotation.analysis.surveying import read_survey
    from evenhand.annotation.definition import Scale, list_statements

    return {
        statement.id: statement.text
        for block in read_survey(analysis.export.study)
        if isinstance(block, Scale)
        for statement in list_statements(block)
    }
