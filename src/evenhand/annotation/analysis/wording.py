"""Sentences on human judgements that page and terminal share, and the format of their numbers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from evenhand.annotation.analysis.conduct import Analysis
from evenhand.annotation.analysis.tables import PUBLISHED_RATE, WIN_RATE
from evenhand.reports import known, label, number, probability, smallest_effect
from evenhand.reports.sentences import judgements
from evenhand.reports.wording import printable

PREFERRED, LESS_PREFERRED, DIFFERS, NOT_DETECTED, NOT_MEASURABLE = (
    "preferred",
    "less preferred",
    "differs",
    "not detected",
    "not measurable",
)
LONGEST_NAME = 60
DIFFERENCE, CHI_SQUARE, TWO_BY_TWO = "rating_difference", "rating_chi_square", "rating_chi_square_published"
Row = Mapping[str, Any]
Headline = tuple[str, str]


def format_name(model: str | None) -> str:
    """Return the name of a model, question, option or level for a sentence: on one line, and shortened if very long.

    >>> format_name("tuned"), format_name(None)
    ('tuned', '–')
    """
    return "–" if model is None else printable(model, LONGEST_NAME)


def percent(share: float | None, places: int = 1) -> str:
    """Return a share in percent.

    >>> percent(0.5625), percent(None)
    ('56.2%', '–')
    """
    return f"{number(100 * share, places)}%" if share is not None and known(share) else "–"


def limits(low: float | None, high: float | None, places: int = 1) -> str:
    """Return a confidence interval of shares in percent; "" if it is unknown.

    >>> limits(0.5, 0.625), limits(None, 1.0)
    ('50.0 to 62.5', '')
    """
    if low is None or high is None or not (known(low) and known(high)):
        return ""
    return f"{number(100 * low, places)} to {number(100 * high, places)}"


def points(value: float | None) -> str:
    """Return the size of an effect in percentage points."""
    return smallest_effect(100 * value) if value is not None and known(value) else "–"


def detectable_points(row: Row) -> str:
    """Return the minimum detectable effect of a row in percentage points; a dash if it is not measurable.

    >>> detectable_points({"minimum_detectable": 0.36, "verdict": "not measurable"})
    '–'
    """
    return points(None if row.get("verdict") == NOT_MEASURABLE else row["minimum_detectable"])


def get_verdict(row: Row) -> str:
    """Return the verdict of a row: preferred, differs, not detected or not measurable; empty if it has none."""
    verdict = row.get("verdict")
    if verdict in (NOT_DETECTED, NOT_MEASURABLE) or not verdict:
        return verdict or ""
    return PREFERRED if row["measure"].startswith(WIN_RATE) else DIFFERS


def verdict_on_first(row: Row) -> str:
    """Return the verdict on the first model of a pair, as a table shows it next to that model's share.

    >>> row = {"measure": "win_rate", "verdict": "differs", "estimate": 0.2}
    >>> verdict_on_first(row), verdict_on_first(row | {"estimate": 0.8})
    ('less preferred', 'preferred')
    """
    verdict = get_verdict(row)
    return LESS_PREFERRED if verdict == PREFERRED and row["estimate"] < 0.5 else verdict


def swap_models(row: Row) -> Row:
    """Return the row of the same pair with its models in reverse order, and all shares counted for the other model.

    >>> swap_models({"model": "A", "against": "B", "raw": 0.25, "estimate": 0.25, "low": 0.125, "high": None})
    {'model': 'B', 'against': 'A', 'raw': 0.75, 'estimate': 0.75, 'low': None, 'high': 0.875}
    """
    other = {"model": "against", "against": "model", "low": "high", "high": "low"}
    turned = {name: row[other.get(name, name)] for name in row}
    shares = {"raw", "estimate", "low", "high", "left_share", "published"} & turned.keys()
    return turned | {name: 1 - turned[name] for name in shares if turned[name] is not None}


def order_pair(row: Row, baseline: str | None = None) -> Row:
    """Return the row with the model that has more judgements first; a baseline stays second."""
    is_behind = row["estimate"] is not None and row["estimate"] < 0.5
    return swap_models(row) if is_behind and row["against"] != baseline else row


def preference_rows(analysis: Analysis) -> list[Row]:
    """Return the win rates as reports show them, in the order of `order_pair`."""
    baseline = analysis.options.baseline
    return [order_pair(row, baseline) for row in get_rows(analysis.tables.win_rates, WIN_RATE)]


def get_rows(table: pl.DataFrame, measure: str | None = None) -> list[dict[str, Any]]:
    """Return a table's rows, or those of one measure; empty if the table does not exist."""
    if table.is_empty():
        return []
    return (table if measure is None else table.filter(pl.col("measure") == measure)).to_dicts()


