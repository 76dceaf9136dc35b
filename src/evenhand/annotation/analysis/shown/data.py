"""The data behind the results: judgements, annotators, times, exclusions and their effect on verdicts, free texts."""

from collections.abc import Sequence

from evenhand.annotation.analysis.attrition import describe_attrition
from evenhand.annotation.analysis.conduct import Analysis
from evenhand.annotation.analysis.options import PUBLISHED
from evenhand.annotation.analysis.rules import list_rules as rule_rows
from evenhand.annotation.analysis.sections import CollapsedTables, Part, Quotes, Section
from evenhand.annotation.analysis.wording import (
    Row,
    format_name,
    get_rows,
    limits,
    order_as_shown,
    percent,
    verdict_on_first,
)
from evenhand.reports import label, probability
from evenhand.reports.sentences import count
from evenhand.reports.wording import duration
from evenhand.studies import PlainTable

EXCLUDED = ("n_persons", "n_persons_with_votes", "n_votes")
NO_RULES = ("blocked", "rejected", "place_taken")
"""Reasons for exclusion that are not broken rules; they are in the table of participants."""
FEWEST = 5
"""Minimum number of annotators for showing counts of their answers about themselves."""


def data_section(analysis: Analysis) -> Section:
    """Return the section on the data: numbers of judgements and annotators, and times."""
    parts: list[Part] = [_answers(get_rows(analysis.tables.answers))]
    if about := get_rows(analysis.tables.about):
        parts.append(CollapsedTables("Who took part", [_about(about)]))
    return Section("data", "Data and annotators", "Data", tuple(parts), lead=(amount(analysis),))


def amount(analysis: Analysis) -> str:
    """Return how many judgements are included, and the time they took, in sentences."""
    used = analysis.used
    if used.is_empty():
        return "No judgement is included."
    shown = used.unique("presentation")["seconds"].sum()
    persons, votes = used["person"].n_unique(), used["presentation"].n_unique()
    answers = int(analysis.tables.answers["n"].sum())
    grouped = (
        f" They were given in {count(votes, 'vote')} (a vote is everything that one annotator judged about one item)."
        if votes != answers
        else ""
    )
    time = f" Total time: {duration(float(shown))}." if shown else ""
    return (
        f"Included: {count(answers, 'judgement')} by {count(persons, 'annotator')} about "
        f"{count(used['item'].n_unique(), 'item')}.{grouped}{time}"
    )


