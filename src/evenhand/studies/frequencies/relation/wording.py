"""Sentences on frequencies and treatment, for page and terminal."""

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
from evenhand.studies.frequencies.relation.joined import Joined, JoinedBenchmark
from evenhand.studies.frequencies.relation.outcomes import Outcome
from evenhand.studies.plain_page import PlainTable

SYMBOLS_HERE = {**SYMBOLS, RELATED: "◆"}
LIKELIHOOD = "A likelihood follows frequency in any model that has learnt anything: this alone is no bias."
EXPLAINED = {"valence": " (how much likelier kind sentences about a descriptor are than hostile ones)"}
LISTED = 12
"""Descriptors without a match that are named."""


def told(relation: Joined) -> Iterator[tuple[str, str]]:
    """(symbol, sentence) of each outcome."""
    several = len(relation.benchmarks) > 1
    for one in relation.benchmarks:
        by_name = {outcome.name: outcome for outcome in one.asked.outcomes}
        for row in whole_rows(one):
            front = f"{one.asked.name}, " if several else ""
            beside = _beside(one, row)
            yield SYMBOLS_HERE[row["verdict"]], f"{front}{said(by_name[row['outcome']], row)}{beside}"


def answer(relation: Joined) -> str:
    """Whether groups that are written about more often are treated better, as far as the run can say."""
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
    question = "Are groups that are written about more often treated better?"
    better, worse, unseen = found.values()
    if better and worse:
        return f"{question} Better by {listing(better)}, worse by {listing(worse)}."
    if better or worse:
        return f"{question} {'Yes' if better else 'No, worse'}, by {listing(better or worse)}."
    if unseen:
        return f"{question} No sign of it was found, in {listing(unseen)}."
    if asked:
        return f"{question} That cannot be said here: not measurable."
    return f"{question} This run does not say: it has no outcome that is kinder on one side."


def called(one: JoinedBenchmark, name: str) -> str:
    """An outcome as tables and sentences call it."""
    likelihoods = {outcome.name for outcome in one.asked.outcomes if outcome.likelihood}
    return f"{name} (no treatment)" if name in likelihoods else name


def whole_rows(one: JoinedBenchmark) -> list[dict[str, Any]]:
    """The judged row of each outcome over all axes."""
    return one.found.relations.filter(
        pl.col("axis").is_null() & (pl.col("counted") == "documents")
    ).to_dicts()


def said(outcome: Outcome, row: Mapping[str, Any]) -> str:
    """What came of one outcome, for somebody who knows no statistics."""
    name = outcome.name + EXPLAINED.get(outcome.name, " (no treatment)" if outcome.likelihood else "")
    if row["verdict"] == RELATED:
        way = "higher" if row["direction"] == "rises" else "lower"
        found = (
            f"{name}: the more often a descriptor is written, the {way} its {outcome.name} within its axis "
            f"(rank correlation {_r(row['estimate'])}, {_r(row['low'])} to {_r(row['high'])}; chance alone reaches "
            f"{number(row['chance'], 2)})."
        )
        return f"{found} {_meaning(outcome, row['direction'])}"
    if row["verdict"] == NOT_DETECTED:
        smallest = row["minimum_detectable"]
        apart = known(row["low"]) and (row["low"] > 0 or row["high"] < 0)
        within_chance = "; with all outcomes looked at, that is within chance" if apart else ""
        found = (
            f"{name}: no rise or fall with frequency was detected (rank correlation {_r(row['estimate'])}, "
            f"{_r(row['low'])} to {_r(row['high'])}{within_chance})"
        )
        return f"{found}; one of {number(smallest, 2)} would probably have been found."
    return f"{name}: not measurable. {row['note']}"


def _meaning(outcome: Outcome, direction: str) -> str:
    if outcome.likelihood:
        return LIKELIHOOD
    if not outcome.kinder:
        return "Neither way is the kinder one."
    kinder = (outcome.kinder > 0) == (direction == "rises")
    return (
        f"Descriptors that stand more often in this corpus are treated {'more' if kinder else 'less'} kindly by the "
        "model; what causes what is not said."
    )


def _beside(one: JoinedBenchmark, row: Mapping[str, Any]) -> str:
    """What the counts beside words for people say of a relation."""
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
        return f" Of documents with a word for people beside the descriptor: {near['note'] or 'nothing can be said.'}"
    same = near["low"] > 0 or near["high"] < 0
    holds = "so it is" if same and (near["estimate"] > 0) == (row["estimate"] > 0) else "this is not seen"
    where = "Where documents count only with a word for people beside the descriptor"
    return f" {where}, {holds} ({_r(near['estimate'])})."


