"""What the numbers rest on: answers, persons, time, whom rules took out and what hangs on them, free texts."""

from collections.abc import Sequence

import polars as pl

from evenhand.annotation.analysis.conduct import Analysis
from evenhand.annotation.analysis.rules import rows_of as rule_rows
from evenhand.annotation.analysis.sections import Folded, Part, Quotes, Section
from evenhand.annotation.analysis.wording import Row, limits, name_of, percent, rows_of, verdict_of
from evenhand.reports import label, probability
from evenhand.reports.wording import duration
from evenhand.studies import PlainTable

FEWEST = 5
"""Persons below which a count of what people said of themselves is not shown."""


def data_section(analysis: Analysis) -> Section:
    """How much was said by how many, and how long it took."""
    parts: list[Part] = [_answers(rows_of(analysis.tables.answers))]
    if about := rows_of(analysis.tables.about):
        parts.append(Folded("Who took part", [_about(about)]))
    return Section("data", "What the numbers rest on", "Data", tuple(parts), lead=(amount(analysis),))


def amount(analysis: Analysis) -> str:
    """Persons, sittings and time in a sentence."""
    real = analysis.votes.filter(pl.col("role") == "real")
    used = analysis.used
    shown = used.unique("presentation")["seconds"].sum()
    return (
        f"{real['person'].n_unique():,} persons answered in {real['unit'].n_unique():,} sittings; "
        f"{used['person'].n_unique():,} count, with {used['presentation'].n_unique():,} showings of "
        f"{used['item'].n_unique():,} items"
        + (f", which took them {duration(float(shown))} in all." if shown else ".")
    )


def _answers(rows: Sequence[Row]) -> PlainTable:
    return PlainTable(
        "Answers",
        (
            ("question", "left"),
            ("measured as", "left"),
            *(
                (name, "right")
                for name in ("count", "skipped", "left out", "persons", "items", "median time")
            ),
        ),
        [
            [
                label(row["question"]),
                row["measurement"],
                *(f"{row[name]:,}" for name in ("n", "n_missing", "n_excluded", "n_persons", "n_items")),
                "–" if row["seconds"] is None else duration(row["seconds"]),
            ]
            for row in rows
        ],
        (
            "Left out: said by persons whom a rule excludes or an admin blocked, rejected by a reviewer, or given "
            "after the place had gone to somebody else.",
        ),
    )


def _about(rows: Sequence[Row]) -> PlainTable:
    return PlainTable(
        "",
        (("question", "left"), ("answer", "left"), ("persons", "right")),
        [
            [
                label(row["question"]),
                name_of(row["answer"]),
                f"{row['n_persons']:,}" if row["n_persons"] >= FEWEST else f"fewer than {FEWEST}",
            ]
            for row in rows
        ],
    )


def rules_section(analysis: Analysis) -> Section:
    """Which rules said whose answers count, whom they took out, and which verdicts hang on them."""
    parts: list[Part] = []
    rules = analysis.rules.rules
    if rules:
        parts.append(
            PlainTable(
                "The rules",
                (("rule", "left"), ("what follows", "left"), ("", "left")),
                rule_rows(rules),
            )
        )
    if out := rows_of(analysis.tables.exclusions):
        parts.append(
            PlainTable(
                "Whom they took out",
                (("rule", "left"), ("persons", "right"), ("showings of items", "right")),
                [[label(row["rule"]), f"{row['n_persons']:,}", f"{row['n']:,}"] for row in out],
                ("A person may break several rules.",),
            )
        )
    if sensitivity := rows_of(analysis.tables.sensitivity):
        parts.append(_sensitivity(sensitivity))
    return Section(
        "rules",
        "Whose answers count",
        "Rules",
        tuple(parts),
        lead=(told_rules(analysis), *told_changes(analysis)),
    )


def told_rules(analysis: Analysis) -> str:
    """Which rules were applied, and how many persons they took out."""
    all_persons = analysis.votes.filter(pl.col("role") == "real")["person"].n_unique()
    out = all_persons - analysis.used["person"].n_unique()
    named = {
        "the study's": "The study’s rules were applied",
        "published": "ACUTE-Eval’s published rule was applied (one onboarding item wrong, and all of a person’s "
        "answers are out)",
        "none": "No rules were applied; only what a reviewer rejected is left out",
    }.get(analysis.rules.name, f"The rules of {analysis.rules.name} were applied")
    if analysis.rules.rules is None:
        named = "What the export marks as excluded is left out"
    if analysis.rules.rules == () and analysis.rules.name == "the study's":
        named = "The study has no rules"
    whom = f"{out:,} of {all_persons:,} persons are" if out else "nobody is"
    return f"{named}: {whom} left out."


def told_changes(analysis: Analysis) -> list[str]:
    """Which verdicts change with the rules."""
    rows = rows_of(analysis.tables.sensitivity)
    pairs: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in rows:
        key = (row["question"], row["model"], row["against"])
        pairs.setdefault(key, {})[row["rules"]] = verdict_of({**row, "measure": "win_rate"})
    changed = [key for key, verdicts in pairs.items() if len(set(verdicts.values())) > 1]
    if not pairs or len({row["rules"] for row in rows}) < 2:
        return []
    if not changed:
        return ["No verdict on a preference hangs on which of these rules are applied."]
    return [
        f"{label(question).capitalize()}, {name_of(model)} against {name_of(against)}: the verdict hangs on the rules ("
        + ", ".join(
            f"{verdict} under {rules}" for rules, verdict in pairs[(question, model, against)].items()
        )
        + ")."
        for question, model, against in changed
    ]


def _sensitivity(rows: Sequence[Row]) -> PlainTable:
    return PlainTable(
        "The same preferences under other rules",
        (
            ("question", "left"),
            ("votes for", "left"),
            ("against", "left"),
            ("rules", "left"),
            ("persons out", "right"),
            ("votes", "right"),
            ("share", "right"),
            ("95 %", "right"),
            ("q", "right"),
            ("verdict", "left"),
        ),
        [
            [
                label(row["question"]),
                name_of(row["model"]),
                name_of(row["against"]),
                row["rules"],
                f"{row['n_persons_excluded']:,}",
                f"{row['n']:,}",
                percent(row["estimate"]),
                limits(row["low"], row["high"]),
                probability(row["q"]),
                verdict_of({**row, "measure": "win_rate"}),
            ]
            for row in sorted(rows, key=lambda row: (row["question"], row["model"], row["against"]))
        ],
    )


def texts_section(analysis: Analysis) -> Section | None:
    """What people wrote, folded."""
    if not analysis.texts:
        return None
    parts = tuple(
        Quotes(
            label(texts.question).capitalize(),
            f"{len(texts.drawn)} of {texts.n:,}, drawn by chance. Persons are numbered anew for this page."
            if texts.n > len(texts.drawn)
            else "All there are. Persons are numbered anew for this page.",
            texts.drawn,
        )
        for texts in analysis.texts
    )
    return Section(
        "texts",
        "What people wrote",
        "Texts",
        parts,
        lead=(
            "Reasons and free texts, in people’s own words: examples to read, and no estimate of anything.",
        ),
    )
