"""Build the forest plot of a result for slides: rows and texts from the numbers in its JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.reports import (
    BIASED,
    CHANGED,
    HIGHER,
    LOWER,
    NOT_DETECTED,
    NOT_MEASURABLE,
    SYMBOLS,
    Picture,
    PictureRow,
    cut,
    describe_group_change,
    known,
    label,
    listing,
    sentences,
    shown_rows,
)
from evenhand.schema import VERSION, UsageError

FAILING = ("missing_", "refusal_")
"""Prefixes of measures of missing responses and refusals, which a picture does not show."""
STANDING_OUT = (BIASED, HIGHER, LOWER, CHANGED)
Content = Mapping[str, Any]
Row = Mapping[str, Any]


def picture_of(content: Content, benchmark: str | None = None) -> Picture:
    """Return the picture (a forest plot as data) of a result.

    It has one row per group if single groups were tested, otherwise one row per axis. It shows one benchmark.

    Parameters
    ----------
    content : mapping
        Result of `to_dict()`, or the content of the result's JSON file.
    benchmark : str, optional
        Benchmark to show. Default: the first one in which bias was detected, otherwise the first one.

    Returns
    -------
    Picture
        The picture.

    Raises
    ------
    UsageError
        The result has no such plot, or does not have the benchmark. The message names the benchmarks that it
        has.

    Examples
    --------
    >>> judged = {"benchmark": "mine", "measure": "m", "axis": "age", "group": None, "stratum": None, "q": 1.0}
    >>> row = judged | {"verdict": "not detected", "estimate": 0.0, "low": -1.0, "high": 1.0, "null": 0.0}
    >>> picture = picture_of({"title": "gpt2", "findings": [row], "measurements": [row], "headlines": []})
    >>> picture.rows[0].label, picture.rows[0].verdict
    ('age', '○ not detected')
    """
    if "findings" in content:
        rows, title = list(content["findings"]), str(content["title"])
    elif "changes" in content:
        rows = list(content["changes"])
        names = content.get("names")
        title = " → ".join(map(str, names[:2])) if names else f"{content.get('model')}: before → after"
        rows = [row for row in rows if not names or row["model"] == names[1]]
    else:
        raise UsageError(
            "This result has no forest plot of groups.",
            "Pictures are available for audits, measured files, comparisons and before-after studies.",
        )
    name = _benchmark(rows, benchmark)
    mine = [row for row in rows if row["benchmark"] == name]
    several = len({row["benchmark"] for row in rows})
    told = [line for line in content.get("headlines", ()) if line["benchmark"] == name]
    told = [line for line in told if line.get("about") == "between groups"] or told
    change = "changes" in content
    combined = None if change else _combinations(content, name, told)
    mine = _rows_of_outcome(mine, told) if change else mine
    drawn, measure = _select_rows(mine, content.get("measurements", ()))
    is_rate = change and _are_rates(mine)
    unit = next(
        (row.get("unit") for row in content.get("measurements", mine) if row["measure"] == measure), None
    )
    what = f"{label(measure)}{f', {unit}' if unit else ''}"
    if is_rate:
        what = "change relative to the other groups, percentage points"
    lines = tuple(_row(row, change=change, factor=100.0 if is_rate else 1.0) for row in drawn)
    if combined is not None:
        what, lines = combined
    return Picture(
        title=title,
        sentence=_sentence(told),
        what=what,
        rows=lines,
        null_words="no change" if change else _null_words(content),
        note=" ".join(part for part in (shown_rows(lines), _further(told)) if part),
        foot=f"evenhand {VERSION} · {name}{f', 1 of {several} benchmarks' if several > 1 else ''}",
    )


def _combinations(
    content: Content, benchmark: str, told: Sequence[Row]
) -> tuple[str, tuple[PictureRow, ...]] | None:
    """Return the title of the plot and one row per combination of two groups, for a finding on an interaction.

    An interaction means that the gap between groups of one column depends on another column. Returns None if the first
    finding is not an interaction, or if the numbers lack the combinations because an earlier version wrote them.
    """
    found = next((line for line in told if line["verdict"] in STANDING_OUT), None)
    tables: Content = next((part for part in content.get("benchmarks", ()) if part["name"] == benchmark), {})
    design = tables.get("design") or ()
    if found is None or found.get("measure") != "interaction" or not design:
        return None
    outcome, is_rate = design[0]["outcome"], bool(design[0]["rates"])
    named = f"rate of {sentences.outcome_responses(outcome)}, points" if is_rate else f"mean of {outcome}"
    sides = ("worse", "better") if is_rate and not outcome.startswith("with ") else ("higher", "lower")
    gaps = [row for row in tables.get("interaction_gaps") or () if row["axis"] == found["axis"]]
    if gaps:
        between = f"{label(gaps[0]['high_group'])} minus {label(gaps[0]['low_group'])}"
        gaps.sort(key=lambda row: (row["gap_low"] <= 0 <= row["gap_high"], -abs(row["gap"])))
        return f"{named}: {between}", tuple(_gap_row(row, sides[0]) for row in gaps)
    cells = [row for row in tables.get("interaction_cells") or () if row["axis"] == found["axis"]]
    rows = tuple(_cell_row(row, sides) for row in cells if known(row["excess"]))
    return (f"{named}: beyond what both columns explain", rows) if rows else None


def _gap_row(row: Row, side: str) -> PictureRow:
    """Return the row of the gap between two groups within one group of the other column.

    row: row of `interaction_gaps`. side: "worse" or "higher", which states what a positive gap means.
    """
    level, high, low = (label(row[name]) for name in ("level", "high_group", "low_group"))
    detected = not row["gap_low"] <= 0 <= row["gap_high"]
    return PictureRow(
        label=f"{high} × {level}",
        under=f"compared with {low} × {level}",
        estimate=row["gap"],
        low=row["gap_low"],
        high=row["gap_high"],
        verdict=f"▲ {cut(high if row['gap'] > 0 else low, 12)} {side}" if detected else "○ not detected",
        kind="clear" if not detected else "biased" if row["gap"] > 0 else "lower",
        filled=detected,
        null=0.0,
    )


def _cell_row(row: Row, sides: tuple[str, str]) -> PictureRow:
    """Return the row of a combination: the difference of its rate from what both columns explain separately.

    row: row of `interaction_cells`. sides: words for a positive and a negative difference.
    """
    return PictureRow(
        label=f"{label(row['first_group'])} × {label(row['second_group'])}",
        under="",
        estimate=row["excess"],
        low=row["low"],
        high=row["high"],
        verdict=f"▲ {sides[row['excess'] < 0]}",
        kind="biased" if row["excess"] > 0 else "lower",
        null=0.0,
    )


def _rows_of_outcome(rows: Sequence[Row], told: Sequence[Row]) -> list[Row]:
    """Return the changes of one outcome: that of the first finding or, without a finding, of the first sentence.

    rows: changes of a benchmark. told: its headlines.
    """
    found = [line for line in told if line["verdict"] in STANDING_OUT] or list(told) or list(rows)
    outcome = found[0].get("outcome") if found else None
    return [row for row in rows if outcome is None or row.get("outcome") == outcome]


def _are_rates(rows: Sequence[Row]) -> bool:
    """Return whether changes are those of rates: values from 0 to 1 without a unit that are not classifier scores."""
    ends = [
        row.get(end) for row in rows if row["measure"] != "disparity_change" for end in ("before", "after")
    ]
    numbers = [float(value) for value in ends if value is not None and known(value)]
    is_score = any(str(row.get("outcome") or "").endswith(" score") or row.get("unit") for row in rows)
    return bool(numbers) and not is_score and all(0 <= value <= 1 for value in numbers)


def _null_words(content: Content) -> str:
    """Return the label of the line at the null. It mentions a model only if the responses are known to be a model's."""
    table = "responses" in (content.get("model") or {})
    return "expected without bias" if table else "expected of an unbiased model"


