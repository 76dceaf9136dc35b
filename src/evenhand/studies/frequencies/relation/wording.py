"""Write sentences on frequencies and treatment, for page and terminal."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from evenhand.measures import RELATED
from evenhand.reports import (
    NOT_DETECTED,
    NOT_MEASURABLE,
    SYMBOLS,
    known,
    label,
    listing,
    number,
    probability,
    signed,
)
from evenhand.reports.sentences import associations
from evenhand.studies.frequencies.relation.joined import Joined, JoinedBenchmark
from evenhand.studies.frequencies.relation.outcomes import Outcome
from evenhand.studies.plain_page import PlainTable

SYMBOLS_HERE = {**SYMBOLS, RELATED: "◆"}
EXPLAINED = {"valence": " (how much more likely kind sentences are than hostile ones)"}
LISTED = 12
"""Descriptors without a match that are named."""


def told(relation: Joined) -> Iterator[tuple[str, str]]:
    """Yield (symbol, sentence) of each outcome."""
    several = len(relation.benchmarks) > 1
    for one in relation.benchmarks:
        by_name = {outcome.name: outcome for outcome in one.asked.outcomes}
        for row in whole_rows(one):
            front = f"{one.asked.name}, " if several else ""
            beside = _beside(one, row)
            yield SYMBOLS_HERE[row["verdict"]], f"{front}{said(by_name[row['outcome']], row)}{beside}"


def answer(relation: Joined) -> str:
    """Return a sentence on whether groups that are mentioned more often are treated better in this run."""
    found: dict[str, list[str]] = {"better": [], "worse": [], NOT_DETECTED: []}
    asked = 0
    for one in relation.benchmarks:
        kinder = {outcome.name: outcome.kinder for outcome in one.asked.outcomes if outcome.kinder}
        for row in whole_rows(one):
            name, verdict = row["outcome"], row["verdict"]
            if name not in kinder:
                continue
            asked += 1
            if verdict == RELATED:
                verdict = "better" if (kinder[name] > 0) == (row["direction"] == "rises") else "worse"
            if verdict in found and name not in found[verdict]:
                found[verdict].append(name)
    return associations.answer(*found.values(), asked=bool(asked))


def called(one: JoinedBenchmark, name: str) -> str:
    """Return the name of an outcome in tables and sentences."""
    likelihoods = {outcome.name for outcome in one.asked.outcomes if outcome.likelihood}
    return f"{name} (no treatment)" if name in likelihoods else name


def whole_rows(one: JoinedBenchmark) -> list[dict[str, Any]]:
    """Return the verdict row of each outcome for all axes together."""
    return one.found.relations.filter(
        pl.col("axis").is_null() & (pl.col("counted") == "documents")
    ).to_dicts()


def said(outcome: Outcome, row: Mapping[str, Any]) -> str:
    """Return the result of one outcome in a sentence."""
    name = outcome.name + EXPLAINED.get(outcome.name, " (no treatment)" if outcome.likelihood else "")
    correlation = _r(row["estimate"])
    interval = f"95% CI {_r(row['low'])} to {_r(row['high'])}"
    if row["verdict"] == RELATED:
        rises = row["direction"] == "rises"
        chance = number(row["chance"], 2)
        found = associations.related(name, outcome.name, correlation, interval, chance, rises=rises)
        return f"{found} {_meaning(outcome, row['direction'])}"
    if row["verdict"] == NOT_DETECTED:
        apart = known(row["low"]) and (row["low"] > 0 or row["high"] < 0)
        smallest = number(row["minimum_detectable"], 2)
        return associations.not_related(name, correlation, interval, smallest, within_chance=bool(apart))
    return associations.not_measurable_association(name, row["note"] or "")


def _meaning(outcome: Outcome, direction: str) -> str:
    if outcome.likelihood:
        return associations.LIKELIHOOD
    if not outcome.kinder:
        return associations.NO_KINDER_SIDE
    return associations.treated_kindly(more=(outcome.kinder > 0) == (direction == "rises"))


def _beside(one: JoinedBenchmark, row: Mapping[str, Any]) -> str:
    """Return what counts near words for people show about an association."""
    if row["verdict"] != RELATED:
        return ""
    rows = one.found.relations.filter(
        pl.col("axis").is_null()
        & (pl.col("counted") == "near_person")
        & (pl.col("outcome") == row["outcome"])
    ).to_dicts()
    if not rows:
        return ""
    near = rows[0]
    if not known(near["low"]):
        return associations.near_people_unknown(near["note"] or "")
    same = near["low"] > 0 or near["high"] < 0
    holds = same and (near["estimate"] > 0) == (row["estimate"] > 0)
    return associations.near_people(_r(near["estimate"]), same=bool(holds))


def notes(relation: Joined) -> list[str]:
    """Return the limits of the analysis."""
    found = []
    if relation.unfinished:
        found.append("The run is not finished. Only its responses so far were joined.")
    how = "were counted, all documents together" if len(relation.corpora) > 1 else "was counted"
    if not relation.trained_on:
        found.append(
            f"{listing(list(relation.corpora))} {how}; it is unknown whether {relation.model} was trained on it. "
            "A descriptor that is rare in this corpus may be frequent in the training data."
        )
    for one in relation.benchmarks:
        found += _matching_notes(one)
    found += [
        "Correlations are rank correlations within axes. They detect monotonic associations, but no U shapes. "
        "Descriptors of one bucket are similar, so intervals are computed over buckets, not over descriptors.",
        "A correlation over descriptors is not a causal effect: frequent descriptors also differ in other ways.",
        f"In each benchmark, the probability that any outcome is falsely called related is at most {relation.alpha:g}.",
    ]
    return found


def _matching_notes(one: JoinedBenchmark) -> Iterator[str]:
    match = one.matched
    yield (
        f"{one.asked.name}: {match.frequencies.height:,} descriptors were found among the terms counted in "
        f"{match.total:,} documents. {_never(match.never_found)}"
    )
    if match.unmatched.height:
        names = match.unmatched["descriptor"].to_list()
        more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
        yield (
            f"{one.asked.name}: {len(names):,} descriptors of the run were not counted and are excluded: "
            f"{', '.join(names[:LISTED])}{more}."
        )
    yield f"{one.asked.name}: {_held(one)} {_templates(one)}"
    reliability = match.reliability
    if reliability is not None and reliability < 0.95:
        yield (
            f"{one.asked.name}: frequencies are noisy in a corpus (or sample) of this size: their reliability is "
            f"{reliability:.2f}, which reduces correlations by a factor of about {reliability**0.5:.2f}."
        )


HELD = {
    "characters": "characters",
    "words": "words",
    "parts": "parts (hyphens divide words, too)",
    "tokens": "tokens",
    "answers": "numbers of responses",
}


def _held(one: JoinedBenchmark) -> str:
    """Return which properties are controlled for, and how."""
    names: list[str] = next((row["controls"].split(", ") for row in whole_rows(one) if row["controls"]), [])
    tokens = (
        ""
        if "tokens" in names
        else (" The numbers of tokens are unknown or do not vary, so they are not controlled for.")
    )
    if not names:
        return f"no other property is controlled for.{tokens}"
    said_of = listing([HELD[name] for name in names])
    return (
        f"controls: {said_of}. For each, the rank within the axis, its square and, if there are enough descriptors, "
        "bins "
        f"of neighbouring values.{tokens}"
    )


def _templates(one: JoinedBenchmark) -> str:
    """Return the number of templates, and the number that they are worth as a sample."""
    number = max((int(row["n_templates"]) for row in whole_rows(one)), default=0)
    if number < 2:
        return "All responses are to one template or to none, so the result applies to these prompts only."
    return f"The {number:,} templates count as a sample of templates."


def _never(number: int) -> str:
    if not number:
        return "Each occurs in some document."
    return f"{number:,} of them never occur: {'it has' if number == 1 else 'they share'} the lowest rank."


JUDGED = (("p", "right"), ("q", "right"), ("MDE", "right"), ("descriptors", "right"), ("buckets", "right"))
"""Columns behind the limits, of a whole or of an axis (see `_judged_cells`)."""


def tables_of(relation: Joined) -> Iterator[PlainTable]:
    """Yield a table of outcomes for each benchmark."""
    heads = (
        ("outcome", "left"),
        ("verdict", "left"),
        ("plain", "right"),
        ("within axes", "right"),
        ("partial", "right"),
        ("95% CI", "left"),
        ("chance", "right"),
        *JUDGED,
    )
    for one in relation.benchmarks:
        rows = one.found.relations.filter(pl.col("axis").is_null())
        yield PlainTable(
            f"{one.asked.name}: frequency and treatment",
            heads,
            [_cells(one, row) for row in rows.to_dicts()],
            ("Rank correlations with the number of documents in which a descriptor occurs. Partial: with the controls. "
             "MDE: minimum detectable correlation at 80% power, for numbers without noise or ties.",),
        )  # fmt: skip


def axes_of(relation: Joined) -> Iterator[PlainTable]:
    """Yield the same tables for each axis."""
    heads = (
        ("outcome", "left"),
        ("axis", "left"),
        ("verdict", "left"),
        ("plain", "right"),
        ("partial", "right"),
        ("95% CI", "left"),
        *JUDGED,
    )
    for one in relation.benchmarks:
        rows = one.found.relations.filter(pl.col("axis").is_not_null() & (pl.col("counted") == "documents"))
        if rows.height:
            cells = [
                [
                    called(one, row["outcome"]),
                    label(row["axis"]),
                    _verdict(row),
                    _r(row["spearman"]),
                    _r(row["estimate"]),
                    *_judged_cells(row),
                ]
                for row in rows.to_dicts()
            ]
            yield PlainTable(f"{one.asked.name}: axis by axis", heads, cells, tuple(_reasons(rows)))


def _reasons(rows: pl.DataFrame) -> Iterator[str]:
    """Return why axes are not measurable, each reason once."""
    wrong = rows.filter(pl.col("verdict") == NOT_MEASURABLE)
    for note, axes in (
        wrong.group_by("note", maintain_order=True).agg(pl.col("axis").unique().sort()).iter_rows()
    ):
        yield f"Not measurable ({listing([label(axis) for axis in axes])}): {note}"


COUNTED_AS = {"documents": "", "near_person": ", near people"}


def _cells(one: JoinedBenchmark, row: Mapping[str, Any]) -> list[str]:
    cells = _judged_cells(row)
    name = called(one, row["outcome"]) + COUNTED_AS[row["counted"]]
    front = [name, _verdict(row), _r(row["spearman"]), _r(row["within"]), _r(row["estimate"])]
    return [*front, cells[0], number(row["chance"], 2), *cells[1:]]


def _judged_cells(row: Mapping[str, Any]) -> list[str]:
    limits = f"{_r(row['low'])} to {_r(row['high'])}" if known(row["low"]) else "–"
    return [
        limits,
        probability(row["p"]),
        probability(row["q"]),
        number(row["minimum_detectable"], 2),
        *("–" if row[name] is None else f"{row[name]:,}" for name in ("n", "n_units")),
    ]


def _verdict(row: Mapping[str, Any]) -> str:
    verdict = row["verdict"]
    return "no verdict" if verdict is None else f"{SYMBOLS_HERE[verdict]} {verdict}"


def _r(value: float | None) -> str:
    return signed(value, 2)
