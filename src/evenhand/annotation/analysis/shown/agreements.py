"""Agreement and reliability of annotators, and their comparison with classifiers."""

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.annotation.analysis.conduct import Analysis
from evenhand.annotation.analysis.sections import Drawing, DrawnRow, Part, Section, draw_axis, draw_interval
from evenhand.annotation.analysis.wording import Row, format_name, get_rows, percent
from evenhand.reports import Scale, known, label, listing, number, probability, scale_over
from evenhand.stats.votes import LEAST_LEVELS
from evenhand.studies import PlainTable

PEARSON, SPEARMAN, CORRECTED, PEOPLE = (
    "classifier_pearson",
    "classifier_spearman",
    "classifier_pearson_corrected",
    "human_reliability",
)


def agreement_section(analysis: Analysis) -> Section | None:
    """Return the section on agreement: Krippendorff's alpha, agreement on items, and reliability of annotators."""
    rows = get_rows(analysis.tables.agreement)
    if not rows:
        return None
    ends = [row[name] for row in rows for name in ("alpha", "low", "high")]
    scale = scale_over((end for end in ends if end is not None and known(end)), include=[0.0, 1.0])
    drawing = Drawing(
        "Krippendorff’s alpha of each question",
        ("question", "0: agreement by chance; 1: perfect agreement", "alpha"),
        [
            DrawnRow(
                label(row["question"]).capitalize(),
                row["measurement"],
                draw_interval(
                    scale,
                    row["alpha"],
                    row["low"],
                    row["high"],
                    described=f"{row['question']}: alpha {number(row['alpha'], 2)}, {_between(row)}",
                    null=0.0,
                ),
                number(row["alpha"], 2),
                _between(row),
                (
                    f"{row['n_items']:,}",
                    f"{row['n']:,}",
                    percent(row["majority_share"], 0),
                    percent(row["agreeing_pairs"], 0),
                    percent(row["undecided"], 0),
                ),
            )
            for row in rows
        ],
        draw_axis(scale),
        ("shared items", "n", "majority", "pairs agree", "no majority"),
    )
    parts: list[Part] = [drawing]
    if people := get_rows(analysis.tables.reliability):
        parts.append(_reliability(people))
    return Section(
        "agreement",
        "How much annotators agree",
        "Agreement",
        tuple(parts),
        lead=(
            "Krippendorff’s alpha compares the disagreement about the same item with the disagreement between random "
            "judgements. It may be low for matters of taste although nobody was careless. The lower it is, the less "
            "one annotator’s judgement shows.",
            "These numbers cover shared items: items with at least two judgements. Majority: the mean share of the "
            "most common judgement. Pairs agree: the share of pairs of judgements of one item that are equal. No "
            "majority: the share of items without a single most common judgement. n: judgements.",
        ),
        hints=_why_none(rows)
        if any(known(row["alpha"]) for row in rows)
        else ("Alpha cannot be computed if no item has two judgements, or if all judgements are the same.",),
    )


def _between(row: Row) -> str:
    if not (known(row["low"]) and known(row["high"])):
        return "no items with two judgements" if not row["n_items"] else "no interval"
    return f"{number(row['low'], 2)} to {number(row['high'], 2)}"


def _why_none(rows: Sequence[Row]) -> tuple[str, ...]:
    few = [label(row["question"]) for row in rows if row["n_items"] and row["n_persons"] < LEAST_LEVELS]
    if not few:
        return ()
    return (
        f"No confidence interval for the alpha of {listing(few)}: fewer than {LEAST_LEVELS} annotators answered, so "
        "the result applies only to these annotators.",
    )


def _reliability(rows: Sequence[Row]) -> PlainTable:
    quartiles = ("lowest", "lower", "middle", "upper", "highest")
    return PlainTable(
        "Reliability of annotators",
        (
            ("question", "left"),
            ("annotators", "right"),
            ("too few", "right"),
            *((name, "right") for name in ("lowest", "25%", "median", "75%", "highest", "null")),
            ("agree beyond chance", "right"),
        ),
        [
            [
                label(row["question"]),
                f"{row['n_persons']:,}",
                f"{row['n_untold']:,}",
                *(percent(row[name], 0) for name in quartiles),
                percent(row["null"], 0),
                f"{row['n_agreeing']:,} of {row['n_compared']:,}",
            ]
            for row in rows
        ],
        (
            "Reliability is the probability that an annotator gives the most likely answer of an item (Dawid and Skene "
            "model). Lowest, quartiles (25% and 75%), median and highest are over annotators; those with too few "
            "judgements are left out. Null: the "
            "reliability of always giving the most common answer. The model assumes that each item has one right "
            "answer, which may not hold for taste or offence. A weak prior matters for annotators with few "
            "judgements: each starts with two assumed judgements for each answer, 70% of them right. Agree beyond "
            "chance: the number of annotators who agree with the others on the same items more often than random "
            "judgements would (one-sided tests, Holm correction).",
            *(f"{label(row['question']).capitalize()}: {row['obstacle']}" for row in rows if row["obstacle"]),
        ),
    )