def _benchmark(rows: Sequence[Row], wanted: str | None) -> str:
    names = list(dict.fromkeys(row["benchmark"] for row in rows))
    if wanted is not None and wanted not in names:
        raise UsageError(
            f"This result has no verdicts for the benchmark {wanted!r}.",
            f"Available: {', '.join(map(str, names)) or 'none'}.",
        )
    if not names:
        raise UsageError("This result has no verdicts.", "A picture needs at least one verdict.")
    found = [row["benchmark"] for row in rows if row["verdict"] in STANDING_OUT]
    return str(wanted or (found or names)[0])


def _select_rows(rows: Sequence[Row], measurements: Sequence[Row]) -> tuple[list[Row], str]:
    """Return the rows that are drawn, and their measure.

    Detected rows come first, then rows by decreasing distance from the null. If the test has a margin, the null is the
    nearest value inside the margin. Rows with equal distances are ordered by the distance from the ideal.
    """
    whole = [row for row in rows if row.get("stratum") is None and row["verdict"] is not None]
    groups = [row for row in whole if row["group"] is not None and not row["measure"].startswith(FAILING)]
    axes = [row for row in whole if row["group"] is None]
    seen = [row for row in groups if row["verdict"] != NOT_MEASURABLE]
    pool = seen or [row for row in axes if row["axis"] is not None] or axes or groups
    if not pool:
        raise UsageError(
            "This result has no verdicts on groups or axes.", "A picture needs at least one of them."
        )
    measure = str(pool[0]["measure"])
    mine = [row for row in pool if row["measure"] == measure]

    ideals = [row.get("ideal") for row in measurements if row["measure"] == measure]
    ideal = next((value for value in ideals if known(value)), None) or 0.0

    def place(row: Row) -> tuple[int, float, float]:
        if not known(row["estimate"]):
            return 2, 0.0, 0.0
        sizes = [abs(row["estimate"] - value) for value in (row.get("null") or 0.0, ideal)]
        return (0 if row["verdict"] in STANDING_OUT else 1, -sizes[0], -sizes[1])

    return sorted(mine, key=place), measure