def notes(relation: Joined) -> list[str]:
    """What to beware of."""
    found = []
    if relation.unfinished:
        found.append("The run is not finished: what it has answered so far was joined.")
    how = "were counted, all documents together" if len(relation.corpora) > 1 else "was counted"
    if not relation.trained_on:
        found.append(
            f"{listing(list(relation.corpora))} {how}; nothing says that {relation.model} was trained on it. "
            "What another corpus says little of may be common where the model learnt."
        )
    for one in relation.benchmarks:
        found += _matching_notes(one)
    found += [
        "Correlations are of ranks within axes and see what rises or falls throughout: a U, or a rise that turns into "
        "a fall, is not seen. Descriptors of one bucket are alike: intervals rest on buckets, not on descriptors.",
        "A correlation over descriptors is no cause: what is written often is also written about differently.",
        f"In each benchmark the chance that any outcome is falsely called related is at most {relation.alpha:g}.",
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
            f"{one.asked.name}: {len(names):,} descriptors of the run were not counted and are left out: "
            f"{', '.join(names[:LISTED])}{more}."
        )
    yield f"{one.asked.name}: {_held(one)} {_templates(one)}"
    reliability = match.reliability
    if reliability is not None and reliability < 0.95:
        yield (
            f"{one.asked.name}: frequencies are noisy in a corpus (or sample) of this size: their ranks agree to "
            f"{reliability:.2f} with those of another like it, which draws correlations towards 0 by a factor of about "
            f"{reliability**0.5:.2f}."
        )


HELD = {
    "characters": "characters",
    "words": "words",
    "parts": "parts (hyphens divide words, too)",
    "tokens": "tokens",
    "answers": "numbers of answers",
}


def _held(one: JoinedBenchmark) -> str:
    """What is held equal, how, and what is not."""
    names: list[str] = next((row["controls"].split(", ") for row in whole_rows(one) if row["controls"]), [])
    tokens = (
        ""
        if "tokens" in names
        else (" Tokens of the descriptors are not known or do not vary and are not held equal by themselves.")
    )
    if not names:
        return f"nothing else is held equal.{tokens}"
    said_of = listing([HELD[name] for name in names])
    return (
        f"held equal are {said_of}: of each its rank within the axis, the rank's square and, as far as descriptors are "
        f"many enough, bins of neighbouring values.{tokens}"
    )


def _templates(one: JoinedBenchmark) -> str:
    """How many templates there are, and what they are worth."""
    number = max((int(row["n_templates"]) for row in whole_rows(one)), default=0)
    if number < 2:
        return "All answers are of one template, or of none: what is found holds for these prompts alone."
    return f"The {number:,} templates count as a sample of templates."


def _never(number: int) -> str:
    if not number:
        return "Each stands in some."
    return f"{number:,} of them never: {'it has' if number == 1 else 'they share'} the lowest rank."


JUDGED = (("p", "right"), ("q", "right"), ("finds", "right"), ("descriptors", "right"), ("buckets", "right"))
"""Columns behind the limits, of a whole or of an axis (see `_judged_cells`)."""


def tables_of(relation: Joined) -> Iterator[PlainTable]:
    """A table of outcomes for each benchmark."""
    heads = (
        ("outcome", "left"),
        ("verdict", "left"),
        ("plain", "right"),
        ("within axes", "right"),
        ("held equal", "right"),
        ("95 %", "left"),
        ("chance", "right"),
        *JUDGED,
    )
    for one in relation.benchmarks:
        rows = one.found.relations.filter(pl.col("axis").is_null())
        yield PlainTable(
            f"{one.asked.name}: frequency and treatment",
            heads,
            [_cells(one, row) for row in rows.to_dicts()],
            ("Rank correlations with the number of documents that a descriptor stands in; finds: the smallest, of "
             "numbers without noise and shared ranks, found in about four of five samples like this that are "
             "measurable.",),
        )  # fmt: skip


def axes_of(relation: Joined) -> Iterator[PlainTable]:
    """The same for each axis."""
    heads = (
        ("outcome", "left"),
        ("axis", "left"),
        ("verdict", "left"),
        ("plain", "right"),
        ("held equal", "right"),
        ("95 %", "left"),
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
    """Why axes are not measurable, each reason once."""
    wrong = rows.filter(pl.col("verdict") == NOT_MEASURABLE)
    for note, axes in (
        wrong.group_by("note", maintain_order=True).agg(pl.col("axis").unique().sort()).iter_rows()
    ):
        yield f"Not measurable ({listing([label(axis) for axis in axes])}): {note}"


COUNTED_AS = {"documents": "", "near_person": ", beside people"}


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
    return "described" if verdict is None else f"{SYMBOLS_HERE[verdict]} {verdict}"


def _r(value: float | None) -> str:
    return signed(value, 2)
