"""The section of the page for benchmarks of continuations: rates, examples, and missing responses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from evenhand.reports import (
    BenchmarkView,
    ClassifierView,
    Forest,
    ReportView,
    WrittenView,
    count_places,
    measure_forest,
    sentences,
    wording,
)
from evenhand.schema import Card, ResponseError
from evenhand.studies.audit import glance, rate_figures
from evenhand.studies.audit.rate_figures import BesideReference, GroupRates, GroupScores, StyleMap, style_maps
from evenhand.studies.audit.self_chats import ChatTables, chat_tables
from evenhand.studies.plain_page import PlainTable

OWN_FIGURES = (
    "disparity",
    "group_difference",
    "bias_score",
    "bias_score_published",
    "max_subgroup_rate",
    "negative_rate",
)
"""Measures that have their own figure, so that they are not drawn again."""
FAILING = ("missing_rate", "refusal_rate")
UNEQUALLY = ("missing_difference", "refusal_difference")
"""Measures of whether some groups have missing or refused responses more often than others."""
CHARACTERS = 600
STEPS = {"written": "not generated"}
FAILING_SHOWN = 10


def length_note(failures: pl.DataFrame) -> str:
    """Return advice if responses were lost to a length limit, else "".

    Parameters
    ----------
    failures
        Failed responses, with the column `error` (see `WrittenView.failures`).

    Examples
    --------
    >>> length_note(pl.DataFrame({"error": ["refused"]}))
    ''
    """
    if not (failures["error"] == str(ResponseError.TOO_LONG)).any():
        return ""
    return (
        '"Too long" is due to a length limit of this run, not to the model. These rows are not used to compare '
        "groups. Use a smaller --max-new-tokens, or a model or classifier that accepts longer texts."
    )


@dataclass(frozen=True)
class OutcomeWords:
    """Words for an outcome in tables.

    ``responses`` names the counted responses. ``worse`` and ``better`` name groups with more and fewer of them.
    """

    responses: str = "negative responses"
    worse: str = "worse"
    better: str = "better"

    @property
    def title(self) -> str:
        """Return the heading of a table of rates."""
        return f"{sentences.capitalised(self.responses)} by group"

    def describe_counts(self, worse: int, better: int, total: int) -> str:
        """Return how many groups have more or fewer of the counted responses.

        >>> OutcomeWords().describe_counts(1, 2, 9)
        '1 of 9 groups treated worse, 2 better'
        >>> OutcomeWords("responses with rating of 7 or more", "higher", "lower").describe_counts(1, 1, 2)
        '1 of 2 groups higher, 1 lower'
        """
        treated = "treated " if self.worse == "worse" else ""
        return f"{worse:,} of {total:,} groups {treated}{self.worse}, {better:,} {self.better}"

    def side_label(self, stored: str | None) -> str:
        """Return the word and symbol for a stored direction of a finding; empty without one."""
        word = {"worse": self.worse, "better": self.better}.get(stored or "", stored)
        return f"{wording.SYMBOLS[wording.BIASED]} {word}" if word else ""


def outcome_words(benchmark: BenchmarkView) -> OutcomeWords:
    """Return the words for the outcome of a benchmark: as in the file for own responses, otherwise "negative"."""
    design = benchmark.detail("design")
    if design is None:
        return OutcomeWords()
    sides = ("higher", "lower") if rate_figures.has_threshold(benchmark) else ("worse", "better")
    return OutcomeWords(sentences.outcome_responses(design["outcome"][0]), *sides)


def origin(benchmark: BenchmarkView) -> str:
    """Return a sentence on where labels or scores of own responses come from, if no classifier labelled them."""
    design = benchmark.detail("design")
    if design is not None and not design["rates"][0]:
        return "The numbers came with the file. evenhand does not know how they were obtained."
    if rate_figures.has_threshold(benchmark):
        return (
            "The numbers came with the file, and the threshold from your command. evenhand does not know how the "
            "numbers were obtained."
        )
    return "The labels came with the file. evenhand does not know who made them."


def adjustment(benchmark: BenchmarkView) -> str:
    """Return sentences on the adjustment of rates or means of own responses for a column; empty without one.

    The detail `design` of the benchmark states which column is held fixed, or that each question counts once.
    """
    design = benchmark.detail("design")
    if design is None:
        return ""
    what = "Rates" if design["rates"][0] else "Means"
    held, once = design["held_fixed"][0], design["counts_once"][0]
    if held:
        return (
            f"{what} and differences are adjusted for {held}: groups are compared within the same {held}. {what} can "
            "therefore differ from those of all rows of a group."
        )
    if once != "answer":
        return f"Each {once} counts once. {what} can therefore differ from those of all rows of a group."
    return ""


@dataclass(frozen=True)
class PlainNumber:
    """A value that is shown as text and not in a figure: an overall rate, or a measure of text quality."""

    name: str
    estimate: str
    interval: str
    unit: str
    n: str
    missing: str
    title: str


@dataclass(frozen=True)
class HarmedGroup:
    """A group that is treated worse, with examples: (prompt, continuation, score)."""

    group: str
    axis: str
    harmed: bool
    rates: str
    texts: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Figure:
    """A measure that is drawn as a simple forest plot, with its heading and explanations (`lines`)."""

    name: str
    heading: str
    lines: Sequence[str]
    forest: Forest


@dataclass(frozen=True)
class LostResponses:
    """Continuations that were not generated or not classified.

    ``kinds`` lists the types of failure. ``axes`` has (name, counts by type, total, number of responses) of each axis.
    ``groups`` has groups with significantly more failures: (measure, axis, group, estimate, CI, others, q); ``more`` is
    the number of further ones. ``compared`` is True if groups were tested. ``length_note`` is advice if responses were
    too long.
    """

    kinds: list[str]
    axes: list[tuple[str, list[int], int, int]]
    groups: list[tuple[str, ...]]
    more: int
    compared: bool
    length_note: str = ""


@dataclass(frozen=True)
class WrittenSection:
    """All content of the page on one benchmark of continuations."""

    view: WrittenView
    classifiers: tuple[ClassifierView, ...]
    bias: Forest | None
    rates: GroupRates | None
    scores: GroupScores | None
    beside: BesideReference | None
    largest: Forest | None
    figures: list[Figure]
    parts: list[Figure]
    maps: list[StyleMap]
    numbers: list[PlainNumber]
    examples: list[HarmedGroup]
    lost: LostResponses
    chats: ChatTables
    combinations: list[PlainTable]
    outcome: OutcomeWords
    origin: str
    adjustment: str


def written_section(view: ReportView, benchmark: BenchmarkView) -> WrittenSection | None:
    """Return the section of one benchmark; None if it has no continuations."""
    written = benchmark.written
    if written is None:
        return None
    bias = rate_figures.disparities(view, benchmark)
    others = [
        name for name in view.measures(benchmark.name) if name not in (*OWN_FIGURES, *FAILING, *UNEQUALLY)
    ]
    figures, parts, numbers = [], [], []
    for name in [*others, *(["disparity"] if bias is None else [])]:
        found = _figure(view, benchmark, name)
        figures += [found] if found is not None else []
    for name in dict.fromkeys([*others, "negative_rate"]):
        forest = rate_figures.strata_forest(view, benchmark, name)
        if forest is not None:
            parts.append(Figure(name, wording.label(name), [], forest))
    drawn = {figure.name for figure in figures}
    for name in ["negative_rate", *FAILING, *others]:
        if name not in drawn:
            numbers += _numbers(view, benchmark, name)
    return WrittenSection(
        view=written,
        classifiers=written.classifiers,
        bias=bias,
        rates=rate_figures.group_rates(view, benchmark),
        scores=rate_figures.group_scores(benchmark),
        beside=rate_figures.beside_reference(view, benchmark),
        largest=rate_figures.largest_rates(view, benchmark),
        figures=figures,
        parts=parts,
        maps=style_maps(benchmark),
        numbers=numbers,
        examples=examples(benchmark),
        lost=_collect_lost_responses(view, benchmark, written),
        chats=chat_tables(benchmark),
        combinations=rate_figures.combination_tables(benchmark),
        outcome=outcome_words(benchmark),
        origin=origin(benchmark),
        adjustment=adjustment(benchmark),
    )


def _card(view: ReportView, measure: str) -> Card | None:
    return view.measure_cards.get(measure)


def _figure(view: ReportView, benchmark: BenchmarkView, measure: str) -> Figure | None:
    """Return a forest plot of a measure by axis, or by group if it has no axes; None for a single value."""
    axes = view.rows(benchmark.name, measure)
    forest = measure_forest(view, benchmark, measure) if axes["axis"].drop_nulls().len() else None
    if forest is None and measure in view.judged(benchmark.name):
        forest = measure_forest(view, benchmark, measure)
    if forest is None:
        forest = rate_figures.group_forest(view, benchmark, measure)
    heading = "axis" if axes["axis"].drop_nulls().len() or not axes.is_empty() else "group"
    return (
        None if forest is None else Figure(measure, heading, glance.meaning(view, benchmark, measure), forest)
    )


def _numbers(view: ReportView, benchmark: BenchmarkView, measure: str) -> list[PlainNumber]:
    card = _card(view, measure)
    own = measure == "negative_rate" and benchmark.detail("design") is not None
    return [
        PlainNumber(
            name=outcome_words(benchmark).responses if own else wording.label(measure),
            estimate=wording.number(row["estimate"], _places(row)),
            interval=_interval(row),
            unit=wording.plain_effect(row["unit"] or ""),
            n=f"{row['n']:,}",
            missing=f"{row['n_missing']:,}",
            title=card.summary if card and not own else "",
        )
        for row in view.rows(benchmark.name, measure).filter(pl.col("axis").is_null()).to_dicts()
    ]


def _places(row: Mapping[str, Any]) -> int:
    return count_places([row[name] for name in ("estimate", "low", "high")], row["unit"])


def _interval(row: Mapping[str, Any]) -> str:
    if not wording.known(row["low"]) or not wording.known(row["high"]):
        return ""
    places = _places(row)
    return f"{wording.number(row['low'], places)} to {wording.number(row['high'], places)}"


def examples(benchmark: BenchmarkView) -> list[HarmedGroup]:
    """Return continuations about the groups that are treated worst, shortened and without control characters."""
    table, groups = benchmark.detail("examples"), benchmark.detail("groups")
    if table is None:
        return []
    rates = {} if groups is None else {(row["axis"], row["group"]): row for row in groups.to_dicts()}
    shown = []
    for (axis, group), part in table.group_by("axis", "group", maintain_order=True):
        rate = rates.get((axis, group), {})
        told = ""  # a group may be compared with only some of the others
        if wording.known(rate.get("rate")) and wording.known(rate.get("background")):
            mine, others = (wording.number(rate[name], 1) for name in ("rate", "background"))
            told = f"{mine}% negative, {others}% for the groups that it is compared with"
        texts = part.select("prompt", "continuation", "score").rows()
        shown.append(
            HarmedGroup(
                group=wording.label(str(group)),
                axis=wording.label(None if axis is None else str(axis)),
                harmed=bool(part["harmed"][0]),
                rates=told,
                texts=tuple(
                    (
                        wording.printable(prompt, CHARACTERS),
                        wording.printable(text, CHARACTERS),
                        wording.number(score, 2),
                    )
                    for prompt, text, score in texts
                ),
            )
        )
    return shown


def _collect_lost_responses(
    view: ReportView, benchmark: BenchmarkView, written: WrittenView
) -> LostResponses:
    table = written.failures.with_columns(
        kind=pl.col("step")
        .replace({"written": "no value"} if written.gathered else STEPS)
        .replace({j: f"no {j}" for j in written.failures["step"].unique() if j not in STEPS})
        + pl.lit(": ")
        + pl.col("error")
    )
    kinds = table["kind"].unique(maintain_order=True).sort().to_list()
    asked = written.asked.group_by("axis", maintain_order=True).agg(pl.col("n").sum()).rows()
    counts = {
        (axis, kind): n for axis, kind, n in table.group_by("axis", "kind").agg(pl.col("count").sum()).rows()
    }
    axes = []
    for axis, n in asked:
        line = [counts.get((axis, kind), 0) for kind in kinds]
        if sum(line):
            name = "not about a group" if axis is None and len(asked) > 1 else wording.label(axis)
            axes.append((name, line, sum(line), n))
    rows = []
    compared = False
    for measure in UNEQUALLY:
        groups = view.rows(benchmark.name, measure, groups=True)
        compared |= groups.height > 0
        biased = groups.filter((pl.col("verdict") == wording.BIASED) & (pl.col("estimate") > 0))
        rows += biased.sort("estimate", "group", descending=[True, False]).to_dicts()
    shown: list[tuple[str, ...]] = [
        (
            wording.label(row["measure"]), wording.label(row["axis"]), wording.label(row["group"]),
            wording.number(row["estimate"], 1), _interval(row), wording.number(row["null"], 1),
            wording.probability(row["q"]),
        )
        for row in rows[:FAILING_SHOWN]
    ]  # fmt: skip
    return LostResponses(
        kinds=[wording.label(kind) for kind in kinds],
        axes=sorted(axes, key=lambda line: -line[2]),
        groups=shown,
        more=len(rows) - len(shown),
        compared=compared,
        length_note=length_note(written.failures),
    )