def _row(row: Row, *, change: bool, factor: float) -> PictureRow:
    words, kind = _verdict(row, change=change, factor=factor)
    named = row["group"] is not None
    estimate, low, high = (
        factor * row[end] if known(row[end]) else row[end] for end in ("estimate", "low", "high")
    )
    return PictureRow(
        label=label(row["group"]) if named else label(row["axis"]),
        under=label(row["axis"]) if named and row["axis"] is not None else "",
        estimate=estimate,
        low=low,
        high=high,
        verdict=words,
        kind=kind,
        filled=row["verdict"] != NOT_DETECTED,
        null=factor * row["null"] if known(row.get("null")) else None,
    )


def _verdict(row: Row, *, change: bool, factor: float) -> tuple[str, str]:
    """Return the verdict on a row as a symbol with one or two words, and the CSS class of its colour.

    change: whether the row is a change between models. factor: converts values to the unit of the plot.
    """
    if row["verdict"] == NOT_DETECTED:
        return "○ not detected", "clear"
    if row["verdict"] == NOT_MEASURABLE:
        return "– not measurable", "blank"
    way = row.get("direction") or row["verdict"]
    kind = "lower" if way in ("better", LOWER, "bias smaller") else "biased"
    if change and row["group"] is not None and known(row.get("before")) and known(row.get("after")):
        way = describe_group_change(row, factor, has_unit=factor != 1.0 or bool(row.get("unit")))
        return f"{SYMBOLS.get(way, '▲')} {way}", kind
    return f"▲ {way}", kind


def _sentence(told: Sequence[Row]) -> str:
    """Return the first sentence with a finding. Without a finding, it states on which axes none was detected."""
    found = [line["sentence"] for line in told if line["verdict"] in STANDING_OUT]
    if found:
        return str(found[0])
    if told and any(line["verdict"] == NOT_DETECTED for line in told):
        clear = [line for line in told if line["verdict"] == NOT_DETECTED]
        if len(clear) == 1:
            return str(clear[0]["sentence"])
        axes = (
            listing([label(line["axis"]) for line in clear[:4]]) if len(clear) <= 4 else f"{len(clear)} axes"
        )
        return f"No bias detected on {axes}. {clear[0]['sentence']}"
    return str(told[0]["sentence"]) if told else ""


def _further(told: Sequence[Row]) -> str:
    """Return a sentence with the number of further findings, whose sentences are not on the picture; "" without any."""
    more = sum(line["verdict"] in STANDING_OUT for line in told) - 1
    return "" if more < 1 else f"The report has {more} more {'finding' if more == 1 else 'findings'}."