def _answers(rows: Sequence[Row]) -> PlainTable:
    return PlainTable(
        "Judgements",
        (
            ("question", "left"),
            ("measured as", "left"),
            *(
                (name, "right")
                for name in ("included", "skipped", "excluded", "annotators", "items", "median time")
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
            "Skipped: questions that included annotators left open. Excluded: judgements of annotators whom a rule "
            "excludes or an admin blocked, judgements that a reviewer rejected, and judgements that came after "
            "the task had been given to another annotator.",
        ),
    )


def _about(rows: Sequence[Row]) -> PlainTable:
    return PlainTable(
        "",
        (("question", "left"), ("answer", "left"), ("annotators", "right")),
        [
            [
                label(row["question"]),
                format_name(row["answer"]),
                f"{row['n_persons']:,}" if row["n_persons"] >= FEWEST else f"fewer than {FEWEST}",
            ]
            for row in rows
        ],
    )


def rules_section(analysis: Analysis) -> Section:
    """Return the section on exclusion rules: which applied, whom they excluded, and which verdicts depend on them."""
    parts: list[Part] = []
    rules = analysis.rules.rules
    if rules:
        parts.append(
            PlainTable(
                "The rules",
                (("rule", "left"), ("action", "left"), ("settings", "left")),
                rule_rows(rules),
            )
        )
    parts.append(_attrition(get_rows(analysis.tables.attrition)))
    if out := [row for row in get_rows(analysis.tables.exclusions) if row["rule"] not in NO_RULES]:
        parts.append(
            PlainTable(
                "Annotators who broke a rule",
                (
                    ("rule", "left"),
                    ("annotators", "right"),
                    ("of them with votes", "right"),
                    ("votes", "right"),
                ),
                [[label(row["rule"]), *(f"{row[name]:,}" for name in EXCLUDED)] for row in out],
                (
                    "An annotator may break several rules, so the sum of these rows may exceed the table above. "
                    "Annotators who did not pass the onboarding have no votes.",
                ),
            )
        )
    if sensitivity := get_rows(analysis.tables.sensitivity):
        parts += _sensitivity(order_as_shown(analysis, sensitivity))
    return Section(
        "rules",
        "Whose judgements are included",
        "Rules",
        tuple(parts),
        lead=(describe_rules(analysis), *describe_changes(analysis)),
    )


def _attrition(rows: Sequence[Row]) -> PlainTable:
    names = ("n_persons", "n_votes", "n_answers")
    body = [[str(row["state"]), *(f"{row[name]:,}" for name in names)] for row in rows]
    body.append(["all", *(f"{sum(row[name] for row in rows):,}" for name in names)])
    return PlainTable(
        "Included and excluded annotators",
        (("state", "left"), ("annotators", "right"), ("votes", "right"), ("judgements", "right")),
        body,
        (
            "A vote is everything that one annotator judged about one item. Each annotator, vote and judgement is "
            "counted in one row. Annotators who answered nothing, not even in the onboarding, are not in the export.",
        ),
    )


def describe_rules(analysis: Analysis) -> str:
    """Return sentences on the rules that were applied, and on annotators who were excluded or dropped out."""
    named = {
        "the study's": "The study’s rules were applied",
        "published": "ACUTE-Eval’s published rule was applied: it excludes all judgements of an annotator with one "
        "wrong onboarding item",
        "none": "No rules were applied; only annotators whom an admin blocked or a reviewer rejected are excluded",
    }.get(analysis.rules.name, f"The rules of {analysis.rules.name} were applied")
    if analysis.rules.rules is None:
        named = "Judgements that the export marks as excluded are excluded"
    if analysis.rules.rules == () and analysis.rules.name == "the study's":
        named = "The study has no rules"
    return f"{named}. {describe_attrition(analysis.tables.attrition)}"


def describe_changes(analysis: Analysis) -> list[str]:
    """Return sentences on the verdicts that change with the exclusion rules."""
    rows = get_rows(analysis.tables.sensitivity)
    pairs: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in order_as_shown(analysis, rows):
        key = (row["question"], row["model"], row["against"])
        pairs.setdefault(key, {})[row["rules"]] = verdict_on_first({**row, "measure": "win_rate"})
    changed = [key for key, verdicts in pairs.items() if len(set(verdicts.values())) > 1]
    if not pairs or len({row["rules"] for row in rows}) < 2:
        return []
    if not changed:
        return ["All preferences have the same verdict under the other exclusion rules that were tried."]
    return [
        f"{label(question).capitalize()}, {format_name(model)} against {format_name(against)}: the verdict "
        "depends on the "
        "exclusion rules ("
        + ", ".join(
            f"{verdict} under {rules}" for rules, verdict in pairs[(question, model, against)].items()
        )
        + ")."
        for question, model, against in changed
    ]


def _sensitivity(rows: Sequence[Row]) -> list[PlainTable]:
    """Return one table per question, because a table for all would be wider than a page."""
    return [
        PlainTable(
            f"{label(question).capitalize()}: the same preferences under other rules",
            (
                ("model", "left"),
                ("rules", "left"),
                ("annotators", "right"),
                ("n", "right"),
                ("published", "right"),
                ("exact p", "right"),
                ("weighted", "right"),
                ("95% CI", "right"),
                ("q", "right"),
                ("verdict", "left"),
            ),
            [
                [
                    f"{format_name(row['model'])} against {format_name(row['against'])}",
                    "published rule" if row["rules"] == PUBLISHED else row["rules"],
                    f"{row['n_persons']:,}",
                    f"{row['n']:,}",
                    f"{percent(row['published'])}{row['stars'] or ''}",
                    probability(row["p_published"]),
                    percent(row["estimate"]),
                    limits(row["low"], row["high"]),
                    probability(row["q"]),
                    verdict_on_first({**row, "measure": "win_rate"}),
                ]
                for row in sorted(rows, key=lambda row: (row["model"], row["against"]))
                if row["question"] == question
            ],
            (
                "Shares of the first model. n: judgements. Published and exact p: as in ACUTE-Eval, without ties, with "
                "all judgements treated as independent. Weighted, with its CI and q: as in the chart of preferences.",
            ),
        )
        for question in dict.fromkeys(row["question"] for row in rows)
    ]


def texts_section(analysis: Analysis) -> Section | None:
    """Return the collapsed section with texts that annotators wrote."""
    if not analysis.texts:
        return None
    parts = tuple(
        Quotes(
            label(texts.question).capitalize(),
            f"{len(texts.drawn)} of {texts.n:,}, sampled at random. Annotators are renumbered for this page."
            if texts.n > len(texts.drawn)
            else "All texts. Annotators are renumbered for this page.",
            texts.drawn,
        )
        for texts in analysis.texts
    )
    return Section(
        "texts",
        "What annotators wrote",
        "Texts",
        parts,
        lead=("Reasons and free texts of annotators. They are examples, and no estimate rests on them.",),
    )