def preference(row: Row) -> Headline:
    """Return the verdict on two models and its sentence, which names the preferred model first."""
    row = order_pair(row)
    verdict, asked = get_verdict(row), label(row["question"]).capitalize()
    model, against = format_name(row["model"]), format_name(row["against"])
    if verdict == NOT_MEASURABLE:
        return verdict, judgements.not_measurable_for(asked, f"{model} and {against}", reason(row))
    if verdict == NOT_DETECTED:
        return verdict, judgements.no_preference(asked, model, against, describe_share(row), _power(row))
    return verdict, judgements.preferred(asked, model, against, describe_share(row))


def describe_share(row: Row) -> str:
    """Return the first model's share of the judgements and, if it differs, the weighted share with its CI and q.

    >>> row = {"raw": 0.55, "estimate": 0.55, "low": 0.45, "high": 0.65, "q": 0.2, "n": 80}
    >>> describe_share(row)
    '55.0% of 80 judgements (95% CI 45.0 to 65.0, q = 0.200)'
    >>> describe_share(row | {"raw": 0.6})
    '60.0% of 80 judgements; weighted 55.0% (95% CI 45.0 to 65.0, q = 0.200)'
    """
    raw, share, low, high = (row[name] for name in ("raw", "estimate", "low", "high"))
    if row.get("weighing") == "sides":
        weighted = f"; weighted equally for left and right position: {percent(share)}"
    else:
        weighted = "" if percent(raw) == percent(share) else f"; weighted {percent(share)}"
    return (
        f"{percent(raw)} of {row['n']:,} judgements{weighted} (95% CI {limits(low, high)}, {format_q(row)})"
    )


def format_q(row: Row) -> str:
    """Return q as in sentences.

    >>> format_q({"q": 0.0004}), format_q({"q": 0.25}), format_q({"q": None})
    ('q < 0.001', 'q = 0.250', 'q unknown')
    """
    if row["q"] is None or not known(row["q"]):
        return "q unknown"
    told = probability(row["q"])
    return f"q {told[0]} {told[1:]}" if told.startswith("<") else f"q = {told}"


def reason(row: Row) -> str:
    """Return the reason why a row is not measurable, as a sentence."""
    told = str(row.get("obstacle") or "there is no test.")
    return told if told.endswith(".") else f"{told}."


def _power(row: Row) -> str:
    size = row["minimum_detectable"]
    if size is None or not known(size) or size >= 0.5:
        return judgements.power_of_share("")
    ends = [f"{number(100 * (0.5 + side * size), 0)}%" for side in (1, -1)]
    return judgements.power_of_share(points(size), (ends[0], ends[1]))


def options_to_report(analysis: Analysis, question: str) -> list[str | None]:
    """Return the options whose shares describe a question completely: for two options, the one that is reported.

    [None] if means are compared.
    """
    rates = analysis.tables.rates
    if rates.is_empty():
        return []
    found = rates.filter(pl.col("question") == question)["option"].unique(maintain_order=True).to_list()
    if len(found) != 2:
        return found
    compared = [
        row["option"]
        for row in get_rows(analysis.tables.differences, DIFFERENCE)
        if row["question"] == question
    ]
    if compared:
        return list(dict.fromkeys(compared))
    values = dict(
        analysis.used.filter(pl.col("question") == question).select("answer", "value").unique().iter_rows()
    )
    return [max(found, key=lambda option: (values.get(option) or 0.0, option))]