def classifier_section(analysis: Analysis) -> Section | None:
    """Return the section on correlations of classifiers with human judgements, as in ROBBIE's Tables 18 and 19."""
    rows = get_rows(analysis.tables.classifiers)
    pooled = [row for row in rows if row["measure"] == PEARSON and row["level"] is None]
    if not pooled:
        return None
    ends = [row[name] for row in pooled for name in ("estimate", "low", "high")]
    scale = scale_over((end for end in ends if end is not None and known(end)), include=[0.0])
    others = {
        (row["measure"], row["question"], row["classifier"], row["option"]): row
        for row in rows
        if row["level"] is None and row["measure"] != PEARSON
    }
    drawing = Drawing(
        "Correlation over items between a classifier’s scores and the share of annotators who chose the answer",
        ("answer", "Pearson’s r", "r"),
        [_correlation(row, others, scale) for row in pooled],
        draw_axis(scale),
        ("Spearman", "q", "ceiling", "r / ceiling", "items"),
    )
    return Section(
        "classifiers",
        "Classifiers compared with annotators",
        "Classifiers",
        (drawing, *_tables_18(rows)),
        lead=(
            "A correlation of 0 means that the scores are uninformative. Annotators disagree with each other, so even "
            "a perfect classifier cannot exceed the ceiling. The ceiling is the square root of the correlation "
            "between two groups of the same number of annotators.",
        ),
    )


def _correlation(row: Row, others: Mapping[tuple[Any, ...], Row], scale: Scale) -> DrawnRow:
    key = (row["question"], row["classifier"], row["option"])
    rank, corrected = others.get((SPEARMAN, *key)), others.get((CORRECTED, *key))
    between = (
        f"{number(row['low'], 2)} to {number(row['high'], 2)}"
        if known(row["low"]) and known(row["high"])
        else ""
    )
    return DrawnRow(
        f"{label(row['question'])}: {format_name(row['option'])}",
        format_name(row["classifier"]) + (f", by {row['taken']}" if row["taken"] else ""),
        draw_interval(
            scale,
            row["estimate"],
            row["low"],
            row["high"],
            described=f"{row['question']} {format_name(row['option'])}: r {number(row['estimate'], 2)}, {between}",
            null=0.0,
        ),
        number(row["estimate"], 2),
        between,
        (
            number(rank["estimate"], 2) if rank else "–",
            probability(row["q"]),
            number(row["ceiling"], 2),
            number(corrected["estimate"], 2) if corrected else "–",
            f"{row['n_items']:,}",
        ),
        note="" if between else str(row["obstacle"] or ""),
    )


def _tables_18(rows: Sequence[Row]) -> list[PlainTable]:
    """Return a table per question and classifier: models as rows, answers as columns, 100 r as
    printed in the papers.
    """
    tables = []
    mine = [row for row in rows if row["measure"] == PEARSON]
    for question, classifier in dict.fromkeys((row["question"], row["classifier"]) for row in mine):
        here = [row for row in mine if (row["question"], row["classifier"]) == (question, classifier)]
        options = list(dict.fromkeys(row["option"] for row in here))
        levels = list(dict.fromkeys(row["level"] for row in here))
        levels.sort(key=lambda level: level is None)
        cells = {(row["level"], row["option"]): row["estimate"] for row in here}
        tables.append(
            PlainTable(
                f"{label(question).capitalize()}, {format_name(classifier)}: r × 100 by model",
                (("model", "left"), *((format_name(option), "right") for option in options)),
                [
                    [
                        "all" if level is None else format_name(level),
                        *(_format_percent(cells.get((level, option))) for option in options),
                    ]
                    for level in levels
                ],
                ("As ROBBIE’s Tables 18 and 19.",),
            )
        )
    return tables


def _format_percent(value: float | None) -> str:
    return number(100 * value, 1) if value is not None and known(value) else "–"