def rating_pairs(analysis: Analysis) -> Iterator[list[Headline]]:
    """Yield the sentences for each question and pair of models."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in get_rows(analysis.tables.differences, DIFFERENCE):
        if row["by"] == "model":
            groups.setdefault((row["question"], row["level"], row["against"]), []).append(row)
    for (question, level, against), rows in groups.items():
        yield _of_pair(label(question).capitalize(), format_name(level), format_name(against), rows)


def _of_pair(asked: str, level: str, against: str, rows: Sequence[Row]) -> list[Headline]:
    found = [row for row in rows if get_verdict(row) == DIFFERS]
    if found:
        return [(DIFFERS, f"{asked}: {difference(row, level, against)}.") for row in found]
    judged = [row for row in rows if get_verdict(row) == NOT_DETECTED]
    if not judged:
        return [
            (NOT_MEASURABLE, judgements.not_measurable_for(asked, f"{level} and {against}", reason(row)))
            for row in rows[:1]
        ]
    return [
        (
            NOT_DETECTED,
            judgements.no_difference(asked, f"{level} and {against}", power_of_rows(judged)),
        )
    ]


def power_of_rows(rows: Sequence[Row]) -> str:
    """Return the largest minimum detectable difference of these rows, and in how many it is unknown."""
    sizes = [row["minimum_detectable"] for row in rows if known(row["minimum_detectable"])]
    if not sizes:
        return judgements.power_of_difference("")
    unit = "" if rows[0]["option"] is None else " points"
    without = len(rows) - len(sizes)
    return judgements.power_of_difference(
        f"{format_difference(max(sizes), rows[0])}{unit}", without, len(rows)
    )


def difference(row: Row, level: str, against: str) -> str:
    """Return in words what differs between two models or groups, and by how much."""
    first, second = (level, against) if row["estimate"] > 0 else (against, level)
    return f"{first} {describe_preference(row)} than {second}, {by_how_much(row)}"


def describe_preference(row: Row) -> str:
    """Return what the higher of two got more of."""
    return (
        "was rated higher" if row["option"] is None else f"received “{format_name(row['option'])}” more often"
    )


def by_how_much(row: Row) -> str:
    """Return the absolute size of a difference, with its interval in the same direction, and q.

    >>> row = {"estimate": -0.1, "low": -0.3, "high": 0.05, "q": 0.2, "option": "yes"}
    >>> by_how_much(row)
    'by 10.0 points (95% CI −5.0 to 30.0, q = 0.200)'
    """
    low, high = (row["low"], row["high"]) if row["estimate"] > 0 else (-row["high"], -row["low"])
    unit = "" if row["option"] is None else " points"
    interval = f"95% CI {format_difference(low, row)} to {format_difference(high, row)}"
    return f"by {format_difference(abs(row['estimate']), row)}{unit} ({interval}, {format_q(row)})"


def format_difference(value: float, row: Row) -> str:
    """Return a difference as text: of shares in percentage points, of means on the scale of the question."""
    return number(value, 2) if row["option"] is None else number(100 * value, 1)


def published_cell(row: Row | None) -> str:
    """Return a win rate as printed in the papers: whole percent and stars.

    >>> published_cell({"estimate": 0.5625, "stars": "**"}), published_cell(None)
    ('56**', '')
    """
    if row is None:
        return ""
    if row["estimate"] is None or not known(row["estimate"]):
        return "–"
    return f"{100 * row['estimate']:.0f}{row['stars'] or ''}"


def order_as_shown(analysis: Analysis, rows: Sequence[Row]) -> list[Row]:
    """Return rows of pairs with the models of each pair in the order of `preference_rows`."""
    shown = {(row["question"], row["model"], row["against"]) for row in preference_rows(analysis)}
    turned = {(question, against, model) for question, model, against in shown} - shown
    return [
        swap_models(row) if (row["question"], row["model"], row["against"]) in turned else row for row in rows
    ]


def published_rows(analysis: Analysis) -> list[Row]:
    """Return the win rates as ACUTE-Eval counts them."""
    return order_as_shown(analysis, get_rows(analysis.tables.win_rates, PUBLISHED_RATE))
